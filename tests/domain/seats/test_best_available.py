"""Best available seats: the rules by example, and against a slow, obvious oracle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.seats.best_available import Search, best_available, count_available, orphans
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.seats.seat_plan import FreeSeats, SeatPlan, Spot, make_plan

STALLS, BALCONY = BlockId(UUID(int=1)), BlockId(UUID(int=2))
ALL = frozenset({STALLS, BALCONY})


@dataclass(frozen=True)
class Room:
    plan: SeatPlan
    free: FreeSeats


def room(*stalls: str, balcony: Sequence[str] = ()) -> Room:
    """Draw rows from best to worst, left to right: `.` free, `x` taken, a gap is an aisle; `a`
    accessible, `c` companion, `r` restricted view, all free."""
    drawn = [(STALLS, row) for row in stalls] + [(BALCONY, row) for row in balcony]
    places = [
        SeatPlace(
            SeatId(UUID(int=1000 * (number + 1) + position)),
            block,
            chr(ord("A") + number),
            number,
            str(position),
            position,
            is_accessible=mark == "a",
            is_companion=mark == "c",
            is_restricted_view=mark == "r",
        )
        for number, (block, row) in enumerate(drawn)
        for position, mark in enumerate(row)
        if mark != " "
    ]
    plan = make_plan(places, {STALLS: 0, BALCONY: 1})
    free = [0] * len(plan.rows)
    for place in places:
        spot = plan.spots[place.id]
        if drawn[place.row_rank][1][place.position] != "x":
            free[spot.row] |= 1 << spot.bit
    return Room(plan, FreeSeats(free))


def names(room: Room, spots: Sequence[Spot] | None) -> list[str] | None:
    """Names like `A3`: the fourth place of the first row, aisles counted."""
    if spots is None:
        return None
    places = [room.plan.place(spot) for spot in spots]
    return sorted(f"{place.row}{place.position}" for place in places)


def found(
    room: Room,
    quantity: int,
    blocks: frozenset[BlockId] = ALL,
    accessible: int = 0,
    limits: Mapping[BlockId, int] | None = None,
    *,
    is_together: bool = False,
) -> list[str] | None:
    search = Search(quantity, blocks, accessible, limits or {}, is_together)
    return names(room, best_available(room.plan, room.free, search))


def test_the_middle_of_the_best_row_comes_first() -> None:
    assert found(room("......", "......"), 2) == ["A2", "A3"]


def test_blocks_are_ordered_by_rank() -> None:
    assert found(room("xx", balcony=["...."]), 2) == ["B0", "B1"]


def test_leaving_no_single_seat_beats_a_better_row() -> None:
    assert found(room("...xx", "...."), 2) == ["B0", "B1"]


def test_leaving_no_single_seat_beats_the_middle() -> None:
    assert found(room("....."), 3) == ["A0", "A1", "A2"]
    assert found(room("....."), 2) == ["A0", "A1"]


def test_sitting_together_beats_leaving_no_single_seat() -> None:
    assert found(room("...", ".x."), 2) == ["A0", "A1"]


def test_an_exact_fill_leaves_no_single_seat() -> None:
    assert found(room("..x...x...."), 3) == ["A3", "A4", "A5"]


def test_seats_across_an_aisle_are_not_together() -> None:
    assert found(room(".. ..", ".. .."), 3) == ["A0", "A1", "A3"]
    assert found(room(".. ..", ".. ..", "..."), 3) == ["C0", "C1", "C2"]


def test_a_party_larger_than_any_row_gets_consecutive_rows() -> None:
    assert found(room("..x", "x.x", "...", "..."), 6) == ["C0", "C1", "C2", "D0", "D1", "D2"]


def test_one_block_beats_two_with_better_rows() -> None:
    crowded = room("..x", balcony=[".x.", "..x"])
    assert found(crowded, 4) == ["B0", "B2", "C0", "C1"]


def test_blocks_are_mixed_only_when_no_block_has_enough() -> None:
    assert found(room("..", balcony=[".."]), 4) == ["A0", "A1", "B0", "B1"]


def test_only_requested_blocks_are_searched() -> None:
    hall = room("....", balcony=["..."])
    assert found(hall, 3, frozenset({BALCONY})) == ["B0", "B1", "B2"]
    assert found(hall, 4, frozenset({BALCONY})) is None


def test_restricted_views_come_last() -> None:
    assert found(room("rr..", "...."), 2) == ["A2", "A3"]
    assert found(room("rrrr", "...."), 2) == ["B0", "B1"]
    assert found(room("rrrr", "xxxx"), 2) == ["A0", "A1"]


def test_restricted_views_together_beat_good_seats_apart() -> None:
    assert found(room("rrrr", ".x.x"), 2) == ["A0", "A1"]


def test_accessible_seats_are_given_last() -> None:
    assert found(room("ac..", ".x.x"), 3) == ["A2", "A3", "B0"]
    assert found(room("ac.", "xxx"), 2) == ["A0", "A1"]


def test_accessible_seats_complete_a_party_that_must_sit_together_last() -> None:
    assert found(room("ac.x", ".x.."), 3, is_together=True) == ["A0", "A1", "A2"]
    assert found(room("ac.x", "...."), 3, is_together=True) == ["B0", "B1", "B2"]
    assert found(room("ac.x", "...x"), 2, is_together=True) == ["B1", "B2"], "one is left alone"
    hall = room("...", balcony=["aaa"])
    assert found(hall, 3, limits={STALLS: 2}, is_together=True) == ["B0", "B1", "B2"]
    assert found(room("ac x", ".x.."), 3, is_together=True) is None


def test_an_accessible_seat_comes_with_the_companion_seat_beside_it() -> None:
    assert found(room("......", "..ac.."), 2, accessible=1) == ["B2", "B3"]
    assert found(room("......", "a.c..."), 1, accessible=1) == ["B0"]


def test_rows_with_the_accessible_seats_are_found_though_others_come_first() -> None:
    assert found(room("..", "..", "a."), 4, accessible=1) == ["B0", "B1", "C0", "C1"]


def test_too_few_accessible_seats_find_nothing() -> None:
    assert found(room("......a"), 2, accessible=2) is None


def test_a_block_gives_no_more_than_its_free_capacity() -> None:
    hall = room("....", balcony=["...."])
    assert found(hall, 2, limits={STALLS: 1}) == ["B0", "B1"]
    mixed = found(hall, 5, limits={STALLS: 1})
    assert mixed is not None
    assert sum(name.startswith("A") for name in mixed) == 1
    assert found(hall, 6, limits={STALLS: 1}) is None


def test_a_party_splits_in_pairs_only_if_capacity_allows() -> None:
    """Two and two beat three and one alone, if the block's capacity allows."""
    hall = room(".. ..", balcony=["..."])
    assert found(hall, 4, limits={STALLS: 2}) == ["A0", "A1", "B0", "B1"]
    assert found(hall, 4, limits={STALLS: 1}) == ["A0", "B0", "B1", "B2"]
    assert found(room("... .."), 4, limits={STALLS: 4}) == ["A0", "A1", "A4", "A5"]
    large = found(room("... ... .."), 7)
    assert large == ["A0", "A1", "A2", "A4", "A5", "A8", "A9"], "nobody alone in the third group"


