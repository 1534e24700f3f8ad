"""Decides one command of a group, and keeps the results until the group has committed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from holdfast.domain import refusals
from holdfast.domain.facts import AuditRecord, serving_audit
from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Resource
from holdfast.domain.group.ledger import Ledger, RecordedAnswer
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.group.outcomes import (
    AlreadyConverted,
    AwaitsInventory,
    CartChanged,
    Decision,
    NeedsMore,
    Outcome,
    Promoted,
    Waiting,
)
from holdfast.domain.group.transitions import FactType, SeatTransition, Transition
from holdfast.domain.orders.cancellation import Cancellation
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.promotion import missing_of, settle
from holdfast.engine.queue import Pending
from holdfast.ports.engine import Answer
from holdfast.ports.store import Change

log = structlog.get_logger()


@dataclass(slots=True)
class Verdicts:
    """The decisions of one attempt. They count only once the group has committed."""

    answers: list[tuple[Pending, Answer]] = field(default_factory=list)
    again: list[Pending] = field(default_factory=list)
    blocked: list[tuple[Pending, Resource]] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    seat_transitions: list[SeatTransition] = field(default_factory=list)
    checkouts: list[Checkout] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    order_changes: list[OrderChange] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)  # all of these, in this order
    recorded: list[tuple[IdempotencyKey, RecordedAnswer]] = field(default_factory=list)
    entries: list[AuditRecord] = field(default_factory=list)

    def collect(self, decision: Decision) -> None:
        self.transitions += decision.transitions
        self.changes += decision.transitions
        if decision.seat_transitions:
            self.seat_transitions += decision.seat_transitions
            self.changes += decision.seat_transitions
        if decision.checkout is not None:
            self.checkouts.append(decision.checkout)
        if decision.order is not None:
            self.orders.append(decision.order)
            self.changes.append(decision.order)
        if decision.order_change is not None:
            self.order_changes.append(decision.order_change)
            self.changes.append(decision.order_change)


def decide_one(
    ledger: Ledger, pending: Pending, verdicts: Verdicts, *, is_survey_useful: bool
) -> None:
    """Decide a command on the ledger as earlier commands left it. Only complete decisions are
    applied, so an error fails just this command."""
    try:
        key = pending.command.idempotency
        replay = None if key is None else _replay(ledger, key)
        if replay is not None:
            verdicts.answers.append((pending, replay))
            return
        decision = pending.command.decide(ledger)
        body = None
        # An order made earlier is read by the caller that renders the answer, and a pending hold
        # has no answer yet.
        if pending.render is not None and not isinstance(
            decision.outcome, NeedsMore | AlreadyConverted | AwaitsInventory
        ):
            body = pending.render(decision.outcome)
        ledger.apply(
            decision.transitions, decision.seat_transitions, decision.order, decision.passed
        )
        if decision.order_change is not None:
            ledger.change_order(decision.order_change)
    except Exception:
        log.exception(
            "command_failed",
            command=type(pending.command).__name__,
            request_id=pending.command.origin.request_id,
        )
        verdicts.answers.append((pending, Answer(refusals.internal_error())))
        return
    verdicts.collect(decision)
    outcome, promoted = decision.outcome, list[Transition]()
    if ledger.waitlists:
        promoted = _settled(ledger, pending.command, decision)
        verdicts.transitions += promoted
        verdicts.changes += promoted
        outcome = _after_promotions(ledger, pending.command, outcome, promoted)
    if isinstance(outcome, NeedsMore):
        has_moved = bool(decision.transitions or promoted) or is_survey_useful
        _learn(pending, outcome, has_moved)
        verdicts.again.append(pending)
        return
    if outcome is not decision.outcome and pending.render is not None:
        body = pending.render(outcome)
    verdicts.answers.append((pending, Answer(outcome, body)))
    served, origin = pending.command.promotes, pending.command.origin
    if served is not None and origin.reason is not None:
        verdicts.entries.append(serving_audit(served, origin))
    if key is not None:
        _record(ledger, key, outcome, body, verdicts)


def _settled(ledger: Ledger, command: Command, decision: Decision) -> list[Transition]:
    """Give freed places to the waitlist before the next command is decided. An error here fails the
    attempt, because the ledger may be half changed."""
    promoted = command.promotes
    sessions = {each.after.session_key for each in decision.transitions if each.frees_places}
    sessions |= {
        (each.after.organization_id, each.after.session_id) for each in decision.seat_transitions
    }
    if isinstance(decision.order_change, Cancellation):
        sessions |= decision.order_change.session_keys
    if promoted is not None:
        sessions.add(promoted)
    if not sessions:
        return []
    return [
        transition
        for session_key in sorted(sessions)
        for transition in settle(
            ledger, session_key, command.origin, is_last_look=promoted is not None
        )
    ]


def _after_promotions(
    ledger: Ledger, command: Command, outcome: Outcome | NeedsMore, settled: Sequence[Transition]
) -> Outcome | NeedsMore:
    """The outcome after promotions: a waiting hold may have been promoted at once, and the promoter
    continues until no lock is missing."""
    if isinstance(outcome, Waiting) and settled:
        hold = ledger.holds[outcome.hold.key]
        if not hold.occupies_places():
            return outcome
        return CartChanged(hold, outcome.at, acquired=hold.quantity)
    if command.promotes is not None and isinstance(outcome, Promoted):
        waitlist = ledger.waitlists.get(command.promotes)
        missing = None if waitlist is None else missing_of(waitlist)
        count = sum(each.fact_type is FactType.HOLD_PROMOTED for each in settled)
        return missing or Promoted(count, ledger.now)
    return outcome


def _record(
    ledger: Ledger, key: IdempotencyKey, outcome: Outcome, body: bytes | None, verdicts: Verdicts
) -> None:
    """Record the answer for repeated requests, or the receipt of a processed message."""
    is_refusal = isinstance(outcome, Refusal)
    if key.receipt is not None:
        if not is_refusal:
            ledger.receipts.add((key.organization_id, key.receipt))
            verdicts.recorded.append((key, RecordedAnswer(key.fingerprint, b"")))
        return
    is_final = not (isinstance(outcome, Refusal) and outcome.code.is_retryable)
    if body is not None and is_final:
        recorded = RecordedAnswer(key.fingerprint, body)
        ledger.answers[key.organization_id, key.digest] = recorded
        verdicts.recorded.append((key, recorded))


def _learn(pending: Pending, needs: NeedsMore, has_moved: bool) -> None:
    """Count rounds without progress against the command. Rounds that made room or learnt something
    don't count; being overtaken counts, with a higher limit, if there is another answer."""
    learnt = pending.learnt.and_(needs)
    if needs.was_overtaken:
        pending.overtaken_rounds += needs.otherwise is not None
    elif learnt == pending.learnt and not has_moved:
        pending.fruitless_rounds += 1
    pending.rounds += 1
    pending.learnt = learnt
    pending.last_resort = needs.otherwise


def _replay(ledger: Ledger, key: IdempotencyKey) -> Answer | None:
    if key.receipt is not None and (key.organization_id, key.receipt) in ledger.receipts:
        return Answer(None, is_replay=True)
    recorded = ledger.answers.get((key.organization_id, key.digest))
    if recorded is None:
        return None
    if recorded.fingerprint == key.fingerprint:
        return Answer(None, recorded.body, is_replay=True)
    return Answer(refusals.idempotency_key_reused())
