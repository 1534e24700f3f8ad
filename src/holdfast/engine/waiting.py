"""The room for commands whose rows somebody else has locked.

One line per locked resource, each served by at most one patient lane at a time. Whoever comes
later for a resource that has a line goes to its end, so arrival order is kept; whoever needs other
resources goes straight on in the main lane. Nobody waits behind a stranger's lock.

A line whose resource did not come free in its turn is served after those that were never tried,
and one lane is always kept for the latter: however many strangers sit on their locks, a line that
only needs a moment gets it.

Buyers do not wait long for a seat that somebody has locked: there are others to choose.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Set

from holdfast.domain.commands import FillCart, PlaceHold, RenewCart
from holdfast.domain.footprint import Resource, ResourceKind
from holdfast.engine.limits import POLL_SECONDS, SEAT_WAIT_SECONDS
from holdfast.engine.pending import Pending

Blocked = list[tuple[Pending, Resource]]


class WaitingRoom:
    def __init__(self, lanes: int) -> None:
        self._tried_served_max = max(1, lanes - 1)
        self._tried: set[Resource] = set()
        self._changed = threading.Condition()
        self._lines: dict[Resource, deque[Pending]] = {}
        self._served: set[Resource] = set()
        self._not_before: dict[Resource, float] = {}
        self._is_closed = False

    def line_for(self, footprint: Set[Resource]) -> Resource | None:
        """The line that a command with this footprint has to join, if there is one."""
        if not self._lines:
            return None
        with self._changed:
            return min(footprint & self._lines.keys(), default=None)

    def join(self, blocked: Iterable[tuple[Pending, Resource]]) -> None:
        with self._changed:
            for pending, resource in blocked:
                _begin_to_wait(pending, resource)
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
                    return resource, [line.popleft() for _ in range(min(count_max, len(line)))]
                if self._is_closed and not self._lines:
                    return None
                self._changed.wait(POLL_SECONDS if self._not_before else None)

    def _next_line(self) -> Resource | None:
        now = time.monotonic()
        due = [
            resource
            for resource, line in self._lines.items()
            if line and resource not in self._served and self._not_before.get(resource, 0.0) <= now
        ]
        for resource in due:
            if resource not in self._tried:
                return resource
        has_room = len(self._served & self._tried) < self._tried_served_max
        return due[0] if due and has_room else None

    def put_back(self, resource: Resource, leftovers: Blocked) -> Blocked:
        """The turn of this line is over; what could not be decided waits on, in its order. Returns
        the commands, of any line, that have waited long enough for a seat."""
        with self._changed:
            self._served.discard(resource)
            self._not_before.pop(resource, None)
            for pending, blocked_on in reversed(leftovers):
                _begin_to_wait(pending, blocked_on)
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
            overdue = self._take_overdue()
            self._changed.notify_all()
            return overdue

    def _take_overdue(self) -> Blocked:
        seats = [resource for resource in self._lines if resource.kind is ResourceKind.SEAT]
        if not seats:
            return []
        overdue: Blocked = []
        limit = time.monotonic() - SEAT_WAIT_SECONDS
        for seat in seats:
            line = self._lines[seat]
            late = [(pending, seat) for pending in line if _has_waited_since(pending, limit)]
            if late:
                overdue += late
                rest = [pending for pending in line if not _has_waited_since(pending, limit)]
                self._lines[seat] = deque(rest)
            if not self._lines[seat] and seat not in self._served:
                del self._lines[seat]
                self._tried.discard(seat)
        return overdue

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


def _begin_to_wait(pending: Pending, resource: Resource) -> None:
    takes_seats = isinstance(pending.command, PlaceHold | FillCart | RenewCart)
    if resource.kind is not ResourceKind.SEAT or not takes_seats:
        pending.seat_wanted_since = None
    elif pending.seat_wanted_since is None:
        pending.seat_wanted_since = time.monotonic()


def _has_waited_since(pending: Pending, moment: float) -> bool:
    return pending.seat_wanted_since is not None and pending.seat_wanted_since <= moment
