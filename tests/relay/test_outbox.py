"""The log of facts: one relay per partition, nothing skipped or shown too early, and a stable order
of transactions."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.connections.connection import (
    Watchdog,
    begin,
    configure_reader,
    connect,
)
from holdfast.adapters.postgres.facts import statements as sql
from holdfast.adapters.postgres.facts.outbox import BATCH_BYTES, PostgresFactLog, PostgresOutbox
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.ids import OrganizationId
from holdfast.ports.facts.log import PARTITIONS, Position, PublishFailed, RelayLag
from holdfast.ports.store import StoreUnavailable
from tests.contract.asking import ask, placed
from tests.contract.tables import Connection
from tests.contract.venues import STRANGER
from tests.relay.stage import Listed, Stage, write_fact

# Half of them belong to one organization, half to another.
MANY_FACTS = """
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, occurred_at, payload)
SELECT CASE n %% 2 WHEN 0 THEN %s ELSE '00000000-0000-4000-8000-000000000000'::uuid END,
    gen_random_uuid(), gen_random_uuid(), 1, 'hold.cancelled', now(), '{}'
FROM generate_series(1, 6000) n
"""
GUARD = "AND outbox.xid < pg_snapshot_xmin(pg_current_snapshot())"


@contextmanager
def outbox_of(stage: Stage) -> Iterator[PostgresOutbox]:
    with closing(PostgresOutbox(stage.url)) as outbox:
        yield outbox


@contextmanager
def log_of(stage: Stage) -> Iterator[PostgresFactLog]:
    database = Database(stage.url)
    database.open()
    try:
        yield PostgresFactLog(database)
    finally:
        database.close()


@contextmanager
def transaction(url: str) -> Iterator[Connection]:
    """A transaction with its id assigned at once."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_current_xact_id()")
        yield connection


class TestClaims:
    def test_a_partition_has_one_relay_at_a_time(self, stage: Stage) -> None:
        with outbox_of(stage) as ours, outbox_of(stage) as theirs:
            with ours.claim(3) as first, theirs.claim(3) as second, theirs.claim(4) as other:
                assert first is not None
                assert second is None
                assert other is not None
            with theirs.claim(3) as again:
                assert again is not None

    def test_no_transaction_is_open_while_publishing(self, stage: Stage) -> None:
        stage.place(1)
        states = []

        def look(_: object) -> None:
            with psycopg.connect(stage.url) as connection:
                states.extend(
                    connection.execute(
                        "SELECT state, backend_xmin FROM pg_stat_activity"
                        " WHERE application_name = 'holdfast relay'"
                        " AND datname = current_database()"
                    ).fetchall()
                )

        stage.relay_all(Listed([], look))
        assert states == [("idle", None)]

    def test_a_claim_ends_with_its_connection(self, stage: Stage) -> None:
        stage.place(1)
        with outbox_of(stage) as ours, outbox_of(stage) as theirs:
            with ours.claim(3) as claimed:
                assert claimed is not None
                stage.cut_relays()
                with pytest.raises(StoreUnavailable):
                    claimed.unpublished(1)
                # Not on a new connection either: another relay has the partition now.
                with theirs.claim(3) as taken_over:
                    assert taken_over is not None
                    with pytest.raises(StoreUnavailable):
                        claimed.published(Position(1, 1))
            with ours.claim(4) as anew:
                assert anew is not None

    def test_a_cursor_never_goes_back(self, stage: Stage) -> None:
        with outbox_of(stage) as outbox:
            with outbox.claim(0) as claimed:
                assert claimed is not None
                claimed.published(Position(9, 1))
                claimed.published(Position(8, 7))
            (cursor,) = outbox.cursors()
            assert (cursor.partition, cursor.position) == (0, Position(9, 1))

    def test_the_backlog_is_counted(self, stage: Stage) -> None:
        with outbox_of(stage) as outbox:
            assert outbox.lag() == RelayLag(0, 0.0)
            stage.place(5)
            lag = outbox.lag()
            assert lag.waiting == 5
            assert 0 <= lag.oldest_seconds < 60
            stage.relay_all(Listed([]))
            assert outbox.lag() == RelayLag(0, 0.0)

    def test_without_a_database_it_raises_store_unavailable(self) -> None:
        outbox = PostgresOutbox("postgresql://holdfast@127.0.0.1:1/nowhere")
        with pytest.raises(StoreUnavailable):
            outbox.lag()


