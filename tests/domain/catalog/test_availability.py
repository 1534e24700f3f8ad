"""Availability of seated ticket types."""

from uuid import uuid4

from holdfast.domain.catalog.availability import BlockCounts, Counts, seated_counts
from holdfast.domain.catalog.model import PoolState
from holdfast.domain.ids import PoolId, SessionId, TicketTypeId

ADULT, CHILD = (TicketTypeId(uuid4()) for _ in range(2))
STALLS = BlockCounts(total=10, held=2, sold=1, free=7, room=None, ticket_types=frozenset({ADULT}))
CIRCLE = BlockCounts(total=20, held=0, sold=4, free=16, room=5, ticket_types=frozenset())


def test_a_block_sells_the_types_it_lists_or_all() -> None:
    assert [STALLS.sells(ADULT), STALLS.sells(CHILD)] == [True, False]
    assert [CIRCLE.sells(ADULT), CIRCLE.sells(CHILD)] == [True, True]


def test_a_type_counts_the_seats_of_the_blocks_that_sell_it() -> None:
    assert seated_counts(ADULT, [STALLS, CIRCLE], []) == Counts(30, 2, 5, 12)
    assert seated_counts(CHILD, [STALLS, CIRCLE], []) == Counts(20, 0, 4, 5)


def test_availability_is_limited_by_quotas() -> None:
    assert seated_counts(ADULT, [STALLS, CIRCLE], [3, 40]).available == 3
    assert seated_counts(ADULT, [], [3]).available == 0


def test_a_pool_has_available_what_is_neither_held_nor_sold() -> None:
    pool = PoolState(PoolId(uuid4()), SessionId(uuid4()), "Floor", total=10, held=3, sold=2)
    assert pool.available == 5
