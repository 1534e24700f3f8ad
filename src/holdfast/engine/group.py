"""Runs one group: plan, lock, read, decide, write, commit, answer.

`GroupRunner.run` never raises and loses no command: each is answered, or returned as blocked (its
rows are locked) or to be run again (it needs more locks).
"""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec
from uuid import UUID

import structlog

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import (
    Footprint,
    Needs,
    Resource,
    ResourceKind,
    Survey,
)
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.ids import SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.queues import QueueKey
from holdfast.engine.limits import (
    ATTEMPTS_MAX,
    FRUITLESS_ROUNDS_MAX,
    OVERTAKEN_ROUNDS_MAX,
    RETRY_JITTER_SECONDS,
    ROUNDS_MAX,
    SAME_KEY_WAIT_SECONDS,
    WEIGHT_IN_MAIN_LANE_MAX,
    WEIGHT_PER_GROUP_MAX,
)
from holdfast.engine.lock_queues import LockQueues
from holdfast.engine.queue import Pending
from holdfast.engine.verdicts import Verdicts, decide_one
from holdfast.ports.engine import Answer, Observer
from holdfast.ports.store import (
    CommitState,
    CommitUnknown,
    Contended,
    Group,
    GroupWrites,
    Rejected,
    StoreConnection,
    StoreUnavailable,
    Wanted,
)

P = ParamSpec("P")

log = structlog.get_logger()

_SAME_KEY = {ResourceKind.IDEMPOTENCY_KEY, ResourceKind.HOLD_ID}


@dataclass(slots=True)
class GroupResult:
    """The commands left over after a group ran."""

    blocked: list[tuple[Pending, Resource]] = field(default_factory=list)
    again: list[Pending] = field(default_factory=list)

    def add(self, other: "GroupResult") -> None:
        self.blocked += other.blocked
        self.again += other.again


