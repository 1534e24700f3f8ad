"""Where everything goes in the picture of a hall. The unit is the distance between neighbours; the
stage is at the top."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil, dist
from statistics import fmean, median
from typing import NamedTuple

ROOM_FOR_STAGE = 4.6
ROOM_AT_SIDES = 2.4
ROOM_AT_BOTTOM = 1.0
ROOM_BETWEEN_BLOCKS = 2.5

Point = tuple[float, float]


class PlacedSeat(NamedTuple):
    block: str
    row: str
    row_rank: int
    number: str
    position: int
    x: float
    y: float
    is_accessible: bool
    is_companion: bool
    is_restricted_view: bool
    status: str

    @property
    def marks(self) -> tuple[str, ...]:
        marks = {
            "accessible": self.is_accessible,
            "companion": self.is_companion,
            "restricted view": self.is_restricted_view,
        }
        return tuple(mark for mark, is_so in marks.items() if is_so)


class Label(NamedTuple):
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Drawing:
    width: float
    height: float
    seats: Sequence[PlacedSeat]
    points: Sequence[Point]
    rows: tuple[Label, ...]
    blocks: tuple[Label, ...]
    # Larger in a larger hall, which is shown smaller.
    row_text: float
    block_text: float

    @property
    def middle(self) -> float:
        return self.width / 2

    @property
    def stage_line(self) -> str:
        """Bent towards the seats."""
        left, right = self.width * 0.25, self.width * 0.75
        return f"M{left:.6g} 1.7Q{self.middle:.6g} 2.6 {right:.6g} 1.7"

    @property
    def marks(self) -> list[str]:
        """Those that some seat has."""
        return sorted({mark for seat in self.seats for mark in seat.marks})


class _Row(NamedTuple):
    """Which of the seats, from left to right."""

    block: str
    name: str
    indexes: tuple[int, ...]


def draw(seats: Sequence[PlacedSeat]) -> Drawing:
    """The seats come block by block and row by row, each from left to right."""
    rows = _rows(seats)
    points = _points(seats)
    pitch = _pitch(seats, points, rows)
    left, top = min(x for x, _ in points), min(y for _, y in points)
    points = [
        ((x - left) / pitch + ROOM_AT_SIDES, (y - top) / pitch + ROOM_FOR_STAGE) for x, y in points
    ]
    width = max(x for x, _ in points) + ROOM_AT_SIDES
    row_text, block_text = max(0.8, width / 90), max(1.1, width / 45)
    return Drawing(
        width=width,
        height=max(y for _, y in points) + ROOM_AT_BOTTOM,
        seats=seats,
        points=points,
        rows=tuple(_row_labels(rows, points, every=ceil(row_text))),
        blocks=tuple(_block_labels(rows, points)),
        row_text=row_text,
        block_text=block_text,
    )


def _rows(seats: Sequence[PlacedSeat]) -> list[_Row]:
    grouped = groupby(range(len(seats)), key=lambda index: (seats[index].block, seats[index].row))
    return [_Row(block, name, tuple(indexes)) for (block, name), indexes in grouped]


def _points(seats: Sequence[PlacedSeat]) -> list[Point]:
    """Where the seats say that they are. When two say the same, the blocks were each described on
    their own: then they are drawn one behind the other, by row and position."""
    points = [(seat.x, seat.y) for seat in seats]
    if len(set(points)) == len(points):
        return points
    points = []
    start = 0.0
    for _, block in groupby(seats, key=lambda seat: seat.block):
        placed = list(block)
        positions = [seat.position for seat in placed]
        middle = (min(positions) + max(positions)) / 2
        points += [(seat.position - middle, start + seat.row_rank) for seat in placed]
        start = points[-1][1] + 1 + ROOM_BETWEEN_BLOCKS
    return points


def _pitch(seats: Sequence[PlacedSeat], points: Sequence[Point], rows: Sequence[_Row]) -> float:
    """How far apart neighbours are, beside each other or one behind the other."""
    beside = [
        dist(points[one], points[other]) / max(1, seats[other].position - seats[one].position)
        for row in rows
        for one, other in pairwise(row.indexes)
    ]
    behind = [
        dist(_centre(points, front), _centre(points, back))
        for front, back in pairwise(rows)
        if front.block == back.block
    ]
    return min((median(distances) for distances in (beside, behind) if distances), default=1) or 1


def _centre(points: Sequence[Point], row: _Row) -> Point:
    return fmean(points[i][0] for i in row.indexes), fmean(points[i][1] for i in row.indexes)


def _row_labels(rows: Iterable[_Row], points: Sequence[Point], *, every: int) -> Iterable[Label]:
    """At both ends of each row, or of every so many where there is no room for all."""
    for _, block in groupby(rows, key=lambda row: row.block):
        for row in list(block)[::every]:
            seats = [points[index] for index in row.indexes]
            yield Label(row.name, *_before(seats))
            if len(seats) > 1:
                yield Label(row.name, *_before(seats[::-1]))


def _before(seats: Sequence[Point]) -> Point:
    """Where the row would go on, before the first of these."""
    (x, y), *others = seats
    if not others:
        return x - 1, y
    next_x, next_y = others[0]
    distance = dist(seats[0], others[0])
    return x + (x - next_x) / distance, y + (y - next_y) / distance


def _block_labels(rows: Iterable[_Row], points: Sequence[Point]) -> Iterable[Label]:
    """In front of the middle of the first row; rows may be curved."""
    for name, block in groupby(rows, key=lambda row: row.block):
        front = next(block)
        x, _ = _centre(points, front)
        nearest = min((points[index] for index in front.indexes), key=lambda at: abs(at[0] - x))
        yield Label(name, x, nearest[1] - 1.4)