class TestPruning:
    def test_facts_not_relayed_yet_are_kept(self, stage: Stage) -> None:
        """However old it is."""
        stage.place(20)
        waiting = stage.stored()
        with stage.relay(Listed([], _refuse)) as relay:
            for _ in range(PARTITIONS):
                relay.run_once()
        _prune(stage)
        assert stage.stored() == waiting

    def test_facts_are_pruned_if_there_is_no_relay(self, stage: Stage) -> None:
        stage.place(20)
        _prune(stage)
        assert stage.stored() == []


def _refuse(_: object) -> None:
    raise PublishFailed("the broker is away")


class TestTransactionsInFlight:
    """A transaction that began first commits last: its facts come first, and later ones wait."""

    def test_the_relay_skips_no_fact(self, stage: Stage) -> None:
        published = Listed([])
        early, late = _relay_around_a_slow_transaction(stage, published)
        assert published.ids == [early, late]

    def test_control_without_the_guard_a_fact_is_lost(self, stage: Stage) -> None:
        """Proves that the test above depends on the guard."""
        _remove_guard(stage)
        published = Listed([])
        early, late = _relay_around_a_slow_transaction(stage, published)
        assert published.ids == [late]
        assert early not in published.ids

    def test_the_log_shows_no_fact_too_early(self, stage: Stage) -> None:
        organization_id = stage.venue.organization_id
        with log_of(stage) as log:
            with transaction(stage.url) as slow:
                early = write_fact(slow, stage.venue)
                with transaction(stage.url) as quick:
                    late = write_fact(quick, stage.venue, partition=1)
                page = log.facts(organization_id, None, 10)
                assert (page.items, page.has_more) == ((), False)
            following = log.facts(organization_id, page.next, 10)
            assert [fact.event_id for fact in following.items] == [early, late]


def _relay_around_a_slow_transaction(stage: Stage, published: Listed) -> tuple[object, object]:
    with stage.relay(published) as relay:
        with transaction(stage.url) as slow:
            early = write_fact(slow, stage.venue)
            with transaction(stage.url) as quick:
                late = write_fact(quick, stage.venue)
            relay.run_once()
        relay.run_once()
    return early, late


