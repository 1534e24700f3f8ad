"""Results that all viewers of a page share, so that the number of open pages makes no difference to
the database and the engine."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

KEPT_SECONDS_MIN = 4.0
KEPT_SECONDS_MAX = 60.0
# How long a result is shown after that, while a new one is being counted.
LATE_SECONDS_MAX = 60.0
# A result is kept this many times as long as it took: counting takes about 2% of a connection.
KEPT_PER_SECOND_COUNTED = 50.0
SNAPSHOTS_MAX = 1_000
# Of all organizations, in one process.
COUNTED_AT_ONCE_MAX = 2
WAIT_SECONDS_MAX = 5.0


class Busy(Exception):
    """There is no result yet, and too much is being counted."""


class _Kept(Generic[T]):
    """`lock` is held by the one request that counts."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: T | None = None
        self.until = 0.0


class Snapshots(Generic[T]):
    """Thread-safe. While one request counts, others get the previous result."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(COUNTED_AT_ONCE_MAX)
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()

    def get(self, key: Hashable, count: Callable[[], T]) -> T:
        kept = self._of(key)
        known = self._known(kept)
        if known is not None and self._clock() < kept.until:
            return known
        if not kept.lock.acquire(timeout=WAIT_SECONDS_MAX if known is None else 0):
            return self._known_or_busy(kept)
        try:
            if kept.value is not None and self._clock() < kept.until:
                return kept.value
            if not self._turns.acquire(timeout=WAIT_SECONDS_MAX if known is None else 0):
                return self._known_or_busy(kept)
            try:
                return self._count(kept, count)
            finally:
                self._turns.release()
        finally:
            kept.lock.release()

    def _count(self, kept: _Kept[T], count: Callable[[], T]) -> T:
        started = self._clock()
        kept.value = value = count()
        ended = self._clock()
        wanted = (ended - started) * KEPT_PER_SECOND_COUNTED
        kept.until = ended + min(KEPT_SECONDS_MAX, max(KEPT_SECONDS_MIN, wanted))
        return value

    def _known(self, kept: _Kept[T]) -> T | None:
        return kept.value if self._clock() < kept.until + LATE_SECONDS_MAX else None

    def _known_or_busy(self, kept: _Kept[T]) -> T:
        known = self._known(kept)
        if known is None:
            raise Busy
        return known

    def _of(self, key: Hashable) -> _Kept[T]:
        with self._lock:
            kept = self._kept.setdefault(key, _Kept())
            self._kept.move_to_end(key)
            while len(self._kept) > SNAPSHOTS_MAX:
                self._kept.popitem(last=False)
            return kept
