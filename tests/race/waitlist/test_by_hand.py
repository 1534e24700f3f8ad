"""Operators promote parties by hand, at the same moment as others take or free the same places."""

import pytest

from holdfast.domain.group.outcomes import HoldPromoted, Released
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from tests.contract.asking import ask
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, without
from tests.race.lines import AREAS, SoldOut, at_once, sold_out
from tests.support.auditing import assert_sound

ROUNDS = 20


def sale_of_two(two_engines: TwoEngines, area: str) -> SoldOut:
    """Both places are held. The tests let a party of two wait first, so that one freed place stays
    free: it is kept for that party."""
    world, engines = two_engines
    return sold_out(world, engines[0], 2, area)


@pytest.mark.parametrize("area", AREAS)
def test_the_last_place_goes_to_one_of_two_parties_promoted_by_hand(
    two_engines: TwoEngines, area: str
) -> None:
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sale_of_two(two_engines, area)
        first, second, third = sale.join(2), sale.join(), sale.join()
        ask(engines[0], sale.venue.release(sale.holds[0].id))
        outcomes = at_once(engines, sale.venue.promote_hold(second), sale.venue.promote_hold(third))
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["HoldPromoted", "Refusal"]
        assert sale.status(first) == ["waiting"]
        assert sorted(sale.status(second, third)) == ["active", "waiting"]
        assert sale.free() == 0
    assert_sound(world.url)


@pytest.mark.parametrize("area", AREAS)
def test_two_operators_promote_the_same_party_once(two_engines: TwoEngines, area: str) -> None:
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sale_of_two(two_engines, area)
        sale.join(2)
        second = sale.join()
        ask(engines[0], sale.venue.release(sale.holds[0].id))
        outcomes = at_once(
            engines, sale.venue.promote_hold(second), sale.venue.promote_hold(second)
        )
        (promoted,) = [each for each in outcomes if isinstance(each, HoldPromoted)]
        (refusal,) = [each for each in outcomes if isinstance(each, Refusal)]
        assert refusal.code is RefusalCode.HOLD_CHANGED
        assert promoted.hold.version == world.hold(sale.venue, second.id).version == 2
    assert_sound(world.url)


@pytest.mark.parametrize("area", AREAS)
def test_a_party_that_leaves_while_it_is_promoted_keeps_no_place(
    two_engines: TwoEngines, area: str
) -> None:
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sale_of_two(two_engines, area)
        sale.join(2)
        second = sale.join()
        ask(engines[0], sale.venue.release(sale.holds[0].id))
        by_hand, left = at_once(
            engines, sale.venue.promote_hold(second), sale.venue.release(second.id)
        )
        assert isinstance(left, Released), left
        assert isinstance(by_hand, HoldPromoted | Refusal), by_hand
        assert sale.status(second) == ["cancelled"]
        assert sale.free() == 1
    assert_sound(world.url)


def test_without_the_lock_of_the_pool_the_last_place_is_given_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: PostgreSQL's check then refuses one of them, or the counter is wrong."""
    world, engines = two_engines
    for name in ("LOCK_POOLS", "LOCK_WAITLISTS"):
        without(monkeypatch, name)
    slowly(monkeypatch)
    for _ in range(ROUNDS_MAX):
        sale = sale_of_two(two_engines, "floor")
        sale.join(2)
        second, third = sale.join(), sale.join()
        ask(engines[0], sale.venue.release(sale.holds[0].id))
        at_once(engines, sale.venue.promote_hold(second), sale.venue.promote_hold(third))
        held = world.pool(sale.venue.pools["floor"]).held
        active = sale.status(sale.holds[1], second, third).count("active")
        if active > 2 or held != active:
            return
    pytest.fail("the locks of the pool and the waitlist are not needed")
