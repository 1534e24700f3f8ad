"""What is told to the world and to the audit log: all of it follows from the transitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.commands import Origin
from holdfast.domain.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SeatId
from holdfast.domain.order import Order, Ticket
from holdfast.domain.seat import SeatStatus
from holdfast.domain.transitions import FactType, SeatTransition, Transition
from holdfast.domain.values import JsonValue


@dataclass(frozen=True, slots=True)
class Fact:
    """One message to the world. A fact of a seat that no hold has carries the seat's version."""

    organization_id: OrganizationId
    type: FactType
    version: int
    hold_id: HoldId | None
    seat_id: SeatId | None
    payload: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    organization_id: OrganizationId
    action: str
    hold_id: HoldId | None
    seat_id: SeatId | None
    origin: Origin
    old: dict[str, JsonValue] | None
    new: dict[str, JsonValue]


# What the audit calls it when a seat changes hands.
_SEAT_ACTION_OF_STATUS = {
    HoldStatus.ACTIVE: "seat_reserved",
    HoldStatus.EXPIRED: "seat_hold_expired",
    HoldStatus.CANCELLED: "seat_released",
    HoldStatus.CONVERTED: "seat_sold",
}


def facts_of(transition: Transition, event_id: EventId) -> Iterator[Fact]:
    """The fact of the hold, then one for each of its seats that changes hands."""
    hold = transition.after
    key = (hold.organization_id, transition.fact_type, hold.version, hold.id)
    yield Fact(*key, None, fact_payload(transition))
    seat_fact_type = transition.seat_fact_type
    if seat_fact_type is None:
        return
    for seat in hold.seats:
        payload: dict[str, JsonValue] = {
            "hold_id": str(hold.id),
            "seat_id": str(seat.id),
            "session_id": str(hold.session_id),
            "event_id": str(event_id),
            "organization_id": str(hold.organization_id),
            "timestamp": iso(hold.updated_at),
        }
        if seat_fact_type is FactType.SEAT_HELD:
            payload["user_id"] = hold.holder.user_id
            payload["held_until"] = iso(hold.expires_at)
        if seat_fact_type is FactType.SEAT_RELEASED:
            payload["reason"] = hold.status.value
        yield Fact(hold.organization_id, seat_fact_type, hold.version, hold.id, seat.id, payload)


def order_fact(order: Order, version: int) -> Fact:
    """It travels with the first of its holds, whose `version` it carries, and so after that
    hold's own conversion. Neither the codes of the tickets nor any name is told."""
    payload: dict[str, JsonValue] = {
        "order_id": str(order.id),
        "organization_id": str(order.organization_id),
        "checkout_id": None if order.checkout_id is None else str(order.checkout_id),
        "hold_ids": [str(hold_id) for hold_id in order.hold_ids],
        "payment_reference": order.payment_reference,
        "total": order.total.minor,
        "currency": order.total.currency,
        "tickets": [_ticket_payload(ticket) for ticket in order.tickets],
        "confirmed_at": iso(order.created_at),
    }
    hold_id = order.hold_ids[0]
    fact_type = FactType.ORDER_CONFIRMED
    return Fact(order.organization_id, fact_type, version, hold_id, None, payload)


def _ticket_payload(ticket: Ticket) -> dict[str, JsonValue]:
    return {
        "ticket_id": str(ticket.id),
        "hold_id": str(ticket.hold_id),
        "session_id": str(ticket.session_id),
        "ticket_type_id": str(ticket.ticket_type_id),
        "seat_id": None if ticket.seat is None else str(ticket.seat.id),
    }


def seat_fact(transition: SeatTransition, event_id: EventId, now: datetime) -> Fact:
    seat = transition.after
    payload: dict[str, JsonValue] = {
        "seat_id": str(seat.id),
        "session_id": str(seat.session_id),
        "event_id": str(event_id),
        "organization_id": str(seat.organization_id),
        "status": seat.status.value,
        "reason": transition.reason,
        "timestamp": iso(now),
    }
    return Fact(seat.organization_id, transition.fact_type, seat.version, None, seat.id, payload)


