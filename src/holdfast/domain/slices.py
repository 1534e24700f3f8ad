"""Going through many items in slices, between which other threads get the interpreter."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# About a millisecond of work on most things. A thread that computes keeps the interpreter for five
# at least, and the engine's thread waits for it after every answer of the database.
ITEMS_PER_SLICE = 100
# Not 0: a thread that does not really sleep has the interpreter back before anyone has woken up.
PAUSE_SECONDS = 0.00005


def giving_way(items: Iterable[T], per_slice: int = ITEMS_PER_SLICE) -> Iterator[T]:
    """The same items. Fewer than a slice of them come without a pause."""
    for number, item in enumerate(items, 1):
        yield item
        if number % per_slice == 0:
            time.sleep(PAUSE_SECONDS)
