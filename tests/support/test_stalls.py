"""A failure during a stall of the disk is tried again; any other failure counts at once."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from pathlib import Path

from tests.support import stalls
from tests.support.stalls import pytest_runtest_protocol, pytest_terminal_summary

stalls.PRESSURE = Path(__file__).with_name("pressure")
"""
FAILS_ONCE = """
from pathlib import Path

here = Path(__file__).parent
runs = []

def test_something():
    runs.append(1)
    (here / "pressure").write_text("full avg10=0.00 total={microseconds}\\n")
    assert len(runs) > 1
"""


def outcome(directory: Path, stall_seconds: float) -> subprocess.CompletedProcess[str]:
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "pressure").write_text("full avg10=0.00 total=0\n")
    code = FAILS_ONCE.format(microseconds=int(stall_seconds * 1_000_000))
    (directory / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += [f"--rootdir={directory}", str(directory / "test_it.py")]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_a_failure_during_a_stall_is_tried_again_and_reported(tmp_path: Path) -> None:
    run = outcome(tmp_path, stall_seconds=20)

    assert run.returncode == 0, run.stdout
    assert "test_something ran twice: the disk stood still for 20 s" in run.stdout


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_failure_without_a_long_stall_counts(tmp_path: Path, seconds: float) -> None:
    run = outcome(tmp_path, stall_seconds=seconds)

    assert run.returncode == 1, run.stdout
    assert "1 failed" in run.stdout
    assert "ran twice" not in run.stdout
