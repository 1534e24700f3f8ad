"""The layout of a hall's picture. The unit is the distance between neighbouring seats; the stage is
at the top."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from math import ceil, dist
from statistics import fmean, median
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.immutable import immutable

ROOM_AT_SIDES = 2.4
ROOM_AT_BOTTOM = 1.0
ROOM_BETWEEN_BLOCKS = 2.5
# Wider halls are scaled down, so their letters have to be larger.
LETTERS_MIN, LETTERS_PER_WIDTH = 0.8, 1 / 90
PIXELS_MAX = 26

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
    id: UUID | None = None
    held_until: datetime | None = None

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


@immutable
class Drawing:
    width: float
    height: float
    seats: Sequence[PlacedSeat]
    points: Sequence[Point]
    rows: tuple[Label, ...]
    blocks: tuple[Label, ...]
    letters: float

    @property
    def pixels(self) -> int:
        """The maximum width: a small hall should not fill a screen."""
        return round(self.width * PIXELS_MAX)

    @property
    def stage(self) -> Label:
        return Label("STAGE", self.width / 2, self.letters)

    @property
    def stage_line(self) -> str:
        """An arc towards the seats."""
        left, right, y = self.width * 0.25, self.width * 0.75, self.letters * 2
        return (
            f"M{left:.6g} {y:.6g}q{(right - left) / 2:.6g} {self.letters:.6g} {right - left:.6g} 0"
        )

    @property
    def block_letters(self) -> float:
        return self.letters * 1.4

    @property
    def marks(self) -> list[str]:
        """The marks that occur."""
        return sorted({mark for seat in self.seats for mark in seat.marks})


class _Row(NamedTuple):
    """A row, with the indexes of its seats from left to right."""

    block: str
    name: str
    indexes: tuple[int, ...]


def draw(seats: Sequence[PlacedSeat]) -> Drawing:
    """Expects the seats by block and row, each row from left to right."""
    rows = _rows(seats)
    points = _points(seats)
    pitch = _pitch(seats, points, rows)
    left, top = min(x for x, _ in points), min(y for _, y in points)
    width = (max(x for x, _ in points) - left) / pitch + 2 * ROOM_AT_SIDES
    letters = max(LETTERS_MIN, width * LETTERS_PER_WIDTH)
    room_for_stage = 1 + 5 * letters
    points = [
        ((x - left) / pitch + ROOM_AT_SIDES, (y - top) / pitch + room_for_stage) for x, y in points
    ]
    return Drawing(
        width=width,
        height=max(y for _, y in points) + ROOM_AT_BOTTOM,
        seats=seats,
        points=points,
        rows=tuple(_row_labels(rows, points, letters)),
        blocks=tuple(_block_labels(rows, points, letters)),
        letters=letters,
    )


def _rows(seats: Sequence[PlacedSeat]) -> list[_Row]:
    grouped = groupby(range(len(seats)), key=lambda index: (seats[index].block, seats[index].row))
    return [_Row(block, name, tuple(indexes)) for (block, name), indexes in grouped]


def _points(seats: Sequence[PlacedSeat]) -> list[Point]:
    """The seats' own coordinates. If two coincide, each block has its own origin: then the blocks
    are drawn one behind the other, by row and place in the row."""
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
    """The distance between neighbours, side by side or one behind the other."""
    beside = [
        dist(points[one], points[other]) / max(1, seats[other].position - seats[one].position)
        for row in rows
        for one, other in pairwise(row.indexes)
    ]
    behind = [
        dist(_centre(points, [front]), _centre(points, [back]))
        for front, back in pairwise(rows)
        if front.block == back.block
    ]
    return min((median(distances) for distances in (beside, behind) if distances), default=1) or 1


def _centre(points: Sequence[Point], rows: Iterable[_Row]) -> Point:
    seats = [points[index] for row in rows for index in row.indexes]
    return fmean(x for x, _ in seats), fmean(y for _, y in seats)


def _row_labels(rows: Iterable[_Row], points: Sequence[Point], letters: float) -> Iterable[Label]:
    """At both ends of each row. If letters are larger than seats, only at the left of some rows."""
    every = ceil(letters)
    for _, block in groupby(rows, key=lambda row: row.block):
        for row in list(block)[::every]:
            seats = [points[index] for index in row.indexes]
            yield Label(row.name, *_before(seats, max(1, letters)))
            if len(seats) > 1 and every == 1:
                yield Label(row.name, *_before(seats[::-1], 1))


def _before(seats: Sequence[Point], distance: float) -> Point:
    """The point before the first seat in the direction of the row."""
    (x, y), *others = seats
    if not others:
        return x - distance, y
    next_x, next_y = others[0]
    scale = distance / dist(seats[0], others[0])
    return x + (x - next_x) * scale, y + (y - next_y) * scale


def _block_labels(rows: Iterable[_Row], points: Sequence[Point], letters: float) -> Iterable[Label]:
    """In front of the middle of the first row, which may be curved. If letters are larger than
    seats, there is no room, and the label goes to the middle of the block."""
    for name, block in groupby(rows, key=lambda row: row.block):
        front, *others = block
        if letters > 1:
            yield Label(name, *_centre(points, [front, *others]))
            continue
        x, _ = _centre(points, [front])
        nearest = min((points[index] for index in front.indexes), key=lambda at: abs(at[0] - x))
        yield Label(name, x, nearest[1] - 1.4)
