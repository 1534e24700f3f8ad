"""The shapes of answers about holds."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta

from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat, Source
from holdfast.entrypoints.api.answers import AnswerShape, PageAnswer, utc, utc_or_none
from holdfast.entrypoints.api.structs import Moment
from holdfast.ports.holds import SeenHold
from holdfast.services.reads import HoldInLine


class LineSeatAnswer(AnswerShape, frozen=True):
    seat_id: UUID
    block_id: UUID
    block_name: str
    row: str
    seat_number: str


class LineAnswer(AnswerShape, frozen=True):
    """A seat is a line of its own; other lines have none, and so has one that waits for seats.
    `cart_item_id` is the item of the cart that it is for; lines that came with one call have the
    same `group_id`. Outside of carts both are null."""

    ticket_type_id: UUID
    quantity: int
    unit_price: int
    subtotal: int
    seat: LineSeatAnswer | None
    cart_item_id: str | None
    group_id: UUID | None


class HoldAnswer(AnswerShape, frozen=True):
    """A hold of several lines has no single ticket type: `ticket_type_id` is null, `quantity` the
    sum. A hold whose time is up says `expired` from that very moment on. One that is `waiting` has
    no places yet, and `expires_at` is when its place in the line ends; once it is promoted, it is
    `active` and has fresh time."""

    hold_id: UUID
    session_id: UUID
    ticket_type_id: UUID | None
    quantity: int
    status: HoldStatus
    expires_at: Moment
    created_at: Moment
    reference: Annotated[str, Meta(description="To read out over the telephone.")]
    lines: list[LineAnswer]
    total: int
    currency: str
    expires_in_seconds: Annotated[
        int, Meta(description="By our clock; count down from this rather than from yours.")
    ]
    version: Annotated[int, Meta(description="Rises with every change of the hold.")]
    updated_at: Moment
    held_at: Annotated[Moment | None, Meta(description="Null as long as it waits.")]
    confirmed_at: Moment | None
    cancelled_at: Moment | None
    expired_at: Moment | None
    seat_ids: list[UUID]
    adjacent: Annotated[
        bool | None, Meta(description="Whether the seats are side by side; null without seats.")
    ]
    minutes_remaining: Annotated[int, Meta(description="Whole minutes, rounded down.")]
    source: Source
    cart_token: str | None
    notes: str | None
    checkout_id: Annotated[UUID | None, Meta(description="The checkout that it is or was in.")]
    order_id: Annotated[UUID | None, Meta(description="What it became when it was paid.")]
    revives: Annotated[
        UUID | None, Meta(description="The lapsed hold whose late payment this one stands for.")
    ]
    cart: Annotated[str | None, Meta(description="The cart whose one hold this is.")]
    position: Annotated[
        int | None,
        Meta(
            description="While it waits: 1 is the next. Null in lists, and where nobody has "
            "looked: read the hold."
        ),
    ]
    estimated_wait_seconds: Annotated[
        int | None,
        Meta(
            description="As fast as the line has moved so far; null until three were served and "
            "a minute has passed since it opened."
        ),
    ]


class HoldPage(PageAnswer[HoldAnswer], frozen=True):
    """Holds, newest first."""


def hold_answer(
    hold: Hold, at: datetime, position: int | None = None, estimated_wait_seconds: int | None = None
) -> HoldAnswer:
    lines = [_line_answer(line) for line in hold.lines]
    remaining_seconds = hold.remaining_seconds(at)
    return HoldAnswer(
        hold_id=hold.id,
        session_id=hold.session_id,
        ticket_type_id=lines[0].ticket_type_id if len(lines) == 1 else None,
        quantity=hold.quantity,
        status=hold.status_at(at),
        expires_at=utc(hold.expires_at),
        created_at=utc(hold.created_at),
        reference=hold.reference,
        lines=lines,
        total=sum(line.subtotal for line in lines),
        currency=hold.currency,
        expires_in_seconds=remaining_seconds,
        version=hold.version,
        updated_at=utc(hold.updated_at),
        held_at=utc_or_none(hold.held_at),
        confirmed_at=utc_or_none(hold.confirmed_at),
        cancelled_at=utc_or_none(hold.cancelled_at),
        expired_at=utc_or_none(hold.expired_at),
        seat_ids=[seat.id for seat in hold.seats],
        adjacent=hold.is_adjacent,
        minutes_remaining=remaining_seconds // 60,
        source=hold.remarks.source,
        cart_token=hold.remarks.cart_token,
        notes=hold.remarks.notes,
        checkout_id=hold.checkout_id,
        order_id=hold.order_id,
        revives=hold.revives,
        cart=hold.cart,
        position=position,
        estimated_wait_seconds=estimated_wait_seconds,
    )


def _line_answer(line: Line) -> LineAnswer:
    item = line.item
    return LineAnswer(
        line.ticket_type_id,
        line.quantity,
        line.unit_price_minor,
        line.quantity * line.unit_price_minor,
        None if line.seat is None else line_seat_answer(line.seat),
        None if item is None else item.id,
        None if item is None else item.group_id,
    )


def line_seat_answer(seat: LineSeat) -> LineSeatAnswer:
    return LineSeatAnswer(seat.id, seat.block_id, seat.block_name, seat.row, seat.number)


def seen_hold_answer(seen: SeenHold) -> HoldAnswer:
    return hold_answer(seen.hold, seen.at)


def placed_hold_answer(found: HoldInLine) -> HoldAnswer:
    """A hold, with its place in the line while it waits."""
    seen, place = found.seen, found.place
    if place is None:
        return seen_hold_answer(seen)
    return hold_answer(seen.hold, seen.at, place.position, place.estimate_seconds)