def audit_of(transition: Transition, event_id: EventId) -> Iterator[AuditRecord]:
    """The row of the hold, then one for each of its seats that changes hands."""
    hold, before = transition.after, transition.before
    new = audit_values(hold)
    assert new is not None
    if transition.is_by_operator:
        new["as_operator"] = True
    action, origin = transition.fact_type.value, transition.origin
    key = (hold.organization_id, action, hold.id)
    yield AuditRecord(*key, None, origin, audit_values(before), new)
    if transition.seat_fact_type is None:
        return
    old_seat: dict[str, JsonValue] = {"status": _seat_status(before)}
    new_seat: dict[str, JsonValue] = {"status": _seat_status(hold)}
    if hold.occupies_places():
        new_seat["event_id"] = str(event_id)
        new_seat |= {"held_until": iso(hold.expires_at), "source": hold.remarks.source.value}
    for seat in hold.seats:
        yield AuditRecord(
            hold.organization_id,
            _SEAT_ACTION_OF_STATUS[hold.status],
            hold.id,
            seat.id,
            origin,
            old_seat,
            new_seat,
        )


def _seat_status(hold: Hold | None) -> str:
    """What the seats of a hold are."""
    if hold is not None and hold.occupies_places():
        return SeatStatus.HELD.value
    is_sold = hold is not None and hold.is_converted()
    return SeatStatus.SOLD.value if is_sold else SeatStatus.AVAILABLE.value


def seat_audit(transition: SeatTransition) -> AuditRecord:
    before, after = transition.before, transition.after
    return AuditRecord(
        after.organization_id,
        transition.fact_type.value,
        None,
        after.id,
        transition.origin,
        {"status": before.status.value, "version": before.version},
        {
            "status": after.status.value,
            "version": after.version,
            "reason": transition.reason,
        },
    )


def fact_payload(transition: Transition) -> dict[str, JsonValue]:
    """The payload of the message. The e-mail address is in hold.created only."""
    hold = transition.after
    single = hold.lines[0] if len(hold.lines) == 1 else None
    payload: dict[str, JsonValue] = {
        "hold_id": str(hold.id),
        "session_id": str(hold.session_id),
        "ticket_type_id": str(single.ticket_type_id) if single else None,
        "quantity": hold.quantity,
    }
    match transition.fact_type:
        case FactType.HOLD_CREATED:
            payload["customer_email"] = hold.holder.email.value if hold.holder.email else None
            payload["expires_at"] = iso(hold.expires_at)
        case FactType.HOLD_EXTENDED | FactType.HOLD_CHANGED:
            assert transition.before is not None
            payload["expires_at"] = iso(hold.expires_at)
            payload["previous_expires_at"] = iso(transition.before.expires_at)
            payload["checkout_id"] = None if hold.checkout_id is None else str(hold.checkout_id)
        case FactType.HOLD_EXPIRING:
            payload["expires_at"] = iso(hold.expires_at)
        case FactType.HOLD_CONVERTED:
            payload["order_id"] = str(hold.order_id)
    if single is None or single.seat is not None:
        payload["lines"] = [_line_payload(line) for line in hold.lines]
    return payload


def _line_payload(line: Line) -> dict[str, JsonValue]:
    payload: dict[str, JsonValue] = {
        "ticket_type_id": str(line.ticket_type_id),
        "quantity": line.quantity,
    }
    if line.seat is not None:
        payload["seat_id"] = str(line.seat.id)
    return payload


def audit_values(hold: Hold | None) -> dict[str, JsonValue] | None:
    """What an audit row keeps of a hold: what can change, never who the holder is."""
    if hold is None:
        return None
    values: dict[str, JsonValue] = {
        "status": hold.status.value,
        "version": hold.version,
        "quantity": hold.quantity,
        "expires_at": iso(hold.expires_at),
    }
    if hold.order_id is not None:
        values["order_id"] = str(hold.order_id)
    if hold.revives is not None:
        values["revives"] = str(hold.revives)
    if hold.seats:
        values["source"] = hold.remarks.source.value
        values["seat_ids"] = [str(seat.id) for seat in hold.seats]
    return values


def iso(moment: datetime) -> str:
    """UTC, ISO 8601, with a Z."""
    return moment.isoformat().replace("+00:00", "Z")
