"""Places drafted seats in rows, beside the existing seats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.catalog.model import BlockPrice
from holdfast.domain.ids import BlockId, SeatId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.slices import giving_way_longer

SEATS_PER_IMPORT_MAX = 50_000
BLOCKS_PER_IMPORT_MAX = 1_000
SEATS_PER_ROW_MAX = 1_000
POSITION_MAX = 2_000  # leaves room for aisles
FLAWS_SHOWN_MAX = 100

_COUNTED_BITS = 48


class Source(NamedTuple):
    """A place in the request, as its sender would name it: `line 17`."""

    order: int
    field: str


class Flaw(NamedTuple):
    source: Source
    code: str
    message: str


@immutable
class DraftSeat:
    """A new seat. Without a position it follows the seat before it in the row; without coordinates
    it is drawn by row and position."""

    source: Source
    row: str
    number: str
    position: int | None = None
    x: float | None = None
    y: float | None = None
    is_accessible: bool = False
    is_companion: bool = False
    is_restricted_view: bool = False


@immutable
class DraftBlock:
    """Seats for a block. The terms apply only if the block is new."""

    source: Source
    name: str
    seats: tuple[DraftSeat, ...]
    rank: int | None = None
    capacity: int | None = None
    prices: tuple[BlockPrice, ...] = ()

    @property
    def terms(self) -> tuple[int | None, int | None, tuple[BlockPrice, ...]]:
        return self.rank, self.capacity, self.prices

    def refuse_terms(self) -> list[Flaw]:
        """Refuse terms for an existing block."""
        if self.terms == (None, None, ()):
            return []
        message = (
            "The block already exists: change its capacity, rank and ticket types on "
            "the block itself"
        )
        return [Flaw(self.source, "conflicting_fields", message)]


@immutable
class ImportedBlock:
    id: BlockId
    name: str
    seats_added: int


@immutable
class ImportedSeats:
    session_id: SessionId
    blocks: tuple[ImportedBlock, ...]


class KnownSeat(NamedTuple):
    """An existing seat."""

    row: str
    row_rank: int
    number: str
    position: int


@dataclass(slots=True)
class _Row:
    rank: int
    numbers: set[str] = field(default_factory=set)
    positions: set[int] = field(default_factory=set)
    last: int = 0

    def add(self, number: str, position: int) -> None:
        self.numbers.add(number)
        self.positions.add(position)
        self.last = position

    def flaw_of(self, seat: DraftSeat, position: int) -> Flaw | None:
        """The reason why the seat cannot be added here, if any."""
        if seat.number in self.numbers:
            message = "This row already has a seat with this number"
            return Flaw(seat.source, "duplicate", message)
        if position in self.positions:
            message = "This row already has a seat at this position"
            return Flaw(seat.source, "duplicate", message)
        if len(self.numbers) == SEATS_PER_ROW_MAX:
            message = f"At most {SEATS_PER_ROW_MAX} seats in one row"
            return Flaw(seat.source, "too_many", message)
        if not 1 <= position <= POSITION_MAX:
            message = f"Its position in the row is {position}; it must be from 1 to {POSITION_MAX}"
            return Flaw(seat.source, "invalid_value", message)
        return None


class Arrangement:
    """The rows of one block while seats are added, and the errors so far."""

    def __init__(self, block_id: BlockId, known: Iterable[KnownSeat] = ()) -> None:
        self._block_id = block_id
        self._rows: dict[str, _Row] = {}
        self._ranks = 0
        self.flaws: list[Flaw] = []
        for seat in sorted(known, key=lambda each: each.position):
            row = self._rows.setdefault(seat.row, _Row(seat.row_rank))
            row.add(seat.number, seat.position)
            self._ranks = max(self._ranks, seat.row_rank + 1)

    def check(self, seat: DraftSeat) -> tuple[int, int] | None:
        """The rank of its row and its place there; None if it is refused, with the reason in
        `flaws`."""
        row = self._rows.get(seat.row)
        if row is None:
            row = self._rows[seat.row] = _Row(self._ranks)
            self._ranks += 1
        position = row.last + 1 if seat.position is None else seat.position
        flaw = row.flaw_of(seat, position)
        if flaw is not None:
            self.flaws.append(flaw)
            return None
        row.add(seat.number, position)
        return row.rank, position

    def place(self, seat: DraftSeat, seat_id: SeatId) -> SeatPlace | None:
        checked = self.check(seat)
        if checked is None:
            return None
        row_rank, position = checked
        return SeatPlace(
            id=seat_id,
            block_id=self._block_id,
            row=seat.row,
            row_rank=row_rank,
            number=seat.number,
            position=position,
            x=position - 1.0 if seat.x is None else seat.x,
            y=float(row_rank) if seat.y is None else seat.y,
            is_accessible=seat.is_accessible,
            is_companion=seat.is_companion,
            is_restricted_view=seat.is_restricted_view,
        )

    def place_all(
        self, seats: Sequence[DraftSeat], first_id: SeatId, offset: int = 0
    ) -> list[SeatPlace]:
        places = (
            self.place(seat, counted_id(first_id, offset + count))
            for count, seat in enumerate(giving_way_longer(seats))
        )
        return [place for place in places if place is not None]


def countable_id(made: UUID) -> SeatId:
    """An id that leaves room to count up."""
    return SeatId(UUID(int=made.int & ~(1 << (_COUNTED_BITS - 1))))


def counted_id(first: SeatId, count: int) -> SeatId:
    """Ids of one import differ only in their last digits, which keeps seat maps short."""
    return SeatId(UUID(int=first.int + count))


def flaws_within(blocks: Iterable[DraftBlock]) -> list[Flaw]:
    """The errors of the blocks, whatever the session contains."""
    flaws: list[Flaw] = []
    for block in blocks:
        arrangement = Arrangement(BlockId(UUID(int=0)))
        for seat in giving_way_longer(block.seats):
            arrangement.check(seat)
        flaws += arrangement.flaws
    return flaws


def refuse_flaws(flaws: Iterable[Flaw]) -> Refusal | None:
    """The first error of each line or field, in the order of the request."""
    first_by_source: dict[Source, Flaw] = {}
    for flaw in flaws:
        first_by_source.setdefault(flaw.source, flaw)
    if not first_by_source:
        return None
    ordered = sorted(first_by_source.values(), key=lambda flaw: flaw.source.order)
    errors = [
        {"field": flaw.source.field, "code": flaw.code, "message": flaw.message}
        for flaw in ordered[:FLAWS_SHOWN_MAX]
    ]
    return refusals.invalid_seats(errors, len(ordered))
