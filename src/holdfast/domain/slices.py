"""Iterates over many items in slices, with pauses that leave the interpreter to other threads."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

# A quarter of a millisecond of work on most things, less than the interval after which the
# interpreter makes threads switch.
ITEMS_PER_SLICE = 25
# Small jobs run without a pause: the engine's main lane and the event loop must not sleep.
SLICES_WITHOUT_PAUSE = 20
# The pause as a multiple of the slice's processor time; longer while other organizations are
# present.
REST = 2
REST_BESIDE_OTHERS = 4
# For work that nobody is in a hurry for, such as imports: threads that wake up often make the
# engine's thread give up the interpreter, even for slices as short as these.
LONG_REST_BESIDE_OTHERS = 10
# Not 0: without a real sleep, the thread has the interpreter back before another one wakes up.
PAUSE_SECONDS_MIN = 0.00005
# Bounded because some callers hold locks.
PAUSE_SECONDS_MAX = 0.003
# The pause after a step of large work in the database, as a multiple of the step. It limits what
# the disk has to write, too: everybody's commits wait for that.
STEP_REST = 5
STEP_PAUSE_SECONDS_MAX = 0.02
# Of one job in total, spread evenly over its steps: it holds locks meanwhile.
STEP_PAUSES_SECONDS_MAX = 3.0


class Presence:
    """Until when several organizations count as present, by the monotonic clock. The API notes it
    for the whole process."""

    shared_until = 0.0


def giving_way(
    items: Iterable[T],
    per_slice: int = ITEMS_PER_SLICE,
    rest_beside_others: float = REST_BESIDE_OTHERS,
) -> Iterator[T]:
    """Yield the items, with a pause after each slice that is longer than the slice: the engine's
    thread needs the interpreter several times per hold, and finds it free most of the time. On an
    event loop there is no pause, because everybody would wait for it."""
    if _is_on_event_loop():
        yield from items
        return
    first_pause = (SLICES_WITHOUT_PAUSE + 1) * per_slice
    begun = time.thread_time()
    for number, item in enumerate(items, 1):
        yield item
        if number % per_slice == 0:
            worked = time.thread_time() - begun
            if number >= first_pause:
                is_shared = time.monotonic() < Presence.shared_until
                rest = (rest_beside_others if is_shared else REST) * worked
                time.sleep(min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, rest)))
            begun = time.thread_time()


def giving_way_longer(items: Iterable[T]) -> Iterator[T]:
    return giving_way(items, rest_beside_others=LONG_REST_BESIDE_OTHERS)


class Rests:
    """The pauses of one job between its steps in the database, which keep a processor and the disk
    busy there."""

    def __init__(self, steps: int) -> None:
        self._seconds_max = min(STEP_PAUSE_SECONDS_MAX, STEP_PAUSES_SECONDS_MAX / max(1, steps))

    @contextmanager
    def after_step(self) -> Iterator[None]:
        """Pause for up to `STEP_REST` times as long as this block took, if other organizations are
        present."""
        begun = time.monotonic()
        yield
        ended = time.monotonic()
        if ended < Presence.shared_until:
            time.sleep(min(self._seconds_max, STEP_REST * (ended - begun)))


def _is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