def test_accessible_seats_are_given_if_capacity_excludes_all_others() -> None:
    """The first block has enough seats, but not the capacity."""
    assert found(room("......", balcony=["aaaa"]), 3, limits={STALLS: 1}) is not None


@pytest.mark.parametrize(
    ("row", "picked", "left"),
    [
        ("......", "A1 A2", ["A0"]),
        ("......", "A0 A1", []),
        ("......", "A3 A4", ["A5"]),
        ("......", "A0 A2", ["A1"]),
        ("...", "A0 A1", []),  # one more than picked: one is always left
        ("...", "A0 A2", []),
        ("...", "A1", ["A0", "A2"]),
        ("x.x..", "A3 A4", []),  # A1 was alone before
        (".. ..", "A1 A3", []),  # an aisle ends a row
        ("... ..", "A1", ["A0", "A2"]),
    ],
)
def test_single_seats_left_by_a_selection(row: str, picked: str, left: list[str]) -> None:
    hall = room(row)
    mask = sum(1 << int(name[1:]) for name in picked.split())
    bits = orphans(hall.free.masks[0], mask)
    assert [f"A{bit}" for bit in bits] == left


# The oracle tries every choice.

marks = st.sampled_from("....xx  acr")
rows = st.text(marks, min_size=1, max_size=8).filter(str.strip)
rooms = st.builds(
    lambda stalls, balcony: room(*stalls, balcony=balcony),
    st.lists(rows, min_size=1, max_size=3),
    st.lists(rows, max_size=2),
)
searches = st.builds(
    Search,
    quantity=st.integers(1, 9),
    blocks=st.sampled_from([ALL, frozenset({STALLS}), frozenset({BALCONY})]),
    accessible=st.sampled_from([0, 0, 0, 1, 2]),
    limits=st.dictionaries(st.sampled_from([STALLS, BALCONY]), st.integers(0, 6), max_size=2),
    is_together=st.booleans(),
).map(lambda search: replace(search, accessible=min(search.accessible, search.quantity)))


