"""The pages of the documentation."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def all_pages() -> list[Path]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")]
    assert len(pages) > 20
    return sorted(pages)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))
