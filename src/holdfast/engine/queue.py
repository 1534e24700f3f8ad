"""The queue of the main lane: bounded, first come first served within an organization, and round
robin over organizations, so that one tenant's rush does not starve another.

Background commands of the reaper and the promoter are large and can wait. While people's commands
arrive, each group ends at most about half as many holds as it has commands (most holds get paid
for), but one batch at least. Without people for a moment, it takes many batches at once.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.holds.due_holds import DUE_BATCH_MAX
from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.engine import Answer, Deliver, Render

# About 500 holds at a time; larger groups gain little.
BACKGROUND_AT_ONCE = 32
# People who were just answered may be back at once.
PEOPLE_STAY_SECONDS = 0.25


@dataclass(slots=True, eq=False)
class Pending:
    """`deadline` is on this process's monotonic clock, unlike the times of holds."""

    command: Command
    render: Render | None
    deadline: float
    leave: Callable[["Pending"], None]
    deliver: Deliver
    answered: Answer | None = None
    submitted_at: float = field(default_factory=time.monotonic)
    rounds: int = 0
    fruitless_rounds: int = 0
    overtaken_rounds: int = 0
    last_resort: Refusal | None = None  # the answer instead of 503
    learnt: NeedsMore = NOTHING_MORE  # found missing by earlier rounds
    is_large: bool = False  # too large for the main lane
    same_key_since: float | None = None  # when another request with its key first blocked it

    def answer(self, answer: Answer) -> None:
        """Set the answer unless there is one. It leaves the queue first, to make room for the
        caller's next request."""
        if self.answered is not None:
            return
        self.answered = answer
        self.leave(self)
        self.deliver(answer)

    def refuse(self, refusal: Refusal) -> None:
        self.answer(Answer(refusal))


@dataclass(slots=True, eq=False)
class _Share:
    """The commands of one organization: those in the queue, and the number of unanswered ones."""

    queue: deque[Pending] = field(default_factory=deque)
    unanswered: int = 0


class FairQueue:
    def __init__(self, queue_max: int, share_max: int) -> None:
        self._queue_max = queue_max
        self._share_max = share_max
        # Faster to enter than the condition.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # Of organizations with unanswered commands.
        self._shares: dict[OrganizationId, _Share] = {}
        # Those with commands in the queue, in the order of their turns.
        self._turns: deque[_Share] = deque()
        self._first: deque[Pending] = deque()
        self._background: deque[Pending] = deque()
        self._people_until = 0.0
        self._unanswered_total = 0
        self._is_closed = False

    def put(self, pending: Pending) -> bool:
        """Queue a command. False if the queue, or the organization's share of it, is full, or the
        queue is closed."""
        organization_id = pending.command.organization_id
        with self._lock:
            if self._is_closed:
                return False
            if pending.command.is_background:
                # Not counted: a tenant that fills its share also has many holds to expire.
                self._background.append(pending)
                self._changed.notify()
                return True
            share = self._shares.get(organization_id) or _Share()
            if self._unanswered_total >= self._queue_max or share.unanswered >= self._share_max:
                return False
            if not share.unanswered:
                self._shares[organization_id] = share
            if not share.queue:
                self._turns.append(share)
            share.queue.append(pending)
            share.unanswered += 1
            self._unanswered_total += 1
            self._changed.notify()
        return True

    def put_first(self, pendings: Iterable[Pending]) -> None:
        """Return commands to the head of the queue; they are already counted."""
        with self._lock:
            self._first.extend(pendings)
            self._changed.notify()

    def leave(self, pending: Pending) -> None:
        """Free the room of an answered command."""
        if pending.command.is_background:
            return
        organization_id = pending.command.organization_id
        with self._lock:
            share = self._shares[organization_id]
            share.unanswered -= 1
            if not share.unanswered:
                del self._shares[organization_id]
            self._unanswered_total -= 1

    def take(self, count_max: int) -> list[Pending]:
        """Take queued commands; blocks while there are none. Empty only when closed and done."""
        with self._lock:
            while not (self._first or self._turns or self._background or self._is_closed):
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
        while self._turns and len(taken) < count_max:
            share = self._turns.popleft()
            taken.append(share.queue.popleft())
            if share.queue:
                # To the end of the round, after all other organizations.
                self._turns.append(share)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()

    def empty(self) -> list[Pending]:
        """Remove and return everything still queued, for a final answer."""
        with self._lock:
            queues = [self._first, self._background, *(share.queue for share in self._turns)]
            rest = [pending for queue in queues for pending in queue]
            for queue in queues:
                queue.clear()
            self._turns.clear()
            return rest

    def unanswered(self) -> int:
        with self._lock:
            return self._unanswered_total
