"""Orders are cancelled while an operator or the promoter serves waiting parties: each freed place
serves one party, and none stays free while somebody waits for it."""

from collections.abc import Iterator

import pytest

from holdfast.domain.orders.cancel_order import CancelOrder
from tests.contract.asking import ask, converted
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, without
from tests.race.lines import ANSWER_SECONDS, AREAS, SoldOut, add_capacity, at_once, sold_out
from tests.support.auditing import assert_sound

ROUNDS = 15
SERVED_BY_HAND = (["active", "active", "active"], ["active", "waiting"], 0)
SERVED_IN_ORDER = (["active", "active", "waiting"], 0)


def cancellations(sale: SoldOut, count: int) -> list[CancelOrder]:
    """Sell this many places, one per order; return the commands that cancel the orders."""
    paid = (sale.venue.convert(hold.id) for hold in sale.holds[:count])
    return [sale.venue.cancel(converted(sale.engine, each).order.id) for each in paid]


def served_by_hand(
    two_engines: TwoEngines, area: str, rounds: int
) -> Iterator[tuple[list[str], list[str], int]]:
    """Free seven places, one after the other, while an operator tries to serve the last party out
    of turn. Three parties of two come before it, so every second freed place is kept for one of
    them. (One place stays unpaid: otherwise two would be out of reach, and none kept.) Yields the
    statuses of these three and of the other two, and the number of free places."""
    world, engines = two_engines
    for _ in range(rounds):
        sale = sold_out(world, engines[0], 8, area)
        cancels = cancellations(sale, 7)
        parties = [sale.join(quantity) for quantity in (2, 2, 2, 1, 1)]
        by_hand = sale.venue.promote_hold(parties[-1])
        for cancel in cancels:
            trying = engines[1].submit(by_hand)
            ask(engines[0], cancel)
            trying.result(ANSWER_SECONDS)
        statuses = sale.status(*parties)
        yield statuses[:3], sorted(statuses[3:]), sale.free()


@pytest.mark.parametrize("area", AREAS)
def test_no_place_of_a_cancelled_order_is_also_given_by_hand(
    two_engines: TwoEngines, area: str
) -> None:
    world, _ = two_engines
    for served in served_by_hand(two_engines, area, ROUNDS):
        assert served == SERVED_BY_HAND
    assert_sound(world.url)


def test_control_without_the_locks_one_is(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlocked_pools(monkeypatch)
    rounds = served_by_hand(two_engines, "floor", ROUNDS_MAX)
    assert any(served != SERVED_BY_HAND for served in rounds)


def served_in_order(two_engines: TwoEngines, rounds: int) -> Iterator[tuple[list[str], int]]:
    """Cancel an order while the promoter gives a new place to the first of three parties. Yields
    their statuses, and the number of free places."""
    world, engines = two_engines
    for _ in range(rounds):
        sale = sold_out(world, engines[0], 2)
        (cancel,) = cancellations(sale, 1)
        parties = [sale.join() for _ in range(3)]
        add_capacity(sale, 1)
        at_once(engines, cancel, sale.venue.promote())
        yield sale.status(*parties), sale.free()


def test_a_cancelled_order_and_the_promoter_serve_a_party_each(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    for served in served_in_order(two_engines, 2 * ROUNDS):
        assert served == SERVED_IN_ORDER
    assert_sound(world.url)


def test_control_without_the_locks_they_serve_the_same_party(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database then refuses one of them."""
    unlocked_pools(monkeypatch)
    rounds = served_in_order(two_engines, ROUNDS_MAX)
    assert any(served != SERVED_IN_ORDER for served in rounds)


def unlocked_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCK_POOLS", "LOCK_WAITLISTS"):
        without(monkeypatch, name)
    slowly(monkeypatch)
