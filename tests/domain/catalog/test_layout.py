"""The compact description of a block, and the seats it expands to."""

from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.catalog.layout import BlockLayout, Numbering, Point, RowRange, draft_layouts
from holdfast.domain.catalog.seat_import import (
    FLAWS_SHOWN_MAX,
    POSITION_MAX,
    SEATS_PER_IMPORT_MAX,
    SEATS_PER_ROW_MAX,
    Arrangement,
    DraftBlock,
    DraftSeat,
    Flaw,
    KnownSeat,
    Source,
    countable_id,
    counted_id,
    refuse_flaws,
)
from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatPlace

BLOCK = BlockId(UUID(int=1))
FIRST = SeatId(UUID(int=1 << 100))


def drafted(*layouts: BlockLayout) -> tuple[DraftBlock, ...]:
    blocks = draft_layouts(layouts)
    assert not isinstance(blocks, Refusal), blocks
    return blocks


def placed(layout: BlockLayout) -> list[SeatPlace]:
    (block,) = drafted(layout)
    return Arrangement(BLOCK).place_all(block.seats, FIRST)


def errors(*layouts: BlockLayout) -> list[tuple[str, str]]:
    refusal = draft_layouts(layouts)
    assert isinstance(refusal, Refusal)
    listed = refusal.details["errors"]
    assert isinstance(listed, list)
    return [(str(each["field"]), str(each["code"])) for each in listed if isinstance(each, dict)]


@pytest.mark.parametrize(
    ("first", "last", "rows"),
    [
        ("A", "D", ["A", "B", "C", "D"]),
        ("Y", "AB", ["Y", "Z", "AA", "AB"]),
        ("ZZ", "AAA", ["ZZ", "AAA"]),
        ("8", "11", ["8", "9", "10", "11"]),
        ("C", "C", ["C"]),
    ],
)
def test_a_range_names_its_rows(first: str, last: str, rows: list[str]) -> None:
    assert list(RowRange(first, last)) == rows
    assert len(RowRange(first, last)) == len(rows)


@pytest.mark.parametrize(
    ("first", "last"), [("B", "A"), ("Z", "A"), ("2", "1"), ("9", "1"), ("A", "5"), ("5", "A")]
)
def test_an_empty_range_is_an_error(first: str, last: str) -> None:
    layout = BlockLayout("Stalls", RowRange(first, last), 2)
    assert errors(layout) == [("blocks[0].rows", "invalid_value")]


@pytest.mark.parametrize(
    ("numbering", "count", "numbers"),
    [
        (Numbering.LEFT, 4, "1 2 3 4"),
        (Numbering.RIGHT, 4, "4 3 2 1"),
        (Numbering.ODD_EVEN, 6, "5 3 1 2 4 6"),
        (Numbering.ODD_EVEN, 5, "5 3 1 2 4"),
        (Numbering.ODD_EVEN, 1, "1"),
    ],
)
def test_seats_are_numbered_left_to_right(numbering: Numbering, count: int, numbers: str) -> None:
    seats = placed(BlockLayout("Stalls", ("A",), count, numbering))
    assert [seat.number for seat in seats] == numbers.split()
    assert [seat.position for seat in seats] == list(range(1, count + 1))


def test_aisles_and_gaps_skip_positions() -> None:
    seats = placed(BlockLayout("Stalls", ("A",), 6, aisles_after=(2, 4), gaps=("A6",)))
    assert [(seat.number, seat.position) for seat in seats] == [
        ("1", 1),
        ("2", 2),
        ("3", 4),
        ("4", 5),
        ("5", 7),
    ]


def test_special_seats_are_named_as_printed() -> None:
    layout = BlockLayout(
        "Stalls",
        ("A", "B"),
        3,
        Numbering.RIGHT,
        accessible=("B3",),
        companion=("B-2",),
        restricted_view=("A1", "B1"),
    )
    seats = {seat.row + seat.number: seat for seat in placed(layout)}
    assert [name for name, seat in seats.items() if seat.is_accessible] == ["B3"]
    assert [name for name, seat in seats.items() if seat.is_companion] == ["B2"]
    assert [name for name, seat in seats.items() if seat.is_restricted_view] == ["A1", "B1"]
    assert seats["B3"].position == 1


def test_an_ambiguous_seat_name_needs_a_hyphen() -> None:
    rows = RowRange("1", "11")
    assert errors(BlockLayout("Stalls", rows, 11, gaps=("111",))) == [
        ("blocks[0].gaps[0]", "invalid_value")
    ]
    seats = placed(BlockLayout("Stalls", rows, 11, gaps=("11-1",)))
    assert len(seats) == 120
    assert ("1", "11") in {(seat.row, seat.number) for seat in seats}
    assert ("11", "1") not in {(seat.row, seat.number) for seat in seats}


