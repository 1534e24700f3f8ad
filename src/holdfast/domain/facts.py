"""Derives the published facts and the audit records from the transitions."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import FactType, SeatTransition, Transition
from holdfast.domain.holds.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import (
    EventId,
    HoldId,
    OrganizationId,
    SeatId,
    SessionId,
    SessionKey,
    TicketId,
    TicketTypeId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Order, Ticket
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.values import Holder, JsonValue

# The fact of a larger order does not list its tickets: brokers and databases handle small messages
# best, and one of 10,000 tickets would be two megabytes.
TICKETS_IN_FACT_MAX = 500


# Of a failed hold for which the Inventory Service holds nothing.
NOT_RESERVED = "not_reserved"

# The event of a session.
EventOf = Callable[[SessionKey], EventId]
# The holds of a group share some ids and moments, and each seat is named several times.
_text: Callable[[UUID], str] = lru_cache(maxsize=1024)(str)


@immutable
class Fact:
    """A published message. Without a hold, it carries the seat's version."""

    organization_id: OrganizationId
    type: FactType
    version: int
    hold_id: HoldId | None
    seat_id: SeatId | None
    payload: dict[str, JsonValue]
    ticket_id: TicketId | None = None


@immutable
class AuditRecord:
    organization_id: OrganizationId
    action: str
    hold_id: HoldId | None
    seat_id: SeatId | None
    session_id: SessionId
    ticket_type_ids: tuple[TicketTypeId, ...]
    holder: Holder | None
    cart: str | None
    origin: Origin
    old: dict[str, JsonValue] | None
    new: dict[str, JsonValue]


# The audit's action for each change of a seat, and the seat's new status.
_SEAT_ACTION = {
    FactType.SEAT_HELD: ("seat_reserved", SeatStatus.HELD),
    FactType.SEAT_RELEASED: ("seat_released", SeatStatus.AVAILABLE),
    FactType.SEAT_SOLD: ("seat_sold", SeatStatus.SOLD),
}


def facts_of(transition: Transition, event_of: EventOf) -> Iterator[Fact]:
    """The fact of the hold, then one for each seat that changes."""
    hold = transition.after
    key = (hold.organization_id, transition.fact_type, hold.version, hold.id)
    yield Fact(*key, None, fact_payload(transition))
    if transition.seat_moves:
        yield from _seat_facts(transition, event_of(hold.session_key))


def _seat_facts(transition: Transition, event_id: EventId) -> Iterator[Fact]:
    """The facts of the seats, which share most fields."""
    hold = transition.after
    shared: dict[str, JsonValue] = {
        "hold_id": _text(hold.id),
        "session_id": _text(hold.session_id),
        "event_id": _text(event_id),
        "organization_id": _text(hold.organization_id),
        "timestamp": iso(hold.updated_at),
    }
    for seat, move in transition.seat_moves:
        if move is None:
            continue
        payload = shared | {"seat_id": _text(seat.id)}
        if move is FactType.SEAT_HELD:
            payload["held_until"] = iso(hold.expires_at)
            if hold.holder.user_id is not None:
                payload["user_id"] = hold.holder.user_id
        if move is FactType.SEAT_RELEASED:
            payload["reason"] = _release_reason(transition).value
            payload["released_at"] = payload["timestamp"]
        yield Fact(hold.organization_id, move, hold.version, hold.id, seat.id, payload)


class ReleaseReason(StrEnum):
    TTL_EXPIRED = "ttl_expired"
    USER_RELEASED = "user_released"
    OPERATOR = "operator"
    ORDER_CANCELLED = "order_cancelled"


def _release_reason(transition: Transition) -> ReleaseReason:
    if transition.after.status is HoldStatus.EXPIRED and not transition.ends_early:
        return ReleaseReason.TTL_EXPIRED
    by_operator = transition.is_by_operator
    return ReleaseReason.OPERATOR if by_operator else ReleaseReason.USER_RELEASED


