"""Every command of these pages works when pasted into a shell, in order, from that page alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo.conftest import Demo

DOCS = Path(__file__).parents[2] / "docs"
# Each starts anew, except that the pages of seats build on each other.
PAGES = (
    "tutorial",
    "requests",
    "sales",
    "orders",
    "carts",
    "waitlist",
    "seats seat-import seat-map seat-holds best-available seat-operations",
)
TIMEOUT_SECONDS = 300
# A block of commands, and what the page says that it prints.
BLOCK = re.compile(
    r"^```console\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
MARK = "-- end of a block --"
# What differs from run to run: ids, references, rows, times and other numbers.
VARYING = re.compile(
    r'"seat_id_prefix": "[^"]*", "seat_id_suffixes": \[[^\]]*\]|'
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[A-Z0-9]{6}\b|(?<=row )\w+|\d[\d.,:TZ-]*"
)

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the commands need curl")


def shape(text: str) -> list[str]:
    return [VARYING.sub("#", line).rstrip() for line in text.strip().splitlines()]


def run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    # This very Python first: a wrapper in its place would be started a hundred times.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.fixture
def checkout(running_demo: Demo, tmp_path: Path) -> Path:
    """A directory that looks like Holdfast's own, with the demo running in it."""
    (tmp_path / ".holdfast").symlink_to(running_demo.home)
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    return tmp_path


@pytest.mark.parametrize("pages", PAGES)
def test_the_commands_of_a_page_do_what_it_says(pages: str, checkout: Path) -> None:
    text = "\n".join((DOCS / f"{page}.md").read_text() for page in pages.split())
    blocks = BLOCK.findall(text)
    assert len(blocks) >= 4
    script = "".join(f"{commands}echo '{MARK}'\n" for commands, _ in blocks)
    done = run(script, checkout)
    printed = done.stdout.split(f"{MARK}\n")
    number = len(printed) - 1
    assert done.returncode == 0, (
        f"block {number + 1} of {pages} fails: {blocks[number][0]}\n{printed[-1]}{done.stderr}"
    )
    for (commands, expected), output in zip(blocks, printed, strict=False):
        if expected:
            assert shape(output) == shape(expected), commands


@pytest.mark.parametrize(
    "mistake", ["echo $NOBODY_SET_THIS", "false | cat", "X=$(false)", "api() { false; }; api | cat"]
)
def test_a_mistake_in_a_page_would_be_noticed(mistake: str, tmp_path: Path) -> None:
    assert run(f"{mistake}\ntrue", tmp_path).returncode != 0


LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ROOT = DOCS.parent


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in kept}


def test_every_link_of_every_page_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.glob("**/*.md")]
    assert len(pages) > 20
    broken = []
    for page in pages:
        for link in LINK.findall(page.read_text()):
            address, _, fragment = link.partition("#")
            target = page.parent / address if address else page
            if "://" in link:
                continue
            if not target.exists() or (fragment and fragment not in anchors(target)):
                broken.append(f"{page.name}: {link}")
    assert not broken
