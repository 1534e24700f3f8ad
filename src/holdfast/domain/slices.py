"""Going through many items in slices, between which other threads get the interpreter."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# About a millisecond of work on most things.
ITEMS_PER_SLICE = 100
# Fewer slices come without a pause: the engine's main lane and the event loop never sleep.
SLICES_WITHOUT_PAUSE = 5
# How long the pause is, compared with the processor time of the slice before it.
REST = 2
# Not 0: a thread that does not really sleep has the interpreter back before another one wakes up.
PAUSE_SECONDS_MIN = 0.00005
# Some of this happens under locks.
PAUSE_SECONDS_MAX = 0.003


def giving_way(items: Iterable[T], per_slice: int = ITEMS_PER_SLICE) -> Iterator[T]:
    """The same items. Each slice is followed by a longer pause: the engine's thread needs the
    interpreter some twenty times for a hold, and finds it free most of the time."""
    first_pause = (SLICES_WITHOUT_PAUSE + 1) * per_slice
    begun = time.thread_time()
    for number, item in enumerate(items, 1):
        yield item
        if number % per_slice == 0:
            worked = time.thread_time() - begun
            if number >= first_pause:
                time.sleep(min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, REST * worked)))
            begun = time.thread_time()
