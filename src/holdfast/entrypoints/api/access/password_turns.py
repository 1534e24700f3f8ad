"""Lets one password be hashed at a time, for the admin pages and the API together. Hashing is slow
on purpose, and without a limit a process would hash as many at once as there are requests."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.entrypoints.api.access.networks import network_of

T = TypeVar("T")

WAITING_MAX = 64
WAITING_OF_ADDRESS_MAX = 4
WAIT_SECONDS_MAX = 10.0
# After a log-in, nobody else's begins for twice as long: hashing gets at most a third of a core.
REST_FACTOR = 2.0
REST_SECONDS_MAX = 5.0
# Slows clients down that retry at once.
REFUSED_AFTER_SECONDS = 1.0


class TooManyLogIns(Exception):
    """Too many log-ins are waiting, in total or from this address."""


class PasswordTurns:
    def __init__(self) -> None:
        self._slot = asyncio.Semaphore(1)
        self._waiting: Counter[str] = Counter()

    async def run(self, address: str, log_in: Callable[[], Awaitable[T]]) -> T:
        """Run one log-in in its turn. It is finished even if its caller is gone, so that the next
        one begins only when its password has been hashed."""
        if not await self._enter(network_of(address)):
            await asyncio.sleep(REFUSED_AFTER_SECONDS)
            raise TooManyLogIns
        return await asyncio.shield(asyncio.ensure_future(self._run(log_in)))

    async def _run(self, log_in: Callable[[], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            return await log_in()
        finally:
            rest = min((loop.time() - started) * REST_FACTOR, REST_SECONDS_MAX)
            loop.call_later(rest, self._slot.release)

    async def _enter(self, address: str) -> bool:
        is_full = self._waiting.total() >= WAITING_MAX
        if is_full or self._waiting[address] >= WAITING_OF_ADDRESS_MAX:
            return False
        self._waiting[address] += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._slot.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        return True
