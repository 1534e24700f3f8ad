"""Which thread has the interpreter while a group holds its locks.

Everybody who wants the same pool waits for the thread that has locked it. That thread shares the
interpreter with the event loop, which is as busy, so half of the time under the lock it only waited
for its turn.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

# How long the thread may compute while others wait: most groups need less.
KEPT_SECONDS = 0.005


class Precedence:
    """For one thread of the process: the switch interval is the same for all threads."""

    def __init__(self) -> None:
        self._usual_seconds = sys.getswitchinterval()
        self._is_taken = False

    def take(self) -> None:
        """From the end of the current round trip on."""
        self._is_taken = True

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """During a round trip, in which libpq gives the interpreter away many times and this thread
        wants it back soon."""
        if not self._is_taken:
            yield
            return
        sys.setswitchinterval(self._usual_seconds)
        yield
        sys.setswitchinterval(KEPT_SECONDS)

    def end(self) -> None:
        if self._is_taken:
            self._is_taken = False
            sys.setswitchinterval(self._usual_seconds)
