"""What is told to the world and to the audit log: all of it follows from the transitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.commands import Origin
from holdfast.domain.hold import Hold, Line
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SeatId
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
    action: FactType
    hold_id: HoldId | None
    seat_id: SeatId | None
    origin: Origin
    old: dict[str, JsonValue] | None
    new: dict[str, JsonValue]


def facts_of(transition: Transition, event_id: EventId) -> Iterator[Fact]:
    """The fact of the hold, then one for each of its seats."""
    hold = transition.after
    key = (hold.organization_id, transition.fact_type, hold.version, hold.id)
    yield Fact(*key, None, fact_payload(transition))
    for seat in hold.seats:
        payload: dict[str, JsonValue] = {
            "hold_id": str(hold.id),
            "seat_id": str(seat.id),
            "session_id": str(hold.session_id),
            "event_id": str(event_id),
            "organization_id": str(hold.organization_id),
            "timestamp": iso(hold.updated_at),
        }
        if transition.seat_fact_type is FactType.SEAT_HELD:
            payload["user_id"] = hold.holder.user_id
            payload["held_until"] = iso(hold.expires_at)
        if transition.seat_fact_type is FactType.SEAT_RELEASED:
            payload["reason"] = hold.status.value
        yield Fact(
            hold.organization_id,
            transition.seat_fact_type,
            hold.version,
            hold.id,
            seat.id,
            payload,
        )


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


def audit_of(transition: Transition) -> AuditRecord:
    hold = transition.after
    new = audit_values(hold)
    assert new is not None
    return AuditRecord(
        hold.organization_id,
        transition.fact_type,
        hold.id,
        None,
        transition.origin,
        audit_values(transition.before),
        new,
    )


def seat_audit(transition: SeatTransition) -> AuditRecord:
    before, after = transition.before, transition.after
    return AuditRecord(
        after.organization_id,
        transition.fact_type,
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
    if transition.fact_type is FactType.HOLD_CREATED:
        payload["customer_email"] = hold.holder.email.value if hold.holder.email else None
        payload["expires_at"] = iso(hold.expires_at)
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
    if hold.seats:
        values["source"] = hold.remarks.source.value
        values["seat_ids"] = [str(seat.id) for seat in hold.seats]
    return values


def iso(moment: datetime) -> str:
    """UTC, ISO 8601, with a Z."""
    return moment.isoformat().replace("+00:00", "Z")
