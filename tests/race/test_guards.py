"""Two engines, as in two server processes, and what keeps them apart. Each race has a control:
with the guard taken away, the same test sees the damage."""

import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres import group as group_module
from holdfast.adapters.postgres import statements
from holdfast.adapters.postgres.locks import advisory_name
from holdfast.domain.footprint import Resource, ResourceKind
from holdfast.domain.outcomes import Placed
from holdfast.engine import Admission
from holdfast.ports.store import Contended, Wanted
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound

ROUNDS_MAX = 100


@pytest.fixture
def two_engines(fresh_database_url: str) -> Iterator[tuple[PostgresWorld, list[Admission]]]:
    world = PostgresWorld(fresh_database_url)
    engines = [Admission(PostgresWorld(fresh_database_url).store) for _ in range(2)]
    for engine in engines:
        engine.start()
    yield world, engines
    for engine in engines:
        engine.stop()
    world.close()


def winners_per_round(
    world: PostgresWorld, engines: list[Admission], rounds: int, stop_above: int
) -> Iterator[int]:
    """20 commands for 10 tickets, half of them on either engine."""
    for _ in range(rounds):
        venue = world.venue({"floor": 10}, {"standing": ("floor",)})
        futures = [engines[n % 2].submit(venue.place(("standing", 1))) for n in range(20)]
        won = sum(isinstance(future.result(20).outcome, Placed) for future in futures)
        yield won
        if won > stop_above:
            return


def test_two_engines_never_sell_a_ticket_twice(
    two_engines: tuple[PostgresWorld, list[Admission]],
) -> None:
    world, engines = two_engines
    assert set(winners_per_round(world, engines, ROUNDS_MAX, 10)) == {10}
    assert_sound(world.url)


def test_control_without_the_row_lock_they_do(
    two_engines: tuple[PostgresWorld, list[Admission]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, engines = two_engines
    _without(monkeypatch, "LOCK_POOLS", "FOR NO KEY UPDATE SKIP LOCKED")
    monkeypatch.setattr(group_module, "_WAITED_FOR", {})
    assert max(winners_per_round(world, engines, ROUNDS_MAX, 10)) > 10


def holds_of_one_key(world: PostgresWorld, engines: list[Admission], rounds: int) -> int:
    """The same key on two engines at once; the most holds that one key made."""
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
            future.result(20)
        most = max(most, len(world.facts(venue)) - before)
        if most > 1:
            break
    return most


def test_one_key_has_one_effect_on_two_engines(
    two_engines: tuple[PostgresWorld, list[Admission]],
) -> None:
    world, engines = two_engines
    assert holds_of_one_key(world, engines, 50) == 1


def test_control_without_the_lock_on_the_key_it_has_two(
    two_engines: tuple[PostgresWorld, list[Admission]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both guards go: the advisory lock, and the primary key that would refuse the second row. The
    two commands draw on different pools, or the lock on the pool would hide it."""
    world, engines = two_engines
    with psycopg.connect(world.url, autocommit=True) as connection:
        connection.execute("ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey")

    def somewhere_else(resource: Resource) -> int:
        if resource.kind is ResourceKind.IDEMPOTENCY_KEY:
            return uuid4().int >> 65
        return advisory_name(resource)

    monkeypatch.setattr(group_module, "advisory_name", somewhere_else)
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
            future.result(20)
        most = max(most, len(world.facts(venue)) - before)
        if most > 1:
            break
    assert most > 1


def test_two_engines_that_evict_the_same_lapsed_holds_serve_everyone(
    two_engines: tuple[PostgresWorld, list[Admission]],
) -> None:
    """300 lapsed holds of one ticket each, 300 buyers: nobody is told to come back later."""
    world, engines = two_engines
    venue = world.venue({"floor": 300}, {"standing": ("floor",)})
    for future in [engines[0].submit(venue.place(("standing", 1))) for _ in range(300)]:
        assert isinstance(future.result(20).outcome, Placed)
    world.let_pass(venue, 700)
    futures = [engines[n % 2].submit(venue.place(("standing", 1))) for n in range(300)]
    outcomes = [future.result(20).outcome for future in futures]
    assert all(isinstance(outcome, Placed) for outcome in outcomes)
    assert_sound(world.url)


def contentions(world: PostgresWorld, rounds: int) -> int:
    """Two transactions lock the same 40 pools and wait for one of them; how often one could not."""
    venue = world.venue({str(n): 10 for n in range(40)}, {"all": ("0",)})
    resources = frozenset(
        Resource(ResourceKind.POOL, venue.organization_id, pool_id)
        for pool_id in venue.pools.values()
    )
    contended = []

    def lock_all() -> None:
        connection = PostgresWorld(world.url).store.connect()
        for _ in range(rounds):
            try:
                with connection.group() as group:
                    group.lock_and_read(Wanted(resources), max(resources))
            except Contended as error:
                contended.append(error)
                break
        connection.close()

    threads = [threading.Thread(target=lock_all, name=f"locker-{n}") for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(contended)


def test_who_waits_holds_nothing_so_no_circle_can_close(
    two_engines: tuple[PostgresWorld, list[Admission]],
) -> None:
    world, _ = two_engines
    assert contentions(world, 150) == 0


def test_control_waiting_for_all_in_two_orders_closes_one(
    two_engines: tuple[PostgresWorld, list[Admission]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = two_engines

    def one_forwards_one_backwards(resources: Any) -> list[Resource]:
        is_backwards = threading.current_thread().name == "locker-1"
        return sorted(resources, reverse=is_backwards)

    monkeypatch.setattr(statements, "LOCK_POOLS", statements.LOCK_POOLS.replace("SKIP LOCKED", ""))
    monkeypatch.setattr(group_module, "_WAITED_FOR", {})
    monkeypatch.setattr(group_module, "sorted", one_forwards_one_backwards, raising=False)
    assert contentions(world, 3000) > 0


def _without(monkeypatch: pytest.MonkeyPatch, name: str, guard: str) -> None:
    """Take a guard out of a statement. OFFSET 0 keeps the shape of the plan."""
    guarded: str = getattr(statements, name)
    assert guard in guarded
    monkeypatch.setattr(statements, name, guarded.replace(guard, "OFFSET 0"))
