"""Two tabs of one buyer, over two engines: the last one wins, and the cart never holds the sum. The
control shows why the cart is locked."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.outcomes import CartChanged, Placed
from tests.contract.asking import placed
from tests.contract.venues import Hall, Plan, Venue
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, unlocked
from tests.race.lines import at_once, empty, fill, live_holds_of
from tests.support.auditing import assert_sound

ROUNDS = 40
# The wishes of the two tabs: the same type, or types that share no pool.
SAME = (("left", 2), ("left", 5))
APART = (("left", 2), ("right", 5))


def market(two_engines: TwoEngines) -> Venue:
    world, _ = two_engines
    return world.venue({"left": 10_000, "right": 10_000}, {"left": ("left",), "right": ("right",)})


def held_in_all(two_engines: TwoEngines, venue: Venue) -> int:
    world, _ = two_engines
    return sum(world.pool(pool_id).held for pool_id in venue.pools.values())


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("wanted", [SAME, APART])
def test_of_two_tabs_the_last_one_wins(
    two_engines: TwoEngines, wanted: tuple[tuple[str, int], ...], is_new: bool
) -> None:
    world, engines = two_engines
    venue, in_carts = market(two_engines), 0
    for number in range(ROUNDS):
        cart = f"cart-{number}"
        if not is_new:
            placed(engines[0], fill(venue, cart, ("right", 1)))
        outcomes = at_once(engines, *(fill(venue, cart, each) for each in wanted))
        holds = [each.hold for each in outcomes if isinstance(each, Placed | CartChanged)]
        assert len(holds) == 2, outcomes
        (hold,) = live_holds_of(world, venue, cart)
        assert hold == max(holds, key=lambda each: each.version)
        assert {each.id for each in holds} == {hold.id}
        assert hold.quantity in {2, 5}
        assert hold.version == (2 if is_new else 3)
        in_carts += hold.quantity
    assert held_in_all(two_engines, venue) == in_carts
    assert_sound(world.url)


def test_two_tabs_get_as_many_best_seats_as_one_of_them_wants(
    two_engines: TwoEngines,
) -> None:
    """Seats found for one tab before the other changed the cart are searched again."""
    world, engines = two_engines
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 400}}, {"seat": ()})))
    in_carts = 0
    for number in range(ROUNDS):
        cart = f"cart-{number}"
        if number % 2:
            placed(engines[0], fill(venue, cart, ("seat", 1)))
        outcomes = at_once(engines, *(fill(venue, cart, ("seat", wanted)) for wanted in (2, 5)))
        assert all(isinstance(each, Placed | CartChanged) for each in outcomes), outcomes
        (hold,) = live_holds_of(world, venue, cart)
        assert len(hold.seats) in {2, 5}
        in_carts += len(hold.seats)
    assert [seat.status for seat in world.seats(venue).values()].count("held") == in_carts
    assert_sound(world.url)


def test_a_cart_filled_and_emptied_at_once_is_one_or_the_other(
    two_engines: TwoEngines,
) -> None:
    world, engines = two_engines
    venue, in_carts = market(two_engines), 0
    for number in range(ROUNDS):
        cart = f"cart-{number}"
        placed(engines[0], fill(venue, cart, ("left", 3)))
        at_once(engines, fill(venue, cart, ("right", 4)), empty(venue, cart))
        # Emptied last: nothing. Filled last: only the items of that tab.
        quantities = [hold.quantity for hold in live_holds_of(world, venue, cart)]
        assert quantities in ([], [4])
        in_carts += sum(quantities)
    assert held_in_all(two_engines, venue) == in_carts
    assert_sound(world.url)


def live_holds_per_round(two_engines: TwoEngines) -> Iterator[int]:
    world, engines = two_engines
    venue = market(two_engines)
    for number in range(ROUNDS_MAX):
        cart = f"cart-{number}"
        at_once(engines, *(fill(venue, cart, each) for each in APART))
        yield len(live_holds_of(world, venue, cart))


def test_control_without_the_cart_lock_it_holds_the_sum(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removes both guards: the advisory lock, and the index that would refuse the second hold."""
    world, _ = two_engines
    unlocked(monkeypatch, ResourceKind.CART)
    slowly(monkeypatch)
    with psycopg.connect(world.url, autocommit=True) as owner:
        owner.execute("DROP INDEX hold_of_cart")
    assert any(live > 1 for live in live_holds_per_round(two_engines))


def test_control_the_index_alone_limits_a_cart_to_one_hold(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lock a tab may get an error, but the cart still has one hold."""
    unlocked(monkeypatch, ResourceKind.CART)
    slowly(monkeypatch)
    assert set(live_holds_per_round(two_engines)) == {1}
