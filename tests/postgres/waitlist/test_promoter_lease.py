"""One promoter at a time, across all processes that share a database."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.holds.reader import Database, PostgresHolds
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Promoted
from holdfast.domain.ids import SessionKey
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.ports.engine import Answer, Render
from holdfast.services import waitlist
from holdfast.services.waitlist import SESSIONS_PER_RUN, Promoter

SESSIONS = SESSIONS_PER_RUN + 7


@dataclass
class CountingEngine:
    """Promotes nobody."""

    asked: list[SessionKey] = field(default_factory=list)

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        assert isinstance(command, PromoteWaiting)
        self.asked.append(command.session_key)
        future: Future[Answer] = Future()
        future.set_result(Answer(Promoted(0, datetime.now(UTC))))
        return future


@pytest.fixture
def holds(fresh_database_url: str) -> Iterator[PostgresHolds]:
    with psycopg.connect(fresh_database_url) as owner:
        owner.execute(
            "INSERT INTO waiting_line SELECT gen_random_uuid(), gen_random_uuid(),"
            " gen_random_uuid(), ARRAY[gen_random_uuid()], 1, 0, 0, now()"
            " FROM generate_series(1, %s)",
            [SESSIONS],
        )
    database = Database(fresh_database_url)
    database.open()
    yield PostgresHolds(database)
    database.close()


def end_lease(url: str) -> None:
    with psycopg.connect(url) as owner:
        owner.execute("UPDATE promoter_lease SET held_until = now()")


def test_several_processes_examine_each_waitlist_once(
    holds: PostgresHolds, fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waitlist, "SWEEP_SECONDS", 0.0)
    engine = CountingEngine()
    promoters = [Promoter(holds, engine) for _ in range(3)]
    for promoter in promoters:
        promoter.tend(1.0)
    assert len(engine.asked) == SESSIONS_PER_RUN, "one promoter examines a few each turn"
    end_lease(fresh_database_url)
    promoters[1].tend(1.0)
    assert len(set(engine.asked)) == len(engine.asked) == SESSIONS, "the next promoter continues"
    for promoter in (promoters[0], promoters[2]):
        promoter.tend(1.0)
        assert not promoter.sweep()
    assert len(engine.asked) == SESSIONS


def test_a_sweep_is_followed_by_a_pause(holds: PostgresHolds) -> None:
    engine = CountingEngine()
    promoter = Promoter(holds, engine)
    for _ in range(5):
        promoter.tend(1.0)
    assert len(engine.asked) == SESSIONS


def test_only_one_of_many_promoters_gets_the_lease(
    holds: PostgresHolds, fresh_database_url: str
) -> None:
    for _ in range(10):
        end_lease(fresh_database_url)
        with ThreadPoolExecutor(8) as pool:
            turns = list(pool.map(holds.promoter_turn, [uuid4() for _ in range(8)]))
        assert sum(turn is not None for turn in turns) == 1


def test_the_lease_is_renewed_by_its_holder(holds: PostgresHolds, fresh_database_url: str) -> None:
    first, second = uuid4(), uuid4()
    with psycopg.connect(fresh_database_url, autocommit=True) as owner:
        assert holds.promoter_turn(first) is not None
        owner.execute("UPDATE promoter_lease SET held_until = now() + interval '1 second'")
        assert holds.promoter_turn(first) is not None
        row = owner.execute(
            "SELECT held_until > now() + interval '3 seconds' FROM promoter_lease"
        ).fetchone()
        assert row == (True,)
        assert holds.promoter_turn(second) is None