def _remove_guard(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        row = connection.execute(
            "SELECT pg_get_functiondef('holdfast_unpublished'::regproc)"
        ).fetchone()
        assert row is not None
        assert GUARD in row[0]
        connection.execute(row[0].replace(GUARD, "").encode())


def _prune(stage: Stage) -> None:
    """Age all facts, then prune them."""
    with psycopg.connect(stage.url) as connection:
        connection.execute("UPDATE outbox SET occurred_at = occurred_at - interval '2 days'")
        for partition in range(PARTITIONS):
            connection.execute("SELECT holdfast_prune_facts(%s::smallint, 0, 100)", [partition])


def test_a_new_hold_never_ends_before_it_begins_in_the_log(stage: Stage) -> None:
    """It replaces an expired hold whose last facts have a later position than this transaction, so
    its own facts get that position too, and its end a later one."""
    venue, engine = stage.venue, stage.engine
    lapsed = placed(engine, venue.seats("Stalls A 1"))
    stage.world.let_pass(venue, 601)
    with psycopg.connect(stage.url) as connection:
        connection.execute(
            "UPDATE hold SET changed_xid = (pg_current_xact_id()::text::bigint + 20)::text::xid8"
            " WHERE id = %s",
            [lapsed.id],
        )
    new = placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    ask(engine, venue.release(new.id))
    with psycopg.connect(stage.url, autocommit=True) as connection:
        for _ in range(25):
            connection.execute("SELECT pg_current_xact_id()")
    published = Listed([])
    stage.relay_all(published)
    types = [fact.type for fact in stage.stored() if fact.subject == new.id]
    assert types == ["hold.created", "seat.held", "hold.cancelled", "seat.released"]
    stage.assert_arrived(published.messages, once=True)


def test_reading_the_log_reads_only_the_page(stage: Stage) -> None:
    """It reads neither facts of other organizations nor earlier ones, on tables without
    statistics."""
    with psycopg.connect(stage.url) as connection:
        connection.execute(MANY_FACTS, [stage.venue.organization_id])
        position = connection.execute(
            "SELECT xid::text, seq FROM outbox ORDER BY xid, seq OFFSET 3000 LIMIT 1"
        ).fetchone()
    assert position is not None
    names = {"organization_id": stage.venue.organization_id, "limit": 11}
    names |= {"xid": position[0], "seq": position[1]}
    with psycopg.connect(stage.url) as connection:
        configure_reader(connection)
        begin(connection, [stage.venue.organization_id])
        connection.execute(sql.BY_INDEX)
        row = connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql.FACTS, names).fetchone()
    assert row is not None
    scans = [node for node in _nodes(row[0][0]["Plan"]) if node.get("Relation Name") == "outbox"]
    assert [scan["Actual Rows"] for scan in scans] == [11]
    assert all(scan.get("Rows Removed by Filter", 0) == 0 for scan in scans)
    assert all("Index" in scan["Node Type"] for scan in scans)


def test_relaying_reads_only_the_batch(stage: Stage) -> None:
    """However large the backlog, on tables without statistics."""
    blocks = []
    for statement in (None, MANY_FACTS):
        with psycopg.connect(stage.url) as connection:
            if statement is not None:
                connection.execute(statement, [stage.venue.organization_id])
        with closing(connect(stage.url, "test", Watchdog())) as connection:
            explained = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql.UNPUBLISHED
            # The first run also reads the system catalogs.
            for _ in range(2):
                row = connection.execute(explained, (0, 11, BATCH_BYTES)).fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        assert plan["Actual Rows"] == (0 if statement is None else 11)
        blocks.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
    assert blocks[1] - blocks[0] < 30, blocks


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _nodes(inner)


class TestPolling:
    def test_all_pages_together_are_the_whole_log(self, stage: Stage) -> None:
        stage.place_and_release(20)
        with log_of(stage) as log:
            seen, after = [], None
            while True:
                page = log.facts(stage.venue.organization_id, after, 7)
                seen += [fact.event_id for fact in page.items]
                after = page.next
                if not page.has_more:
                    break
                assert len(page.items) == 7
            assert seen == [fact.event_id for fact in stage.stored()]
            assert log.facts(stage.venue.organization_id, after, 7).items == ()
            stage.place(1)
            later = log.facts(stage.venue.organization_id, after, 7)
            assert [fact.event_id for fact in later.items] == [stage.stored()[-1].event_id]

    def test_another_organization_sees_no_facts(self, stage: Stage) -> None:
        stage.place(1)
        with log_of(stage) as log:
            assert log.facts(OrganizationId(uuid4()), None, 10).items == ()
            assert len(log.facts(stage.venue.organization_id, None, 10).items) == 1

    def test_a_cursor_before_pruned_facts_is_gone(self, stage: Stage) -> None:
        stage.place(3)
        organization_id = stage.venue.organization_id
        with log_of(stage) as log:
            first = log.facts(organization_id, None, 1).next
            stage.relay_all(Listed([]))
            up_to_date = log.facts(organization_id, None, 10).next
            _prune(stage)
            assert stage.stored() == []
            assert log.facts(organization_id, first, 10).is_gone
            assert not log.facts(organization_id, None, 10).is_gone
            # A poller that is up to date missed nothing.
            assert not log.facts(organization_id, up_to_date, 10).is_gone
