"""Whether the promoter has to look again after a promotion."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.domain.catalog.model import Pool
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.waitlist.promotion import settle
from tests.domain.waitlist.test_queues import (
    ORGANIZATION,
    POOLS,
    SESSION,
    a_ledger,
    a_session,
    a_waitlist,
    waits,
)

KEY = (ORGANIZATION, SESSION)


@pytest.mark.parametrize(
    ("read", "free", "passes_max", "is_last_look", "promoted", "is_settled"),
    [
        # The first party cannot be served and must not be overtaken: it is nobody else's turn.
        ([4], 2, 0, False, 0, True),
        ([4], 2, 0, True, 0, True),
        # A smaller party behind it, which was not read, may overtake it.
        ([4], 2, 1, False, 0, False),
        ([4], 2, 1, True, 0, True),
        # All that were read are promoted: it may be the turn of the next.
        ([1], 2, 0, False, 1, False),
        ([1], 2, 0, True, 1, False),
        # Nothing is left for the next.
        ([2], 2, 0, False, 1, True),
        # The second party read cannot be served.
        ([1, 4], 4, 0, False, 1, True),
        # A party larger than the whole pool never holds anybody up.
        ([11], 2, 0, False, 0, False),
    ],
)
def test_the_promoter_looks_again_only_if_it_may_be_the_turn_of_somebody_unread(
    read: Sequence[int],
    free: int,
    *,
    passes_max: int,
    is_last_look: bool,
    promoted: int,
    is_settled: bool,
) -> None:
    waitlist = a_waitlist(*(waits("guest", size, second) for second, size in enumerate(read)))
    (queue,) = waitlist.queues.values()
    waitlist.queues[queue.id] = replace(queue, waiting=queue.waiting + 5)
    ledger = a_ledger(waitlist)
    house = POOLS["house"]
    ledger.pools[house] = Pool(ORGANIZATION, house, 10, held=10 - free)
    ledger.sessions[KEY] = a_session(passes_max)
    made = settle(ledger, KEY, Origin("test", "request-1"), is_last_look=is_last_look)
    assert [each.after.status for each in made] == [HoldStatus.ACTIVE] * promoted
    assert [each.origin.actor for each in made] == ["waitlist"] * promoted
    assert waitlist.is_settled is is_settled
