"""One pool is locked, with more expired holds than the reaper reads at a time. Nobody else is
delayed."""

import time
from collections.abc import Callable, Iterator

import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.bootstrap.duties import Duty, DutyThread
from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.engine import Admission, Limits
from holdfast.services.holds.reaper import HOLDS_PER_RUN, Reaper
from holdfast.services.holds.sweep import sweep
from tests.contract.venues import Plan, Venue
from tests.contract.worlds import PostgresWorld

GIVE_UP_SECONDS = 60.0
BLOCKED = HOLDS_PER_RUN + 88
TTL_SECONDS = 600


@pytest.fixture
def world(fresh_database_url: str) -> Iterator[PostgresWorld]:
    world = PostgresWorld(fresh_database_url)
    yield world
    world.close()


@pytest.fixture
def reaper(world: PostgresWorld) -> Iterator[Reaper]:
    engine = Admission(world.store, Limits(deadline_seconds=3))
    engine.start()
    database = Database(world.url)
    database.open()
    yield Reaper(PostgresHolds(database), engine)
    engine.stop()
    database.close()


def await_(condition: Callable[[], bool], what: str) -> None:
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, what
        time.sleep(0.05)


def holds_of_one_pool(world: PostgresWorld, count: int, *, warning_seconds: int = 60) -> Venue:
    policy = HoldPolicy(TTL_SECONDS, warning_seconds=warning_seconds)
    venue = world.build(Plan({"floor": count}, {"standing": ("floor",)}, policy))
    engine = Admission(world.store, Limits(deadline_seconds=60))
    engine.start()
    for future in [engine.submit(venue.place(("standing", 1))) for _ in range(count)]:
        assert isinstance(future.result().outcome, Placed)
    engine.stop()
    return venue


def all_expired(world: PostgresWorld, venue: Venue) -> bool:
    return all(hold.status is HoldStatus.EXPIRED for hold in world.all_holds(venue))


def is_warned(hold: Hold) -> bool:
    return hold.version == 2 and hold.status is HoldStatus.ACTIVE


def test_expired_holds_of_a_locked_pool_delay_no_other_expiry_or_warning(
    world: PostgresWorld, reaper: Reaper
) -> None:
    blocked = holds_of_one_pool(world, BLOCKED)
    world.let_pass(blocked, 2 * TTL_SECONDS)
    ending = holds_of_one_pool(world, 1)
    world.let_pass(ending, TTL_SECONDS + 1)
    warned = holds_of_one_pool(world, 1, warning_seconds=TTL_SECONDS // 2)
    world.let_pass(warned, TTL_SECONDS // 2 + 1)
    thread = DutyThread(Duty("reaper", lambda: reaper.tend(interval_seconds=60)))
    with world.locked_elsewhere(blocked, blocked.pools["floor"]):
        thread.start()
        await_(lambda: all_expired(world, ending), "the other tenant's hold is not expired")
        await_(lambda: all(map(is_warned, world.all_holds(warned))), "nor is anybody warned")
        assert not any(hold.is_over() for hold in world.all_holds(blocked)), "the lock is held"
    await_(lambda: all_expired(world, blocked), "they end when the lock is gone")
    thread.stop(timeout_seconds=10)


def test_a_sweep_skips_a_locked_pool_and_reports_leftovers(
    world: PostgresWorld, reaper: Reaper
) -> None:
    blocked = holds_of_one_pool(world, BLOCKED)
    world.let_pass(blocked, 2 * TTL_SECONDS)
    ending = holds_of_one_pool(world, 3)
    world.let_pass(ending, TTL_SECONDS + 1)
    with world.locked_elsewhere(blocked, blocked.pools["floor"]):
        swept = sweep(reaper)
        assert all_expired(world, ending)
    assert (swept.expired, swept.failed) == (3, HOLDS_PER_RUN)
    assert sweep(reaper).expired == BLOCKED
