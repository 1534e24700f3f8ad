"""A seat map lives as long as its session is on sale, so its memory must stay bounded."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from uuid import UUID

from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.seats.seat import SeatPlace, SeatStatus
from holdfast.domain.seats.seat_plan import (
    COMBINATIONS_KEPT_MAX,
    SeatMap,
    SeatPlan,
    SeenSeat,
    make_plan,
)

NOW = datetime(2026, 11, 16, tzinfo=UTC)
BLOCKS = [BlockId(UUID(int=number)) for number in range(1, 9)]


def hall() -> SeatPlan:
    """A row of four in each block."""
    places = [
        SeatPlace(SeatId(UUID(int=100 * block.int + position)), block, "A", 1, "1", position, 0, 0)
        for block in BLOCKS
        for position in range(4)
    ]
    return make_plan(places, {block: rank for rank, block in enumerate(BLOCKS)})


def test_holding_and_releasing_seats_all_day_does_not_grow_the_map() -> None:
    seats = SeatMap(hall())
    first, second = list(seats.plan.spots)[:2]
    kept_until = NOW + timedelta(hours=1)
    seats.saw(SeenSeat(second, SeatStatus.HELD, kept_until))
    for minute in range(500):
        until = NOW + timedelta(days=1, minutes=minute)
        seats.saw(SeenSeat(first, SeatStatus.HELD, until))
        seats.saw(SeenSeat(first, SeatStatus.AVAILABLE, None))
    assert len(seats._lapses) <= 2 * len(seats.plan.spots) + 1
    assert sum(map(int.bit_count, seats.seating(NOW).free.masks)) == 31
    assert sum(map(int.bit_count, seats.seating(kept_until).free.masks)) == 32


def test_only_a_few_combinations_of_blocks_are_cached() -> None:
    plan = hall()
    asked = [frozenset(some) for size in range(1, 8) for some in combinations(BLOCKS, size)]
    assert len(asked) > COMBINATIONS_KEPT_MAX
    for blocks in asked:
        expected = tuple(number for number, block in enumerate(BLOCKS) if block in blocks)
        assert plan.rows_in(blocks) == plan.rows_in(blocks) == expected
        assert len(plan._rows_in) <= COMBINATIONS_KEPT_MAX
    recent = asked[-(len(asked) % COMBINATIONS_KEPT_MAX) :]
    assert list(plan._rows_in) == recent
