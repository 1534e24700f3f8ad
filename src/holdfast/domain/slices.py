"""Iterates over many items in slices, with pauses that leave the interpreter to other threads."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# About a millisecond of work on most things.
ITEMS_PER_SLICE = 100
# Small jobs run without a pause: the engine's main lane and the event loop must not sleep.
SLICES_WITHOUT_PAUSE = 5
# The pause as a multiple of the slice's processor time.
REST = 2
# Not 0: without a real sleep, the thread has the interpreter back before another one wakes up.
PAUSE_SECONDS_MIN = 0.00005
# Bounded because some callers hold locks.
PAUSE_SECONDS_MAX = 0.003


def giving_way(items: Iterable[T], per_slice: int = ITEMS_PER_SLICE) -> Iterator[T]:
    """Yield the items, with a pause after each slice that is longer than the slice: the engine's
    thread needs the interpreter several times per hold, and finds it free most of the time."""
    first_pause = (SLICES_WITHOUT_PAUSE + 1) * per_slice
    begun = time.thread_time()
    for number, item in enumerate(items, 1):
        yield item
        if number % per_slice == 0:
            worked = time.thread_time() - begun
            if number >= first_pause:
                time.sleep(min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, REST * worked)))
            begun = time.thread_time()
