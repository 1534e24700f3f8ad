"""The connection to PostgreSQL breaks at the worst moments."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.connections import watchdog
from holdfast.adapters.postgres.connections.connection import RECONNECT_PAUSE_SECONDS
from holdfast.adapters.postgres.engine.store import PostgresConnection
from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.engine import Limits
from holdfast.ports.store import CommitState
from tests.contract.seen import SeatSeen
from tests.faults.arena import BOUND_SECONDS, UNAVAILABLE, Arena
from tests.faults.proxy import Fault, Proxy
from tests.support.auditing import rows


@pytest.fixture
def through_proxy(fresh_database_url: str) -> Iterator[Callable[..., tuple[Arena, Proxy]]]:
    made: list[tuple[Arena, Proxy]] = []

    def make(**limits: float) -> tuple[Arena, Proxy]:
        proxy = Proxy(fresh_database_url)
        arena = Arena(fresh_database_url, proxy.url, Limits(**limits))  # type: ignore[arg-type]
        made.append((arena, proxy))
        return arena, proxy

    yield make
    for arena, proxy in made:
        proxy.close()
        arena.close()


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]
)
def test_a_connection_cut_around_commit_loses_and_doubles_nothing(
    through_proxy: Callable[..., tuple[Arena, Proxy]], fault: Fault
) -> None:
    arena, proxy = through_proxy()
    assert arena.answered(arena.burst(5)) == {"placed": 5}
    proxy.fault_next(fault)
    told = arena.answered(arena.burst(40), 5)
    assert proxy.faulted.is_set()
    assert told == {"placed": 40}, "the outcome was found out, and everyone told"
    arena.assert_nothing_lost_and_nothing_twice()


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]
)
def test_a_seat_hold_cut_around_commit_is_found_out_by_its_hold(
    through_proxy: Callable[..., tuple[Arena, Proxy]], fault: Fault
) -> None:
    """Neither a key nor a counter helps here: the seat has no pool, and nobody repeats."""
    arena, proxy = through_proxy()
    proxy.fault_next(fault)
    command = arena.venue.seats("Stalls R3 7", "Stalls R3 8")
    outcome = arena.engine.submit(command).result(60).outcome
    assert proxy.faulted.is_set()
    assert isinstance(outcome, Placed)
    seats = arena.world.seats(arena.venue)
    assert seats["Stalls R3 7"] == seats["Stalls R3 8"] == SeatSeen("held", command.hold_id, 2)
    assert len(arena.world.facts(arena.venue)) == 3
    arena.assert_nothing_lost_and_nothing_twice(besides={command.hold_id})


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]
)
def test_a_blocking_cut_around_commit_is_found_out_by_its_seats(
    through_proxy: Callable[..., tuple[Arena, Proxy]], fault: Fault
) -> None:
    arena, proxy = through_proxy()
    proxy.fault_next(fault)
    outcome = arena.engine.submit(arena.venue.block("Stalls R3 7")).result(60).outcome
    assert proxy.faulted.is_set()
    assert isinstance(outcome, SeatsBlocked)
    assert (len(outcome.changed), outcome.unchanged) == (1, ())
    assert [fact.type for fact in arena.world.facts(arena.venue)] == ["seat.blocked"]
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_a_guess_would_hold_twice(
    through_proxy: Callable[..., tuple[Arena, Proxy]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without keys to fall back on, an engine that guesses wrong does everything again."""
    monkeypatch.setattr(PostgresConnection, "resolve", lambda *_: CommitState.NOT_COMMITTED)
    arena, proxy = through_proxy()
    commands = [arena.venue.place(("standing", 1)) for _ in range(5)]
    proxy.fault_next(Fault.SWALLOW_ANSWER)
    for command in commands:
        arena.engine.submit(command).result(60)
    asked = len(commands)
    (count,) = rows(arena.url, "SELECT count(*) FROM outbox")[0]
    held = arena.world.pool(arena.venue.pools["floor"]).held
    # The same ids are written again: refused by the primary key, and the client told 500 for a
    # hold that exists. Where ids were made anew, it would have been held twice.
    assert (count, held) == (asked, asked)
    proxy.fault_next(Fault.SWALLOW_ANSWER)
    outcome = arena.engine.submit(arena.venue.place(("standing", 1))).result(60).outcome
    assert not isinstance(outcome, Placed)
    assert arena.world.pool(arena.venue.pools["floor"]).held == asked + 1


def test_a_server_that_falls_silent_is_given_up_in_time(
    through_proxy: Callable[..., tuple[Arena, Proxy]],
) -> None:
    """While it is still silent: nothing ends that but the test."""
    arena, proxy = through_proxy()
    assert arena.answered(arena.burst(5)) == {"placed": 5}
    proxy.fault_next(Fault.STALL_ANSWERS)
    assert arena.answered(arena.burst(20), 5) == {"placed": 20}
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_without_the_watchdog_nobody_is_answered(
    through_proxy: Callable[..., tuple[Arena, Proxy]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "_cut", lambda _: None)
    arena, proxy = through_proxy()
    proxy.fault_next(Fault.STALL_ANSWERS)
    futures = arena.burst(3)
    with pytest.raises(TimeoutError):
        futures[0].result(8)
    proxy.resume()
    # Those that were decided before the silence are answered now; the others were due long ago.
    answered = arena.answered(futures)
    assert answered.total() == 3
    assert answered.keys() <= {"placed", "service_unavailable"}


def test_every_connection_cut_at_once_and_again(
    through_proxy: Callable[..., tuple[Arena, Proxy]],
) -> None:
    arena, proxy = through_proxy()
    futures = []
    for _ in range(10):
        futures += arena.burst(20)
        time.sleep(0.03)
        proxy.cut_all()
    told = arena.answered(futures)
    assert set(told) <= {"placed", UNAVAILABLE}
    arena.assert_nothing_lost_and_nothing_twice()


def test_backends_terminated_in_a_loop_under_load(fresh_database_url: str) -> None:
    """Each time the engine is at work again first: a backend that dies while it connects keeps the
    engine from connecting for a moment, and on a slow machine nothing but that would be tried."""
    arena = Arena(fresh_database_url, fresh_database_url)
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        for _ in range(15):
            _until_placed(arena)
            first = len(arena.commands)
            futures = arena.burst(10)
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'holdfast engine' AND datname = current_database()"
            )
            futures += arena.burst(10)
            assert set(arena.answered(futures, first)) <= {"placed", UNAVAILABLE}
    arena.assert_nothing_lost_and_nothing_twice()
    arena.close()


def _until_placed(arena: Arena) -> None:
    give_up_at = time.monotonic() + BOUND_SECONDS
    while time.monotonic() < give_up_at:
        if arena.answered(arena.burst(1), len(arena.commands) - 1) == {"placed": 1}:
            return
        time.sleep(RECONNECT_PAUSE_SECONDS / 5)
    raise AssertionError("the engine never came back")
