"""The calibration loop: fixed work in pure Python. Its CPU time shows how fast the machine is now.

Never change the work: figures from before and after would not be comparable.
"""

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

STEPS = 1_000
# The loop then takes one or two per cent of a core.
PAUSE_SECONDS = 0.05


def loop() -> int:
    """Some calls, attributes, dictionaries and strings, as in the product."""
    seen: dict[str, _Step] = {}
    for number in range(STEPS):
        step = _Step(number)
        seen[step.name()] = step
    return sum(step.number for step in seen.values())


class _Step:
    def __init__(self, number: int) -> None:
        self.number = number

    def name(self) -> str:
        return f"{self.number}-{self.number % 7}"


@contextmanager
def sampled() -> Iterator[list[float]]:
    """The CPU seconds of the loop, over and over until the block ends: the load that it runs beside
    slows it down as it slows the server."""
    samples: list[float] = []
    stopped = threading.Event()

    def sample() -> None:
        while True:
            started = time.thread_time()
            loop()
            samples.append(time.thread_time() - started)
            if stopped.wait(PAUSE_SECONDS):
                return

    thread = threading.Thread(target=sample, name="calibration")
    thread.start()
    try:
        yield samples
    finally:
        stopped.set()
        thread.join()


def typical(samples: Sequence[float]) -> float:
    """The mean of the middle half: a sample during which the machine did something else is many
    times as long."""
    quarter = len(samples) // 4
    return statistics.fmean(sorted(samples)[quarter : len(samples) - quarter])
