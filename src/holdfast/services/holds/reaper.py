"""The reaper: marks lapsed holds as expired, and warns their holders beforehand. Only the
timeliness of facts depends on it: a lapsed hold blocks nobody, even before the reaper finds it.

It reads without locks and submits ordinary commands, so several reapers do no harm, and one that is
killed leaves nothing half done. It skips sessions with locked holds for a while: they delay no
others.
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
from holdfast.domain.holds.due_holds import DUE_BATCH_MAX, ExpireHolds, WarnHolds
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import DueHold, Housekeeping
from holdfast.ports.store import StoreError

HOLDS_PER_RUN = 32 * DUE_BATCH_MAX
WAIT_SECONDS = 30.0
# The background worker waits only this long for commands behind others' locks.
TURN_SECONDS = 1.0
# How long a session is skipped after a refusal.
REST_SECONDS = 5.0
# With more sessions blocked, the sessions are not the cause, and everything pauses.
SKIPPED_MAX = 1_000
# Holds expire at whole seconds: a run just after one finds all that expire together.
AFTER_DUE_SECONDS = 0.01

_log = structlog.get_logger("holdfast.reaper")


@immutable
class Reaped:
    """The result of one run. `expired_holds` excludes expired waitlist entries (`expired_waiting`);
    `processed_successfully` counts both kinds, `waiting_processed` only the latter. A hold fails if
    its command was refused or unanswered, or if it was ended by others in the meantime. `blocked`
    are the sessions of refused and unanswered commands, which the next run should skip."""

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
        """Whether to run again at once: the run was full, and made progress or found sessions to
        skip."""
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
    # Sessions blocked recently, which share no batch with others of their organization.
    _suspects: set[SessionId] = field(default_factory=set)

    def due(self, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        """The holds that the next run would find."""
        return self.housekeeping.due_holds(HOLDS_PER_RUN, skipped)

    def run_once(
        self, skipped: Collection[SessionId] = (), wait_seconds: float | None = None
    ) -> Reaped:
        """May raise StoreError, before anything was done."""
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
        """Run once; returns the seconds until something is due, at most the interval: a hold placed
        in the meantime may be due before all others."""
        try:
            with self.housekeeping.reaping() as is_ours:
                if is_ours and self._take_turn():
                    return 0.0
            until_due = self.housekeeping.seconds_until_due()
        except StoreError as error:
            _log.warning("reaper.failed", problem=error.problem)
            return interval_seconds
        if until_due is None:
            return interval_seconds
        # Overdue holds were just tried in vain: wait before the next try.
        return min(interval_seconds, until_due + AFTER_DUE_SECONDS if until_due > 0 else 1.0)

    def _take_turn(self) -> bool:
        """A run that skips blocked sessions; returns whether the next is due at once."""
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
        """The sessions of refused and unanswered batches, remembered until the next try."""
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


@immutable
class _Batch:
    """The holds for one command: of one organization, all lapsed or all to be warned."""

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
    """Batches by organization, sorted by session. A recently blocked session gets batches of its
    own, because it would block the others too."""
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
