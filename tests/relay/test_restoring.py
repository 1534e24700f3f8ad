"""A database restored into another PostgreSQL with lower transaction ids: after the migration,
facts from before and after arrive in the order of each hold, and none is lost."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple
from uuid import UUID

import psycopg
import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from holdfast.adapters.postgres.audit.integrity import PostgresBooks
from holdfast.adapters.postgres.facts.outbox import PostgresFactLog, PostgresOutbox
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.seats.reader import PostgresSeats
from holdfast.domain.ids import HoldId
from holdfast.ports.facts.log import PARTITIONS, LogAhead, Position, StoredFact
from holdfast.services.facts.relay import AFTER_STORE_ERROR_SECONDS
from tests.contract.asking import ask, placed
from tests.contract.venues import Venue
from tests.relay.restoring import (
    Restore,
    migrated,
    pretend_to_be_restored,
    restorer,
    use_up_transactions,
)
from tests.relay.stage import ROW, Listed, Stage, staged
from tests.support.auditing import NO_HURRY_SECONDS, assert_sound
from tests.support.databases import DatabaseFactory

UP_TO_DATE = "The database is up to date."
LONG_AGO = """
UPDATE outbox SET occurred_at = occurred_at - interval '2 days';
UPDATE relay_cursor SET moved_at = moved_at - interval '1 day'
"""


@pytest.fixture(scope="module")
def restore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restore]:
    directory = tmp_path_factory.mktemp("elsewhere")
    with EmbeddedPostgres(directory, settings={"max_connections": "60"}) as elsewhere:
        # It has the roles, which no dump contains.
        DatabaseFactory(elsewhere).migrated()
        yield restorer(elsewhere, directory)


class Restored(NamedTuple):
    url: str
    venue: Venue
    relayed: Listed  # before the dump
    live: list[HoldId]  # of the relayed ones
    position: Position  # a poller's cursor
    map_version: int


@pytest.fixture
def restored(stage: Stage, restore: Restore) -> Restored:
    """A restored database with facts relayed long ago, and facts not relayed yet."""
    use_up_transactions(stage.url)
    relayed = Listed([])
    stage.place_and_release(20)
    live = stage.place(20)
    placed(stage.engine, stage.venue.seats("Stalls A 1"))
    stage.relay_all(relayed)
    with psycopg.connect(stage.url) as connection:
        connection.execute(LONG_AGO.encode())
    stage.place_and_release(20)
    stage.ask(stage.venue.block("Stalls A 2"))
    with opened(stage.url) as database:
        venue = stage.venue
        position = PostgresFactLog(database).facts(venue.organization_id, None, 1_000).next
        seats = PostgresSeats(database).session_map(venue.organization_id, venue.session_id)
    assert seats is not None
    return Restored(restore(stage.url), stage.venue, relayed, live, position, seats.version)


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = Database(url)
    database.open()
    try:
        yield database
    finally:
        database.close()


def test_a_migration_after_a_restore_loses_nothing_and_keeps_the_order(restored: Restored) -> None:
    published = Listed([])
    with staged(restored.url, restored.venue) as stage:
        # Selling starts before the migration.
        stage.place(20)
        stage.ask(*map(stage.venue.release, restored.live[:10]))
        facts = len(stage.stored())
        assert migrated(stage.url) == [
            f"Restored from another PostgreSQL: {facts} facts have new cursors.",
            UP_TO_DATE,
        ]
        stage.ask(*map(stage.venue.release, restored.live[10:]))
        stage.ask(stage.venue.unblock("Stalls A 2"))
        stage.place_and_release(20)
        stage.relay_all(published)
        stage.assert_arrived([*restored.relayed.messages, *published.messages])
        # Facts relayed long ago are not relayed again.
        assert not set(published.ids) & set(restored.relayed.ids)
        assert_sound(stage.url)
        assert migrated(stage.url) == [UP_TO_DATE]


def test_the_relay_stops_until_the_migration(restored: Restored) -> None:
    published = Listed([])
    with staged(restored.url, restored.venue) as stage, stage.relay(published) as relay:
        stage.place(5)
        assert relay.tend() == AFTER_STORE_ERROR_SECONDS
        with pytest.raises(LogAhead):
            relay.run_once()
        with closing(PostgresOutbox(stage.url)) as outbox, pytest.raises(LogAhead):
            outbox.lag()
        assert _waiting(stage.url) == len(stage.stored())
        assert published.messages == []
        checks = PostgresBooks(stage.url).checked(NO_HURRY_SECONDS)
        assert "a cursor from the future" in {each.looks_for for each in checks if each.found}


def test_recently_relayed_facts_are_relayed_again(stage: Stage, restore: Restore) -> None:
    """Nobody knows how far apart the clocks are."""
    use_up_transactions(stage.url)
    stage.place_and_release(5)
    relayed, published = Listed([]), Listed([])
    stage.relay_all(relayed)
    with staged(restore(stage.url), stage.venue) as there:
        migrated(there.url)
        there.relay_all(published)
        there.assert_arrived([*relayed.messages, *published.messages])
        assert set(published.ids) == set(relayed.ids)


class TestPolling:
    def test_an_old_cursor_is_gone_and_a_new_one_finds_everything(self, restored: Restored) -> None:
        organization_id = restored.venue.organization_id
        with opened(restored.url) as database:
            log = PostgresFactLog(database)
            assert log.facts(organization_id, restored.position, 10).is_gone
            migrated(restored.url)
            assert log.facts(organization_id, restored.position, 10).is_gone
            # A lower cursor must not be taken for one of ours.
            assert log.facts(organization_id, Position(5, 0), 10).is_gone
            with staged(restored.url, restored.venue) as stage:
                polled = _polled(log, stage)
                assert [fact.event_id for fact in polled] == _event_ids(stage)

    def test_pruning_old_facts_leaves_the_rest_readable(self, restored: Restored) -> None:
        """All restored facts share a transaction id; pruning the first must leave the rest
        readable."""
        migrated(restored.url)
        with psycopg.connect(restored.url) as connection:
            for partition in range(PARTITIONS):
                prune = "SELECT holdfast_prune_facts(%s::smallint, 0, 1000)"
                connection.execute(prune, [partition])
        with opened(restored.url) as database, staged(restored.url, restored.venue) as stage:
            left = _event_ids(stage)
            assert left
            assert not set(left) & set(restored.relayed.ids)
            polled = _polled(PostgresFactLog(database), stage)
            assert [fact.event_id for fact in polled] == left


def test_a_seat_map_poller_gets_the_whole_map_again(restored: Restored) -> None:
    organization_id, session_id = restored.venue.organization_id, restored.venue.session_id
    with opened(restored.url) as database:
        seats = PostgresSeats(database)
        before = seats.seat_changes(organization_id, session_id, restored.map_version)
        migrated(restored.url)
        after = seats.seat_changes(organization_id, session_id, restored.map_version)
        assert before is not None
        assert after is not None
        assert len(before.seats) == len(after.seats) == ROW
        # After that, nothing is new.
        nothing_new = seats.seat_changes(organization_id, session_id, after.version)
        assert nothing_new is not None
        assert nothing_new.seats == ()


def test_seats_without_facts_are_restored(stage: Stage, restore: Restore) -> None:
    """They have a position, but no fact yet."""
    use_up_transactions(stage.url)
    with psycopg.connect(stage.url) as connection:
        connection.execute(
            "UPDATE seat SET changed_xid = pg_current_xact_id(), told_xid = pg_current_xact_id()"
        )
    with staged(restore(stage.url), stage.venue) as there:
        assert migrated(there.url)[0].startswith("Restored from another PostgreSQL: 0 facts")
        ask(there.engine, there.venue.block("Stalls A 1"))
        published = Listed([])
        there.relay_all(published)
        there.assert_arrived(published.messages, once=True)


def test_a_migration_during_sales_loses_nothing(stage: Stage) -> None:
    """Sales at that moment wait briefly, and their facts come last."""
    relayed, published = Listed([]), Listed([])
    hold_ids = stage.place(100)
    stage.relay_all(relayed)
    pretend_to_be_restored(stage.url)
    begun, stopped = threading.Event(), threading.Event()

    def sell() -> None:
        while not stopped.is_set() or hold_ids:
            stage.place_and_release(5)
            stage.ask(*(stage.venue.release(hold_ids.pop()) for _ in hold_ids[:5]))
            begun.set()

    seller = threading.Thread(target=sell)
    seller.start()
    assert begun.wait(60)
    report = migrated(stage.url)
    stopped.set()
    seller.join(60)
    assert not seller.is_alive()
    assert len(report) == 2
    stage.relay_all(published)
    stage.assert_arrived([*relayed.messages, *published.messages])
    assert_sound(stage.url)


def _waiting(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT waiting FROM holdfast_relay_lag(8, 1000)").fetchone()
    assert row is not None
    return int(row[0])


def _polled(log: PostgresFactLog, stage: Stage) -> list[StoredFact]:
    """All facts, in small pages."""
    polled: list[StoredFact] = []
    page = log.facts(stage.venue.organization_id, None, 7)
    while True:
        assert not page.is_gone
        polled += page.items
        if not page.has_more:
            return polled
        page = log.facts(stage.venue.organization_id, page.next, 7)


def _event_ids(stage: Stage) -> list[UUID]:
    return [fact.event_id for fact in stage.stored()]
