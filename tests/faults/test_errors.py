"""Errors raised by PostgreSQL in the middle of a group."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from holdfast.adapters.postgres.connections.pipeline import Pipeline
from holdfast.adapters.postgres.engine import group as group_module
from holdfast.adapters.postgres.engine.writes import write_group
from holdfast.domain import refusals
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import SessionKey
from holdfast.engine import group as engine_group
from holdfast.engine.queue import Pending
from holdfast.ports.privacy.addresses import Addresses
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


def test_control_without_a_retry_it_is_refused(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_group, "ATTEMPTS_MAX", 1)
    with injected(arena.url, "40P01", times=1):
        assert UNAVAILABLE in arena.answered(arena.burst(30), 3)


@pytest.mark.parametrize("sqlstate", ["22003", "22P02", "23514", "23505", "42501"])
def test_a_command_that_breaks_its_group_fails_alone(arena: Arena, sqlstate: str) -> None:
    with injected(arena.url, sqlstate, only_request="request-20"):
        answers = arena.answered(arena.burst(60), 3)
    assert answers == {"placed": 59, BROKEN: 1}
    arena.assert_nothing_lost_and_nothing_twice()


def test_control_without_halving_it_fails_the_others(
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
        answers = arena.answered(arena.burst(60), 3)
    assert answers[BROKEN] > 1


@pytest.mark.parametrize("sqlstate", ["53100", "53200", "53300", "57014", "58030", "XX000"])
def test_a_server_in_trouble_refuses_and_recovers(arena: Arena, sqlstate: str) -> None:
    with injected(arena.url, sqlstate):
        assert arena.answered(arena.burst(20), 3) == {UNAVAILABLE: 20}
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_slow_statement_is_abandoned(arena: Arena) -> None:
    """By statement_timeout on the server, backed by the watchdog."""
    with injected(arena.url, None, pause_seconds=600):
        answers = arena.answered(arena.burst(5), 3)
    assert answers == {UNAVAILABLE: 5}
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_value_postgresql_cannot_store_fails_one_command(arena: Arena) -> None:
    """The API refuses NUL; if one got through, the group would survive it."""
    futures = arena.burst(20)
    broken = replace(
        arena.venue.place(("standing", 1)), origin=Origin("test", "nul\x00byte", "127.0.0.1")
    )
    alone = arena.engine.submit(broken)
    futures += arena.burst(20)
    assert arena.answered(futures, 3) == {"placed": 40}
    assert arena.answered([alone], 10**6) == {BROKEN: 1}
    arena.assert_nothing_lost_and_nothing_twice()


def test_a_swallowed_error_is_detected_at_commit(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COMMIT of a failed transaction answers ROLLBACK without an error."""
    remaining = [True]

    def fail_and_swallow(
        connection: Pipeline,
        writes: GroupWrites,
        position: str,
        versions: Mapping[SessionKey, UUID],
        addresses: Addresses,
    ) -> None:
        if remaining and remaining.pop():
            connection.execute("SELECT 1 / 0")
            with contextlib.suppress(psycopg.Error):
                connection.send()
        write_group(connection, writes, position, versions, addresses)

    monkeypatch.setattr(group_module, "write_group", fail_and_swallow)
    answers = arena.answered(arena.burst(5), 3)
    assert set(answers) <= {"placed", UNAVAILABLE, BROKEN}
    arena.assert_nothing_lost_and_nothing_twice()
