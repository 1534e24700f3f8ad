"""The hall of the demo: three levels, curved around the stage."""

from collections.abc import Iterator
from math import cos, sin
from string import ascii_uppercase

from holdfast.domain.catalog.seat_import import DraftSeat, Source
from holdfast.domain.immutable import immutable

_ROW_DISTANCE = 1.1
# The seats shown first: this many in the middle of each of these rows.
_SHOWN_ROWS = {("Stalls", "F"), ("Stalls", "H"), ("Stalls", "J"), ("Circle", "B"), ("Circle", "D")}
_SHOWN_PER_ROW = 8


@immutable
class Level:
    """One block. Its rows, from A on, are drawn from left to right: `o` is a seat, `w` a wheelchair
    space, `c` a companion seat, `v` a seat behind a pillar, and a space an aisle."""

    name: str
    price_minor: int
    radius: float
    rows: tuple[str, ...]
    capacity: int | None = None

    def seats(self) -> Iterator[DraftSeat]:
        for line, (name, places) in enumerate(zip(ascii_uppercase, self.rows, strict=False)):
            radius = self.radius + line * _ROW_DISTANCE
            taken = [place for place, kind in enumerate(places) if kind != " "]
            for number, place in enumerate(taken, start=1):
                angle = (place - (len(places) - 1) / 2) / radius
                yield DraftSeat(
                    source=Source(line, self.name),
                    row=name,
                    number=str(number),
                    position=place + 1,
                    x=round(radius * sin(angle), 2),
                    y=round(radius * cos(angle), 2),
                    is_accessible=places[place] == "w",
                    is_companion=places[place] == "c",
                    is_restricted_view=places[place] == "v",
                )


LEVELS = (
    Level(
        "Stalls",
        8_500,
        20,
        (
            "ooooo oooooooooooo ooooo",
            "ooooo oooooooooooo ooooo",
            "oooooo oooooooooooo oooooo",
            "oooooo oooooooooooo oooooo",
            "ooooooo oooooooooooo ooooooo",
            "ooooooo oooooooooooo ooooooo",
            "oooooooo oooooooooooo oooooooo",
            "oooooooo oooooooooooo oooooooo",
            "oooooooo oooooooooooo oooooooo",
            "oooooooo oooooooooooo oooooooo",
            "oooooooo oooooooooooo oooooooo",
            "oooooooo wc wc  cw cw oooooooo",
        ),
    ),
    Level(
        "Circle",
        6_500,
        36,
        (
            "oooooooo oooooooooooooo oooooooo",
            "oooooooo oooooooooooooo oooooooo",
            "ooooooooo oooooooooooooo ooooooooo",
            "ooooooooo oooooooooooooo ooooooooo",
            "vvoooooooo oooooooooooooo oooooooovv",
            "vvoooooooo oooooooooooooo oooooooovv",
        ),
    ),
    # Below the number of seats, to show a block with a capacity.
    Level(
        "Balcony",
        3_500,
        45.4,
        (
            "ooooooooooooo ooooooooooooo",
            "ooooooooooooo ooooooooooooo",
            "ooooooooooooo ooooooooooooo",
            "vvooooooooooo ooooooooooovv",
        ),
        capacity=80,
    ),
)


def is_shown(level: Level, seat: DraftSeat) -> bool:
    """Whether this is one of the seats shown first."""
    if (level.name, seat.row) not in _SHOWN_ROWS:
        return False
    chairs = sum(place != " " for place in level.rows[ascii_uppercase.index(seat.row)])
    first = (chairs - _SHOWN_PER_ROW) // 2 + 1
    return first <= int(seat.number) < first + _SHOWN_PER_ROW
