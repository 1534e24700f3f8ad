"""Two engines, like two server processes, and the locks between them. Each race has a control:
without the guard the same test fails."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.outcomes import Placed
from holdfast.engine import Admission
from tests.contract.worlds import PostgresWorld
from tests.race.guards import (
    ROUNDS_MAX,
    TwoEngines,
    contentions,
    unlocked,
    wait_in_two_orders,
    without,
)
from tests.support.auditing import assert_sound


def winners_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int, stop_above: int
) -> Iterator[int]:
    """Submit 20 commands for 10 tickets, half to each engine."""
    for _ in range(rounds):
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        futures = [engines[n % 2].submit(venue.place(("standing", 1))) for n in range(20)]
        won = sum(isinstance(future.result(60).outcome, Placed) for future in futures)
        yield won
        if won > stop_above:
            return


def test_two_engines_never_sell_a_ticket_twice(
    two_engines: TwoEngines,
) -> None:
    world, engines = two_engines
    assert set(winners_per_round(world, engines, ROUNDS_MAX, 10)) == {10}
    assert_sound(world.url)


def test_control_without_the_row_lock_a_ticket_is_sold_twice(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    without(monkeypatch, "LOCK_POOLS")
    assert max(winners_per_round(world, engines, ROUNDS_MAX, 10)) > 10


def holds_of_one_key(world: PostgresWorld, engines: list[Admission], rounds: int) -> int:
    """Submit the same key to two engines at once; the most holds that one key made."""
    venue = world.venue({"floor": 10_000}, {"standing": ("floor",)})
    most = 0
    for _ in range(rounds):
        key = venue.key()
        before = len(world.facts(venue))
        futures = [
            engine.submit(venue.place(("standing", 1), key=key), lambda _: b"answer")
            for engine in engines
            for _ in range(3)
        ]
        for future in futures:
            future.result(60)
        most = max(most, len(world.facts(venue)) - before)
        if most > 1:
            break
    return most


def test_one_key_has_one_effect_on_two_engines(
    two_engines: TwoEngines,
) -> None:
    world, engines = two_engines
    assert holds_of_one_key(world, engines, 50) == 1


def test_control_without_the_key_lock_one_key_has_two_effects(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removes both guards: the advisory lock, and the primary key that would refuse the second row.
    The commands use different pools, whose locks would hide the damage."""
    world, engines = two_engines
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey")
    unlocked(monkeypatch, ResourceKind.IDEMPOTENCY_KEY)
    venue = world.venue({"a": 10_000, "b": 10_000}, {"0": ("a",), "1": ("b",)})
    most = 0
    for _ in range(ROUNDS_MAX):
        key = venue.key()
        before = len(world.facts(venue))
        futures = [
            engine.submit(venue.place((str(number), 1), key=key), lambda _: b"answer")
            for number, engine in enumerate(engines)
        ]
        for future in futures:
            future.result(60)
        most = max(most, len(world.facts(venue)) - before)
        if most > 1:
            break
    assert most > 1


def test_two_engines_evicting_the_same_expired_holds_serve_everyone(
    two_engines: TwoEngines,
) -> None:
    """300 expired holds of one ticket, 300 buyers: nobody gets a 503."""
    world, engines = two_engines
    venue = world.venue({"floor": 300}, {"standing": ("floor",)})
    for future in [engines[0].submit(venue.place(("standing", 1))) for _ in range(300)]:
        assert isinstance(future.result(60).outcome, Placed)
    world.let_pass(venue, 700)
    futures = [engines[n % 2].submit(venue.place(("standing", 1))) for n in range(300)]
    outcomes = [future.result(60).outcome for future in futures]
    assert all(isinstance(outcome, Placed) for outcome in outcomes)
    assert_sound(world.url)


def forty_pools(world: PostgresWorld) -> list[Resource]:
    venue = world.venue({str(n): 10 for n in range(40)}, {"all": ("0",)})
    return [
        Resource(ResourceKind.POOL, venue.organization_id, pool_id)
        for pool_id in venue.pools.values()
    ]


def test_waiting_for_one_pool_lock_at_a_time_never_deadlocks(two_engines: TwoEngines) -> None:
    world, _ = two_engines
    assert contentions(world, forty_pools(world), 150) == 0


def test_control_waiting_for_all_pool_locks_in_two_orders_deadlocks(
    two_engines: TwoEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines
    wait_in_two_orders(monkeypatch, "LOCK_POOLS")
    assert contentions(world, forty_pools(world), 3000) > 0
