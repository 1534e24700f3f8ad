"""A place is freed at the moment the first waiting party leaves, expires or changes its request."""

import psycopg
import pytest

from holdfast.domain.group.outcomes import CartChanged, Expired, Outcome, Released, Waiting
from holdfast.domain.holds.hold import Hold
from holdfast.domain.refusal_codes import Refusal
from tests.contract.asking import ask
from tests.race.guards import TwoEngines
from tests.race.last_moment import set_ends
from tests.race.lines import AREAS, SoldOut, at_once, fill, sold_out, waiting
from tests.support.auditing import assert_sound

ROUNDS = 25


def facts_of(sale: SoldOut, hold: Hold) -> list[str]:
    """The facts of the hold, not of its seats."""
    facts = sale.world.facts(sale.venue)
    return [fact.type for fact in facts if fact.hold_id == hold.id and fact.seat_id is None]


@pytest.mark.parametrize("area", AREAS)
def test_a_party_that_leaves_makes_way_for_the_next(two_engines: TwoEngines, area: str) -> None:
    """It leaves before its promotion or right after."""
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sold_out(world, engines[0], 1, area)
        first, second = sale.join(), sale.join()
        outcomes = at_once(engines, *(sale.venue.release(h.id) for h in (sale.holds[0], first)))
        assert all(isinstance(outcome, Released) for outcome in outcomes), outcomes
        assert sale.status(first, second) == ["cancelled", "active"]
        assert facts_of(sale, first) in (
            ["hold.waiting", "hold.cancelled"],
            ["hold.waiting", "hold.promoted", "hold.cancelled"],
        )
        assert facts_of(sale, second) == ["hold.waiting", "hold.promoted"]
        assert sale.free() == 0
    assert_sound(world.url)


@pytest.mark.parametrize("area", AREAS)
def test_an_expired_waiting_party_is_not_promoted(two_engines: TwoEngines, area: str) -> None:
    """Both the release and the reaper may expire it."""
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sold_out(world, engines[0], 1, area)
        first, second = sale.join(), sale.join()
        with psycopg.connect(world.url, autocommit=True) as owner:
            set_ends(owner, sale.venue, [first.id], -0.001)
        release, expiry = sale.venue.release(sale.holds[0].id), sale.venue.expire(first.id)
        _, expired = at_once(engines, release, expiry)
        assert isinstance(expired, Expired), expired
        assert sale.status(first, second) == ["expired", "active"]
        assert facts_of(sale, first) == ["hold.waiting", "hold.expired"]
        assert sale.free() == 0
    assert_sound(world.url)


def join_with_cart(sale: SoldOut, quantity: int) -> Hold:
    return waiting(ask(sale.engine, fill(sale.venue, "mine", (sale.sold, quantity))))


@pytest.mark.parametrize("area", AREAS)
def test_a_party_that_grows_is_served_first_or_goes_to_the_end(
    two_engines: TwoEngines, area: str
) -> None:
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sold_out(world, engines[0], 2, area)
        first, second = join_with_cart(sale, 1), sale.join()
        _, asked = at_once(
            engines, sale.venue.release(sale.holds[0].id), fill(sale.venue, "mine", (sale.sold, 2))
        )
        assert_served_or_at_the_end(sale, asked, first, second)
        assert sale.free() == 0
    assert_sound(world.url)


def assert_served_or_at_the_end(
    sale: SoldOut, asked: Outcome | None, first: Hold, second: Hold
) -> None:
    quantity = sum(sale.world.holds(sale.venue)[first.id].units)
    if isinstance(asked, Waiting):
        assert sale.status(first, second) == ["waiting", "active"]
        assert quantity == 2
    else:
        assert isinstance(asked, Refusal), asked
        assert sale.status(first, second) == ["active", "waiting"]
        assert quantity == 1


def test_a_party_that_shrinks_is_served(two_engines: TwoEngines) -> None:
    """It waits for two and one is freed, before or after the change to one."""
    world, engines = two_engines
    for _ in range(ROUNDS):
        sale = sold_out(world, engines[0], 2)
        first, second = join_with_cart(sale, 2), sale.join()
        _, asked = at_once(
            engines, sale.venue.release(sale.holds[0].id), fill(sale.venue, "mine", (sale.sold, 1))
        )
        assert isinstance(asked, Waiting | CartChanged), asked
        assert sale.status(first, second) == ["active", "waiting"]
        assert sale.world.holds(sale.venue)[first.id].units == (1,)
        assert sale.free() == 0
    assert_sound(world.url)
