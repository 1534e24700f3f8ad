"""Delays answers to callers whose credentials are refused repeatedly.

A 401 is cheap, but a client that is answered at once retries at once, and a few hundred such
clients keep the event loop busy. A delayed client retries once a second or less; the more there
are, the longer each waits. A key that this process has seen valid is never delayed.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable

DELAY_SECONDS_MIN = 1.0
DELAY_SECONDS_MAX = 10.0
# Target rate of delayed refusals, per process, until they reach the longest delay.
DELAYED_PER_SECOND = 150
# Refusals per second and process that are answered at once: to one address, and in total.
PROMPT_OF_ADDRESS_MAX = 50
PROMPT_MAX = 200
# Twice the server's connection limit: a new connection may replace a delayed one, whose delay still
# runs out. Further refusals are answered at once.
DELAYED_MAX = 16_384


class Tarpit:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._prompt: Counter[str] = Counter()
        self._prompt_in_all = 0
        self._delayed = 0

    async def wait(self, address: str) -> None:
        """Call before refusing a caller."""
        if self._is_prompt(address) or self._delayed >= DELAYED_MAX:
            return
        self._delayed += 1
        try:
            # Jitter keeps callers that were delayed together from retrying together.
            await asyncio.sleep(self._delay_seconds() * random.uniform(0.75, 1.25))  # noqa: S311
        finally:
            self._delayed -= 1

    def _delay_seconds(self) -> float:
        return min(DELAY_SECONDS_MAX, max(DELAY_SECONDS_MIN, self._delayed / DELAYED_PER_SECOND))

    def _is_prompt(self, address: str) -> bool:
        """The counts restart every second, so there are never more than PROMPT_MAX."""
        second = int(self._clock())
        if second != self._second:
            self._second = second
            self._prompt.clear()
            self._prompt_in_all = 0
        if self._prompt_in_all >= PROMPT_MAX or self._prompt[address] >= PROMPT_OF_ADDRESS_MAX:
            return False
        self._prompt[address] += 1
        self._prompt_in_all += 1
        return True
