"""A circuit breaker: after several failures in a row, no call is made for a while, and then the
outcome of a single trial decides.

Written by hand, because pybreaker keeps its lock during the calls that it guards: they would run
one at a time."""

import threading
import time
from collections.abc import Callable
from enum import Enum

FAILURES_MAX = 5
OPEN_SECONDS = 5.0
# A trial without an outcome by then no longer counts.
TRIAL_SECONDS = 15.0


class CircuitState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Circuit:
    """Ask `may_try` before each call, and report its outcome with one of the others."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at: float | None = None
        self._trial_at: float | None = None

    @property
    def state(self) -> CircuitState:
        with self._lock:
            if self._opened_at is None:
                return CircuitState.CLOSED
            is_over = self._clock() - self._opened_at >= OPEN_SECONDS
            return CircuitState.HALF_OPEN if is_over else CircuitState.OPEN

    def may_try(self) -> bool:
        now = self._clock()
        with self._lock:
            if self._opened_at is None:
                return True
            is_tried = self._trial_at is not None and now - self._trial_at < TRIAL_SECONDS
            if now - self._opened_at < OPEN_SECONDS or is_tried:
                return False
            self._trial_at = now
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self._opened_at = self._trial_at = None

    def withdrew(self) -> None:
        """The call was not made after all."""
        with self._lock:
            self._trial_at = None

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            is_trial = self._trial_at is not None
            if is_trial or self._failures >= FAILURES_MAX:
                self._opened_at = self._clock()
                self._trial_at = None
