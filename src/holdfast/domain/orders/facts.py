"""The published facts of cancelled orders, and the audit records of their changes. None contains a
ticket code."""

from collections.abc import Iterator

from holdfast.domain.facts import (
    TICKETS_IN_FACT_MAX,
    AuditRecord,
    EventOf,
    Fact,
    ReleaseReason,
    iso,
)
from holdfast.domain.group.transitions import FactType
from holdfast.domain.holds.hold import Hold, LineSeat
from holdfast.domain.orders.cancellation import Cancellation
from holdfast.domain.orders.order import Order
from holdfast.domain.orders.order_change import OrderChange, Refund
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.slices import giving_way
from holdfast.domain.values import JsonValue

# An action without a fact: the platform that made the refund knows of it.
REFUNDED = "order.refunded"


def cancellation_facts(cancellation: Cancellation, event_of: EventOf) -> Iterator[Fact]:
    """The fact of the order, then one for each seat that can be sold again. They continue the
    versions of the holds, and so follow their conversion."""
    order, first = cancellation.after, cancellation.first_hold
    payload = _order_payload(cancellation)
    version = cancellation.fact_version(first)
    fact_type = FactType.ORDER_CANCELLED
    yield Fact(order.organization_id, fact_type, version, first.id, None, payload)
    moment = iso(cancellation.voiding.at)
    for hold, seat in _released(cancellation):
        payload = {
            "seat_id": str(seat.id),
            **_ids_of(hold, event_of),
            "timestamp": moment,
            "reason": ReleaseReason.ORDER_CANCELLED.value,
            "released_at": moment,
        }
        version = cancellation.fact_version(hold)
        fact_type = FactType.SEAT_RELEASED
        yield Fact(hold.organization_id, fact_type, version, hold.id, seat.id, payload)


def ticket_facts(cancellation: Cancellation, event_of: EventOf) -> Iterator[Fact]:
    """One for each ticket that is void now."""
    order, voiding = cancellation.after, cancellation.voiding
    moment, fact_type = iso(voiding.at), FactType.TICKET_VOIDED
    for ticket, hold, _ in giving_way(cancellation.places):
        payload: dict[str, JsonValue] = {
            "ticket_id": str(ticket.id),
            "order_id": str(order.id),
            **_ids_of(hold, event_of),
            "ticket_type_id": str(ticket.ticket_type_id),
            "timestamp": moment,
        }
        if ticket.seat is not None:
            payload["seat_id"] = str(ticket.seat.id)
        if voiding.reason is not None:
            payload["reason"] = voiding.reason
        version = cancellation.fact_version(hold)
        yield Fact(hold.organization_id, fact_type, version, hold.id, None, payload, ticket.id)


def order_audit(change: OrderChange) -> Iterator[AuditRecord]:
    if isinstance(change, Cancellation):
        yield from _cancellation_audit(change)
    elif isinstance(change, Refund):
        yield _order_record(REFUNDED, change, _what_was_refunded(change))


def _cancellation_audit(cancellation: Cancellation) -> Iterator[AuditRecord]:
    """The record of the order, then one for each seat that can be sold again."""
    action = FactType.ORDER_CANCELLED.value
    yield _order_record(action, cancellation, _what_was_cancelled(cancellation))
    for hold, seat in _released(cancellation):
        yield AuditRecord(
            hold.organization_id,
            "seat_released",
            hold.id,
            seat.id,
            hold.session_id,
            (),
            hold.holder,
            hold.remarks.cart_token,
            cancellation.origin,
            {"status": SeatStatus.SOLD.value},
            {"status": SeatStatus.AVAILABLE.value},
        )


def _order_record(action: str, change: OrderChange, what: dict[str, JsonValue]) -> AuditRecord:
    """Under the first hold of the order."""
    types = tuple(dict.fromkeys(ticket.ticket_type_id for ticket in change.tickets))
    first = change.first_hold
    return AuditRecord(
        first.organization_id,
        action,
        first.id,
        None,
        first.session_id,
        types,
        first.holder,
        first.remarks.cart_token,
        change.origin,
        _order_values(change.before),
        _order_values(change.after) | what,
    )


def _released(cancellation: Cancellation) -> Iterator[tuple[Hold, LineSeat]]:
    """The seats that are available now, and not blocked."""
    for place in cancellation.places:
        seat = place.line.seat
        if seat is not None and seat.id not in cancellation.blocked:
            yield place.hold, seat


def _order_payload(cancellation: Cancellation) -> dict[str, JsonValue]:
    order = cancellation.after
    return {
        "organization_id": str(order.organization_id),
        "hold_ids": [str(hold_id) for hold_id in order.hold_ids],
        **_order_values(order),
        **_what_was_cancelled(cancellation),
        "timestamp": iso(cancellation.voiding.at),
    }


def _order_values(order: Order) -> dict[str, JsonValue]:
    """The version is that of the order: `version` would be the hold's."""
    return {
        "order_id": str(order.id),
        "status": order.status.value,
        "order_version": order.version,
    }


def _what_was_cancelled(cancellation: Cancellation) -> dict[str, JsonValue]:
    voiding, values = cancellation.voiding, _what_changed(cancellation)
    if voiding.refund_reference is not None:
        values["refund_reference"] = voiding.refund_reference
    if voiding.reason is not None:
        values["reason"] = voiding.reason
    return values


def _what_was_refunded(refund: Refund) -> dict[str, JsonValue]:
    values = _what_changed(refund) | {"refund_reference": refund.reference}
    if refund.origin.reason is not None:
        values["reason"] = refund.origin.reason
    return values


def _what_changed(change: OrderChange) -> dict[str, JsonValue]:
    tickets, amount = change.tickets, change.amount
    values: dict[str, JsonValue] = {
        "quantity": len(tickets),
        "amount": amount.minor,
        "currency": amount.currency,
    }
    if len(tickets) <= TICKETS_IN_FACT_MAX:
        values["ticket_ids"] = [str(ticket.id) for ticket in tickets]
    return values


def _ids_of(hold: Hold, event_of: EventOf) -> dict[str, JsonValue]:
    return {
        "hold_id": str(hold.id),
        "session_id": str(hold.session_id),
        "event_id": str(event_of(hold.session_key)),
        "organization_id": str(hold.organization_id),
    }
