"""The pruner on a real database deletes only old, relayed rows that nobody needs."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.pruner import PostgresPruning
from holdfast.engine import Admission
from holdfast.ports.facts.log import PARTITIONS
from holdfast.services.pruner import Keeping, Pruned, Pruner
from tests.contract.asking import ask, placed
from tests.contract.venues import Venue
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import assert_sound, rows
from tests.support.patience import PATIENT

DAY = 86_400
KEEPING = Keeping(answers_seconds=DAY, facts_seconds=2 * DAY, receipts_seconds=2 * DAY)
KEPT_TABLES = ("hold", "hold_line", "audit", "purchase_order", "ticket", "checkout")


@pytest.fixture
def pruner(world: PostgresWorld) -> Iterator[Pruner]:
    with closing(Database(world.url)) as database:
        database.open()
        yield Pruner(PostgresPruning(database), KEEPING)


@pytest.fixture
def venue(world: PostgresWorld) -> Venue:
    """A venue with a paid and a released hold: five facts."""
    engine = Admission(world.store, PATIENT)
    engine.start()
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    ask(engine, venue.convert(placed(engine, venue.place(("standing", 2))).id))
    ask(engine, venue.release(placed(engine, venue.place(("standing", 1))).id))
    engine.stop()
    return venue


def run(url: str, *statements: str) -> None:
    """Run as the owner, who still cannot change the audit while its trigger is enabled."""
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def make_old(url: str) -> None:
    run(
        url,
        "UPDATE outbox SET occurred_at = occurred_at - interval '3 days'",
        "ALTER TABLE audit DISABLE TRIGGER audit_is_append_only",
        "UPDATE audit SET at = at - interval '3 days'",
        "ALTER TABLE audit ENABLE TRIGGER audit_is_append_only",
        "UPDATE purchase_order SET created_at = created_at - interval '3 days'",
    )


def relay_up_to(url: str, position: str) -> None:
    run(
        url,
        "INSERT INTO relay_cursor (partition, xid, seq)"
        f" SELECT partition, {position} FROM generate_series(0, {PARTITIONS - 1}) AS partition",
    )


def count(url: str, table: str) -> int:
    ((found,),) = rows(url, f"SELECT count(*) FROM {table}")
    return int(found)


def test_only_old_relayed_facts_are_deleted(
    world: PostgresWorld, venue: Venue, pruner: Pruner
) -> None:
    before = {table: count(world.url, table) for table in KEPT_TABLES}
    facts = count(world.url, "outbox")
    relay_up_to(world.url, "pg_current_xact_id(), 0")
    assert pruner.run_once() == Pruned()
    make_old(world.url)
    assert pruner.run_once() == Pruned(facts=facts)
    assert {table: count(world.url, table) for table in KEPT_TABLES} == before
    assert all(before[table] for table in before if table != "checkout")
    ((horizon,),) = rows(world.url, "SELECT xid > '0'::xid8 FROM fact_horizon")
    assert horizon
    assert_sound(world.url)


def test_a_fact_not_relayed_is_kept_however_old(
    world: PostgresWorld, venue: Venue, pruner: Pruner
) -> None:
    relay_up_to(world.url, "'1'::xid8, 0")
    make_old(world.url)
    assert pruner.run_once() == Pruned()


def test_without_a_relay_old_facts_are_deleted(
    world: PostgresWorld, venue: Venue, pruner: Pruner
) -> None:
    make_old(world.url)
    assert pruner.run_once() == Pruned(facts=5)


def test_old_answers_and_receipts_are_deleted(world: PostgresWorld, pruner: Pruner) -> None:
    answer = (
        "INSERT INTO idempotency (organization_id, digest, fingerprint, body, created_at)"
        " VALUES (gen_random_uuid(), gen_random_uuid(), '', '', now() - interval '{age}')"
    )
    receipt = (
        "INSERT INTO inbox (organization_id, consumer, event_id, received_at)"
        " VALUES (gen_random_uuid(), 'test', gen_random_uuid(), now() - interval '{age}')"
    )
    for age in ("25 hours", "23 hours"):
        run(world.url, answer.format(age=age))
    for age in ("49 hours", "47 hours", "0 hours"):
        run(world.url, receipt.format(age=age))
    assert pruner.run_once() == Pruned(answers=1, receipts=1)
    assert (count(world.url, "idempotency"), count(world.url, "inbox")) == (1, 2)
