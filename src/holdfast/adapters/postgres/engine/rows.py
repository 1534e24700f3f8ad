"""Conversion between rows and domain values."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from uuid_utils.compat import uuid7

from holdfast.domain.facts import AuditRecord, Fact
from holdfast.domain.holds.hold import (
    NO_REMARKS,
    CartItem,
    Hold,
    HoldStatus,
    Line,
    LineSeat,
    Remarks,
    SeatWish,
    Source,
    WaitingPlace,
)
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.seats.seat import Seat, SeatPlace, SeatStatus
from holdfast.domain.slices import giving_way
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.audit.attempts import FailedAttempt
from holdfast.ports.facts.log import PARTITIONS

Row = tuple[Any, ...]

_json = msgspec.json.Encoder()
# Encodes values without a JSON type as text, which PostgreSQL can read.
_array_encoder = msgspec.json.Encoder(enc_hook=str)


def hold_from_row(row: Row) -> Hold:
    """A row of HOLD_COLUMNS, whatever follows them."""
    return Hold(
        organization_id=OrganizationId(row[0]),
        id=HoldId(row[1]),
        session_id=SessionId(row[2]),
        reference=row[3],
        holder=Holder(EmailAddress(row[4]) if row[4] is not None else None, row[5]),
        currency=row[6],
        status=HoldStatus(row[7]),
        version=row[8],
        created_at=row[9],
        updated_at=row[10],
        held_at=row[11],
        expires_at=row[12],
        confirmed_at=row[13],
        cancelled_at=row[14],
        expired_at=row[15],
        remarks=_remarks(row[16], row[17], row[18]),
        warn_at=row[19],
        checkout_id=row[20],
        order_id=row[21],
        revives=row[22],
        is_cart=row[23],
        waiting=None if row[24] is None else _place_from_json(*row[24]),
        lines=tuple(_line_from_json(line) for line in row[25]),
    )


def _place_from_json(line_id: str, since: str, passes_seen: int) -> WaitingPlace:
    return WaitingPlace(UUID(line_id), datetime.fromisoformat(since), passes_seen)


def _remarks(source: str, cart_token: str | None, notes: str | None) -> Remarks:
    if source == NO_REMARKS.source and cart_token is None and notes is None:
        return NO_REMARKS
    return Remarks(Source(source), cart_token, notes)


def seat_from_row(row: Row) -> Seat:
    """A row of SEAT_COLUMNS."""
    return Seat(
        OrganizationId(row[0]),
        SessionId(row[1]),
        SeatPlace(*row[2:13]),
        SeatStatus(row[13]),
        *row[14:20],
    )


def changed_seat_row(seat: Seat) -> Row:
    return (
        seat.organization_id,
        seat.id,
        seat.status.value,
        seat.hold_id,
        seat.holder_key,
        seat.held_until,
        seat.locked_at,
        seat.blocked_reason,
        seat.version,
    )


def _line_from_json(line: Sequence[Any]) -> Line:
    *ask, pool_ids, seat, item, wish = line
    plain = _plain_line(*ask, tuple(pool_ids))
    if seat is None and item is None and wish is None:
        return plain
    return replace(
        plain,
        seat=None if seat is None else line_seat(*seat),
        item=None if item is None else CartItem(item[0], UUID(item[1])),
        wish=None if wish is None else _wish_from_json(*wish),
    )


def _wish_from_json(block_id: str | None, *kind: Any) -> SeatWish:
    return SeatWish(None if block_id is None else BlockId(UUID(block_id)), *kind)


@lru_cache(maxsize=4096)
def _plain_line(
    ticket_type_id: str,
    quantity: int,
    unit_price_minor: int,
    number: int,
    pool_ids: tuple[str, ...],
) -> Line:
    """Cached, because most lines of a sale are alike: parsing the same ids took half of the time of
    reading a hold."""
    return Line(
        TicketTypeId(UUID(ticket_type_id)),
        quantity,
        unit_price_minor,
        tuple(PoolId(UUID(pool_id)) for pool_id in pool_ids),
        number=number,
    )


def line_seat(seat_id: str, block_id: str, block_name: str, row: str, *numbered: Any) -> LineSeat:
    return LineSeat(SeatId(UUID(seat_id)), BlockId(UUID(block_id)), block_name, row, *numbered)


def columns(rows: Iterable[Sequence[Any]]) -> list[str]:
    """One array per column, for unnest. There must be at least one row."""
    return [array(column) for column in zip(*rows, strict=True)]


def array(values: Sequence[Any]) -> str:
    """A PostgreSQL array literal. The driver converts one value at a time in Python, which took a
    third of a group's time. JSON is encoded in one call, and differs only in brackets, escapes and
    bytes."""
    kind = next((type(value) for value in values if value is not None), str)
    if kind is not bytes:
        text = _array_encoder.encode(values).decode()
        if "\\" not in text:
            return "{" + text[1:-1] + "}"
    escaped = _hexadecimal if kind is bytes else _quoted
    return "{" + ",".join(["NULL" if v is None else escaped(v) for v in values]) + "}"


def ids_array(ids: Iterable[UUID]) -> str:
    """Without quotes: inside another array there is nothing to escape."""
    return "{" + ",".join([each.hex for each in ids]) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _hexadecimal(value: bytes) -> str:
    return f'"\\\\x{value.hex()}"'


def new_hold_row(hold: Hold) -> Row:
    email = hold.holder.email
    return (
        hold.organization_id,
        hold.id,
        hold.session_id,
        hold.reference,
        email.value if email else None,
        hold.holder.user_id,
        hold.quantity,
        hold.total.minor,
        hold.currency,
        hold.expires_at,
        hold.due_at,
        hold.warn_at,
        hold.remarks.source.value,
        hold.remarks.cart_token,
        hold.remarks.notes,
        hold.checkout_id,
        hold.revives,
        hold.status.value,
        hold.is_cart,
        hold.held_at,
    )


def line_row(hold: Hold, line: Line) -> Row:
    return (
        hold.organization_id,
        hold.id,
        line.number,
        line.ticket_type_id,
        line.quantity,
        line.unit_price_minor,
        ids_array(line.pool_ids),
        line.seat.id if line.seat else None,
    )


def line_row_with_more(hold: Hold, line: Line) -> Row:
    """With the columns for lines of carts, lines added later, and lines that wait for seats."""
    item, wish = line.item, line.wish
    return (
        *line_row(hold, line),
        hold.version,
        item.id if item else None,
        item.group_id if item else None,
        wish.block_id if wish else None,
        wish.accessible if wish else None,
        wish.is_together if wish else None,
        wish.unit_price_minor if wish else None,
    )


def contents_row(hold: Hold) -> Row:
    email = hold.holder.email
    return (
        hold.organization_id,
        hold.id,
        hold.quantity,
        hold.total.minor,
        hold.held_at,
        email.value if email else None,
    )


def changed_hold_row(hold: Hold) -> Row:
    return (
        hold.organization_id,
        hold.id,
        hold.status.value,
        hold.version,
        hold.updated_at,
        hold.expires_at,
        hold.due_at,
        hold.warn_at,
        hold.confirmed_at,
        hold.cancelled_at,
        hold.expired_at,
        hold.checkout_id,
        hold.order_id,
    )


def checkout_row(checkout: Checkout) -> Row:
    return (checkout.organization_id, checkout.id, ids_array(checkout.hold_ids))


def order_row(order: Order) -> Row:
    email = order.holder.email
    return (
        order.organization_id,
        order.id,
        order.checkout_id,
        ids_array(order.hold_ids),
        email.value if email else None,
        order.holder.user_id,
        order.total.minor,
        order.total.currency,
        order.payment_reference,
    )


def ticket_rows(order: Order) -> Iterable[Row]:
    for position, ticket in enumerate(giving_way(order.tickets)):
        attendee = ticket.attendee
        email = attendee.email if attendee else None
        yield (
            order.organization_id,
            ticket.id,
            order.id,
            position,
            ticket.hold_id,
            ticket.session_id,
            ticket.ticket_type_id,
            ticket.seat.id if ticket.seat else None,
            ticket.unit_price_minor,
            ticket.code,
            attendee.name if attendee else None,
            email.value if email else None,
        )


def fact_row(fact: Fact) -> Row:
    """All facts of a hold, or of a seat without one, are in one partition."""
    subject = fact.hold_id or fact.seat_id
    assert subject is not None
    return (
        fact.organization_id,
        uuid7(),
        fact.hold_id,
        fact.seat_id,
        fact.version,
        fact.type.value,
        subject.int % PARTITIONS,
        _json.encode(fact.payload).decode(),
    )


def audit_row(record: AuditRecord) -> Row:
    origin = record.origin
    return (
        record.organization_id,
        record.action,
        record.hold_id,
        record.seat_id,
        origin.actor,
        origin.request_id,
        origin.ip,
        origin.user_agent,
        None if record.old is None else _json.encode(record.old).decode(),
        _json.encode(record.new).decode(),
    )


def attempt_row(attempt: FailedAttempt) -> Row:
    origin = attempt.origin
    return (
        attempt.organization_id,
        attempt.at,
        attempt.action,
        attempt.hold_id,
        attempt.seat_id,
        origin.actor,
        origin.request_id,
        origin.ip,
        origin.user_agent,
        attempt.code,
    )
