"""Lifetime and ownership of a hold: rules shared by extension, checkout and conversion."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.holds.hold import Hold, rounded_up
from holdfast.domain.orders.order import SEATS_PER_ORDER_MAX, TICKETS_PER_ORDER_MAX
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


def refuse_mixture(holds: Sequence[Hold]) -> Refusal | None:
    """Check that the holds fit into one order: one holder, one currency, not too many tickets."""
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


def belongs_to(hold: Hold, holder: Holder | None) -> bool:
    """Whether the hold is theirs. To strangers, callers answer as if it did not exist."""
    return holder is None or hold.holder.is_person(holder)


def warning_seconds(session: SessionCatalog, hold: Hold) -> int:
    return max(policy.warning_seconds for policy in policies_of(session, hold))


def later_expiry(now: datetime, hold: Hold, seconds: int) -> datetime:
    return max(hold.expires_at, rounded_up(now)) + timedelta(seconds=seconds)


def end_of_life(session: SessionCatalog, hold: Hold) -> datetime:
    seconds = min(policy.lifetime_max_seconds for policy in policies_of(session, hold))
    return rounded_up(hold.held_at or hold.created_at) + timedelta(seconds=seconds)


def policies_of(session: SessionCatalog, hold: Hold) -> list[HoldPolicy]:
    return [session.offers[line.ticket_type_id].policy for line in hold.lines]
