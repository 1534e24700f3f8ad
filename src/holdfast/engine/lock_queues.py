"""Lock queues: commands blocked by locks, and large commands.

Each locked resource has a lock queue, served by at most one patient lane at a time. Later commands
for that resource join its end, so arrival order is kept. Commands that need other resources stay in
the main lane.

A lock queue whose resource stayed locked during its turn is served after those never tried, and one
lane is always reserved for the latter. However many locks stay taken, a lock queue that needs only
a moment gets it.

A large command would delay everybody in the main lane, so each organization has a queue for them.
Only one large command runs at a time, alone: several would leave little of the interpreter to the
main lane. Small commands overtake large ones that wait for their turn.

Buyers wait only briefly for a locked seat, because they can choose another.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from uuid import UUID

from holdfast.domain.group.footprint import Footprint, Resource, ResourceKind
from holdfast.domain.ids import OrganizationId
from holdfast.engine.limits import POLL_SECONDS, SEAT_WAIT_SECONDS, WEIGHT_IN_MAIN_LANE_MAX
from holdfast.engine.queue import Pending

Blocked = list[tuple[Pending, Resource]]
_NO_NAME = UUID(int=0)


class LockQueues:
    def __init__(self, lanes: int) -> None:
        self._tried_served_max = max(1, lanes - 1)
        self._tried: set[Resource] = set()
        self._changed = threading.Condition()
        self._queues: dict[Resource, deque[Pending]] = {}
        self.resources = self._queues.keys()  # a live view, for a look without the lock
        self._served: set[Resource] = set()
        self._not_before: dict[Resource, float] = {}
        # Since when a lock queue has made no progress: a long one that moves is not given up.
        self._stuck_since: dict[Resource, float] = {}
        self._large_served: Resource | None = None  # the queue whose large command runs
        self._is_closed = False

    def queue_for(self, organization_id: OrganizationId, footprint: Footprint) -> Resource | None:
        """The lock queue that a command with this footprint has to join, if any."""
        if footprint.weight > WEIGHT_IN_MAIN_LANE_MAX:
            return Resource(ResourceKind.LARGE, organization_id, _NO_NAME)
        with self._changed:
            return min(footprint.required & self._queues.keys(), default=None)

    def join(self, blocked: Iterable[tuple[Pending, Resource]]) -> None:
        with self._changed:
            for pending, resource in blocked:
                self._queue_of(resource).append(pending)
            self._changed.notify_all()

    def take(self, count_max: int) -> tuple[Resource, list[Pending]] | None:
        """Take the first commands of a lock queue that no lane serves; blocks. None only when
        closed and done."""
        with self._changed:
            while True:
                resource = self._next_queue()
                if resource is not None:
                    self._served.add(resource)
                    return resource, self._take_from(resource, count_max)
                if self._is_closed and not self._queues:
                    return None
                self._changed.wait(POLL_SECONDS if self._not_before else None)

    def _take_from(self, resource: Resource, count_max: int) -> list[Pending]:
        queue = self._queues[resource]
        if self._large_served is None and queue[0].is_large:
            self._large_served = resource
            return [queue.popleft()]
        passed: list[Pending] = []
        if self._large_served is not None:
            while queue[0].is_large:
                passed.append(queue.popleft())
        taken: list[Pending] = []
        while queue and not queue[0].is_large and len(taken) < count_max:
            taken.append(queue.popleft())
        queue.extendleft(reversed(passed))
        return taken

    def _next_queue(self) -> Resource | None:
        """The lock queue to serve next. Large commands take turns whether tried or not: only one
        runs at a time, so new ones could always come first."""
        now = time.monotonic()
        due = [
            resource
            for resource, queue in self._queues.items()
            if queue
            and resource not in self._served
            and self._not_before.get(resource, 0.0) <= now
            and (self._large_served is None or not all(each.is_large for each in queue))
        ]
        has_room = len(self._served & self._tried) < self._tried_served_max
        for resource in due:
            is_large = self._large_served is None and self._queues[resource][0].is_large
            if resource not in self._tried or (is_large and has_room):
                return resource
        return due[0] if due and has_room else None

    def put_back(
        self, resource: Resource, blocked: Blocked, again: Sequence[Pending] = ()
    ) -> Blocked:
        """End the turn of a lock queue and return its undecided commands to it, in order. Commands
        in `again` did get the lock. Returns commands of any queue that waited too long for a
        seat."""
        leftovers = [*((pending, resource) for pending in again), *blocked]
        with self._changed:
            self._served.discard(resource)
            if self._large_served == resource:
                self._large_served = None
            self._not_before.pop(resource, None)
            for pending, blocked_on in reversed(leftovers):
                self._queue_of(blocked_on).appendleft(pending)
                if not blocked_on.kind.is_row:
                    self._not_before[blocked_on] = time.monotonic() + POLL_SECONDS
            queue = self._queues.pop(resource, None)
            if any(blocked_on == resource for _, blocked_on in blocked):
                self._tried.add(resource)
            else:
                self._tried.discard(resource)
                self._stuck_since[resource] = time.monotonic()
            if queue:
                # To the end of the round. Empty queues are removed: newcomers use the main lane.
                self._queues[resource] = queue
            else:
                self._stuck_since.pop(resource, None)
            overdue = self._take_overdue()
            self._changed.notify_all()
            return overdue

    def _queue_of(self, resource: Resource) -> deque[Pending]:
        if resource not in self._queues:
            self._queues[resource] = deque()
            self._stuck_since[resource] = time.monotonic()
        return self._queues[resource]

    def _take_overdue(self) -> Blocked:
        """Remove commands that waited too long for a seat and can choose another, except in queues
        being served, which are checked after their turn."""
        limit = time.monotonic() - SEAT_WAIT_SECONDS
        stuck = [
            resource
            for resource in self._queues
            if resource.kind is ResourceKind.SEAT
            and self._stuck_since[resource] <= limit
            and resource not in self._served
        ]
        overdue: Blocked = []
        for seat in stuck:
            queue = self._queues.pop(seat)
            overdue += [(pending, seat) for pending in queue if pending.command.can_choose_seats]
            rest = deque(pending for pending in queue if not pending.command.can_choose_seats)
            if rest:
                self._queues[seat] = rest
            else:
                del self._stuck_since[seat]
                self._tried.discard(seat)
        return overdue

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def empty(self) -> list[Pending]:
        with self._changed:
            rest = [pending for queue in self._queues.values() for pending in queue]
            self._queues.clear()
            self._changed.notify_all()
            return rest
