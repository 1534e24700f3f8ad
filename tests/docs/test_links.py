"""Every link leads somewhere."""

import re
from pathlib import Path

from tests.docs.pages import all_pages

LINK = re.compile(r"\]\(([^)\s]+)\)")
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
