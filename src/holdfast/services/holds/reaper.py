"""The reaper: writes down that holds have lapsed, and warns their holders before, so that the facts
are timely. It is never safety: a lapsed hold blocks nobody, whether the reaper came by or not.

It looks without locks and submits commands like everybody else, so several of them do no harm, and
one that is killed leaves nothing half done. Holds whose rows somebody else has locked are left out
of the next looks: however many they are, they delay nobody else.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from operator import attrgetter

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Expired, Warned
from holdfast.domain.holds.due_holds import DUE_BATCH_MAX
from holdfast.domain.holds.expire_holds import ExpireHolds
from holdfast.domain.holds.warn_holds import WarnHolds
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import DueHold, Housekeeping
from holdfast.ports.store import StoreError

HOLDS_PER_RUN = 32 * DUE_BATCH_MAX
WAIT_SECONDS = 30.0
# In a turn among others, what somebody else has locked is waited for only so long.
TURN_SECONDS = 1.0
# A session whose holds were refused is left alone for so long.
REST_SECONDS = 5.0
# With more sessions than this blocked, it is not their fault: then everything pauses.
SKIPPED_MAX = 1_000
# Holds end at whole seconds: being there a moment later finds all that end together.
AFTER_DUE_SECONDS = 0.01

_log = structlog.get_logger("holdfast.reaper")


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one run found and did. Parties on the waitlist that ran out of time are not among the
    `expired_holds`; `processed_successfully` are of both, `waiting_processed` of the parties.
    Failed are those that were found lapsed and not expired by it: refused, unanswered, or ended by
    somebody else meanwhile. `blocked` are the sessions where a command was refused or unanswered:
    the next run should skip them for a while."""

    expired_holds: int = 0
    expired_waiting: int = 0
    processed_successfully: int = 0
    waiting_processed: int = 0
    tickets_released: int = 0
    warned: int = 0
    found: int = 0
    duration_ms: int = 0
    blocked: frozenset[SessionId] = frozenset()

    @property
    def processed_failed(self) -> int:
        return self.expired_holds + self.expired_waiting - self.processed_successfully

    @property
    def may_be_more(self) -> bool:
        """The run was full and moved on, or found out what to skip: another one is due at once."""
        has_moved = self.processed_successfully + self.warned > 0
        return self.found >= HOLDS_PER_RUN and (has_moved or bool(self.blocked))


