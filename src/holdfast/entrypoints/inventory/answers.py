"""Answers of the Inventory Service."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.catalog.model import PoolState, TicketTypeAvailability
from holdfast.domain.group.outcomes import Reserved
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.inventory.reservation import ReservationStatus, lines_of, status_of
from holdfast.entrypoints.api.http.shapes import AnswerShape


class ReservedLineAnswer(AnswerShape, frozen=True):
    ticket_type_id: TicketTypeId
    quantity: int


class ReservationAnswer(AnswerShape, frozen=True):
    hold_id: HoldId
    session_id: SessionId
    status: ReservationStatus
    lines: Annotated[
        list[ReservedLineAnswer],
        Meta(description="What it takes from the inventory now. Empty once it is released."),
    ]


class ReservationPage(AnswerShape, frozen=True):
    """Oldest first."""

    data: list[ReservationAnswer]
    has_more: bool
    next: (
        Annotated[str, Meta(description="Send it as `after` to get the next page.")] | UnsetType
    ) = UNSET


class ItemAnswer(AnswerShape, frozen=True):
    """`available`, `held` and `committed` add up to `total`."""

    session_id: SessionId
    ticket_type_id: TicketTypeId
    total: Annotated[int, Meta(description="Number of tickets: available, held and sold.")]
    available: int
    held: int
    committed: Annotated[int, Meta(description="Number sold.")]


class ItemList(AnswerShape, frozen=True):
    data: Annotated[list[ItemAnswer], Meta(description="All items of the session.")]


def reservation_answer(reservation: Hold) -> ReservationAnswer:
    return ReservationAnswer(
        reservation.id,
        reservation.session_id,
        status_of(reservation),
        [ReservedLineAnswer(each.ticket_type_id, each.quantity) for each in lines_of(reservation)],
    )


def reserved_answer(outcome: object) -> ReservationAnswer:
    assert isinstance(outcome, Reserved)
    return reservation_answer(outcome.hold)


def item_answer(session_id: SessionId, item: TicketTypeAvailability) -> ItemAnswer:
    counts = (item.total, item.available, item.held, item.sold)
    return ItemAnswer(session_id, item.ticket_type_id, *counts)


def stock_answer(ticket_type_id: UUID, pool: object) -> ItemAnswer:
    assert isinstance(pool, PoolState)
    counts = (pool.total, pool.available, pool.held, pool.sold)
    return ItemAnswer(pool.session_id, TicketTypeId(ticket_type_id), *counts)
