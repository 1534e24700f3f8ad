"""Answers about holds."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat, Source
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, PageAnswer
from holdfast.ports.holds import SeenHold
from holdfast.services.reads import HoldWithPosition


class LineSeatAnswer(AnswerShape, frozen=True):
    seat_id: UUID
    block_id: UUID
    block_name: str
    row: str
    seat_number: str


class LineAnswer(AnswerShape, frozen=True):
    """Each seat is its own line; a line on the waitlist has no seat yet. Lines of a cart have
    `cart_item_id` and `group_id`; lines that one call added share a group."""

    ticket_type_id: UUID
    quantity: int
    unit_price: int
    subtotal: int
    seat: (
        Annotated[LineSeatAnswer, Meta(description="The assigned seat, if there is one.")]
        | UnsetType
    ) = UNSET
    cart_item_id: Annotated[str, Meta(description="Your id of its cart item.")] | UnsetType = UNSET
    group_id: UUID | UnsetType = UNSET


class HoldAnswer(AnswerShape, frozen=True, kw_only=True):
    """With several lines, there is no `ticket_type_id`, and `quantity` is the sum. A hold is
    `expired` as soon as its time is up. A `waiting` hold has no places yet, and `expires_at` is the
    end of its wait; once promoted, it is `active` with a new `expires_at`."""

    hold_id: UUID
    session_id: UUID
    ticket_type_id: (
        Annotated[UUID, Meta(description="Id of the ticket type; absent with several lines.")]
        | UnsetType
    ) = UNSET
    quantity: Annotated[int, Meta(description="Number of tickets in all lines.")]
    status: Annotated[
        HoldStatus,
        Meta(
            description="`active`, `waiting`, `converted`, `expired` or `cancelled`; `pending` or "
            "`failed` only with an inventory that is another service."
        ),
    ]
    expires_at: Moment
    created_at: Moment
    reference: Annotated[str, Meta(description="Short code to read out over the phone.")]
    lines: list[LineAnswer]
    total: int
    currency: str
    expires_in_seconds: Annotated[
        int, Meta(description="Seconds left by the server's clock; count down from it.")
    ]
    version: Annotated[int, Meta(description="Rises with every change of the hold.")]
    updated_at: Moment
    held_at: (
        Annotated[Moment, Meta(description="When it got its places; absent while it waits.")]
        | UnsetType
    ) = UNSET
    confirmed_at: Annotated[Moment, Meta(description="When it was paid.")] | UnsetType = UNSET
    cancelled_at: Annotated[Moment, Meta(description="When it was released.")] | UnsetType = UNSET
    expired_at: Annotated[Moment, Meta(description="When its expiry was recorded.")] | UnsetType = (
        UNSET
    )
    seat_ids: list[UUID]
    adjacent: (
        Annotated[bool, Meta(description="Whether the seats are side by side; only with seats.")]
        | UnsetType
    ) = UNSET
    minutes_remaining: Annotated[int, Meta(description="Minutes left, rounded down.")]
    source: Source
    cart_token: Annotated[str, Meta(description="Its cart.")] | UnsetType = UNSET
    notes: str | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    checkout_id: Annotated[UUID, Meta(description="Its current or last checkout.")] | UnsetType = (
        UNSET
    )
    order_id: Annotated[UUID, Meta(description="The order it became.")] | UnsetType = UNSET
    replaces_hold_id: (
        Annotated[
            UUID,
            Meta(description="The expired hold that it renews, or replaces after a late payment."),
        ]
        | UnsetType
    ) = UNSET
    position: (
        Annotated[
            int,
            Meta(description="Queue position while it waits; 1 is next. Not in lists."),
        ]
        | UnsetType
    ) = UNSET
    estimated_wait_seconds: (
        Annotated[
            int,
            Meta(description="Estimated wait at the queue's pace so far, in seconds."),
        ]
        | UnsetType
    ) = UNSET


class HoldPage(PageAnswer[HoldAnswer], frozen=True):
    """Holds, newest first."""


def hold_answer(
    hold: Hold, at: datetime, position: int | None = None, estimated_wait_seconds: int | None = None
) -> HoldAnswer:
    """Written without small functions, because every hold placed is answered with it. All its
    moments are in UTC, and are written with a Z."""
    lines = [_line_answer(line) for line in hold.lines]
    remaining_seconds = hold.remaining_seconds(at)
    remarks = hold.remarks
    return HoldAnswer(
        hold_id=hold.id,
        session_id=hold.session_id,
        ticket_type_id=lines[0].ticket_type_id if len(lines) == 1 else UNSET,
        quantity=hold.quantity,
        status=hold.status_at(at),
        expires_at=hold.expires_at,
        created_at=hold.created_at,
        reference=hold.reference,
        lines=lines,
        total=sum(line.subtotal for line in lines),
        currency=hold.currency,
        expires_in_seconds=remaining_seconds,
        version=hold.version,
        updated_at=hold.updated_at,
        held_at=hold.held_at or UNSET,
        confirmed_at=hold.confirmed_at or UNSET,
        cancelled_at=hold.cancelled_at or UNSET,
        expired_at=hold.expired_at or UNSET,
        seat_ids=[seat.id for seat in hold.seats],
        adjacent=bool(hold.is_adjacent) if hold.seats else UNSET,
        minutes_remaining=remaining_seconds // 60,
        source=remarks.source,
        cart_token=UNSET if remarks.cart_token is None else remarks.cart_token,
        notes=UNSET if remarks.notes is None else remarks.notes,
        metadata=remarks.metadata.texts or UNSET,
        checkout_id=hold.checkout_id or UNSET,
        order_id=hold.order_id or UNSET,
        replaces_hold_id=hold.revives or UNSET,
        position=UNSET if position is None else position,
        estimated_wait_seconds=UNSET if estimated_wait_seconds is None else estimated_wait_seconds,
    )


def _line_answer(line: Line) -> LineAnswer:
    item = line.item
    return LineAnswer(
        line.ticket_type_id,
        line.quantity,
        line.unit_price_minor,
        line.quantity * line.unit_price_minor,
        UNSET if line.seat is None else line_seat_answer(line.seat),
        UNSET if item is None else item.id,
        UNSET if item is None else item.group_id,
    )


def line_seat_answer(seat: LineSeat) -> LineSeatAnswer:
    return LineSeatAnswer(seat.id, seat.block_id, seat.block_name, seat.row, seat.number)


def seen_hold_answer(seen: SeenHold) -> HoldAnswer:
    return hold_answer(seen.hold, seen.at)


def placed_hold_answer(found: HoldWithPosition) -> HoldAnswer:
    """A hold, with its queue position while it waits."""
    seen, place = found.seen, found.place
    if place is None:
        return seen_hold_answer(seen)
    return hold_answer(seen.hold, seen.at, place.position, place.estimate_seconds)
