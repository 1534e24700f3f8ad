"""The connection to PostgreSQL breaks at the worst moments."""

import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.connections import connection as connecting
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
def test_a_connection_cut_around_commit_loses_and_duplicates_nothing(
    through_proxy: Callable[..., tuple[Arena, Proxy]], fault: Fault
) -> None:
    arena, proxy = through_proxy()
    assert arena.answered(arena.burst(5)) == {"placed": 5}
    proxy.fault_next(fault)
    answers = arena.answered(arena.burst(40), 5)
    assert proxy.faulted.is_set()
    assert answers == {"placed": 40}, "the commit was not resolved"
    arena.assert_nothing_lost_and_nothing_twice()


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE_COMMIT, Fault.CUT_IN_COMMIT, Fault.SWALLOW_ANSWER]
)
def test_a_seat_hold_cut_around_commit_is_resolved_by_its_row(
    through_proxy: Callable[..., tuple[Arena, Proxy]], fault: Fault
) -> None:
    """Neither key nor counter helps here: the seat has no pool, and nobody repeats."""
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
def test_a_block_command_cut_around_commit_is_resolved_by_its_seats(
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


def test_control_assuming_a_rollback_would_hold_twice(
    through_proxy: Callable[..., tuple[Arena, Proxy]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that assumes a rollback does everything again."""
    monkeypatch.setattr(PostgresConnection, "resolve", lambda *_: CommitState.NOT_COMMITTED)
    arena, proxy = through_proxy()
    commands = [arena.venue.place(("standing", 1)) for _ in range(5)]
    proxy.fault_next(Fault.SWALLOW_ANSWER)
    for command in commands:
        arena.engine.submit(command).result(60)
    asked = len(commands)
    (count,) = rows(arena.url, "SELECT count(*) FROM outbox")[0]
    held = arena.world.pool(arena.venue.pools["floor"]).held
    # The same ids are written again: the primary key refuses them, and the client gets a 500 for a
    # hold that exists. With new ids it would be held twice.
    assert (count, held) == (asked, asked)
    proxy.fault_next(Fault.SWALLOW_ANSWER)
    outcome = arena.engine.submit(arena.venue.place(("standing", 1))).result(60).outcome
    assert not isinstance(outcome, Placed)
    assert arena.world.pool(arena.venue.pools["floor"]).held == asked + 1


def test_a_silent_server_is_abandoned_in_time(
    through_proxy: Callable[..., tuple[Arena, Proxy]],
) -> None:
    """The server stays silent until the test ends."""
    arena, proxy = through_proxy()
    assert arena.answered(arena.burst(5)) == {"placed": 5}
    proxy.fault_next(Fault.STALL_ANSWERS)
    assert arena.answered(arena.burst(20), 5) == {"placed": 20}
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_without_the_watchdog_nobody_is_answered(
    through_proxy: Callable[..., tuple[Arena, Proxy]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_cut", lambda _: None)
    arena, proxy = through_proxy()
    proxy.fault_next(Fault.STALL_ANSWERS)
    futures = arena.burst(3)
    with pytest.raises(TimeoutError):
        futures[0].result(8)
    proxy.resume()
    # Commands decided before the silence are answered now; the others are past their deadline.
    answered = arena.answered(futures)
    assert answered.total() == 3
    assert answered.keys() <= {"placed", "service_unavailable"}


def test_cutting_all_connections_repeatedly_loses_nothing(
    through_proxy: Callable[..., tuple[Arena, Proxy]],
) -> None:
    arena, proxy = through_proxy()
    futures = []
    for _ in range(10):
        futures += arena.burst(20)
        time.sleep(0.03)
        proxy.cut_all()
    answers = arena.answered(futures)
    assert set(answers) <= {"placed", UNAVAILABLE}
    arena.assert_nothing_lost_and_nothing_twice()


def test_terminating_backends_under_load_loses_nothing(fresh_database_url: str) -> None:
    """Wait until the engine works again each time: a backend that dies while connecting delays the
    next attempt, and a slow machine would test nothing else."""
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