class GroupRunner:
    """Runs groups on one connection, for one thread. Commands of the main lane may have to join a
    lock queue; patient lanes serve these queues, and have none to send a command to."""

    def __init__(
        self,
        connection: StoreConnection,
        observers: Sequence[Observer],
        lock_queues: LockQueues | None = None,
    ) -> None:
        self._connection = connection
        self._observers = observers
        self._lock_queues = lock_queues
        self._entries_lost = 0

    def run(self, pendings: Sequence[Pending], wait_for: Resource | None = None) -> GroupResult:
        """Run a group. `wait_for` is the lock queue that the commands come from, if any."""
        for attempt in range(ATTEMPTS_MAX):
            pendings = self._drop_late(pendings)
            if not pendings:
                return GroupResult()
            verdicts = Verdicts()
            try:
                self._attempt(pendings, verdicts, wait_for)
            except Contended as error:
                if wait_for is not None:
                    waiting = _drop_repeats(pendings)
                    return GroupResult(blocked=[(pending, wait_for) for pending in waiting])
                log.info("group_contended", attempt=attempt, reason=str(error))
                time.sleep(random.uniform(0, RETRY_JITTER_SECONDS))  # noqa: S311
            except StoreUnavailable as error:
                log.warning("store_unavailable", attempt=attempt, reason=str(error))
                if attempt:
                    break
            except CommitUnknown as unknown:
                state = self._resolve(unknown)
                if state is CommitState.COMMITTED:
                    return self._conclude(verdicts)
                if state is CommitState.UNKNOWN:
                    break
            except Exception as error:
                return self._halve(pendings, error, wait_for)
            else:
                return self._conclude(verdicts)
        return self._give_up(pendings)

    def _attempt(
        self, pendings: Sequence[Pending], verdicts: Verdicts, wait_for: Resource | None
    ) -> None:
        """Plan with an unlocked survey, then run one transaction."""
        needs = _needs_of_all(pendings)
        survey = self._connection.survey(needs, is_patient=wait_for is not None)
        plan = GroupPlan(survey)
        planned: list[tuple[Pending, Footprint]] = []
        unplanned: list[Footprint] = []
        weight = 0
        for pending in pendings:
            footprint = plan.footprint(pending.command, pending.learnt)
            pending.is_large = footprint.weight > WEIGHT_IN_MAIN_LANE_MAX
            lock_queue = footprint.awaits
            queues = self._lock_queues
            if lock_queue is None and queues and (pending.is_large or queues.resources):
                lock_queue = queues.queue_for(pending.command.organization_id, footprint)
            is_too_much = footprint.is_unread or (
                weight and weight + footprint.weight > WEIGHT_PER_GROUP_MAX
            )
            if footprint.refusal is None and lock_queue is None and not is_too_much:
                weight += footprint.weight
                planned.append((pending, footprint))
                continue
            unplanned.append(footprint)
            if footprint.refusal is not None:
                verdicts.answers.append((pending, Answer(footprint.refusal)))
            elif lock_queue is not None:
                verdicts.blocked.append((pending, lock_queue))
            else:
                verdicts.again.append(pending)
        if planned:
            with self._connection.group() as group:
                ledger = _lock_and_read(group, planned, survey, wait_for)
                ledger.surveyed_pools = frozenset(pool_id for _, pool_id in needs.lapsed)
                for footprint in unplanned:
                    if footprint.claim is not None:
                        ledger.close_claim(footprint.claim)
                _decide_all(group, ledger, planned, survey, verdicts)

    def _conclude(self, verdicts: Verdicts) -> GroupResult:
        """Answer, now that the group has committed or had nothing to write."""
        for pending, answer in verdicts.answers:
            pending.answer(answer)
        if verdicts.transitions or verdicts.seat_transitions or verdicts.order_changes:
            for observer in self._observers:
                self._notify(
                    observer.committed,
                    verdicts.transitions,
                    verdicts.seat_transitions,
                    verdicts.order_changes,
                )
        for pending, answer in verdicts.answers:
            if isinstance(answer.outcome, Refusal):
                self._notify_refused(pending.command, answer.outcome)
        is_done = not (verdicts.blocked or verdicts.again)
        return GroupResult() if is_done else self._leftovers(verdicts)

    def _leftovers(self, verdicts: Verdicts) -> GroupResult:
        """The commands that stay blocked or run again; those beyond their limits are refused."""
        result = GroupResult()
        now = time.monotonic()
        for pending, resource in verdicts.blocked:
            if resource.kind not in _SAME_KEY:
                pending.same_key_since = None
            elif pending.same_key_since is None:
                pending.same_key_since = now
            elif now - pending.same_key_since > SAME_KEY_WAIT_SECONDS:
                pending.refuse(refusals.request_in_progress())
                continue
            result.blocked.append((pending, resource))
        for pending in verdicts.again:
            if (
                pending.fruitless_rounds < FRUITLESS_ROUNDS_MAX
                and pending.overtaken_rounds < OVERTAKEN_ROUNDS_MAX
                and pending.rounds < ROUNDS_MAX
            ):
                result.again.append(pending)
            else:
                self.refuse(pending, refusals.service_unavailable())
        return result

    def _drop_late(self, pendings: Sequence[Pending]) -> list[Pending]:
        """Refuse commands past their deadline. Only here, before they are decided."""
        now = time.monotonic()
        in_time = []
        for pending in pendings:
            if pending.deadline > now:
                in_time.append(pending)
            else:
                self.refuse(pending, refusals.service_unavailable())
        return in_time

    def refuse(self, pending: Pending, refusal: Refusal) -> None:
        """Give up on a command, with the best answer known for it."""
        refusal = pending.last_resort or refusal
        pending.refuse(refusal)
        self._notify_refused(pending.command, refusal)

    def _give_up(self, pendings: Sequence[Pending]) -> GroupResult:
        """Answer 503 after a failure of the store. Earlier rounds' refusals may be wrong, because
        the group may have committed."""
        for pending in pendings:
            pending.last_resort = None
            self.refuse(pending, refusals.service_unavailable())
        return GroupResult()

    def _notify_refused(self, command: Command, refusal: Refusal) -> None:
        for observer in self._observers:
            self._notify(observer.refused, command, refusal)

    def _notify(self, observe: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call an observer; its failure must not affect other observers or tenants."""
        try:
            observe(*args, **kwargs)
        except Exception:
            self._entries_lost += 1
            log.exception("observer_failed", count=self._entries_lost)

    def _resolve(self, unknown: CommitUnknown) -> CommitState:
        try:
            state = self._connection.resolve(unknown.token)
        except Exception:
            log.exception("commit_unresolved")
            state = CommitState.UNKNOWN
        log.warning("commit_unknown", resolved_as=state.name.lower())
        return state

    def _halve(
        self, pendings: Sequence[Pending], error: Exception, wait_for: Resource | None
    ) -> GroupResult:
        """Find the command that breaks the group by bisection, then log and answer an error."""
        if len(pendings) == 1:
            log.error(
                "command_failed",
                command=type(pendings[0].command).__name__,
                request_id=pendings[0].command.origin.request_id,
                exc_info=error,
            )
            pendings[0].refuse(refusals.internal_error())
            return GroupResult()
        level = log.info if isinstance(error, Rejected) else log.error
        level("group_halved", size=len(pendings), reason=type(error).__name__)
        middle = len(pendings) // 2
        result = self.run(pendings[:middle], wait_for)
        result.add(self.run(pendings[middle:], wait_for))
        return result


def _lock_and_read(
    group: Group,
    planned: Sequence[tuple[Pending, Footprint]],
    survey: Survey,
    wait_for: Resource | None,
) -> Ledger:
    wanted = Wanted(
        resources=frozenset[Resource]().union(
            *(footprint.required for _, footprint in planned),
            *(footprint.optional for _, footprint in planned),
        ),
        new_holds=[key for _, footprint in planned for key in footprint.new_holds],
        receipts=[
            (key.organization_id, key.receipt)
            for pending, _ in planned
            if (key := pending.command.idempotency) is not None and key.receipt is not None
        ],
        payments=[footprint.payment for _, footprint in planned if footprint.payment is not None],
        known=survey.known_holds() if survey.holds or survey.lapsed or survey.carts else {},
        holdings=[footprint.holding for _, footprint in planned if footprint.holding is not None],
        seatings=frozenset(survey.seatings),
        emails=[
            (pending.command.organization_id, holder.email)
            for pending, _ in planned
            if (holder := getattr(pending.command, "holder", None)) and holder.email
        ],
        attendees=[
            (pending.command.organization_id, attendee)
            for pending, footprint in planned
            for attendee in footprint.attendees
            if attendee is not None
        ],
        carts=[footprint.cart for _, footprint in planned if footprint.cart is not None],
        orders=survey.orders,
        parties=_most_parties(pending for pending, _ in planned),
    )
    ledger = group.lock_and_read(wanted, wait_for)
    ledger.seatings = {**survey.seatings, **ledger.seatings}
    return ledger


def _most_parties(pendings: Iterable[Pending]) -> dict[QueueKey, int]:
    """How many parties of each waitlist queue to read, so that it is enough for every command."""
    wanted: dict[QueueKey, int] = {}
    for pending in pendings:
        for key, count in pending.learnt.parties.items():
            wanted[key] = max(count, wanted.get(key, 0))
    return wanted


def _is_current(footprint: Footprint, ledger: Ledger, survey: Survey) -> bool:
    """Whether the catalog is unchanged since the survey."""
    return all(
        key in survey.sessions and survey.sessions[key].version == ledger.sessions[key].version
        for _, organization_id, name in footprint.required_of(ResourceKind.SESSION)
        if (key := (organization_id, SessionId(name))) in ledger.sessions
    )


def _decide_all(
    group: Group,
    ledger: Ledger,
    planned: Sequence[tuple[Pending, Footprint]],
    survey: Survey,
    verdicts: Verdicts,
) -> None:
    """Decide the commands one by one, then write and commit."""
    for pending, footprint in planned:
        missed = footprint.required & ledger.skipped if ledger.skipped else None
        if missed:
            verdicts.blocked.append((pending, min(missed)))
        else:
            proposal = footprint.proposal
            if proposal is not None and not _is_current(footprint, ledger, survey):
                proposal = None
            ledger.proposal = proposal
            decide_one(ledger, pending, verdicts, is_survey_useful=bool(footprint.optional))
        if footprint.claim is not None:
            ledger.close_claim(footprint.claim)
    is_dirty = any(waitlist.is_dirty() for waitlist in ledger.waitlists.values())
    if (
        verdicts.transitions
        or verdicts.seat_transitions
        or verdicts.order_changes
        or verdicts.recorded
        or verdicts.entries
        or is_dirty
    ):
        group.write_and_commit(
            GroupWrites(
                ledger,
                verdicts.transitions,
                verdicts.recorded,
                verdicts.seat_transitions,
                verdicts.checkouts,
                verdicts.orders,
                verdicts.order_changes,
                verdicts.changes,
                verdicts.entries,
            )
        )


def _needs_of_all(pendings: Sequence[Pending]) -> Needs:
    needs = [pending.command.needs(pending.learnt) for pending in pendings]
    return Needs(
        sessions=frozenset().union(*(need.sessions for need in needs)),
        holds=frozenset().union(*(need.holds for need in needs)),
        lapsed=frozenset().union(*(need.lapsed for need in needs)),
        wishes=tuple(wish for need in needs for wish in need.wishes),
        carts=tuple(cart for need in needs for cart in need.carts),
        orders=tuple(dict.fromkeys(key for need in needs for key in need.orders)),
        waitlists=frozenset().union(*(need.waitlists for need in needs)),
    )


def _drop_repeats(pendings: Sequence[Pending]) -> list[Pending]:
    """Of several blocked requests with the same key, keep the first; refuse the others after a
    while, because the first is still in progress."""
    now = time.monotonic()
    first_of: dict[UUID, Pending] = {}
    waiting = []
    for pending in pendings:
        key = pending.command.idempotency
        is_repeat = key is not None and first_of.setdefault(key.digest, pending) is not pending
        if is_repeat and now - pending.submitted_at > SAME_KEY_WAIT_SECONDS:
            pending.refuse(refusals.request_in_progress())
        else:
            waiting.append(pending)
    return waiting
