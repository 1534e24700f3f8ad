"""Lets one password be hashed at a time, for the admin pages and the API together. Hashing is slow
on purpose, and without a limit a process would hash as many at once as there are requests."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.entrypoints.api.access.networks import network_of

T = TypeVar("T")

WAITING_MAX = 64
WAITING_OF_ADDRESS_MAX = 4
WAIT_SECONDS_MAX = 10.0
# Twice the longest turn of a stranger, who can be ahead of it, and some.
KNOWN_WAIT_SECONDS_MAX = 30.0
KNOWN_NETWORKS_MAX = 1024
# After a log-in, the next waits for twice its time: hashing gets at most a third of a core.
REST_FACTOR = 2.0
REST_SECONDS_MAX = 5.0
# Slows clients down that retry at once.
REFUSED_AFTER_SECONDS = 1.0


class TooManyLogIns(Exception):
    """Too many log-ins are waiting, in total or from this address."""


class _Lane:
    """Log-ins that wait. Only the first of a lane waits for the slot, so lanes take turns."""

    def __init__(self) -> None:
        self.first = asyncio.Semaphore(1)
        self.waiting: Counter[str] = Counter()

    def has_room(self, network: str) -> bool:
        is_full = self.waiting.total() >= WAITING_MAX
        return not is_full and self.waiting[network] < WAITING_OF_ADDRESS_MAX


class PasswordTurns:
    """Every other turn is for networks from which somebody has logged in: strangers, however many,
    cannot keep them out."""

    def __init__(self) -> None:
        self._slot = asyncio.Semaphore(1)
        self._strangers, self._known = _Lane(), _Lane()
        self._networks: OrderedDict[str, None] = OrderedDict()

    def remember(self, address: str) -> None:
        """Somebody has logged in from there."""
        network = network_of(address)
        self._networks[network] = None
        self._networks.move_to_end(network)
        if len(self._networks) > KNOWN_NETWORKS_MAX:
            self._networks.popitem(last=False)

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

    async def _enter(self, network: str) -> bool:
        is_known = network in self._networks
        lane = self._known if is_known else self._strangers
        if not lane.has_room(network):
            return False
        lane.waiting[network] += 1
        try:
            async with asyncio.timeout(KNOWN_WAIT_SECONDS_MAX if is_known else WAIT_SECONDS_MAX):
                async with lane.first:
                    await self._slot.acquire()
        except TimeoutError:
            return False
        finally:
            lane.waiting[network] -= 1
            if not lane.waiting[network]:
                del lane.waiting[network]
        return True
