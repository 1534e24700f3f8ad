"""How long a test waits for something to happen, and how it waits."""

import time
from collections.abc import Callable

from holdfast.engine import Limits

# Only a failure takes this long. It is a bound for a machine that is busy with something else, not
# a claim about our speed: those are made by `make bench`.
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.02
# For an engine whose deadline is not what the test is about.
PATIENT = Limits(deadline_seconds=PATIENCE_SECONDS)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(POLL_SECONDS)
