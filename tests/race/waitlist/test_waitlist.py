"""Places freed while others wait, over two engines: the first to wait is served first, in the same
transaction. Each race has a control."""

from collections.abc import Iterator

import pytest

from holdfast.domain.group.outcomes import Outcome, Placed, Waiting
from tests.race.guards import (
    ROUNDS_MAX,
    TwoEngines,
    slowly,
    without,
    without_promotion,
    without_waitlist_rule,
)
from tests.race.lines import AREAS, at_once, promoter_of, sold_out
from tests.support.auditing import assert_sound

ROUNDS = 25


def freed_for_three(two_engines: TwoEngines, area: str, rounds: int) -> Iterator[list[str]]:
    """Release two places at once while three parties wait; yield their statuses."""
    world, engines = two_engines
    for _ in range(rounds):
        sale = sold_out(world, engines[0], 2, area)
        waiters = [sale.join() for _ in range(3)]
        at_once(engines, *(sale.venue.release(hold.id) for hold in sale.holds))
        yield sale.status(*waiters)


@pytest.mark.parametrize("area", AREAS)
def test_two_freed_places_go_to_the_first_two_of_three(two_engines: TwoEngines, area: str) -> None:
    world, _ = two_engines
    for statuses in freed_for_three(two_engines, area, ROUNDS):
        assert statuses == ["active", "active", "waiting"]
    assert_sound(world.url)


def test_control_without_the_waitlist_lock_they_do_not(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the stalls, where no pool lock hides it."""
    without(monkeypatch, "LOCK_WAITLISTS")
    slowly(monkeypatch)
    rounds = freed_for_three(two_engines, "stalls", ROUNDS_MAX)
    assert any(statuses != ["active", "active", "waiting"] for statuses in rounds)


def newcomers(two_engines: TwoEngines, area: str, rounds: int) -> Iterator[tuple[str, Outcome]]:
    """Free a place at the moment a newcomer arrives; yield the waiting party's status and the
    newcomer's outcome."""
    world, engines = two_engines
    for number in range(rounds):
        sale = sold_out(world, engines[0], 1, area)
        waiter = sale.join()
        release, purchase = sale.venue.release(sale.holds[0].id), sale.buy()
        pair = (release, purchase) if number % 2 else (purchase, release)
        outcomes = at_once(engines, *pair)
        came = outcomes[pair.index(purchase)]
        assert came is not None
        yield sale.status(waiter)[0], came


@pytest.mark.parametrize("area", AREAS)
def test_a_newcomer_never_gets_a_place_freed_for_the_waitlist(
    two_engines: TwoEngines, area: str
) -> None:
    world, _ = two_engines
    for waiter, came in newcomers(two_engines, area, 2 * ROUNDS):
        assert waiter == "active"
        assert isinstance(came, Waiting), came
    assert_sound(world.url)


@pytest.mark.parametrize("area", AREAS)
def test_control_without_promotion_and_the_waitlist_rule_a_newcomer_does(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, area: str
) -> None:
    without_promotion(monkeypatch)
    without_waitlist_rule(monkeypatch)
    rounds = newcomers(two_engines, area, ROUNDS_MAX)
    assert any(isinstance(came, Placed) for _, came in rounds)


def test_control_the_waitlist_rule_alone_keeps_the_place_free(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_promotion(monkeypatch)
    for waiter, came in newcomers(two_engines, "floor", ROUNDS):
        assert waiter == "waiting"
        assert isinstance(came, Waiting), came


def test_nobody_waits_while_a_place_is_free(two_engines: TwoEngines) -> None:
    """The first party joins while the place is being freed."""
    world, engines = two_engines
    for _ in range(2 * ROUNDS):
        sale = sold_out(world, engines[0], 1)
        _, came = at_once(engines, sale.venue.release(sale.holds[0].id), sale.buy())
        assert isinstance(came, Placed | Waiting), came
        assert sale.status(came.hold) == ["active"]
    assert_sound(world.url)


def test_nobody_waits_while_seats_are_free_without_the_promoter(
    two_engines: TwoEngines,
) -> None:
    """Seats are read before the waitlist is locked, and again after. A command that then lacks a
    lock marks the waitlist unsettled; the promoter's next run serves the party without a full
    sweep."""
    world, engines = two_engines
    with promoter_of(world, engines[1]) as promoter:
        for _ in range(2 * ROUNDS):
            sale = sold_out(world, engines[0], 2, "stalls")
            releases = (sale.venue.release(hold.id) for hold in sale.holds)
            *_, came = at_once(engines, *releases, sale.buy(2))
            assert isinstance(came, Placed | Waiting), came
            if sale.status(came.hold) == ["waiting"]:
                assert not world.is_settled(sale.venue), "the promoter would not run"
                promoter.run_once()
            assert sale.status(came.hold) == ["active"]
    assert_sound(world.url)
