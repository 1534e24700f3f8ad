"""The seat plan of a session, and which seats seem to be free.

A row is an integer with a bit per place from left to right; an aisle is a bit that is never set.
Finding n seats together takes a few operations per row.

Free seats are a hint, read without locks: they say which seats to try, and the locks decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat import SeatPlace, SeatStatus

# Blocks closed in favor of the waitlist are left out, so any subset of blocks may be searched.
COMBINATIONS_KEPT_MAX = 64


class Spot(NamedTuple):
    """The location of a seat in a plan: its row and bit."""

    row: int
    bit: int


@immutable
class Row:
    block_id: BlockId
    name: str
    places: Mapping[int, SeatPlace]  # by bit
    width: int
    special: int  # accessible and companion places
    accessible: int
    restricted: int


@immutable
class SeatPlan:
    """The rows of a session, best first."""

    rows: tuple[Row, ...]
    spots: Mapping[SeatId, Spot]
    rows_of: Mapping[BlockId, tuple[int, ...]]
    has_restricted_views: bool
    _rows_in: dict[frozenset[BlockId], tuple[int, ...]] = field(default_factory=dict, repr=False)

    def place(self, spot: Spot) -> SeatPlace:
        return self.rows[spot.row].places[spot.bit]

    def all_free(self) -> "FreeSeats":
        return FreeSeats([_mask(row.places) for row in self.rows])

    def rows_in(self, blocks: frozenset[BlockId]) -> tuple[int, ...]:
        """The rows of these blocks, cached because the same few combinations recur."""
        known = self._rows_in.get(blocks)
        if known is None:
            known = tuple(sorted(n for block in blocks for n in self.rows_of.get(block, ())))
            if len(self._rows_in) >= COMBINATIONS_KEPT_MAX:
                self._rows_in.clear()
            self._rows_in[blocks] = known
        return known

    def known_spots(self, seat_ids: Iterable[SeatId]) -> list[Spot]:
        """A new block may be missing from a cached plan."""
        return [spot for seat_id in seat_ids if (spot := self.spots.get(seat_id)) is not None]

    def has_fewer(self, free: "FreeSeats", count: int, blocks: frozenset[BlockId]) -> bool:
        """Whether fewer places than `count` are free in these blocks."""
        for number in self.rows_in(blocks):
            count -= free.masks[number].bit_count()
            if count <= 0:
                return False
        return True


class FreeSeats:
    """The free places of each row, and its longest run, so that too short rows are skipped."""

    __slots__ = ("longest", "masks")

    def __init__(self, masks: list[int], longest: list[int] | None = None) -> None:
        self.masks = masks
        self.longest = [_longest_run(mask) for mask in masks] if longest is None else longest

    def copy(self) -> "FreeSeats":
        return FreeSeats(self.masks.copy(), self.longest.copy())

    def take(self, spot: Spot) -> None:
        self._set(spot.row, self.masks[spot.row] & ~(1 << spot.bit))

    def take_all(self, spots: Iterable[Spot]) -> None:
        """As `take`, looking at each row once."""
        masks: dict[int, int] = {}
        for row, bit in spots:
            masks[row] = masks.get(row, 0) | 1 << bit
        for row, taken in masks.items():
            self._set(row, self.masks[row] & ~taken)

    def give_back(self, spot: Spot) -> None:
        self._set(spot.row, self.masks[spot.row] | 1 << spot.bit)

    def put(self, spot: Spot, is_free: bool) -> None:
        if is_free:
            self.give_back(spot)
        else:
            self.take(spot)

    def _set(self, row: int, mask: int) -> None:
        if mask != self.masks[row]:
            self.masks[row] = mask
            self.longest[row] = _longest_run(mask)


@immutable
class Seating:
    """A plan with the places that seemed free when read, and those not sold."""

    plan: SeatPlan
    free: FreeSeats
    unsold: FreeSeats
    at: datetime


def make_plan(places: Iterable[SeatPlace], block_ranks: Mapping[BlockId, int]) -> SeatPlan:
    by_row: dict[tuple[int, BlockId, int, str], list[SeatPlace]] = {}
    for place in places:
        key = (block_ranks[place.block_id], place.block_id, place.row_rank, place.row)
        by_row.setdefault(key, []).append(place)
    rows = tuple(_row(by_row[key]) for key in sorted(by_row))
    spots: dict[SeatId, Spot] = {}
    rows_of: dict[BlockId, list[int]] = {}
    for number, row in enumerate(rows):
        rows_of.setdefault(row.block_id, []).append(number)
        for bit, place in row.places.items():
            spots[place.id] = Spot(number, bit)
    return SeatPlan(
        rows,
        spots,
        {block_id: tuple(numbers) for block_id, numbers in rows_of.items()},
        any(row.restricted for row in rows),
    )


def _row(places: Sequence[SeatPlace]) -> Row:
    first = min(place.position for place in places)
    by_bit = {place.position - first: place for place in places}
    accessible = _mask(bit for bit, place in by_bit.items() if place.is_accessible)
    companion = _mask(bit for bit, place in by_bit.items() if place.is_companion)
    return Row(
        block_id=places[0].block_id,
        name=places[0].row,
        places=by_bit,
        width=max(by_bit) + 1,
        special=accessible | companion,
        accessible=accessible,
        restricted=_mask(bit for bit, place in by_bit.items() if place.is_restricted_view),
    )


def _mask(bits: Iterable[int]) -> int:
    mask = 0
    for bit in bits:
        mask |= 1 << bit
    return mask


def _longest_run(mask: int) -> int:
    """The longest run of set bits, by doubling since rows may be long: find the starts of runs of
    1, 2, 4 ... bits, then add smaller powers to the longest."""
    if not mask:
        return 0
    ladder, length = [mask], 1
    while longer := ladder[-1] & ladder[-1] >> length:
        ladder.append(longer)
        length *= 2
    starts = ladder[-1]
    for power in reversed(range(len(ladder) - 1)):
        longer = starts & ladder[power] >> length
        if longer:
            starts = longer
            length += 1 << power
    return length


class SeenSeat(NamedTuple):
    """A seat as read without a lock."""

    id: SeatId
    status: SeatStatus
    held_until: datetime | None

    def is_free(self, now: datetime) -> bool:
        has_lapsed = self.held_until is not None and self.held_until <= now
        return self.status is SeatStatus.AVAILABLE or has_lapsed


class SeatMap:
    """Tracks the seats of a session between unlocked reads. Not thread-safe."""

    def __init__(self, plan: SeatPlan) -> None:
        self.plan = plan
        self._free = plan.all_free()
        self._unsold = plan.all_free()
        self._held_until: dict[SeatId, datetime] = {}
        self._lapses: list[tuple[datetime, SeatId]] = []

    def saw(self, seat: SeenSeat) -> None:
        spot = self.plan.spots[seat.id]
        self._held_until.pop(seat.id, None)
        self._unsold.put(spot, seat.status is not SeatStatus.SOLD)
        self._free.put(spot, seat.status is SeatStatus.AVAILABLE)
        if seat.held_until is not None:
            self._held_until[seat.id] = seat.held_until
            heappush(self._lapses, (seat.held_until, seat.id))
            self._drop_stale_lapses()

    def _drop_stale_lapses(self) -> None:
        """Drop the entries that released seats leave behind, before they outnumber the seats."""
        if len(self._lapses) > 2 * len(self.plan.spots):
            self._lapses = [(until, seat_id) for seat_id, until in self._held_until.items()]
            heapify(self._lapses)

    def seating(self, now: datetime, newer: Iterable[SeenSeat] = ()) -> Seating:
        """The seats as they seem now. Holds lapse by the clock, without a change of a row. `newer`
        applies to this result only."""
        while self._lapses and self._lapses[0][0] <= now:
            lapsed_at, seat_id = heappop(self._lapses)
            if self._held_until.get(seat_id) == lapsed_at:
                self._free.give_back(self.plan.spots[seat_id])
        seating = Seating(self.plan, self._free.copy(), self._unsold.copy(), now)
        for seat in newer:
            spot = self.plan.spots[seat.id]
            seating.unsold.put(spot, seat.status is not SeatStatus.SOLD)
            seating.free.put(spot, seat.is_free(now))
        return seating
