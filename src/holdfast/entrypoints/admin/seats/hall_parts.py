"""The parts in which a large hall is shown: its blocks, and large blocks by rows. So a page has a
bounded number of seats, however large the hall is."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from holdfast.adapters.postgres.models import Seat, Session
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.seats.hall import seat_status_now

SEATS_PER_PART_MAX = 3_000


class CountedRow(NamedTuple):
    block_id: UUID
    block: str
    name: str
    seats: int
    free: int


@immutable
class Part:
    """Some rows of a block; with `is_whole`, the whole hall."""

    rows: Sequence[CountedRow]
    is_whole: bool
    is_whole_block: bool

    @property
    def name(self) -> str:
        first, last = self.rows[0], self.rows[-1]
        if self.is_whole_block:
            return first.block
        rows = f"row {first.name}" if first is last else f"rows {first.name} to {last.name}"
        return f"{first.block}, {rows}"

    @property
    def blocks(self) -> list[str]:
        return list(dict.fromkeys(row.block for row in self.rows))

    @property
    def seats(self) -> int:
        return sum(row.seats for row in self.rows)

    @property
    def free(self) -> int:
        return sum(row.free for row in self.rows)

    def among(self, seats: QuerySet[Seat]) -> QuerySet[Seat]:
        """Its seats among those of the session."""
        if self.is_whole:
            return seats
        names = [row.name for row in self.rows]
        return seats.filter(block_id=self.rows[0].block_id, row_name__in=names)


def seats_of(session: Session) -> QuerySet[Seat]:
    return Seat.objects.filter(organization_id=session.organization_id, session_id=session.id)


def parts_of(session: Session) -> list[Part]:
    """Empty for a session without seats."""
    rows = _rows(session)
    if sum(row.seats for row in rows) <= SEATS_PER_PART_MAX:
        return [Part(rows, is_whole=True, is_whole_block=False)] if rows else []
    parts = []
    for _, block in groupby(rows, key=lambda row: row.block_id):
        chunks = list(_chunks(block))
        parts += [Part(chunk, is_whole=False, is_whole_block=len(chunks) == 1) for chunk in chunks]
    return parts


def _rows(session: Session) -> list[CountedRow]:
    """Counted in one pass, in the order of the drawing."""
    columns = ("block__rank", "block_id", "block__name", "row_rank", "row_name")
    rows = seats_of(session).annotate(now=seat_status_now()).order_by(*columns).values(*columns)
    free = Count("id", filter=Q(now=SeatStatus.AVAILABLE.value))
    counted = rows.annotate(count=Count("id"), free=free).values_list(*columns, "count", "free")
    return [
        CountedRow(block_id, block, name, seats, free)
        for _, block_id, block, _, name, seats, free in counted
    ]


def _chunks(rows: Iterable[CountedRow]) -> Iterator[list[CountedRow]]:
    """Whole rows, as many as fit."""
    chunk: list[CountedRow] = []
    seats = 0
    for row in rows:
        if chunk and seats + row.seats > SEATS_PER_PART_MAX:
            yield chunk
            chunk, seats = [], 0
        chunk.append(row)
        seats += row.seats
    yield chunk
