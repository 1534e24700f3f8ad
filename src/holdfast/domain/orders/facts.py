"""The published facts and the audit records of cancelled orders. None contains a ticket code."""

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
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.slices import giving_way
from holdfast.domain.values import JsonValue


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


def cancellation_audit(cancellation: Cancellation) -> Iterator[AuditRecord]:
    """The record of the order, under its first hold, then one for each seat that can be sold
    again."""
    new = _order_values(cancellation.after) | _what_was_cancelled(cancellation)
    types = tuple(dict.fromkeys(place.ticket.ticket_type_id for place in cancellation.places))
    first = cancellation.first_hold
    yield AuditRecord(
        first.organization_id,
        FactType.ORDER_CANCELLED.value,
        first.id,
        None,
        first.session_id,
        types,
        first.holder,
        first.remarks.cart_token,
        cancellation.origin,
        _order_values(cancellation.before),
        new,
    )
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
    voiding, amount = cancellation.voiding, cancellation.amount
    values: dict[str, JsonValue] = {
        "quantity": len(cancellation.places),
        "amount": amount.minor,
        "currency": amount.currency,
    }
    if len(cancellation.places) <= TICKETS_IN_FACT_MAX:
        values["ticket_ids"] = [str(place.ticket.id) for place in cancellation.places]
    if voiding.refund_reference is not None:
        values["refund_reference"] = voiding.refund_reference
    if voiding.reason is not None:
        values["reason"] = voiding.reason
    return values


def _ids_of(hold: Hold, event_of: EventOf) -> dict[str, JsonValue]:
    return {
        "hold_id": str(hold.id),
        "session_id": str(hold.session_id),
        "event_id": str(event_of(hold.session_key)),
        "organization_id": str(hold.organization_id),
    }
