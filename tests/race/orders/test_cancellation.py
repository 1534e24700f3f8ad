"""Cancellations and refunds that meet on two engines. Each race has a control: without the guard,
the same test fails."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.postgres.engine.group import Reading
from holdfast.domain.group.outcomes import OrderCancelled, Outcome, Placed, RefundRecorded
from holdfast.domain.orders.order import Order
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import Holder
from holdfast.engine import Admission
from tests.contract.asking import ask, converted, placed, waiting
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.race.guards import (
    ROUNDS_MAX,
    TwoEngines,
    late_to_lock,
    slowly,
    without,
    without_promotion,
    without_waitlist_rule,
)
from tests.support.auditing import assert_sound

ROUNDS = 20
HALL = Hall({"Stalls": {"A": 4}}, {"seat": ()})


def a_person(number: int) -> Holder:
    return Holder(user_id=f"user-{number}")


def bought(engine: Admission, venue: Venue, *asks: object) -> Order:
    """One hold for each ask."""
    holds = [placed(engine, venue.place(each)) for each in asks]  # type: ignore[arg-type]
    return converted(engine, venue.convert(*(hold.id for hold in holds))).order


def at_once(engines: list[Admission], *commands: object) -> list[Outcome | None]:
    """Submit the commands alternately to the engines."""
    futures = [
        engines[number % len(engines)].submit(command)  # type: ignore[arg-type]
        for number, command in enumerate(commands)
    ]
    return [future.result(60).outcome for future in futures]


def cancelled_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int = ROUNDS
) -> Iterator[int]:
    """Cancel the same order four times at once; yields how often that succeeded."""
    venue = world.venue({"floor": 10_000}, {"standing": ("floor",)})
    bought(engines[0], venue, ("standing", 9))  # so that a place too many could be returned
    for _ in range(rounds):
        order = bought(engines[0], venue, ("standing", 2))
        outcomes = at_once(engines, *[venue.cancel(order.id)] * 4)
        yield sum(isinstance(each, OrderCancelled) for each in outcomes)


def test_an_order_is_cancelled_once(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    assert set(cancelled_per_round(world, engines)) == {1}
    assert_sound(world.url)


def test_control_without_reading_the_order_again_it_is_cancelled_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    late_to_lock(monkeypatch)
    monkeypatch.setattr(Reading, "_current_orders", lambda self, _: self._wanted.orders.values())
    with world.connected() as connection:  # it would notice the second fact of that version
        connection.execute("ALTER TABLE outbox DROP CONSTRAINT outbox_fact_happens_once")
    assert any(times > 1 for times in cancelled_per_round(world, engines, ROUNDS_MAX))


def refunds_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int = ROUNDS
) -> Iterator[int]:
    """Record four refunds of a cancelled order at once; yields how many succeeded."""
    venue = world.venue({"floor": 10_000}, {"standing": ("floor",)})
    for _ in range(rounds):
        order = bought(engines[0], venue, ("standing", 2))
        ask(engines[0], venue.cancel(order.id))
        refunds = [venue.refund(order.id, reference=f"re_{number}") for number in range(4)]
        outcomes = at_once(engines, *refunds)
        yield sum(isinstance(each, RefundRecorded) for each in outcomes)


def test_a_recorded_refund_is_not_replaced(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    assert set(refunds_per_round(world, engines)) == {1}
    assert_sound(world.url)


def test_control_without_reading_the_order_again_a_refund_is_replaced(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    late_to_lock(monkeypatch)
    monkeypatch.setattr(Reading, "_current_orders", lambda self, _: self._wanted.orders.values())
    assert any(times > 1 for times in refunds_per_round(world, engines, ROUNDS_MAX))


def versions_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int = ROUNDS
) -> Iterator[list[int]]:
    """Cancel two tickets of an order at once, which have no pool in common; yields the versions of
    the order after each."""
    pools = {"floor": 10_000, "balcony": 10_000}
    venue = world.venue(pools, {"standing": ("floor",), "high": ("balcony",)})
    for _ in range(rounds):
        order = bought(engines[0], venue, ("standing", 1), ("high", 1))
        parts = [venue.cancel(order.id, ticket.id) for ticket in order.tickets]
        done = [each for each in at_once(engines, *parts) if isinstance(each, OrderCancelled)]
        yield sorted(each.order.version for each in done)


def test_two_parts_of_an_order_are_cancelled_one_after_the_other(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    assert all(versions == [2, 3] for versions in versions_per_round(world, engines))
    assert_sound(world.url)


def test_control_without_the_lock_of_the_holds_one_part_is_lost(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    slowly(monkeypatch)
    without(monkeypatch, "LOCK_HOLDS")
    assert any(each != [2, 3] for each in versions_per_round(world, engines, ROUNDS_MAX))


def block_while_cancelling(
    world: PostgresWorld, engines: list[Admission], rounds: int = ROUNDS
) -> None:
    for _ in range(rounds):
        venue = world.build(Plan({}, {}, HoldPolicy(), HALL))
        order = bought(engines[0], venue, venue.these("Stalls A 1"))
        at_once(engines, venue.cancel(order.id), venue.block("Stalls A 1"))
        assert world.seats(venue)["Stalls A 1"][:2] == ("blocked", None)


def test_a_seat_is_blocked_while_its_ticket_is_cancelled(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    block_while_cancelling(world, engines)
    assert_sound(world.url)


def test_control_without_the_lock_of_the_seat_a_blocking_is_lost(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    slowly(monkeypatch)
    without(monkeypatch, "LOCK_SEATS")
    with pytest.raises(AssertionError):
        block_while_cancelling(world, engines, ROUNDS_MAX)


def takers_of_a_cancelled_seat(
    world: PostgresWorld, engines: list[Admission], rounds: int = ROUNDS
) -> Iterator[tuple[int, str]]:
    """Others want the only seat while its ticket is cancelled and while somebody waits for it;
    yields how many of them got it, and the status of the party that waited."""
    for _ in range(rounds):
        hall = Hall({"Stalls": {"A": 1}}, {"seat": ()})
        venue = world.build(Plan({}, {}, HoldPolicy(waitlist=True), hall))
        order = bought(engines[0], venue, venue.these("Stalls A 1"))
        party = waiting(engines[0], venue.place(("seat", 1), holder=a_person(0)))
        others = [venue.seats("Stalls A 1", holder=a_person(number)) for number in range(1, 5)]
        outcomes = at_once(engines, *others[:2], venue.cancel(order.id), *others[2:])
        got_it = sum(isinstance(each, Placed) for each in outcomes)
        yield got_it, world.holds(venue)[party.id].status


def test_a_cancelled_seat_goes_to_the_waitlist_and_to_nobody_else(two_engines: TwoEngines) -> None:
    world, engines = two_engines
    assert set(takers_of_a_cancelled_seat(world, engines)) == {(0, "active")}
    assert_sound(world.url)


def test_control_without_promotion_and_the_waitlist_rule_somebody_else_gets_it(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock is missing here: until the cancellation commits, nobody else sees the seat free."""
    without_promotion(monkeypatch)
    without_waitlist_rule(monkeypatch)
    assert (1, "waiting") in takers_of_a_cancelled_seat(*two_engines, ROUNDS_MAX)


def test_without_a_waitlist_a_cancelled_seat_goes_to_one_of_the_others(
    two_engines: TwoEngines,
) -> None:
    world, engines = two_engines
    venue = world.build(Plan({}, {}, HoldPolicy(), HALL))
    order = bought(engines[0], venue, venue.these("Stalls A 1"))
    ask(engines[0], venue.cancel(order.id))
    others = [venue.seats("Stalls A 1", holder=a_person(number)) for number in range(4)]
    outcomes = at_once(engines, *others)
    assert sum(isinstance(each, Placed) for each in outcomes) == 1
