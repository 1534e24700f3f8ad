"""The queue in front of the main lane: bounded, first come first served within an organization,
round robin over organizations, so that one tenant's rush does not starve another.

What the reaper and the promoter ask for is large and can wait: while people are there, about half
as many holds end as they place along with theirs (most holds are paid for), and a few between them;
many at once only when nobody was there for a moment.
"""

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable

from holdfast.domain.holds.due_holds import DUE_BATCH_MAX
from holdfast.domain.ids import OrganizationId
from holdfast.engine.pending import Pending

# Five hundred holds at a time, by far most of what can be gained by doing many at once.
BACKGROUND_AT_ONCE = 32
# Who was answered just now may be back at once.
PEOPLE_STAY_SECONDS = 0.25


class FairQueue:
    def __init__(self, queue_max: int, share_max: int) -> None:
        self._queue_max = queue_max
        self._share_max = share_max
        self._changed = threading.Condition()
        self._lines: OrderedDict[OrganizationId, deque[Pending]] = OrderedDict()
        self._first: deque[Pending] = deque()
        self._background: deque[Pending] = deque()
        self._people_until = 0.0
        self._unanswered: Counter[OrganizationId] = Counter()
        self._unanswered_total = 0
        self._is_closed = False

    def put(self, pending: Pending) -> bool:
        """False when there is no room, for anyone or for this organization, or no more work is
        taken in."""
        organization_id = pending.command.organization_id
        with self._changed:
            if self._is_closed:
                return False
            if pending.command.is_background:
                # Not counted: a tenant whose people fill its share has as many holds to be ended.
                self._background.append(pending)
                self._changed.notify()
                return True
            if (
                self._unanswered_total >= self._queue_max
                or self._unanswered[organization_id] >= self._share_max
            ):
                return False
            self._unanswered_total += 1
            self._unanswered[organization_id] += 1
            line = self._lines.get(organization_id)
            if line is None:
                line = self._lines[organization_id] = deque()
            line.append(pending)
            self._changed.notify()
        return True

    def put_first(self, pendings: Iterable[Pending]) -> None:
        """Back to the head of the queue: they have been counted and have waited already."""
        with self._changed:
            self._first.extend(pendings)
            self._changed.notify()

    def leave(self, pending: Pending) -> None:
        """The command is answered; its room is free."""
        if pending.command.is_background:
            return
        organization_id = pending.command.organization_id
        with self._changed:
            self._unanswered_total -= 1
            self._unanswered[organization_id] -= 1
            if not self._unanswered[organization_id]:
                del self._unanswered[organization_id]

    def take(self, count_max: int) -> list[Pending]:
        """Whatever waits, up to the maximum; blocks while nothing does. Empty: closed and done."""
        with self._changed:
            while not (self._first or self._lines or self._background or self._is_closed):
                self._changed.wait()
            taken: list[Pending] = []
            while self._first and len(taken) < count_max:
                taken.append(self._first.popleft())
            self._take_in_turns(taken, count_max)
            # Background commands that need another round come back at the head of the queue.
            people = sum(not pending.command.is_background for pending in taken)
            if people:
                self._people_until = time.monotonic() + PEOPLE_STAY_SECONDS
            if self._background:
                self._take_background(taken, people)
            return taken

    def _take_background(self, taken: list[Pending], people: int) -> None:
        with_people = max(1, people // (2 * DUE_BATCH_MAX))
        is_quiet = time.monotonic() >= self._people_until
        at_once = BACKGROUND_AT_ONCE if is_quiet else with_people
        count = min(len(self._background), at_once)
        taken.extend(self._background.popleft() for _ in range(count))

    def _take_in_turns(self, taken: list[Pending], count_max: int) -> None:
        while self._lines and len(taken) < count_max:
            organization_id, line = self._lines.popitem(last=False)
            taken.append(line.popleft())
            if line:
                # To the end of the round: everyone else is served before its next command.
                self._lines[organization_id] = line

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def empty(self) -> list[Pending]:
        """Everything that still waits, for whoever has to answer it at the very end."""
        with self._changed:
            lines = (self._first, self._background, *self._lines.values())
            rest = [pending for line in lines for pending in line]
            self._first.clear()
            self._background.clear()
            self._lines.clear()
            return rest

    def unanswered(self) -> int:
        with self._changed:
            return self._unanswered_total
