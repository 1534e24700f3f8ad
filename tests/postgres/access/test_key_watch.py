"""A server process hears of changed keys, and knows when it would not."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
import pytest

from holdfast.adapters.postgres.access.key_watch import KEYS, KeyWatch
from tests.faults.proxy import Proxy
from tests.support.patience import wait_until
from tests.support.platform import new_platform

OFFLINE = "http://127.0.0.1:1"


@dataclass
class Heard:
    changes: list[UUID | None] = field(default_factory=list)
    alive: int = 0
    lost: int = 0

    def on_alive(self, seconds: float) -> None:
        self.alive += seconds > 0
        self.lost += not seconds


@dataclass
class Watched:
    proxy: Proxy
    heard: Heard

    def is_alive(self) -> None:
        before = self.heard.alive
        wait_until(lambda: self.heard.alive > before, "the watch is alive")


@pytest.fixture
def watched(database_url: str) -> Iterator[Watched]:
    proxy, heard = Proxy(database_url), Heard()
    stopped = threading.Event()
    watch = KeyWatch(proxy.url, {KEYS: heard.changes.append}, heard.on_alive)
    thread = threading.Thread(target=watch.run, args=(stopped,))
    thread.start()
    wait_until(lambda: heard.alive > 0, "the watch listens")
    yield Watched(proxy, heard)
    stopped.set()
    proxy.close()
    thread.join()


def new_key(database_url: str) -> UUID:
    organization_id = new_platform(OFFLINE, database_url).organization_id
    with psycopg.connect(database_url) as connection:
        query = "SELECT id FROM api_key WHERE organization_id = %s"
        row = connection.execute(query, [organization_id]).fetchone()
    assert row is not None
    found: UUID = row[0]
    return found


def change(database_url: str, what: str, key_id: UUID) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(f"UPDATE api_key SET {what} WHERE id = %s".encode(), [key_id])


@pytest.mark.parametrize(
    "what", ["revoked_at = now()", "expires_at = now()", "scopes = ARRAY['holds:read']"]
)
def test_a_change_is_heard(watched: Watched, database_url: str, what: str) -> None:
    key_id = new_key(database_url)
    wait_until(lambda: key_id in watched.heard.changes, "a new key is announced")
    watched.heard.changes.clear()
    change(database_url, what, key_id)
    wait_until(lambda: key_id in watched.heard.changes, "the change is announced")


def test_noting_the_last_use_is_no_change(watched: Watched, database_url: str) -> None:
    used, other = new_key(database_url), new_key(database_url)
    wait_until(lambda: other in watched.heard.changes, "both are announced")
    watched.heard.changes.clear()
    change(database_url, "last_used_at = now()", used)
    change(database_url, "revoked_at = now()", other)
    wait_until(lambda: other in watched.heard.changes, "the later change is announced")
    assert used not in watched.heard.changes


def test_after_a_lost_connection_any_key_may_have_changed(
    watched: Watched, database_url: str
) -> None:
    watched.heard.changes.clear()
    watched.proxy.cut_all()
    wait_until(lambda: None in watched.heard.changes, "the watch listens again")
    assert watched.heard.lost
    watched.is_alive()
    key_id = new_key(database_url)
    wait_until(lambda: key_id in watched.heard.changes, "and hears of changes")


def test_a_watch_without_a_server_says_so(watched: Watched) -> None:
    watched.proxy.close()
    wait_until(lambda: watched.heard.lost > 0, "it knows")


def test_an_unreadable_notification_does_not_stop_the_watch(
    watched: Watched, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("NOTIFY holdfast_keys, 'x'")
    key_id = new_key(database_url)
    wait_until(lambda: key_id in watched.heard.changes, "the next one is heard")
    assert None in watched.heard.changes[1:]


def test_notices_that_waited_are_handled_once_for_each_change(database_url: str) -> None:
    """A tenant that revokes much must not keep the watch from others' changes."""
    heard, stopped, may_go_on = Heard(), threading.Event(), threading.Event()
    first, second, other = UUID(int=1), UUID(int=2), UUID(int=3)

    def on_change(key_id: UUID | None) -> None:
        heard.changes.append(key_id)
        if key_id == first:
            may_go_on.wait()

    watch = KeyWatch(database_url, {KEYS: on_change}, heard.on_alive)
    thread = threading.Thread(target=watch.run, args=(stopped,))
    thread.start()
    wait_until(lambda: heard.alive > 0, "the watch listens")
    with psycopg.connect(database_url, autocommit=True) as connection:
        announce = "SELECT pg_notify('holdfast_keys', %s)"
        connection.execute(announce, [str(first)])
        wait_until(lambda: first in heard.changes, "the watch is busy")
        for _ in range(50):
            connection.execute(announce, [str(second)])
        connection.execute(announce, [str(other)])
    may_go_on.set()
    wait_until(lambda: other in heard.changes, "all are heard")
    stopped.set()
    thread.join()
    assert heard.changes.count(second) < 10
