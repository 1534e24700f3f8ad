"""Callers whose credentials are refused again and again get their answers late.

A 401 is cheap, but a client that is answered at once comes back at once, and a few hundred such
clients keep the event loop busy. One that has to wait a second comes back once a second, and the
more of them there are the longer they wait. A key that this process has seen valid never waits,
whatever else comes from the same address.
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
# So many refusals a second are answered at once, in one process: of an address, and in all.
PROMPT_OF_ADDRESS_MAX = 50
PROMPT_MAX = 200
# As many as the server takes requests at a time; one more is answered at once.
DELAYED_MAX = 4096


class Tarpit:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._second = 0
        self._prompt: Counter[str] = Counter()
        self._prompt_in_all = 0
        self._delayed = 0

    async def wait(self, address: str) -> None:
        """Before a refused caller is told so."""
        if self._is_prompt(address) or self._delayed >= DELAYED_MAX:
            return
        self._delayed += 1
        try:
            # With jitter: hundreds that were delayed together must not come back together.
            await asyncio.sleep(self._delay_seconds() * random.uniform(0.75, 1.25))  # noqa: S311
        finally:
            self._delayed -= 1

    def _delay_seconds(self) -> float:
        return min(DELAY_SECONDS_MAX, max(DELAY_SECONDS_MIN, self._delayed / DELAYED_PER_SECOND))

    def _is_prompt(self, address: str) -> bool:
        """The counts start anew every second, so there are never more than PROMPT_MAX of them."""
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
