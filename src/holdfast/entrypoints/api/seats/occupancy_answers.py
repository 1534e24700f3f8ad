"""Answers about occupancy. Percentages are of the total, with two decimals."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta

from holdfast.domain.catalog.model import PoolState
from holdfast.entrypoints.api.catalog.hall_answers import BlockCapacity
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, or_unset, utc
from holdfast.ports.seats import (
    BlockOccupancy,
    EventOccupancy,
    SeatCounts,
    SessionOccupancy,
)


class SeatCountsAnswer(AnswerShape, frozen=True):
    """Seats whose hold has lapsed are available."""

    total: Annotated[int, Meta(description="Number of seats.")]
    available: int
    held: int
    sold: int
    blocked: int
    percent_available: float
    percent_held: float
    percent_sold: float
    percent_blocked: float


class BlockOccupancyAnswer(AnswerShape, frozen=True, kw_only=True):
    """Occupancy of a block."""

    block_id: UUID
    name: str
    capacity: BlockCapacity = UNSET
    seats: Annotated[SeatCountsAnswer, Meta(description="Its seats by status.")]


class PoolOccupancyAnswer(AnswerShape, frozen=True):
    """General admission places, and quotas of ticket types."""

    pool_id: UUID
    name: str
    capacity: int
    available: int
    held: int
    sold: int
    percent_available: float
    percent_held: float
    percent_sold: float


class SessionOccupancyAnswer(AnswerShape, frozen=True):
    session_id: UUID
    name: str
    seats: Annotated[SeatCountsAnswer, Meta(description="Its seats by status.")]
    blocks: list[BlockOccupancyAnswer]
    pools: Annotated[list[PoolOccupancyAnswer], Meta(description="Its pools.")]


class OccupancyAnswer(AnswerShape, frozen=True):
    """Occupancy at `at`, by the database's clock."""

    event_id: UUID
    at: Moment
    seats: Annotated[SeatCountsAnswer, Meta(description="Seats of all sessions by status.")]
    sessions: Annotated[list[SessionOccupancyAnswer], Meta(description="The sessions.")]


def occupancy_answer(occupancy: EventOccupancy) -> OccupancyAnswer:
    return OccupancyAnswer(
        event_id=occupancy.event_id,
        at=utc(occupancy.at),
        seats=_counts(occupancy.seats),
        sessions=[_session(session) for session in occupancy.sessions],
    )


def _session(session: SessionOccupancy) -> SessionOccupancyAnswer:
    return SessionOccupancyAnswer(
        session_id=session.id,
        name=session.name,
        seats=_counts(session.seats),
        blocks=[_block(block) for block in session.blocks],
        pools=[_pool(pool) for pool in session.pools],
    )


def _block(block: BlockOccupancy) -> BlockOccupancyAnswer:
    return BlockOccupancyAnswer(
        block_id=block.id,
        name=block.name,
        capacity=or_unset(block.capacity),
        seats=_counts(block.seats),
    )


def _counts(seats: SeatCounts) -> SeatCountsAnswer:
    return SeatCountsAnswer(
        total=seats.total,
        available=seats.available,
        held=seats.held,
        sold=seats.sold,
        blocked=seats.blocked,
        percent_available=_percent(seats.available, seats.total),
        percent_held=_percent(seats.held, seats.total),
        percent_sold=_percent(seats.sold, seats.total),
        percent_blocked=_percent(seats.blocked, seats.total),
    )


def _pool(pool: PoolState) -> PoolOccupancyAnswer:
    return PoolOccupancyAnswer(
        pool_id=pool.id,
        name=pool.name,
        capacity=pool.total,
        available=pool.available,
        held=pool.held,
        sold=pool.sold,
        percent_available=_percent(pool.available, pool.total),
        percent_held=_percent(pool.held, pool.total),
        percent_sold=_percent(pool.sold, pool.total),
    )


def _percent(count: int, total: int) -> float:
    return round(100 * count / total, 2) if total else 0.0
