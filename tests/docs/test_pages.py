"""Every page is short, says for whom it is, and leads nowhere in vain."""

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


def test_every_link_of_every_page_leads_somewhere() -> None:
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
def test_a_page_says_for_whom_it_is_and_is_short(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert lines[2].startswith(("For ", "This page is for "))
    assert len(lines) <= LINES_MAX
