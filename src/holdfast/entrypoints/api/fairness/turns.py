"""Turns of reads on the event loop.

Dozens of clients of one organization that read without a pause saturate the event loop and the
interpreter, even if they are answered from memory, and everybody else's holds wait for both. So an
organization does only so much reading in one round of the loop. While other organizations are
present, the next round waits until the process has been idle for a share of the time, so that holds
find the interpreter free. An organization that is alone gets the whole loop.
"""

import asyncio
import time
from collections import deque

from holdfast.domain.ids import OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.slices import Presence
from holdfast.entrypoints.api.http.problems import unavailable

# Per organization. A read from memory is one turn; a large answer takes several. With more, threads
# that read at the same time would compete with the engine's for the interpreter.
TURNS_IN_ROUND_MAX = 2
BYTES_PER_TURN = 128 * 1024
# Other reads of the organization wait behind a large answer for up to four rounds.
TURNS_OWED_MAX = 4 * TURNS_IN_ROUND_MAX
# Per organization; one more is refused.
WAITING_MAX = 1_000
# Of one processor. Above it reads wait, though never for long: commands alone may need more.
BUSY_SHARE_MAX = 0.35
PAUSE_SECONDS_MAX = 0.02
# An organization counts as present for this long after its last request.
PRESENT_SECONDS = 1.0


@immutable
class _Waiter:
    turns: int
    is_let_go: "asyncio.Future[None]"


class ReadTurns:
    """Used on the event loop only."""

    def __init__(self) -> None:
        self._taken: dict[OrganizationId, int] = {}
        self._waiting: dict[OrganizationId, deque[_Waiter]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # while rounds are under way
        # When the last round was planned, and the processor time of the process by then.
        self._planned = 0.0
        self._used = 0.0
        self._behind_seconds = 0.0
        self.last: OrganizationId | None = None

    def saw(self, organization_id: OrganizationId) -> None:
        """Call for every request, unless the organization is `last` itself."""
        if organization_id != self.last:
            Presence.shared_until = time.monotonic() + PRESENT_SECONDS
        self.last = organization_id

    async def take(self, organization_id: OrganizationId, turns: int = 1) -> None:
        """Wait for the organization's turn. Raises 503 if too many wait already."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._taken, self._waiting, self._loop = {}, {}, loop
            self._plan_round(loop)
        taken = self._taken.get(organization_id, 0)
        if taken < TURNS_IN_ROUND_MAX:
            self._taken[organization_id] = taken + turns
            return
        waiting = self._waiting.setdefault(organization_id, deque())
        if len(waiting) >= WAITING_MAX:
            raise unavailable()
        waiter = _Waiter(turns, loop.create_future())
        waiting.append(waiter)
        await waiter.is_let_go

    def _plan_round(self, loop: asyncio.AbstractEventLoop) -> None:
        now, used = time.monotonic(), time.process_time()
        behind = self._behind_seconds + (used - self._used) / BUSY_SHARE_MAX - (now - self._planned)
        self._behind_seconds = min(PAUSE_SECONDS_MAX, max(0.0, behind))
        self._planned, self._used = now, used
        if self._behind_seconds and now < Presence.shared_until:
            loop.call_later(self._behind_seconds, self._begin_round, loop)
        else:
            loop.call_soon(self._begin_round, loop)

    def _begin_round(self, loop: asyncio.AbstractEventLoop) -> None:
        """A large answer uses up the turns of some following rounds, too."""
        taken = self._taken
        self._taken = {}
        for organization_id in list(self._waiting):
            owed = taken.get(organization_id, 0) - TURNS_IN_ROUND_MAX
            self._taken[organization_id] = self._let_go(
                organization_id, max(0, min(owed, TURNS_OWED_MAX))
            )
        if self._taken:
            self._plan_round(loop)
        else:
            self._loop = None

    def _let_go(self, organization_id: OrganizationId, turns: int) -> int:
        """Release those whose turn it is; return how many turns are taken, with those taken
        already."""
        waiting = self._waiting[organization_id]
        while waiting and turns < TURNS_IN_ROUND_MAX:
            waiter = waiting.popleft()
            if not waiter.is_let_go.done():
                waiter.is_let_go.set_result(None)
                turns += waiter.turns
        if not waiting:
            del self._waiting[organization_id]
        return turns
