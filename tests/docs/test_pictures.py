"""The architecture pictures match the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.hold_path import Step
from docs.pictures import desk
from docs.pictures.hold_path import STOPS, WrongPath, check
from tests.docs.pages import ROOT, all_pages
from tests.support.databases import own_environment

PICTURE = re.compile(r"images/(desk-[\w-]+)\.png")
IMAGES = ROOT / "docs" / "images"
RECORDED = [Step(stop.file, "anything", stop.thread, 1) for stop in STOPS]


def test_the_architecture_pictures_are_up_to_date(tmp_path: Path) -> None:
    """Runs in its own process, because recording a server changes the process."""
    drawn = subprocess.run(
        [sys.executable, "-m", "docs.pictures", str(tmp_path)],
        cwd=ROOT,
        env=own_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert drawn.returncode == 0, drawn.stderr[-2000:]
    for picture in tmp_path.iterdir():
        assert picture.read_text() == (IMAGES / picture.name).read_text(), "run `make pictures`"


def test_every_picture_of_the_box_office_is_taken_by_make_pictures() -> None:
    """Otherwise nobody would notice when it is out of date."""
    shown = {name for page in all_pages() for name in PICTURE.findall(page.read_text())}
    assert shown
    assert shown <= {*desk.PAGES, desk.FOUND}


def test_a_hold_on_the_drawn_path_is_accepted() -> None:
    check(RECORDED)


@pytest.mark.parametrize(
    "recorded",
    [
        RECORDED[1:],
        [RECORDED[1], RECORDED[0], *RECORDED[2:]],
        [Step(RECORDED[0].file, "anything", "another thread", 1), *RECORDED[1:]],
    ],
    ids=["module not entered", "another order", "another thread"],
)
def test_a_hold_on_another_path_is_detected(recorded: list[Step]) -> None:
    with pytest.raises(WrongPath):
        check(recorded)
