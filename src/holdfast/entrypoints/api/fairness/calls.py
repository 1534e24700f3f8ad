"""Awaits blocking calls, which run in fair shares."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

import structlog

from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.api.fairness.turns import ReadTurns
from holdfast.entrypoints.api.http.problems import unavailable
from holdfast.services.fair_threads import FairThreads, Shares

K = TypeVar("K", bound=tuple[OrganizationId, *tuple[Any, ...]])
P = ParamSpec("P")
T = TypeVar("T")

_log = structlog.get_logger("holdfast.api")


# Ordinary reads and catalog changes.
READS = Shares(threads=8, at_once=4, calls_max=264)
# Seat maps, statistics, occupancy, lists of orders and large bodies: a tenth of a second and more
# of computing each.
LARGE_READS = Shares(threads=2, at_once=1, calls_max=64)
# The availability of another service's inventory.
REMOTE_READS = Shares(threads=4, at_once=2, calls_max=64)
# Seconds each.
IMPORTS = Shares(threads=2, at_once=1, calls_max=16)


class FairCalls:
    """Awaits blocking calls, which start in turns."""

    def __init__(self, name: str, shares: Shares, bound_seconds: float, turns: ReadTurns) -> None:
        self._threads = FairThreads(name, shares)
        self._bound_seconds = bound_seconds
        self._turns = turns

    async def run(
        self,
        organization_id: OrganizationId,
        call: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        call_made = partial(call, *args, **kwargs)
        return await self.run_for(self._bound_seconds, organization_id, call_made)

    async def run_for_command(
        self,
        organization_id: OrganizationId,
        call: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Without waiting for a turn: a payment does not queue behind its organization's reads."""
        return await self._run(self._bound_seconds, organization_id, partial(call, *args, **kwargs))

    async def run_for(
        self, seconds: float, organization_id: OrganizationId, call: Callable[[], T]
    ) -> T:
        """Wait at most `seconds`."""
        return await self._run(seconds, organization_id, call, takes_turn=True)

    async def _run(
        self,
        seconds: float,
        organization_id: OrganizationId,
        call: Callable[[], T],
        *,
        takes_turn: bool = False,
    ) -> T:
        future = None
        try:
            async with asyncio.timeout(seconds):
                if takes_turn:
                    await self._turns.take(organization_id)
                future = self._threads.submit(organization_id, call)
                if future is None:
                    raise unavailable()
                return await asyncio.wrap_future(future)
        except TimeoutError:
            _log.error("call.unanswered", seconds=seconds)
            raise unavailable() from None
        finally:
            del call, future  # an error refers to this frame: see `fair_threads`

    async def run_by_key(self, call: Callable[[K], T], key: K) -> T:
        """A key begins with its organization."""
        return await self.run(key[0], call, key)

    def close(self) -> None:
        self._threads.close()
