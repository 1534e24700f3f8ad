"""A group has a maximum weight, which limits the large orders in it."""

from time import monotonic

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Converted, Outcome, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.engine.group import GroupRunner
from holdfast.engine.limits import WEIGHT_PER_GROUP_MAX
from holdfast.engine.queue import Pending
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import MemoryWorld


def pending(command: Command) -> Pending:
    return Pending(command, None, monotonic() + 60, leave=lambda _: None, deliver=lambda _: None)


def outcome_of(asked: Pending) -> Outcome | None:
    assert asked.answered is not None
    return asked.answered.outcome


def held(runner: GroupRunner, venue: Venue, quantity: int) -> Hold:
    asked = pending(venue.place(("standing", quantity)))
    runner.run([asked])
    outcome = outcome_of(asked)
    assert isinstance(outcome, Placed)
    return outcome.hold


def test_large_orders_are_spread_over_groups() -> None:
    world = MemoryWorld()
    venue = world.venue({"floor": 10_000}, {"standing": ("floor",)})
    runner = GroupRunner(world.store.connect(), [])
    each = WEIGHT_PER_GROUP_MAX * 2 // 5
    holds = [held(runner, venue, each) for _ in range(5)]
    waiting = [pending(venue.convert(hold.id)) for hold in holds]
    sizes = []
    while waiting:
        result = runner.run(waiting)
        sizes.append(len(waiting) - len(result.again))
        waiting = result.again
    assert sizes == [2, 2, 1]
    assert len(world.orders(venue)) == 5


def test_an_order_above_the_maximum_weight_runs_alone() -> None:
    world = MemoryWorld()
    venue = world.venue({"floor": 10_000}, {"standing": ("floor",)})
    runner = GroupRunner(world.store.connect(), [])
    large, small = held(runner, venue, 2 * WEIGHT_PER_GROUP_MAX), held(runner, venue, 1)
    first, second = pending(venue.convert(large.id)), pending(venue.convert(small.id))
    assert runner.run([first, second]).again == [second]
    assert isinstance(outcome_of(first), Converted)


def test_holds_of_many_seats_are_spread_over_groups() -> None:
    world = MemoryWorld()
    rows = {f"R{number}": 50 for number in range(12)}
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": rows}, {"seat": ()})))
    runner = GroupRunner(world.store.connect(), [])
    names = list(venue.places)
    asked = [pending(venue.seats(*names[at : at + 200])) for at in (0, 200, 400)]
    assert runner.run(asked).again == asked[2:]
    assert all(isinstance(outcome_of(each), Placed) for each in asked[:2])