def free_spots(room: Room, search: Search) -> list[Spot]:
    return [
        spot
        for spot in sorted(room.plan.spots.values())
        if room.plan.rows[spot.row].block_id in search.blocks and is_free(room, spot)
    ]


def is_free(room: Room, spot: Spot) -> bool:
    return spot.bit >= 0 and bool(room.free.masks[spot.row] >> spot.bit & 1)


def within_limits(room: Room, search: Search, spots: Sequence[Spot]) -> int:
    """How many of these capacity allows."""
    blocks = [room.plan.rows[spot.row].block_id for spot in spots]
    return sum(
        min(blocks.count(block), search.limits.get(block, len(blocks))) for block in set(blocks)
    )


def tiers(room: Room, search: Search) -> Iterator[list[Spot]]:
    """The allowed seats: good ones, then all but the special ones, then all, if those are too few
    or too few together."""
    free = free_spots(room, search)
    if search.accessible:
        yield free
        return
    ordinary = [
        spot
        for spot in free
        if not (room.plan.place(spot).is_accessible or room.plan.place(spot).is_companion)
    ]
    yield [spot for spot in ordinary if not room.plan.place(spot).is_restricted_view]
    yield ordinary
    if search.is_together:
        is_enough = any(run_in(room, search, ordinary, first) for first in ordinary)
    else:
        is_enough = within_limits(room, search, ordinary) >= search.quantity
    if not is_enough:
        yield free


def run_in(
    room: Room, search: Search, spots: Sequence[Spot], first: Spot
) -> tuple[Spot, ...] | None:
    """This many adjacent seats, starting at the first."""
    run = tuple(Spot(first.row, first.bit + offset) for offset in range(search.quantity))
    is_there = set(run) <= set(spots) and within_limits(room, search, run) == search.quantity
    return run if is_there else None


def accessible_of(room: Room, spots: Sequence[Spot]) -> list[Spot]:
    return [spot for spot in spots if room.plan.place(spot).is_accessible]


def leaves_one_alone(room: Room, picked: Sequence[Spot]) -> bool:
    """Whether a free seat next to these has no free neighbour left."""
    for spot in picked:
        for step in (-1, 1):
            beside = Spot(spot.row, spot.bit + step)
            beyond = Spot(spot.row, spot.bit + 2 * step)
            if (
                beside not in picked
                and is_free(room, beside)
                and (beyond in picked or not is_free(room, beyond))
            ):
                return True
    return False


