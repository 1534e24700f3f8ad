"""Making a hold last longer: asked for by its holder or an operator, or by going to pay."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.commands import ExtendHold, StartCheckout
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import CheckoutStarted, Decision, Extended, NeedsMore
from holdfast.domain.holds.hold import Hold, rounded_up
from holdfast.domain.holds.preconditions import refuse_status
from holdfast.domain.holds.transitions import Transition
from holdfast.domain.ids import CheckoutId
from holdfast.domain.orders.order import SEATS_PER_ORDER_MAX, TICKETS_PER_ORDER_MAX, Checkout
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


def extend(ledger: Ledger, command: ExtendHold) -> Decision:
    hold = ledger.holds.get(command.hold_key)
    if hold is None or not is_of(hold, command.holder):
        return Decision(refusals.hold_not_found())
    if hold.is_expired(ledger.now):
        return Decision(refusals.hold_expired())
    if not hold.can_extend(ledger.now):
        return Decision(refusals.invalid_hold_state(hold.status.value))
    if not ledger.knows_places_of(hold):
        return Decision(NeedsMore())
    session = ledger.sessions[hold.session_key]
    refusal = refuse_status(session)
    if refusal is not None:
        return Decision(refusal)
    until = _later(ledger.now, hold, command.seconds)
    if not command.is_operator:
        until = min(until, _end_of_life(session, hold))
    if until <= hold.expires_at:
        return Decision(refusals.extension_limit_reached(hold.expires_at))
    extended = hold.extended(ledger.now, until, warning_seconds(session, hold))
    transition = Transition(hold, extended, command.origin, command.is_operator)
    return Decision(Extended(extended, ledger.now), (transition,))


def start_checkout(ledger: Ledger, command: StartCheckout) -> Decision:
    if not command.hold_ids:
        return Decision(refusals.empty_cart())
    holds = [ledger.holds[key] for key in command.hold_keys if key in ledger.holds]
    if len(holds) < len(command.hold_ids) or not all(is_of(hold, command.holder) for hold in holds):
        return Decision(refusals.hold_not_found())
    refusal = _refuse_checkout(ledger, holds)
    if refusal is not None:
        return Decision(refusal)
    if not all(map(ledger.knows_places_of, holds)):
        return Decision(NeedsMore())
    checkout_id = command.checkout_id
    if all(hold.checkout_id == checkout_id for hold in holds):
        return Decision(CheckoutStarted(checkout_id, tuple(holds), ledger.now, is_repeat=True))
    transitions = tuple(
        Transition(hold, _checked_out(ledger, hold, checkout_id), command.origin)
        for hold in holds
        if hold.checkout_id != checkout_id
    )
    changed = {each.after.id: each.after for each in transitions}
    started = CheckoutStarted(
        checkout_id, tuple(changed.get(hold.id, hold) for hold in holds), ledger.now
    )
    checkout = Checkout(command.organization_id, checkout_id, command.hold_ids, ledger.now)
    return Decision(started, transitions, checkout=checkout)


def _checked_out(ledger: Ledger, hold: Hold, checkout_id: CheckoutId) -> Hold:
    """The first checkout of a hold extends it; going there again does not."""
    session = ledger.sessions[hold.session_key]
    until = hold.expires_at
    if hold.checkout_id is None:
        seconds = min(policy.checkout_extension_seconds for policy in _policies(session, hold))
        until = min(_later(ledger.now, hold, seconds), _end_of_life(session, hold))
    return hold.checked_out(ledger.now, checkout_id, until, warning_seconds(session, hold))


def _refuse_checkout(ledger: Ledger, holds: Sequence[Hold]) -> Refusal | None:
    """Nobody is sent to pay for what could not be sold to them afterwards."""
    for hold in holds:
        refusal = refuse_status(ledger.sessions[hold.session_key])
        if refusal is not None:
            return refusal
    now = ledger.now
    lapsed = [hold for hold in holds if hold.is_expired(now)]
    if lapsed:
        return refusals.expired_before_checkout([str(hold.id) for hold in lapsed])
    ended = next((hold for hold in holds if not hold.is_active(now)), None)
    if ended is not None:
        return refusals.invalid_hold_state(ended.status.value)
    return refuse_mixture(holds)


def refuse_mixture(holds: Sequence[Hold]) -> Refusal | None:
    """One order has one holder, one currency and not too many tickets."""
    first, *others = holds
    if any(not hold.holder.is_person(first.holder) for hold in others):
        return refusals.different_holders()
    if any(hold.currency != first.currency for hold in others):
        return refusals.different_currencies()
    if sum(hold.quantity for hold in holds) > TICKETS_PER_ORDER_MAX:
        return refusals.too_many_tickets(TICKETS_PER_ORDER_MAX)
    if sum(len(hold.seats) for hold in holds) > SEATS_PER_ORDER_MAX:
        return refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
    return None


def is_of(hold: Hold, holder: Holder | None) -> bool:
    """A stranger is told nothing of a hold, not even that it is there."""
    return holder is None or hold.holder.is_person(holder)


def warning_seconds(session: SessionCatalogue, hold: Hold) -> int:
    return max(policy.warning_seconds for policy in _policies(session, hold))


def _later(now: datetime, hold: Hold, seconds: int) -> datetime:
    return max(hold.expires_at, rounded_up(now)) + timedelta(seconds=seconds)


def _end_of_life(session: SessionCatalogue, hold: Hold) -> datetime:
    seconds = min(policy.lifetime_max_seconds for policy in _policies(session, hold))
    return rounded_up(hold.held_at or hold.created_at) + timedelta(seconds=seconds)


def _policies(session: SessionCatalogue, hold: Hold) -> list[HoldPolicy]:
    return [session.offers[line.ticket_type_id].policy for line in hold.lines]
