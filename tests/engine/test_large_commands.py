"""A large order runs without delaying other commands."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from holdfast.domain.group.outcomes import Converted, Outcome, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.engine import Admission, Limits, lock_queues
from holdfast.engine.limits import WEIGHT_IN_MAIN_LANE_MAX
from holdfast.ports.engine import Answer
from tests.contract.venues import Venue
from tests.contract.worlds import MemoryWorld

BOUND_SECONDS = 60
LARGE = WEIGHT_IN_MAIN_LANE_MAX + 1


class Door:
    """Blocks a command while its answer is rendered, in the middle of its group."""

    def __init__(self, begun: list[str] | None = None, name: str = "") -> None:
        self.begun = [] if begun is None else begun
        self.name = name
        self.reached = threading.Event()
        self.opened = threading.Event()

    def render(self, _: Outcome) -> bytes:
        self.begun.append(self.name)
        self.reached.set()
        assert self.opened.wait(BOUND_SECONDS)
        return b"{}"


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def engine(world: MemoryWorld) -> Iterator[Admission]:
    engine = Admission(world.store, Limits(deadline_seconds=BOUND_SECONDS))
    engine.start()
    yield engine
    engine.stop()


def a_venue(world: MemoryWorld) -> Venue:
    return world.venue({"floor": 100_000}, {"standing": ("floor",)})


def held(engine: Admission, venue: Venue, quantity: int) -> Hold:
    answer = engine.submit(venue.place(("standing", quantity))).result(BOUND_SECONDS)
    assert isinstance(answer.outcome, Placed)
    return answer.outcome.hold


def converted(engine: Admission, venue: Venue, hold: Hold, door: Door) -> Future[Answer]:
    return engine.submit(venue.convert(hold.id, key=venue.key()), door.render)


def test_other_commands_run_during_a_large_order(world: MemoryWorld, engine: Admission) -> None:
    door, venue, neighbour = Door(), a_venue(world), a_venue(world)
    order = converted(engine, venue, held(engine, venue, LARGE), door)
    assert door.reached.wait(BOUND_SECONDS)
    for _ in range(3):
        held(engine, neighbour, 1)
    assert not order.done()
    door.opened.set()
    assert isinstance(order.result(BOUND_SECONDS).outcome, Converted)


def test_control_in_the_main_lane_they_would_wait(
    world: MemoryWorld, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control of the test above."""
    monkeypatch.setattr(lock_queues, "WEIGHT_IN_MAIN_LANE_MAX", 10 * LARGE)
    door, venue, neighbour = Door(), a_venue(world), a_venue(world)
    converted(engine, venue, held(engine, venue, LARGE), door)
    assert door.reached.wait(BOUND_SECONDS)
    asked = engine.submit(neighbour.place(("standing", 1)))
    assert not asked.done()
    door.opened.set()
    assert isinstance(asked.result(BOUND_SECONDS).outcome, Placed)


def test_large_orders_run_one_at_a_time_and_organizations_take_turns(
    world: MemoryWorld, engine: Admission
) -> None:
    begun: list[str] = []
    busy, neighbour = a_venue(world), a_venue(world)
    doors = [Door(begun, name) for name in ("busy", "busy", "busy", "neighbour")]
    holds = [held(engine, busy, LARGE) for _ in range(3)]
    orders = [converted(engine, busy, hold, door) for hold, door in zip(holds, doors, strict=False)]
    assert doors[0].reached.wait(BOUND_SECONDS)
    orders.append(converted(engine, neighbour, held(engine, neighbour, LARGE), doors[3]))
    # Once the main lane takes the second of these, it has passed on everything before the first.
    held(engine, neighbour, 1)
    held(engine, neighbour, 1)
    assert begun == ["busy"]
    for door in doors:
        door.opened.set()
    for order in orders:
        assert isinstance(order.result(BOUND_SECONDS).outcome, Converted)
    assert begun == ["busy", "neighbour", "busy", "busy"]


def test_a_buyer_from_the_same_pool_is_served_after_the_order(
    world: MemoryWorld, engine: Admission
) -> None:
    door, venue = Door(), a_venue(world)
    order = converted(engine, venue, held(engine, venue, LARGE), door)
    assert door.reached.wait(BOUND_SECONDS)
    asked = engine.submit(venue.place(("standing", 1)))
    door.opened.set()
    assert isinstance(order.result(BOUND_SECONDS).outcome, Converted)
    assert isinstance(asked.result(BOUND_SECONDS).outcome, Placed)
