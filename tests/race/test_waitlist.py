"""Places that are freed while others wait for them, over two engines. Whoever waits first is served
first, in the same instant; each race has a control that shows what keeps it so."""

from collections.abc import Iterator

import pytest

from holdfast.domain.group.outcomes import Outcome, Placed, Waiting
from holdfast.domain.holds import capacity, place_hold
from holdfast.engine import verdicts
from tests.race.guards import ROUNDS_MAX, TwoEngines, slowly, without
from tests.race.lines import HOUSES, at_once, promoter_of, sold_out
from tests.support.auditing import assert_sound

ROUNDS = 25


def freed_for_three(two_engines: TwoEngines, house: str, rounds: int) -> Iterator[list[str]]:
    """Two let go at once, three wait: what becomes of these."""
    world, engines = two_engines
    for _ in range(rounds):
        sale = sold_out(world, engines[0], 2, house)
        waiters = [sale.join() for _ in range(3)]
        at_once(engines, *(sale.venue.release(hold.id) for hold in sale.holds))
        yield sale.status(*waiters)


@pytest.mark.parametrize("house", HOUSES)
def test_two_freed_places_go_to_the_first_two_of_three(two_engines: TwoEngines, house: str) -> None:
    world, _ = two_engines
    for statuses in freed_for_three(two_engines, house, ROUNDS):
        assert statuses == ["active", "active", "waiting"]
    assert_sound(world.url)


def test_control_without_the_lock_on_the_line_they_do_not(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the stalls, where no pool is locked that would hide it."""
    without(monkeypatch, "LOCK_WAITLISTS")
    slowly(monkeypatch)
    rounds = freed_for_three(two_engines, "stalls", ROUNDS_MAX)
    assert any(statuses != ["active", "active", "waiting"] for statuses in rounds)


def newcomers(two_engines: TwoEngines, house: str, rounds: int) -> Iterator[tuple[str, Outcome]]:
    """A place is freed in the moment in which somebody comes along; what becomes of the one who
    waits, and of the one who came."""
    world, engines = two_engines
    for number in range(rounds):
        sale = sold_out(world, engines[0], 1, house)
        waiter = sale.join()
        release, purchase = sale.venue.release(sale.holds[0].id), sale.buy()
        pair = (release, purchase) if number % 2 else (purchase, release)
        outcomes = at_once(engines, *pair)
        came = outcomes[pair.index(purchase)]
        assert came is not None
        yield sale.status(waiter)[0], came


@pytest.mark.parametrize("house", HOUSES)
def test_who_comes_along_never_gets_what_is_freed_for_who_waits(
    two_engines: TwoEngines, house: str
) -> None:
    world, _ = two_engines
    for waiter, came in newcomers(two_engines, house, 2 * ROUNDS):
        assert waiter == "active"
        assert isinstance(came, Waiting), came
    assert_sound(world.url)


def nobody_served(*_arguments: object, **_: object) -> list[object]:
    return []


def nobody_passed(*_arguments: object) -> tuple[object, ...]:
    return ()


@pytest.mark.parametrize("house", HOUSES)
def test_control_without_promotion_in_the_transaction_and_the_rule_of_the_line(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch, house: str
) -> None:
    """As where a job comes by later to see who waits."""
    monkeypatch.setattr(verdicts, "settle", nobody_served)
    monkeypatch.setattr(capacity, "passes", nobody_passed)
    monkeypatch.setattr(place_hold, "is_behind_a_line", lambda *_: False)
    rounds = newcomers(two_engines, house, ROUNDS_MAX)
    assert any(isinstance(came, Placed) for _, came in rounds)


def test_control_the_rule_of_the_line_alone_keeps_the_place_for_who_waits(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "settle", nobody_served)
    for waiter, came in newcomers(two_engines, "floor", ROUNDS):
        assert waiter == "waiting"
        assert isinstance(came, Waiting), came


def test_nobody_waits_beside_a_free_place(two_engines: TwoEngines) -> None:
    """The first in line comes in the moment in which the place is freed: too late to see it taken,
    or too early to be seen."""
    world, engines = two_engines
    for _ in range(2 * ROUNDS):
        sale = sold_out(world, engines[0], 1)
        _, came = at_once(engines, sale.venue.release(sale.holds[0].id), sale.buy())
        assert isinstance(came, Placed | Waiting), came
        assert sale.status(came.hold) == ["active"]
    assert_sound(world.url)


def test_nobody_waits_beside_free_seats_unless_that_is_noted(two_engines: TwoEngines) -> None:
    """Seats are looked at before the line is locked, and once more after that. Whoever finds then
    that it needs a lock it does not have leaves a note: the promoter's next run, and no sweep of
    all lines, gives them to the first."""
    world, engines = two_engines
    with promoter_of(world, engines[1]) as promoter:
        for _ in range(2 * ROUNDS):
            sale = sold_out(world, engines[0], 2, "stalls")
            releases = (sale.venue.release(hold.id) for hold in sale.holds)
            *_, came = at_once(engines, *releases, sale.buy(2))
            assert isinstance(came, Placed | Waiting), came
            if sale.status(came.hold) == ["waiting"]:
                assert not world.is_settled(sale.venue), "nobody would know"
                promoter.run_once()
            assert sale.status(came.hold) == ["active"]
    assert_sound(world.url)
