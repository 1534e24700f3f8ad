"""Seats of a hall are drawn at their coordinates, and never on top of each other."""

from itertools import pairwise
from math import dist

import pytest

from holdfast.entrypoints.admin.seats.drawing import Drawing, PlacedSeat, draw


def seat(block: str, row: int, position: int, x: float, y: float) -> PlacedSeat:
    name = chr(ord("A") + row)
    special = (False, False, False)
    return PlacedSeat(block, name, row, str(position), position, x, y, *special, "available")


def grid(block: str, rows: int, places: int, *, scale: float = 1, x: float = 0) -> list[PlacedSeat]:
    return [
        seat(block, row, place + 1, x + place * scale, row * scale)
        for row in range(rows)
        for place in range(places)
    ]


def assert_is_complete(drawing: Drawing) -> None:
    """Check that every seat and name is inside the picture and that no seats overlap."""
    points = drawing.points
    everything = [*points, *((label.x, label.y) for label in (*drawing.rows, *drawing.blocks))]
    assert all(0 < x < drawing.width and 0 < y < drawing.height for x, y in everything)
    assert all(dist(one, other) > 0.9 for at, one in enumerate(points) for other in points[:at])


def test_neighbors_are_one_unit_apart_at_any_scale() -> None:
    for scale in (0.02, 1, 750):
        drawing = draw(grid("Stalls", 3, 4, scale=scale))
        first_row = drawing.points[:4]
        assert all(abs(dist(one, other) - 1) < 1e-6 for one, other in pairwise(first_row))
        assert_is_complete(drawing)


def test_a_seat_is_drawn_at_its_coordinates() -> None:
    seats = [*grid("Left", 2, 3), *grid("Right", 2, 3, x=10)]
    drawing = draw(seats)
    (left, top), (right, same) = drawing.points[0], drawing.points[6]
    assert (right - left, same) == pytest.approx((10, top))
    assert_is_complete(drawing)


def test_overlapping_blocks_are_drawn_one_behind_the_other() -> None:
    """Blocks described separately all start at the same corner."""
    drawing = draw([*grid("Front", 3, 6), *grid("Back", 2, 4)])
    front, back = drawing.points[:18], drawing.points[18:]
    assert max(y for _, y in front) < min(y for _, y in back)
    assert_is_complete(drawing)


def test_seats_with_equal_coordinates_are_drawn_by_row_and_position() -> None:
    drawing = draw([seat("Stalls", row, place, 0, 0) for row in (0, 1) for place in (1, 2, 4)])
    (first, _), (second, _), (after_the_aisle, _) = drawing.points[:3]
    assert (second - first, after_the_aisle - second) == pytest.approx((1, 2))
    assert_is_complete(drawing)


def test_a_hall_of_one_seat_is_drawn() -> None:
    assert_is_complete(draw(grid("Box", 1, 1)))


def test_close_rows_do_not_overlap() -> None:
    seats = [seat("Stalls", row, place, place, row * 0.4) for row in range(3) for place in (1, 2)]
    assert_is_complete(draw(seats))


def test_each_row_and_block_is_labeled() -> None:
    drawing = draw([*grid("Front", 3, 6), *grid("Back", 2, 4)])
    assert [label.text for label in drawing.blocks] == ["Front", "Back"]
    assert [label.text for label in drawing.rows] == list("AABBCCAABB")


def test_a_wide_hall_has_larger_and_fewer_labels() -> None:
    drawing = draw(grid("Field", 20, 300))
    assert drawing.letters > draw(grid("Field", 20, 30)).letters
    assert 0 < len(drawing.rows) < 20