def order_fact(order: Order, version: int) -> Fact:
    """The fact of an order. It carries the `version` of its first hold, and so follows that hold's
    conversion. It contains neither ticket codes nor names."""
    payload: dict[str, JsonValue] = {
        "order_id": str(order.id),
        "organization_id": str(order.organization_id),
        "hold_ids": [str(hold_id) for hold_id in order.hold_ids],
        "total": order.total.minor,
        "currency": order.total.currency,
        "ticket_count": len(order.tickets),
    }
    if len(order.tickets) <= TICKETS_IN_FACT_MAX:
        payload["tickets"] = list(_ticket_payloads(order.tickets))
    if order.checkout_id is not None:
        payload["checkout_id"] = str(order.checkout_id)
    if order.payment_reference is not None:
        payload["payment_reference"] = order.payment_reference
    if order.metadata:
        payload["metadata"] = dict(order.metadata.texts)
    hold_id = order.hold_ids[0]
    fact_type = FactType.ORDER_CONFIRMED
    return Fact(order.organization_id, fact_type, version, hold_id, None, payload)


def _ticket_payloads(tickets: Sequence[Ticket]) -> Iterator[dict[str, JsonValue]]:
    """The payloads of the tickets. Those of one line share most fields."""
    of_line = attrgetter("hold_id", "session_id", "ticket_type_id")
    for ids, of_one_line in groupby(tickets, of_line):
        hold_id, session_id, ticket_type_id = map(str, ids)
        for ticket in of_one_line:
            payload: dict[str, JsonValue] = {
                "ticket_id": str(ticket.id),
                "hold_id": hold_id,
                "session_id": session_id,
                "ticket_type_id": ticket_type_id,
            }
            if ticket.seat is not None:
                payload["seat_id"] = str(ticket.seat.id)
            yield payload


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


def audit_of(transition: Transition, event_of: EventOf) -> Iterator[AuditRecord]:
    """The record of the hold, then one for each seat that changes."""
    hold, before = transition.after, transition.before
    new = audit_values(hold)
    assert new is not None
    if transition.is_by_operator:
        new["as_operator"] = True
        if transition.fact_type is FactType.HOLD_PROMOTED:
            new["overtaken_queues"] = transition.overtaken
    old = audit_values(before)
    if before is not None and old is not None and transition.changes_lines:
        old["lines"] = [_line_payload(line) for line in before.lines]
        new["lines"] = [_line_payload(line) for line in hold.lines]
    action, origin = transition.fact_type.value, transition.origin
    if origin.reason is not None:
        new["reason"] = origin.reason
    yield AuditRecord(
        hold.organization_id,
        action,
        hold.id,
        None,
        hold.session_id,
        (hold.lines[0].ticket_type_id,) if len(hold.lines) == 1 else _ticket_types(hold),
        hold.holder,
        hold.remarks.cart_token,
        origin,
        old,
        new,
    )
    if transition.seat_moves:
        yield from _seat_records(transition, event_of(hold.session_key))


def _seat_records(transition: Transition, event_id: EventId) -> Iterator[AuditRecord]:
    """Seats with the same change differ only in their id."""
    hold, origin = transition.after, transition.origin
    values = {
        move: _seat_values(hold, move, event_id)
        for move in {move for _, move in transition.seat_moves if move is not None}
    }
    for seat, move in transition.seat_moves:
        if move is not None:
            action, old, new = values[move]
            yield AuditRecord(
                hold.organization_id,
                action,
                hold.id,
                seat.id,
                hold.session_id,
                (),
                hold.holder,
                hold.remarks.cart_token,
                origin,
                old,
                new,
            )


def _ticket_types(hold: Hold) -> tuple[TicketTypeId, ...]:
    return tuple(dict.fromkeys(line.ticket_type_id for line in hold.lines))


def _seat_values(
    hold: Hold, move: FactType, event_id: EventId
) -> tuple[str, dict[str, JsonValue], dict[str, JsonValue]]:
    """The action, and the values of the seat before and after."""
    action, status = _SEAT_ACTION[move]
    new: dict[str, JsonValue] = {"status": status.value}
    was = SeatStatus.HELD
    if move is FactType.SEAT_HELD:
        was = SeatStatus.AVAILABLE
        new["event_id"] = _text(event_id)
        new |= {"held_until": iso(hold.expires_at), "source": hold.remarks.source.value}
    if move is FactType.SEAT_RELEASED and hold.status is HoldStatus.EXPIRED:
        action = "seat_hold_expired"
    return action, {"status": was.value}, new


def seat_audit(transition: SeatTransition) -> AuditRecord:
    before, after = transition.before, transition.after
    return AuditRecord(
        after.organization_id,
        transition.fact_type.value,
        None,
        after.id,
        after.session_id,
        (),
        None,
        None,
        transition.origin,
        {"status": before.status.value, "version": before.version},
        {
            "status": after.status.value,
            "version": after.version,
            "reason": transition.reason,
        },
    )


