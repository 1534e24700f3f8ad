"""How long tests wait for a condition, and how."""

import time
from collections.abc import Callable

from holdfast.engine import Limits

# Only a failure takes this long: a bound for a busy machine, not a claim about speed (see `make
# bench`).
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.02
# For an engine whose deadline is not under test.
PATIENT = Limits(deadline_seconds=PATIENCE_SECONDS)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(POLL_SECONDS)