def test_coordinates_start_at_zero_in_steps_of_one_by_default() -> None:
    from_zero = placed(BlockLayout("Stalls", ("A", "B"), 2, spacing=Point(3, 5)))
    assert [(seat.x, seat.y) for seat in from_zero] == [(0, 0), (3, 0), (0, 5), (3, 5)]
    by_one = placed(BlockLayout("Stalls", ("A", "B"), 2, origin=Point(10, 20)))
    assert [(seat.x, seat.y) for seat in by_one] == [(10, 20), (11, 20), (10, 21), (11, 21)]


def test_coordinates_start_at_the_given_origin() -> None:
    layout = BlockLayout(
        "Stalls", ("A", "B"), 2, aisles_after=(1,), origin=Point(10, 20), spacing=Point(1.5, -2)
    )
    assert [(seat.x, seat.y) for seat in placed(layout)] == [
        (10, 20),
        (13, 20),
        (10, 18),
        (13, 18),
    ]
    plain = placed(BlockLayout("Stalls", ("A", "B"), 2))
    assert [(seat.x, seat.y) for seat in plain] == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_several_descriptions_of_one_block_are_appended() -> None:
    blocks = drafted(
        BlockLayout("Stalls", ("A",), 3, rank=7, capacity=4),
        BlockLayout("Balcony", ("A",), 1),
        BlockLayout("Stalls", ("B",), 2),
    )
    assert [(block.name, len(block.seats)) for block in blocks] == [("Stalls", 5), ("Balcony", 1)]
    assert (blocks[0].rank, blocks[0].capacity) == (7, 4)
    places = Arrangement(BLOCK).place_all(blocks[0].seats, FIRST)
    assert [(seat.row, seat.row_rank) for seat in places] == [("A", 0)] * 3 + [("B", 1)] * 2


def test_every_error_is_reported() -> None:
    wrong = BlockLayout(
        "Stalls",
        ("A",),
        4,
        aisles_after=(0, 4, 2),
        gaps=("A1", "B1"),
        accessible=("A1",),
        companion=("a2",),
        restricted_view=("A5",),
    )
    twice = BlockLayout("Stalls", ("A",), 4, capacity=3)
    assert errors(wrong, twice) == [
        ("blocks[0].aisles_after[0]", "invalid_value"),
        ("blocks[0].aisles_after[1]", "invalid_value"),
        ("blocks[0].gaps[1]", "invalid_value"),
        ("blocks[0].accessible[0]", "invalid_value"),
        ("blocks[0].companion[0]", "invalid_value"),
        ("blocks[0].restricted_view[0]", "invalid_value"),
        ("blocks[1]", "conflicting_fields"),
        ("blocks[1].rows", "duplicate"),
    ]


def test_a_place_can_be_special_in_several_ways() -> None:
    same = ("A2",)
    layout = BlockLayout(
        "Stalls", ("A",), 3, accessible=same, companion=same, restricted_view=same, gaps=("A1",)
    )
    (block,) = drafted(layout)
    special = [
        (seat.is_accessible, seat.is_companion, seat.is_restricted_view) for seat in block.seats
    ]
    assert special == [(True, True, True), (False, False, False)]


def test_a_block_without_seats_is_an_error() -> None:
    assert errors(BlockLayout("Stalls", ("A",), 1, gaps=("A1",))) == [
        ("blocks[0].gaps", "invalid_value")
    ]


def test_a_layout_has_a_maximum_number_of_seats() -> None:
    full = BlockLayout("Stalls", RowRange("1", "50"), 1000)
    (block,) = drafted(full)
    assert len(block.seats) == SEATS_PER_IMPORT_MAX
    assert errors(full, BlockLayout("Balcony", ("A",), 1)) == [("blocks", "too_many")]


def test_a_refused_import_lists_the_first_errors_and_counts_all() -> None:
    def refusal(count: int) -> Refusal:
        flaws = [Flaw(Source(n, f"line {n}"), "duplicate", "Twice") for n in range(count)]
        found = refuse_flaws(reversed(flaws))
        assert found is not None
        return found

    all_shown, some_shown = refusal(FLAWS_SHOWN_MAX), refusal(FLAWS_SHOWN_MAX + 1)
    assert all_shown.message == f"Nothing was imported: {FLAWS_SHOWN_MAX} error(s)"
    assert some_shown.message == (
        f"Nothing was imported: {FLAWS_SHOWN_MAX + 1} error(s); here are the first"
        f" {FLAWS_SHOWN_MAX}"
    )
    for each, count in ((all_shown, FLAWS_SHOWN_MAX), (some_shown, FLAWS_SHOWN_MAX + 1)):
        assert each.details["error_count"] == count
        assert isinstance(each.details["errors"], list)
        assert len(each.details["errors"]) == FLAWS_SHOWN_MAX
        assert each.details["errors"][0] == {
            "field": "line 0",
            "code": "duplicate",
            "message": "Twice",
        }
    assert refuse_flaws([]) is None