def serving_audit(session_key: SessionKey, origin: Origin) -> AuditRecord:
    """The record of a person's request to serve a waitlist, whether or not anybody was served."""
    organization_id, session_id = session_key
    about = (organization_id, "waitlist.served", None, None, session_id)
    return AuditRecord(*about, (), None, None, origin, None, {"reason": origin.reason})


def fact_payload(transition: Transition) -> dict[str, JsonValue]:
    """The payload of the fact, without fields that have no value. Only hold.created has the e-mail
    address and the metadata. The end of a hold has a reason if an operator ended it."""
    hold, before = transition.after, transition.before
    single = hold.lines[0] if len(hold.lines) == 1 else None
    payload: dict[str, JsonValue] = {
        "hold_id": _text(hold.id),
        "session_id": _text(hold.session_id),
        "ticket_type_id": _text(single.ticket_type_id) if single else None,
        # Consumers put it, or the lines, back on sale: nothing for a hold that only waited.
        "quantity": 0 if transition.ends_waiting else hold.quantity,
        "reason": NOT_RESERVED if transition.is_agreed else None,
    }
    match transition.fact_type:
        case FactType.HOLD_CREATED:
            payload["customer_email"] = hold.holder.email.value if hold.holder.email else None
            payload["expires_at"] = iso(hold.expires_at)
            if hold.remarks.metadata.texts:
                payload["metadata"] = dict(hold.remarks.metadata.texts)
        case FactType.HOLD_WAITING | FactType.HOLD_PENDING:
            payload["expires_at"] = iso(hold.expires_at)
        case FactType.HOLD_PROMOTED:
            payload["waiting_since"] = iso(_waiting_since(transition))
            payload["expires_at"] = iso(hold.expires_at)
        case FactType.HOLD_EXTENDED | FactType.HOLD_CHANGED:
            assert before is not None
            if transition.changes_lines:
                payload["previous_quantity"] = before.quantity
            payload["expires_at"] = iso(hold.expires_at)
            payload["previous_expires_at"] = iso(before.expires_at)
            payload["checkout_id"] = None if hold.checkout_id is None else str(hold.checkout_id)
            if transition.fact_type is FactType.HOLD_CHANGED:
                payload["freed_quantity"] = transition.freed_quantity
                payload["added_quantity"] = transition.added_quantity
        case FactType.HOLD_EXPIRING:
            payload["expires_at"] = iso(hold.expires_at)
        case FactType.HOLD_EXPIRED | FactType.HOLD_CANCELLED:
            payload["freed_quantity"] = transition.freed_quantity
            if _release_reason(transition) is ReleaseReason.OPERATOR:
                payload["reason"] = ReleaseReason.OPERATOR.value
        case FactType.HOLD_CONVERTED:
            # A reservation of the Inventory Service has none.
            payload["order_id"] = None if hold.order_id is None else str(hold.order_id)
    is_plain = single is not None and single.seat is None and single.item is None
    if not (is_plain or transition.ends_waiting):
        payload["lines"] = [_line_payload(line) for line in hold.lines]
    return {name: value for name, value in payload.items() if value is not None}


def _waiting_since(transition: Transition) -> datetime:
    before = transition.before
    assert before is not None
    assert before.waiting is not None
    return before.waiting.since


def _line_payload(line: Line) -> dict[str, JsonValue]:
    payload: dict[str, JsonValue] = {
        "ticket_type_id": _text(line.ticket_type_id),
        "quantity": line.quantity,
    }
    if line.seat is not None:
        payload["seat_id"] = _text(line.seat.id)
    if line.item is not None:
        payload["cart_item_id"] = line.item.id
        payload["group_id"] = str(line.item.group_id)
    return payload


def audit_values(hold: Hold | None) -> dict[str, JsonValue] | None:
    """The values of a hold in an audit record: what can change, never the holder."""
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
        values["replaces_hold_id"] = str(hold.revives)
    if hold.seats:
        values["source"] = hold.remarks.source.value
        values["seat_ids"] = [_text(seat.id) for seat in hold.seats]
    return values


@lru_cache(maxsize=1024)
def iso(moment: datetime) -> str:
    """ISO 8601 in UTC, with a Z."""
    return moment.isoformat().replace("+00:00", "Z")
