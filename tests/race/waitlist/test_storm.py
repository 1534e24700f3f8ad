"""Random buyers and waiting parties over two engines, from a seed."""

from uuid import UUID

import pytest

from holdfast.domain.holds import place_hold, preconditions
from holdfast.domain.holds.hold import Hold
from tests.race.guards import TwoEngines
from tests.race.waiting_storm import WaitingStorm
from tests.support.auditing import assert_sound

BURSTS = 60


@pytest.mark.timeout(900)
@pytest.mark.parametrize("bursts", [BURSTS, pytest.param(3_000, marks=pytest.mark.long)])
def test_after_a_storm_the_data_is_sound_and_nobody_was_overtaken(
    two_engines: TwoEngines, bursts: int
) -> None:
    world, _ = two_engines
    storm = WaitingStorm(two_engines, seed=20261116)
    storm.run(bursts)
    assert_sound(world.url)
    left = storm.assert_first_come_first_served()
    kinds = {fact.type for fact in world.facts(storm.venue)}
    assert kinds >= {"hold.waiting", "hold.promoted", "hold.changed", "hold.expired"}
    assert storm.outcomes["Waiting"] > 0
    assert storm.outcomes["Placed"] > 0
    pool = world.pool(storm.venue.pools["floor"])
    by_id: dict[UUID, Hold] = {hold.id: hold for hold in world.all_holds(storm.venue)}
    assert not left or by_id[left[0]].quantity > pool.free, "the first party could be served"


def test_control_without_the_waitlist_rule_somebody_is_overtaken(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same storm, but newcomers take whatever is free."""
    monkeypatch.setattr(preconditions, "passes", lambda *_: ())
    monkeypatch.setattr(place_hold, "is_behind_queue", lambda *_: False)
    storm = WaitingStorm(two_engines, seed=20261116)
    storm.run(BURSTS)
    with pytest.raises(AssertionError, match="what others wait for"):
        storm.assert_first_come_first_served()
