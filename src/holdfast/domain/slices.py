"""Going through many items in slices, between which other threads get the interpreter."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# About a millisecond of work on most things.
ITEMS_PER_SLICE = 100
# How long the pause is, compared with the work before it.
REST = 2
# Not 0: a thread that does not really sleep has the interpreter back before anyone has woken up.
PAUSE_SECONDS_MIN = 0.00005


def giving_way(items: Iterable[T], per_slice: int = ITEMS_PER_SLICE) -> Iterator[T]:
    """The same items. A slice is followed by a pause twice as long: the engine's thread needs the
    interpreter some twenty times for a hold, and finds it free most of the time."""
    begun = time.perf_counter()
    for number, item in enumerate(items, 1):
        yield item
        if number % per_slice == 0:
            worked = time.perf_counter() - begun
            time.sleep(max(PAUSE_SECONDS_MIN, REST * worked))
            begun = time.perf_counter()