def together(room: Room, search: Search) -> tuple[Spot, ...] | None:
    """The best of all runs of this length."""
    candidates = []
    for tier_number, tier in enumerate(tiers(room, search)):
        for first in tier:
            run = run_in(room, search, tier, first)
            row = room.plan.rows[first.row]
            if run is None or len(accessible_of(room, run)) < search.accessible:
                continue
            places = [room.plan.place(spot) for spot in run]
            wasted = sum(not (place.is_accessible or place.is_companion) for place in places)
            from_middle = abs(first.bit - (row.width - search.quantity) / 2)
            order = (
                leaves_one_alone(room, run),
                tier_number,
                first.row,
                wasted if search.accessible else 0,
                from_middle,
                first.bit,
            )
            candidates.append((order, run))
    return min(candidates)[1] if candidates else None


def fewest_rows(room: Room, search: Search, tier: Sequence[Spot]) -> int | None:
    """The fewest consecutive rows that the seats of one block span."""
    spans = []
    for block in search.blocks:
        if search.limits.get(block, search.quantity) < search.quantity:
            continue
        own = [number for number, row in enumerate(room.plan.rows) if row.block_id == block]
        for first in own:
            for last in own[own.index(first) :]:
                inside = [spot for spot in tier if first <= spot.row <= last and spot.row in own]
                if (
                    len(inside) >= search.quantity
                    and len(accessible_of(room, inside)) >= search.accessible
                ):
                    spans.append(last - first + 1)
    return min(spans, default=None)


@settings(max_examples=600, deadline=None)
@given(rooms, searches)
def test_the_search_agrees_with_trying_every_choice(room: Room, search: Search) -> None:
    spots = best_available(room.plan, room.free, search)
    free = free_spots(room, search)
    can_seat = within_limits(room, search, free) >= search.quantity
    can_seat &= within_limits(room, search, accessible_of(room, free)) >= search.accessible
    best = together(room, search)
    if search.is_together:
        can_seat = best is not None
    assert (spots is not None) == can_seat
    if spots is None:
        return
    assert len(set(spots)) == search.quantity
    assert set(spots) <= set(free)
    assert within_limits(room, search, spots) == search.quantity
    assert len(accessible_of(room, spots)) >= search.accessible
    if best is not None:
        assert spots == best
        return
    tier = next(
        tier for tier in tiers(room, search) if within_limits(room, search, tier) >= search.quantity
    )
    assert set(spots) <= set(tier), "worse seats than necessary"
    span = fewest_rows(room, search, tier)
    if span is not None:
        used = [spot.row for spot in spots]
        assert max(used) - min(used) + 1 == span
        assert len({room.plan.rows[number].block_id for number in used}) == 1


@settings(max_examples=200, deadline=None)
@given(rooms, searches)
def test_the_count_matches_taking_seats_one_by_one(room: Room, search: Search) -> None:
    expected = within_limits(room, search, free_spots(room, search))
    assert count_available(room.plan, room.free, search) == expected


@settings(max_examples=300, deadline=None)
@given(rooms, st.data())
def test_single_seats_are_reported_only_if_avoidable(room: Room, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(room.plan.rows) - 1))
    free = [spot for spot in sorted(room.plan.spots.values()) if spot.row == number]
    free = [spot for spot in free if is_free(room, spot)]
    picked = data.draw(st.sets(st.sampled_from(free))) if free else set()
    mask = sum(1 << spot.bit for spot in picked)
    expected = []
    for spot in free:
        neighbours = [Spot(number, spot.bit + step) for step in (-1, 1)]
        is_alone = spot not in picked and not any(
            is_free(room, beside) and beside not in picked for beside in neighbours
        )
        run = run_of(room, spot)
        if is_alone and picked & set(neighbours) and len(run - picked) > 1:
            expected.append(spot.bit)
    assert list(orphans(room.free.masks[number], mask)) == expected


def run_of(room: Room, spot: Spot) -> set[Spot]:
    run = {spot}
    for step in (-1, 1):
        beside = Spot(spot.row, spot.bit + step)
        while is_free(room, beside):
            run.add(beside)
            beside = Spot(spot.row, beside.bit + step)
    return run
