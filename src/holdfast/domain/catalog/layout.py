"""Turns compact descriptions of blocks into seats: rows of equal length, numbering, aisles and
special places."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from string import ascii_uppercase
from typing import NamedTuple

from holdfast.domain.catalog.model import BlockPrice
from holdfast.domain.catalog.seat_import import (
    SEATS_PER_IMPORT_MAX,
    DraftBlock,
    DraftSeat,
    Flaw,
    Source,
    flaws_within,
    refuse_flaws,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.slices import giving_way_longer


class Numbering(StrEnum):
    """left: 1 is at the left. right: 1 is at the right. odd_even: 5 3 1 2 4 6."""

    LEFT = "left"
    RIGHT = "right"
    ODD_EVEN = "odd_even"


class Point(NamedTuple):
    x: float
    y: float


@immutable
class RowRange:
    """Rows such as A to M, Z to AC, or 1 to 30."""

    first: str
    last: str

    def __len__(self) -> int:
        """0 for an invalid range: a letter and a number, or the last before the first."""
        if self.first.isdecimal() != self.last.isdecimal():
            return 0
        return max(0, _row_index(self.last) - _row_index(self.first) + 1)

    def __iter__(self) -> Iterator[str]:
        start = _row_index(self.first)
        label = str if self.first.isdecimal() else _letters
        return (label(index) for index in range(start, start + len(self)))


def _row_index(label: str) -> int:
    if label.isdecimal():
        return int(label)
    index = 0
    for letter in label:
        index = index * len(ascii_uppercase) + ascii_uppercase.index(letter) + 1
    return index


def _letters(index: int) -> str:
    """1 is A, 26 is Z, 27 is AA."""
    label = ""
    while index:
        index, rest = divmod(index - 1, len(ascii_uppercase))
        label = ascii_uppercase[rest] + label
    return label


@immutable
class BlockLayout:
    """`aisles_after` counts places from the left. Gaps and special places have row and number as
    printed: A1, or A-1 if A1 is ambiguous."""

    name: str
    rows: tuple[str, ...] | RowRange
    seats_per_row: int
    numbering: Numbering = Numbering.LEFT
    first_number: int = 1
    aisles_after: tuple[int, ...] = ()
    gaps: tuple[str, ...] = ()
    accessible: tuple[str, ...] = ()
    companion: tuple[str, ...] = ()
    restricted_view: tuple[str, ...] = ()
    origin: Point | None = None
    spacing: Point | None = None
    rank: int | None = None
    capacity: int | None = None
    prices: tuple[BlockPrice, ...] = ()


def draft_layouts(layouts: Sequence[BlockLayout]) -> tuple[DraftBlock, ...] | Refusal:
    """Every block with its seats, or all errors. Several descriptions of one block are appended,
    such as rows of another length."""
    if sum(len(layout.rows) * layout.seats_per_row for layout in layouts) > SEATS_PER_IMPORT_MAX:
        message = f"At most {SEATS_PER_IMPORT_MAX} seats in one call"
        too_many = refuse_flaws([Flaw(Source(0, "blocks"), "too_many", message)])
        assert too_many is not None
        return too_many
    flaws: list[Flaw] = []
    blocks: dict[str, DraftBlock] = {}
    for order, layout in enumerate(layouts):
        expansion = _Expansion(order, layout)
        block = expansion.block()
        flaws += expansion.flaws
        known = blocks.get(block.name)
        if known is not None:
            if block.terms != known.terms:
                flaws += block.refuse_terms()
            block = replace(known, seats=known.seats + block.seats)
        blocks[block.name] = block
    drafted = tuple(blocks.values())
    return refuse_flaws([*flaws, *flaws_within(drafted)]) or drafted


class _Place(NamedTuple):
    """A place that may get a seat: its row, and its number from the left."""

    row: str
    order: int


class _Expansion:
    def __init__(self, order: int, layout: BlockLayout) -> None:
        self._order = order
        self._layout = layout
        self._numbers = _numbers(layout.numbering, layout.seats_per_row, layout.first_number)
        self.flaws: list[Flaw] = []

    def block(self) -> DraftBlock:
        layout = self._layout
        if not layout.rows:
            message = "Must be two letters or two numbers, in ascending order"
            self._flaw("rows", "invalid_value", message)
        seats = tuple(giving_way_longer(self._seats()))
        if layout.rows and not seats:
            self._flaw("gaps", "invalid_value", "Must leave at least one seat")
        source = Source(self._order, f"blocks[{self._order}]")
        return DraftBlock(source, layout.name, seats, layout.rank, layout.capacity, layout.prices)

    def _seats(self) -> Iterator[DraftSeat]:
        layout = self._layout
        positions = self._positions()
        gaps, *special = self._named()
        accessible, companion, restricted = special
        source = Source(self._order, f"blocks[{self._order}].rows")
        for line, row in enumerate(layout.rows):
            for order, number in enumerate(self._numbers):
                place = _Place(row, order)
                if place in gaps:
                    continue
                at = self._drawn_at(positions[order], line)
                yield DraftSeat(
                    source,
                    row,
                    number,
                    positions[order],
                    at and at.x,
                    at and at.y,
                    place in accessible,
                    place in companion,
                    place in restricted,
                )

    def _positions(self) -> list[int]:
        """Each aisle skips one place in the row."""
        places = self._layout.seats_per_row
        for entry, after in enumerate(self._layout.aisles_after):
            if not 1 <= after < places:
                message = "Must be a place of the row other than the last"
                self._flaw(f"aisles_after[{entry}]", "invalid_value", message)
        aisles = set(self._layout.aisles_after)
        return [order + 1 + sum(1 for after in aisles if after <= order) for order in range(places)]

    def _drawn_at(self, position: int, line: int) -> Point | None:
        origin, spacing = self._layout.origin, self._layout.spacing
        if origin is None and spacing is None:
            return None
        start, step = origin or Point(0, 0), spacing or Point(1, 1)
        return Point(start.x + (position - 1) * step.x, start.y + line * step.y)

    def _named(self) -> list[set[_Place]]:
        """The gaps, and the accessible, companion and restricted-view places, which must not be
        gaps."""
        layout = self._layout
        named = (layout.gaps, layout.accessible, layout.companion, layout.restricted_view)
        if not any(named):
            return [set(), set(), set(), set()]
        places: dict[str, list[_Place]] = defaultdict(list)
        for row in layout.rows:
            for order, number in enumerate(self._numbers):
                places[f"{row}{number}"].append(_Place(row, order))
                places[f"{row}-{number}"].append(_Place(row, order))
        fields = ("gaps", "accessible", "companion", "restricted_view")
        gaps: set[_Place] = set()
        found: list[set[_Place]] = []
        for field, names in zip(fields, named, strict=True):
            found.append(self._find(field, names, places, gaps))
            gaps = found[0]
        return found

    def _find(
        self,
        field: str,
        names: Sequence[str],
        places: dict[str, list[_Place]],
        gaps: set[_Place],
    ) -> set[_Place]:
        found: set[_Place] = set()
        for entry, name in enumerate(names):
            meant = [place for place in places.get(name, ()) if place not in gaps]
            if len(meant) == 1:
                found.add(meant[0])
            elif meant:
                message = "Could mean several seats; separate row and number with a hyphen"
                self._flaw(f"{field}[{entry}]", "invalid_value", message)
            else:
                message = "Is no seat of this block; use row and number as printed, such as A1"
                self._flaw(f"{field}[{entry}]", "invalid_value", message)
        return found

    def _flaw(self, field: str, code: str, message: str) -> None:
        source = Source(self._order, f"blocks[{self._order}].{field}")
        self.flaws.append(Flaw(source, code, message))


def _numbers(numbering: Numbering, count: int, first: int) -> list[str]:
    """The numbers of a row from left to right."""
    match numbering:
        case Numbering.LEFT:
            numbers = list(range(1, count + 1))
        case Numbering.RIGHT:
            numbers = list(range(count, 0, -1))
        case Numbering.ODD_EVEN:
            odd = range(count - 1 if count % 2 == 0 else count, 0, -2)
            numbers = [*odd, *range(2, count + 1, 2)]
    return [str(number + first - 1) for number in numbers]
