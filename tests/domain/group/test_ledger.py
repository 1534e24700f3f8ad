"""The ledger keeps count of a group's changes."""

from datetime import datetime, timedelta

import pytest

from holdfast.domain.catalog.model import Pool
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import Transition
from tests.domain.holds.test_hold import END, NOW, SECOND, a_hold

ORIGIN = Origin("test", "request-1")


@pytest.mark.parametrize("second", [END, END + SECOND], ids=["its own second", "summed"])
def test_expiring_a_lapsed_hold_does_not_change_what_is_available(second: datetime) -> None:
    """Its places were available before. Stores may sum all lapsed units in one second."""
    hold = a_hold()
    (pool_id,) = hold.lines[0].pool_ids
    (other_id,) = hold.lines[1].pool_ids
    ledger = Ledger(END + 2 * SECOND)
    ledger.pools = {
        pool_id: Pool(hold.organization_id, pool_id, 10, held=5),
        other_id: Pool(hold.organization_id, other_id, 10, held=1),
    }
    ledger.lapse = {pool_id: {second: 3}, other_id: {second: 1}}
    assert (ledger.available(pool_id), ledger.available(other_id)) == (8, 10)
    ledger.apply([Transition(hold, hold.expired(ledger.now), ORIGIN)])
    assert (ledger.pools[pool_id].free, ledger.lapsed_units(pool_id)) == (7, 1)
    assert (ledger.pools[other_id].free, ledger.lapsed_units(other_id)) == (10, 0)


def test_places_are_available_from_the_moment_their_hold_lapses() -> None:
    hold = a_hold()
    (pool_id,) = hold.lines[0].pool_ids
    pool = Pool(hold.organization_id, pool_id, 10, held=2)
    for now, lapsed in ((END - timedelta(microseconds=1), 0), (END, 2)):
        ledger = Ledger(now, pools={pool_id: pool}, lapse={pool_id: {END: 2}})
        assert ledger.lapsed_units(pool_id) == lapsed
        assert ledger.available(pool_id) == 8 + lapsed


def test_lapsed_holds_are_listed_oldest_first_without_live_and_ended_ones() -> None:
    late, early, live, ended = a_hold(), a_hold(), a_hold(), a_hold()
    early = early.extended(NOW, END + SECOND, 0)
    late = late.extended(NOW, END + 2 * SECOND, 0)
    live = live.extended(NOW, END + 9 * SECOND, 0)
    ended = ended.released(NOW)
    ledger = Ledger(END + 2 * SECOND)
    ledger.holds = {hold.key: hold for hold in (late, live, ended, early)}
    assert list(ledger.lapsed_holds()) == [early, late]
