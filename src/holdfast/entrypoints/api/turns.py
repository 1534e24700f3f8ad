"""Turns of reads on the event loop.

Dozens of clients of one organization that read without a pause keep the event loop and the
interpreter busy, even if they are answered from memory, and everybody else's holds wait for both.
So an organization starts only a few reads in one round of the loop. While other organizations are
there, the next round waits until the process has been idle for a share of the time: holds find the
interpreter free. An organization that is alone has all of it.
"""

import asyncio
import time
from collections import deque

from holdfast.domain.ids import OrganizationId

READS_IN_ROUND_MAX = 2
# Of one processor. Above it reads wait, but not for ever: commands alone may need more.
BUSY_SHARE_MAX = 0.6
PAUSE_SECONDS_MAX = 0.02
# So long after its last request an organization counts as there.
PRESENT_SECONDS = 1.0


class ReadTurns:
    """Used on the event loop only."""

    def __init__(self) -> None:
        self._taken: dict[OrganizationId, int] = {}
        self._waiting: dict[OrganizationId, deque[asyncio.Future[None]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None  # while rounds are under way
        # When the last round was planned, and the processor time of the process by then.
        self._planned = 0.0
        self._used = 0.0
        self._behind_seconds = 0.0
        self._last: OrganizationId | None = None
        self._shared_until = 0.0

    def saw(self, organization_id: OrganizationId) -> None:
        """With every request."""
        if organization_id != self._last:
            self._last = organization_id
            self._shared_until = time.monotonic() + PRESENT_SECONDS

    def take(self, organization_id: OrganizationId) -> "asyncio.Future[None] | None":
        """None: go on. Otherwise await this first."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._taken, self._waiting, self._loop = {}, {}, loop
            self._plan_round(loop)
        taken = self._taken.get(organization_id, 0)
        if taken < READS_IN_ROUND_MAX:
            self._taken[organization_id] = taken + 1
            return None
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(organization_id, deque()).append(waiter)
        return waiter

    def _plan_round(self, loop: asyncio.AbstractEventLoop) -> None:
        now, used = time.monotonic(), time.process_time()
        behind = self._behind_seconds + (used - self._used) / BUSY_SHARE_MAX - (now - self._planned)
        self._behind_seconds = min(PAUSE_SECONDS_MAX, max(0.0, behind))
        self._planned, self._used = now, used
        if self._behind_seconds and now < self._shared_until:
            loop.call_later(self._behind_seconds, self._begin_round, loop)
        else:
            loop.call_soon(self._begin_round, loop)

    def _begin_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._taken = {
            organization_id: self._let_go(organization_id)
            for organization_id in list(self._waiting)
        }
        if self._taken:
            self._plan_round(loop)
        else:
            self._loop = None

    def _let_go(self, organization_id: OrganizationId) -> int:
        """How many, of those who still wait."""
        waiters = self._waiting[organization_id]
        count = 0
        while waiters and count < READS_IN_ROUND_MAX:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count += 1
        if not waiters:
            del self._waiting[organization_id]
        return count
