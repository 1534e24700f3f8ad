"""Errors that PostgreSQL raises in the middle of a group."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import psycopg
import pytest

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine import group as group_module
from holdfast.adapters.postgres.engine.writes import write_group
from holdfast.domain import refusals
from holdfast.domain.group.origin import Origin
from holdfast.engine import group as engine_group
from holdfast.engine.pending import Pending
from holdfast.ports.store import GroupWrites
from tests.faults.arena import BROKEN, UNAVAILABLE, Arena
from tests.faults.injection import injected, install


@pytest.fixture
def arena(fresh_database_url: str) -> Iterator[Arena]:
    install(fresh_database_url)
    made = Arena(fresh_database_url, fresh_database_url)
    assert made.answered(made.burst(3)) == {"placed": 3}
    yield made
    made.close()


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "55P03"])
def test_a_group_with_a_conflict_is_retried(arena: Arena, sqlstate: str) -> None:
    with injected(arena.url, sqlstate, times=2):
        assert arena.answered(arena.burst(30), 3) == {"placed": 30}
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_tried_once_it_would_be_refused(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_group, "ATTEMPTS_MAX", 1)
    with injected(arena.url, "40P01", times=1):
        assert UNAVAILABLE in arena.answered(arena.burst(30), 3)


@pytest.mark.parametrize("sqlstate", ["22003", "22P02", "23514", "23505", "42501"])
def test_one_command_that_breaks_the_group_breaks_alone(arena: Arena, sqlstate: str) -> None:
    with injected(arena.url, sqlstate, only_request="request-20"):
        told = arena.answered(arena.burst(60), 3)
    assert told == {"placed": 59, BROKEN: 1}
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_without_halving_it_takes_the_others_along(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_all(
        _runner: object, pendings: Sequence[Pending], *_: object
    ) -> engine_group.GroupResult:
        for pending in pendings:
            pending.refuse(refusals.internal_error())
        return engine_group.GroupResult()

    monkeypatch.setattr(engine_group.GroupRunner, "_halve", refuse_all)
    with injected(arena.url, "22003", only_request="request-20"):
        told = arena.answered(arena.burst(60), 3)
    assert told[BROKEN] > 1


@pytest.mark.parametrize("sqlstate", ["53100", "53200", "53300", "57014", "58030", "XX000"])
def test_a_server_in_trouble_refuses_and_recovers(arena: Arena, sqlstate: str) -> None:
    with injected(arena.url, sqlstate):
        assert arena.answered(arena.burst(20), 3) == {UNAVAILABLE: 20}
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_statement_that_takes_too_long_is_given_up(arena: Arena) -> None:
    """statement_timeout on the server, the watchdog behind it."""
    with injected(arena.url, None, pause_seconds=600):
        told = arena.answered(arena.burst(5), 3)
    assert told == {UNAVAILABLE: 5}
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_value_that_postgresql_cannot_store_costs_one_command(arena: Arena) -> None:
    """NUL is stopped at the door; should it ever get past, the group survives it."""
    futures = arena.burst(20)
    broken = replace(
        arena.venue.place(("standing", 1)), origin=Origin("test", "nul\x00byte", "127.0.0.1")
    )
    alone = arena.engine.submit(broken)
    futures += arena.burst(20)
    assert arena.answered(futures, 3) == {"placed": 40}
    assert arena.answered([alone], 10**6) == {BROKEN: 1}
    arena.assert_nothing_lost_and_nothing_twice()


def test_an_error_that_somebody_swallowed_is_noticed_at_commit(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COMMIT of a transaction that has failed answers ROLLBACK, and raises nothing."""
    remaining = [True]

    def fail_and_swallow(connection: Connection, writes: GroupWrites, position: str) -> None:
        if remaining and remaining.pop():
            with contextlib.suppress(psycopg.Error), connection.pipeline():
                connection.execute("SELECT 1 / 0")
        write_group(connection, writes, position)

    monkeypatch.setattr(group_module, "write_group", fail_and_swallow)
    told = arena.answered(arena.burst(5), 3)
    assert set(told) <= {"placed", UNAVAILABLE, BROKEN}
    arena.assert_nothing_lost_and_nothing_twice()