def test_new_seats_join_existing_rows() -> None:
    known = [KnownSeat("A", 0, "1", 1), KnownSeat("A", 0, "2", 2), KnownSeat("B", 4, "1", 1)]
    arrangement = Arrangement(BLOCK, known)
    source = Source(2, "line 2")
    seats = [
        DraftSeat(source, "A", "3"),
        DraftSeat(source, "C", "1"),
        DraftSeat(source, "A", "4", 9),
        DraftSeat(source, "A", "5"),
    ]
    places = arrangement.place_all(seats, FIRST)
    assert [(seat.row, seat.row_rank, seat.position) for seat in places] == [
        ("A", 0, 3),
        ("C", 5, 1),
        ("A", 0, 9),
        ("A", 0, 10),
    ]
    assert arrangement.flaws == []


@pytest.mark.parametrize(
    ("position", "is_valid"),
    [(0, False), (1, True), (POSITION_MAX, True), (POSITION_MAX + 1, False)],
)
def test_a_place_in_a_row_has_bounds(position: int, is_valid: bool) -> None:
    arrangement = Arrangement(BLOCK)
    place = arrangement.place(DraftSeat(Source(2, "line 2"), "A", "1", position), FIRST)
    assert (place is not None) is is_valid
    assert [flaw.code for flaw in arrangement.flaws] == ([] if is_valid else ["invalid_value"])


def test_a_row_has_a_maximum_of_seats() -> None:
    known = [KnownSeat("A", 0, str(n), n) for n in range(1, SEATS_PER_ROW_MAX)]
    arrangement = Arrangement(BLOCK, known)
    source = Source(2, "line 2")
    assert arrangement.place(DraftSeat(source, "A", "last"), FIRST) is not None
    assert arrangement.place(DraftSeat(source, "A", "too many"), FIRST) is None
    assert [flaw.code for flaw in arrangement.flaws] == ["too_many"]


@pytest.mark.parametrize("offset", [0, 7])
def test_the_seats_of_an_import_have_consecutive_ids(offset: int) -> None:
    seats = [DraftSeat(Source(2, "line 2"), "A", str(number)) for number in range(3)]
    places = Arrangement(BLOCK).place_all(seats, FIRST, offset)
    assert [place.id.int - FIRST.int for place in places] == [offset, offset + 1, offset + 2]


@pytest.mark.parametrize(("number", "position"), [("1", 5), ("5", 1)])
def test_a_seat_that_already_exists_is_an_error(number: str, position: int) -> None:
    arrangement = Arrangement(BLOCK, [KnownSeat("A", 0, "1", 1)])
    seat = DraftSeat(Source(2, "line 2"), "A", number, position)
    assert arrangement.place(seat, FIRST) is None
    (flaw,) = arrangement.flaws
    assert (flaw.source.field, flaw.code) == ("line 2", "duplicate")


def test_seat_ids_differ_only_in_their_last_digits() -> None:
    made = UUID("0198f1c0-0a10-7a00-8b00-ffffffffffff")
    first = countable_id(made)
    last = counted_id(first, SEATS_PER_IMPORT_MAX)
    assert str(first)[:24] == str(last)[:24] == str(made)[:24]
    assert first.version == last.version == 7
    assert last.int - first.int == SEATS_PER_IMPORT_MAX


@given(
    count=st.integers(1, 60),
    numbering=st.sampled_from(Numbering),
    aisles=st.sets(st.integers(1, 60), max_size=5),
)
def test_numbers_are_unique_and_only_aisles_separate_neighbours(
    count: int, numbering: Numbering, aisles: set[int]
) -> None:
    aisles = {after for after in aisles if after < count}
    seats = placed(BlockLayout("x", ("A",), count, numbering, aisles_after=tuple(aisles)))
    assert sorted(int(seat.number) for seat in seats) == list(range(1, count + 1))
    for place, (left, right) in enumerate(pairwise(seats), start=1):
        assert right.position - left.position == (2 if place in aisles else 1)


@pytest.mark.parametrize(
    ("numbering", "expected"),
    [
        (Numbering.LEFT, ["11", "12", "13"]),
        (Numbering.RIGHT, ["13", "12", "11"]),
        (Numbering.ODD_EVEN, ["13", "11", "12"]),
    ],
)
def test_numbers_start_where_the_row_says(numbering: Numbering, expected: list[str]) -> None:
    seats = placed(BlockLayout("Stalls", ("A",), 3, numbering, first_number=11))
    assert [seat.number for seat in seats] == expected
