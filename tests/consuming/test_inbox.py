"""Each message has one effect."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.facts.inbox import PostgresInbox
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import Receipt
from holdfast.domain.ids import OrganizationId
from tests.support.auditing import rows

WAIT_SECONDS_MAX = 20.0


@pytest.fixture
def inbox(database_url: str) -> Iterator[PostgresInbox]:
    database = Database(database_url)
    database.open()
    yield PostgresInbox(database)
    database.close()


@dataclass
class Effect:
    """Blocks until it may end, and counts its calls."""

    may_end: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    times: int = 0

    def __call__(self) -> None:
        self.times += 1
        self.begun.set()
        assert self.may_end.wait(WAIT_SECONDS_MAX)


def a_message() -> tuple[OrganizationId, Receipt]:
    return OrganizationId(uuid4()), Receipt("notifications", uuid4())


def test_a_repeated_message_has_no_effect(inbox: PostgresInbox) -> None:
    message, done = a_message(), []
    assert inbox.once(*message, lambda: done.append(1))
    assert not inbox.once(*message, lambda: done.append(2))
    assert done == [1]


def test_receipts_are_per_consumer_and_organization(inbox: PostgresInbox) -> None:
    organization_id, receipt = a_message()
    assert inbox.once(organization_id, receipt, lambda: None)
    assert inbox.once(organization_id, Receipt("others", receipt.event_id), lambda: None)
    assert inbox.once(OrganizationId(uuid4()), receipt, lambda: None)


def test_a_failed_effect_leaves_no_receipt(inbox: PostgresInbox) -> None:
    message, done = a_message(), []
    with pytest.raises(ZeroDivisionError):
        inbox.once(*message, lambda: done.append(1 // 0))
    assert inbox.once(*message, lambda: done.append(1))
    assert done == [1]


def test_a_duplicate_waits_for_the_first_and_does_nothing(
    inbox: PostgresInbox, database_url: str
) -> None:
    message, effect = a_message(), Effect()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(inbox.once, *message, effect)
        assert effect.begun.wait(WAIT_SECONDS_MAX)
        second = pool.submit(inbox.once, *message, effect)
        _wait_for_a_waiting_lock(database_url)
        assert not second.done()
        effect.may_end.set()
        assert (first.result(WAIT_SECONDS_MAX), second.result(WAIT_SECONDS_MAX)) == (True, False)
    assert effect.times == 1


def test_a_duplicate_takes_over_when_the_first_fails(
    inbox: PostgresInbox, database_url: str
) -> None:
    message, effect, done = a_message(), Effect(), []

    def fails() -> None:
        effect()
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(inbox.once, *message, fails)
        assert effect.begun.wait(WAIT_SECONDS_MAX)
        second = pool.submit(inbox.once, *message, lambda: done.append(1))
        _wait_for_a_waiting_lock(database_url)
        effect.may_end.set()
        assert isinstance(first.exception(WAIT_SECONDS_MAX), ZeroDivisionError)
        assert second.result(WAIT_SECONDS_MAX)
    assert done == [1]


def test_a_slow_effect_does_not_delay_facts(inbox: PostgresInbox, database_url: str) -> None:
    """A fact is readable only after all earlier transactions have ended."""
    effect = Effect()
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(inbox.once, *a_message(), effect)
        assert effect.begun.wait(WAIT_SECONDS_MAX)
        with psycopg.connect(database_url, autocommit=True) as connection:
            ((written,),) = connection.execute("SELECT pg_current_xact_id()").fetchall()
            ((readable,),) = connection.execute(
                "SELECT %s::text::xid8 < pg_snapshot_xmin(pg_current_snapshot())", [str(written)]
            ).fetchall()
        effect.may_end.set()
        assert under_way.result(WAIT_SECONDS_MAX)
    assert readable


def _wait_for_a_waiting_lock(database_url: str) -> None:
    pending = threading.Event()
    for _ in range(int(WAIT_SECONDS_MAX / 0.02)):
        waiting = rows(
            database_url, "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        )
        if waiting:
            return
        pending.wait(0.02)
    raise AssertionError("no lock is waited for")
