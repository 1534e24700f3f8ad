"""A database that is restored into another PostgreSQL, whose transactions have lower numbers: once
it is migrated, facts from before and after arrive, in the order of each hold, and none is lost."""

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
        # It has the roles, which are in no dump.
        DatabaseFactory(elsewhere).migrated()
        yield restorer(elsewhere, directory)


class Restored(NamedTuple):
    url: str
    venue: Venue
    relayed: Listed  # before the dump
    live: list[HoldId]  # of those
    position: Position  # where a poller was
    map_version: int


@pytest.fixture
def restored(stage: Stage, restore: Restore) -> Restored:
    """Some facts were relayed long ago, and some have not been."""
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


def test_nothing_is_lost_and_the_order_is_kept(restored: Restored) -> None:
    published = Listed([])
    with staged(restored.url, restored.venue) as stage:
        # Somebody starts to sell before the database is migrated.
        stage.place(20)
        stage.ask(*map(stage.venue.release, restored.live[:10]))
        facts = len(stage.stored())
        assert migrated(stage.url) == [
            f"Restored from another PostgreSQL: {facts} facts have new positions.",
            UP_TO_DATE,
        ]
        stage.ask(*map(stage.venue.release, restored.live[10:]))
        stage.ask(stage.venue.unblock("Stalls A 2"))
        stage.place_and_release(20)
        stage.relay_all(published)
        stage.assert_arrived([*restored.relayed.messages, *published.messages])
        # What was relayed long ago is not relayed again.
        assert not set(published.ids) & set(restored.relayed.ids)
        assert_sound(stage.url)
        assert migrated(stage.url) == [UP_TO_DATE]


def test_until_it_is_migrated_the_relay_stands_still(restored: Restored) -> None:
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
        assert "a position from the future" in {each.looks_for for each in checks if each.found}


def test_what_was_relayed_just_now_is_rather_told_twice(stage: Stage, restore: Restore) -> None:
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
    def test_a_cursor_from_there_has_expired_and_a_new_one_finds_everything(
        self, restored: Restored
    ) -> None:
        organization_id = restored.venue.organization_id
        with opened(restored.url) as database:
            log = PostgresFactLog(database)
            assert log.facts(organization_id, restored.position, 10).is_gone
            migrated(restored.url)
            assert log.facts(organization_id, restored.position, 10).is_gone
            # Nor may one be taken for ours that happens to be lower.
            assert log.facts(organization_id, Position(5, 0), 10).is_gone
            with staged(restored.url, restored.venue) as stage:
                polled = _polled(log, stage)
                assert [fact.event_id for fact in polled] == _event_ids(stage)

    def test_while_old_facts_are_pruned(self, restored: Restored) -> None:
        """All facts from there have a transaction in common; that the first of them are gone must
        not make the rest unreadable."""
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


def test_who_follows_a_map_is_shown_all_of_it(restored: Restored) -> None:
    organization_id, session_id = restored.venue.organization_id, restored.venue.session_id
    with opened(restored.url) as database:
        seats = PostgresSeats(database)
        before = seats.seat_changes(organization_id, session_id, restored.map_version)
        migrated(restored.url)
        after = seats.seat_changes(organization_id, session_id, restored.map_version)
        assert before is not None
        assert after is not None
        assert len(before.seats) == len(after.seats) == ROW
        # And of what they have seen then, nothing.
        nothing_new = seats.seat_changes(organization_id, session_id, after.version)
        assert nothing_new is not None
        assert nothing_new.seats == ()


def test_seats_that_were_never_sold(stage: Stage, restore: Restore) -> None:
    """They have a position, though there is no fact yet."""
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


def test_migrating_while_tickets_are_sold(stage: Stage) -> None:
    """Whoever sells at that moment waits a little, and their facts come after all others."""
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
    said = migrated(stage.url)
    stopped.set()
    seller.join(60)
    assert not seller.is_alive()
    assert len(said) == 2
    stage.relay_all(published)
    stage.assert_arrived([*relayed.messages, *published.messages])
    assert_sound(stage.url)


def _waiting(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT waiting FROM holdfast_relay_lag(8, 1000)").fetchone()
    assert row is not None
    return int(row[0])


def _polled(log: PostgresFactLog, stage: Stage) -> list[StoredFact]:
    """From the beginning, in small pages."""
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
