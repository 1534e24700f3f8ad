"""Every page is short, names its audience, and has no dead link or path."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, all_pages, name_of

LINK = re.compile(r"\]\(([^)\s]+)\)")
LINES_MAX = 300
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in kept}


def test_every_link_in_every_page_resolves() -> None:
    broken = []
    for page in all_pages():
        for link in LINK.findall(page.read_text()):
            address, _, fragment = link.partition("#")
            target = page.parent / address if address else page
            if "://" in link:
                continue
            if not target.exists() or (fragment and fragment not in anchors(target)):
                broken.append(f"{page.name}: {link}")
    assert not broken


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=name_of)
def test_a_page_names_its_audience_and_is_short(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert lines[2].startswith(("For ", "This page is for "))
    assert len(lines) <= LINES_MAX


# One of our files or directories in code type, possibly with a line number.
NAMED_PATH = re.compile(
    r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|sql)|(?:[\w-]+/)+[\w.-]+\.\w+|(?:[\w-]+/)+|"
    r"(?:tests|bench|domain|ports|engine|services|adapters|bootstrap|entrypoints)(?:/\w+)+)(?::\d+)?`"
)
OURS = ("src", "tests", "bench", "docs", "contracts", "features", "deploy")


def is_there(path: str) -> bool:
    """Relative to the root or to any directory of ours, because tables omit repeated prefixes."""
    return (ROOT / path).exists() or any(
        next((ROOT / ours).glob(f"**/{path}"), None) is not None for ours in OURS
    )


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))], ids=name_of
)
def test_every_path_in_a_page_exists(page: Path) -> None:
    named = set(NAMED_PATH.findall(page.read_text()))
    assert {path for path in named if not is_there(path)} == set()
