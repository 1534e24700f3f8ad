"""A reservation: what a hold of the Hold Service takes from this inventory.

It is a hold of this engine with the same id. It never expires, because only the Hold Service says
when it is over. It is active while its tickets are held, converted when they are committed, and
cancelled when they are released. It has no order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import NO_REMARKS, Hold, HoldStatus, Line, Remarks, numbered_lines
from holdfast.domain.ids import HoldId, OrganizationId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder, InvalidValue, Metadata

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
RESERVED_LINES_MAX = 50
RESERVED_QUANTITY_MAX = 100_000
# A text of metadata has room for so many lines of a reservation.
_LINES_PER_TEXT = 12


class ReservationStatus(StrEnum):
    HELD = "held"
    RELEASED = "released"
    COMMITTED = "committed"

    @property
    def of_hold(self) -> HoldStatus:
        return _HOLD_STATUS[self]


_HOLD_STATUS = {
    ReservationStatus.HELD: HoldStatus.ACTIVE,
    ReservationStatus.RELEASED: HoldStatus.CANCELLED,
    ReservationStatus.COMMITTED: HoldStatus.CONVERTED,
}
_STATUS = {of_hold: status for status, of_hold in _HOLD_STATUS.items()}


@immutable
class ReservedLine:
    ticket_type_id: TicketTypeId
    quantity: int


Quantities = Mapping[TicketTypeId, int]


def quantities_of(lines: Iterable[ReservedLine | Line]) -> dict[TicketTypeId, int]:
    return {line.ticket_type_id: line.quantity for line in lines}


def check_lines(lines: tuple[ReservedLine, ...]) -> None:
    if len(lines) > RESERVED_LINES_MAX:
        raise InvalidValue("invalid_lines", f"Give at most {RESERVED_LINES_MAX} lines")
    if len(quantities_of(lines)) < len(lines):
        raise InvalidValue("invalid_lines", "Name each ticket type only once")
    if not all(1 <= line.quantity <= RESERVED_QUANTITY_MAX for line in lines):
        raise InvalidValue(
            "invalid_quantity",
            f"Quantity must be a whole number from 1 to {RESERVED_QUANTITY_MAX}",
        )


def is_reservation(hold: Hold) -> bool:
    return hold.expires_at == FOREVER


def status_of(reservation: Hold) -> ReservationStatus:
    return _STATUS[reservation.status]


def lines_of(reservation: Hold) -> tuple[Line, ...]:
    """What it takes from the inventory now. The lines of a released one are history."""
    return () if reservation.is_cancelled() else reservation.lines


def new_reservation(
    ledger: Ledger,
    organization_id: OrganizationId,
    session_id: SessionId,
    hold_id: HoldId,
    lines: Iterable[Line],
) -> Hold:
    """Held from now on."""
    key = (organization_id, hold_id)
    return Hold(
        organization_id=organization_id,
        id=hold_id,
        session_id=session_id,
        reference=ledger.references[key],
        holder=Holder(user_id=str(hold_id)),  # nothing personal
        lines=numbered_lines(lines, 1),
        currency=ledger.sessions[organization_id, session_id].currency,
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now,
        expires_at=FOREVER,
    )


def committed(reservation: Hold, now: datetime, sold: Quantities) -> Hold:
    """The reservation with these tickets sold; none of them more than it has. It remembers what was
    reserved at first, to recognize a repeat of that call."""
    lines, remarks = reservation.lines, reservation.remarks
    if quantities_of(lines) != sold:
        version = reservation.version + 1
        kept = [line for line in lines if sold.get(line.ticket_type_id) == line.quantity]
        changed = [
            replace(line, quantity=sold[line.ticket_type_id])
            for line in lines
            if line.ticket_type_id in sold and line not in kept
        ]
        remarks = _remembered(reservation)
        lines = (*kept, *numbered_lines(changed, version))
    return replace(
        reservation,
        status=HoldStatus.CONVERTED,
        version=reservation.version + 1,
        updated_at=now,
        confirmed_at=reservation.confirmed_at or now,
        lines=lines,
        remarks=remarks,
    )


def first_quantities(reservation: Hold) -> dict[TicketTypeId, int]:
    """The quantities first reserved, even if fewer tickets are sold now."""
    texts = reservation.remarks.metadata.texts
    pairs = [pair.split(":") for text in texts.values() for pair in text.split()]
    if not pairs:
        return quantities_of(reservation.lines)
    return {TicketTypeId(UUID(type_id)): int(quantity) for type_id, quantity in pairs}


def _remembered(reservation: Hold) -> Remarks:
    if reservation.remarks is not NO_REMARKS:
        return reservation.remarks
    pairs = [f"{line.ticket_type_id.hex}:{line.quantity}" for line in reservation.lines]
    texts = {
        f"reserved_{start}": " ".join(pairs[start : start + _LINES_PER_TEXT])
        for start in range(0, len(pairs), _LINES_PER_TEXT)
    }
    return replace(NO_REMARKS, metadata=Metadata(texts))


def refuse_other(existing: Hold, session_id: SessionId) -> Refusal | None:
    """Refuse a hold of this id that is not this reservation."""
    if is_reservation(existing) and existing.session_id == session_id:
        return None
    return refusals.idempotency_key_reused()


def refuse_status(reservation: Hold) -> Refusal:
    return refusals.invalid_hold_state(status_of(reservation).value)
