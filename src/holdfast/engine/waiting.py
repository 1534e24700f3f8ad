"""The room for commands whose rows somebody else has locked, and for large ones.

One line per locked resource, each served by at most one patient lane at a time. Whoever comes
later for a resource that has a line goes to its end, so arrival order is kept; whoever needs other
resources goes straight on in the main lane. Nobody waits behind a stranger's lock.

A line whose resource did not come free in its turn is served after those that were never tried,
and one lane is always kept for the latter: however many strangers sit on their locks, a line that
only needs a moment gets it.

A large command would keep everybody in the main lane waiting. Each organization has a line for
them, and one of all these lines is served at a time, by one command.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable
from uuid import UUID

from holdfast.domain.footprint import Footprint, Resource, ResourceKind
from holdfast.domain.ids import OrganizationId
from holdfast.engine.limits import POLL_SECONDS, WEIGHT_IN_MAIN_LANE_MAX
from holdfast.engine.pending import Pending

_NO_NAME = UUID(int=0)


class WaitingRoom:
    def __init__(self, lanes: int) -> None:
        self._tried_served_max = max(1, lanes - 1)
        self._tried: set[Resource] = set()
        self._changed = threading.Condition()
        self._lines: dict[Resource, deque[Pending]] = {}
        self._served: set[Resource] = set()
        self._not_before: dict[Resource, float] = {}
        self._is_closed = False

    def line_for(self, organization_id: OrganizationId, footprint: Footprint) -> Resource | None:
        """The line that a command with this footprint has to join, if there is one."""
        line = self._line_of_locked(footprint) if self._lines else None
        if line is None and footprint.weight > WEIGHT_IN_MAIN_LANE_MAX:
            return Resource(ResourceKind.LARGE, organization_id, _NO_NAME)
        return line

    def _line_of_locked(self, footprint: Footprint) -> Resource | None:
        with self._changed:
            return min(footprint.required & self._lines.keys(), default=None)

    def join(self, blocked: Iterable[tuple[Pending, Resource]]) -> None:
        with self._changed:
            for pending, resource in blocked:
                self._lines.setdefault(resource, deque()).append(pending)
            self._changed.notify_all()

    def take(self, count_max: int) -> tuple[Resource, list[Pending]] | None:
        """A line that nobody serves and its first commands; blocks. None: closed and done."""
        with self._changed:
            while True:
                resource = self._next_line()
                if resource is not None:
                    self._served.add(resource)
                    line = self._lines[resource]
                    count_max = 1 if _is_large(resource) else count_max
                    return resource, [line.popleft() for _ in range(min(count_max, len(line)))]
                if self._is_closed and not self._lines:
                    return None
                self._changed.wait(POLL_SECONDS if self._not_before else None)

    def _next_line(self) -> Resource | None:
        now = time.monotonic()
        is_large_served = any(map(_is_large, self._served))
        due = [
            resource
            for resource, line in self._lines.items()
            if line
            and resource not in self._served
            and self._not_before.get(resource, 0.0) <= now
            and not (is_large_served and _is_large(resource))
        ]
        for resource in due:
            if resource not in self._tried:
                return resource
        has_room = len(self._served & self._tried) < self._tried_served_max
        return due[0] if due and has_room else None

    def put_back(self, resource: Resource, leftovers: list[tuple[Pending, Resource]]) -> None:
        """The turn of this line is over; what could not be decided waits on, in its order."""
        with self._changed:
            self._served.discard(resource)
            self._not_before.pop(resource, None)
            for pending, blocked_on in reversed(leftovers):
                self._lines.setdefault(blocked_on, deque()).appendleft(pending)
                if not blocked_on.kind.is_row:
                    self._not_before[blocked_on] = time.monotonic() + POLL_SECONDS
            line = self._lines.pop(resource, None)
            if any(blocked_on == resource for _, blocked_on in leftovers):
                self._tried.add(resource)
            else:
                self._tried.discard(resource)
            if line:
                # To the end of the round. An empty line is gone: newcomers take the main lane.
                self._lines[resource] = line
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def empty(self) -> list[Pending]:
        with self._changed:
            rest = [pending for line in self._lines.values() for pending in line]
            self._lines.clear()
            self._changed.notify_all()
            return rest


def _is_large(resource: Resource) -> bool:
    return resource.kind is ResourceKind.LARGE
