"""Checks that need no inventory: status, sale window, ticket types and limits."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.domain import refusals
from holdfast.domain.catalog.model import EventStatus, SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.holds.hold import Line
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Ask, SeatAsk
from holdfast.domain.ids import HoldKey, TicketTypeId
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder


def refuse_status(session: SessionCatalog) -> Refusal | None:
    """Refuse sessions not on sale, at every step from hold to order. The sale window is checked
    elsewhere, for new places only: holds placed in time may be paid for after it."""
    status = session.sale.status
    if status.is_on_sale:
        return None
    if status is EventStatus.CANCELLED:
        return refusals.event_unavailable()
    return refusals.event_not_available()


def refuse_asks(
    session: SessionCatalog, asks: Sequence[Ask | SeatAsk], now: datetime
) -> Refusal | None:
    if not session.sale.is_within_window(now):
        return refusals.event_sales_closed()
    seats = 0
    for ask in asks:
        refusal = _refuse_ask(session, ask)
        if refusal is not None:
            return refusal
        if isinstance(ask, SeatAsk):
            seats += len(ask.seat_ids)
        elif session.offers[ask.ticket_type_id].is_seated:
            seats += ask.quantity
    return (
        refusals.quantity_above_maximum(SEATS_PER_HOLD_MAX) if seats > SEATS_PER_HOLD_MAX else None
    )


def _refuse_ask(session: SessionCatalog, ask: Ask | SeatAsk) -> Refusal | None:
    if ask.ticket_type_id is None:
        return None
    offer = session.offers.get(ask.ticket_type_id)
    if offer is None:
        return refusals.invalid_ticket_type()
    if isinstance(ask, SeatAsk):
        return None if offer.is_seated else refusals.not_sold_here()
    if (ask.accessible or ask.is_together) and not offer.is_seated:
        return refusals.has_no_seats()
    if ask.block_id is None:
        return None
    block = session.blocks.get(ask.block_id)
    if block is None or not offer.is_seated:
        return refusals.invalid_block()
    return None if block.sells(ask.ticket_type_id) else refusals.not_sold_here()


def refuse_lines(session: SessionCatalog, lines: Iterable[Line]) -> Refusal | None:
    """Check the limits per ticket type and hold, and per order."""
    quantities: Counter[TicketTypeId] = Counter()
    for line in lines:
        quantities[line.ticket_type_id] += line.quantity
    for ticket_type_id, quantity in quantities.items():
        maximum = session.offers[ticket_type_id].policy.quantity_max
        if quantity > maximum:
            return refusals.quantity_above_maximum(maximum)
    if sum(quantities.values()) > TICKETS_PER_ORDER_MAX:
        return refusals.too_many_tickets(TICKETS_PER_ORDER_MAX)
    return None


def refuse_holder(
    ledger: Ledger,
    session: SessionCatalog,
    holder: Holder,
    types: Iterable[TicketTypeId],
    besides: HoldKey | None = None,
) -> Refusal | NeedsMore | None:
    """Refuse a second live hold in a session where the policy allows one."""
    if not any(session.offers[type_id].policy.one_active_hold for type_id in types):
        return None
    known = ledger.holdings.get((session.key, holder.key))
    if known is None:
        return NeedsMore()  # the policy has changed since the survey
    for hold in known:
        if hold.is_live(ledger.now) and hold.key != besides:
            is_waiting = hold.is_waiting(ledger.now)
            refuse = refusals.already_waiting if is_waiting else refusals.active_hold_exists
            return refuse(str(hold.id), hold.remaining_seconds(ledger.now))
    return None