@dataclass(slots=True)
class Reaper:
    housekeeping: Housekeeping
    submit: Submit
    wait_seconds: float = WAIT_SECONDS
    # Sessions to skip: while their commands are unanswered, and for a while after a refusal.
    _unanswered: dict[Future[Answer], frozenset[SessionId]] = field(default_factory=dict)
    _resting: dict[SessionId, float] = field(default_factory=dict)
    # Sessions that were blocked lately share no batch with others of their organization.
    _suspects: set[SessionId] = field(default_factory=set)

    def due(self, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        """What the next run would find."""
        return self.housekeeping.due_holds(HOLDS_PER_RUN, skipped)

    def run_once(
        self, skipped: Collection[SessionId] = (), wait_seconds: float | None = None
    ) -> Reaped:
        """May raise StoreError: then nothing was done."""
        started = time.monotonic()
        due = self.due(skipped)
        if not due:
            return Reaped()
        origin = Origin(actor="reaper", request_id=str(uuid7()))
        batches = {
            self.submit.submit(batch.command(origin)): batch
            for batch in _batches(due, self._suspects)
        }
        limit = self.wait_seconds if wait_seconds is None else wait_seconds
        finished, unanswered = wait(batches, timeout=limit)
        if unanswered:
            _log.warning("reaper.unanswered", commands=len(unanswered))
        expired, warned = _done(finished)
        blocked = self._blocked(batches)
        ended = [hold for hold in due if hold.hold_id in expired]
        reaped = Reaped(
            expired_holds=sum(hold.is_lapsed and not hold.is_waiting for hold in due),
            expired_waiting=sum(hold.is_lapsed and hold.is_waiting for hold in due),
            processed_successfully=len(expired),
            waiting_processed=sum(hold.is_waiting for hold in ended),
            tickets_released=sum(hold.quantity for hold in ended),
            warned=len(warned),
            found=len(due),
            duration_ms=int((time.monotonic() - started) * 1000),
            blocked=blocked,
        )
        _log_run(reaped)
        return reaped

    def tend(self, interval_seconds: float) -> float:
        """One run, and how long to wait for the next: until something is due, and never longer than
        the interval, for a hold that is placed meanwhile may end before all others."""
        try:
            with self.housekeeping.reaping() as is_ours:
                if is_ours and self._take_turn():
                    return 0.0
            until_due = self.housekeeping.seconds_until_due()
        except StoreError as error:
            _log.warning("reaper.failed", problem=type(error).__name__)
            return interval_seconds
        if until_due is None:
            return interval_seconds
        # What is overdue was tried just now and not done: not again at once.
        return min(interval_seconds, until_due + AFTER_DUE_SECONDS if until_due > 0 else 1.0)

    def _take_turn(self) -> bool:
        """A run that waits for nobody's lock; says whether the next is due at once."""
        now = time.monotonic()
        self._resting = {id_: until for id_, until in self._resting.items() if until > now}
        self._unanswered = {
            future: sessions for future, sessions in self._unanswered.items() if not future.done()
        }
        skipped = frozenset(self._resting).union(*self._unanswered.values())
        if len(skipped) > SKIPPED_MAX:
            return False
        return self.run_once(skipped, TURN_SECONDS).may_be_more

    def _blocked(self, batches: Mapping[Future[Answer], "_Batch"]) -> frozenset[SessionId]:
        """The sessions of batches that were refused or not answered, remembered until they may be
        tried again."""
        blocked: set[SessionId] = set()
        for future, batch in batches.items():
            if not future.done():
                self._unanswered[future] = batch.sessions
            elif isinstance(future.result().outcome, Refusal):
                rest_until = time.monotonic() + REST_SECONDS
                self._resting |= dict.fromkeys(batch.sessions, rest_until)
            else:
                self._suspects -= batch.sessions
                continue
            blocked |= batch.sessions
        if len(self._suspects) > SKIPPED_MAX:
            self._suspects.clear()
        self._suspects |= blocked
        return frozenset(blocked)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What goes into one command: holds of one organization, all lapsed or all to be warned."""

    organization_id: OrganizationId
    is_lapsed: bool
    hold_ids: tuple[HoldId, ...]
    sessions: frozenset[SessionId]

    def command(self, origin: Origin) -> ExpireHolds | WarnHolds:
        make = ExpireHolds if self.is_lapsed else WarnHolds
        return make(self.organization_id, self.hold_ids, origin)


def _log_run(reaped: Reaped) -> None:
    _log.info(
        "reaper.run",
        expired_holds=reaped.expired_holds,
        expired_waiting=reaped.expired_waiting,
        processed_successfully=reaped.processed_successfully,
        processed_failed=reaped.processed_failed,
        tickets_released=reaped.tickets_released,
        warned=reaped.warned,
        duration_ms=reaped.duration_ms,
    )


def _batches(due: Iterable[DueHold], suspects: Set[SessionId]) -> Iterator[_Batch]:
    """One organization at a time, and its sessions one after the other. A session that was blocked
    lately is kept apart from the others: it would block them as well."""
    grouped: defaultdict[tuple[OrganizationId, bool, SessionId | None], list[DueHold]]
    grouped = defaultdict(list)
    for hold in due:
        apart = hold.session_id if hold.session_id in suspects else None
        grouped[hold.organization_id, hold.is_lapsed, apart].append(hold)
    for (organization_id, is_lapsed, _), holds in grouped.items():
        holds.sort(key=attrgetter("session_id"))
        for start in range(0, len(holds), DUE_BATCH_MAX):
            part = holds[start : start + DUE_BATCH_MAX]
            hold_ids = tuple(hold.hold_id for hold in part)
            sessions = frozenset(hold.session_id for hold in part)
            yield _Batch(organization_id, is_lapsed, hold_ids, sessions)


def _done(finished: Iterable[Future[Answer]]) -> tuple[set[HoldId], set[HoldId]]:
    expired: set[HoldId] = set()
    warned: set[HoldId] = set()
    for future in finished:
        match future.result().outcome:
            case Expired(hold_ids):
                expired.update(hold_ids)
            case Warned(hold_ids):
                warned.update(hold_ids)
    return expired, warned
