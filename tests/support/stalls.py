"""A test that fails while the machine's disk stands still proves nothing, so it runs once more.

Linux counts the time in which every runnable process waited for the disk
(`/proc/pressure/io`). Elsewhere no test runs twice.
"""

from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

PRESSURE = Path("/proc/pressure/io")
# Shorter stalls are within the bounds of every test.
STALL_SECONDS = 3.0
PROPERTY = "disk_stalled_seconds"


def stalled_seconds() -> float:
    """How long the machine has waited for its disk since it started, 0 where nobody counts."""
    try:
        lines = PRESSURE.read_text().splitlines()
    except OSError:
        return 0.0
    totals = [line.rpartition("total=")[2] for line in lines if line.startswith("full ")]
    return int(totals[0]) / 1_000_000 if totals else 0.0


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run the test as pytest does, and a second time if it failed during a stall."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    before = stalled_seconds()
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    stalled = stalled_seconds() - before
    if stalled >= STALL_SECONDS and any(report.failed for report in reports):
        item.user_properties.append((PROPERTY, stalled))
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in (each for some in terminalreporter.stats.values() for each in some):
        if isinstance(report, pytest.TestReport) and report.when == "call":
            seconds = dict(report.user_properties).get(PROPERTY)
            if seconds is not None:
                terminalreporter.write_line(
                    f"{report.nodeid} ran twice: the disk stood still for {seconds:.0f} s"
                )
