"""Constraints of PostgreSQL that hold even if the code above is wrong."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.engine import Admission
from tests.contract.asking import placed
from tests.contract.venues import Hall, Plan
from tests.contract.worlds import PostgresWorld
from tests.support.databases import DatabaseFactory
from tests.support.patience import PATIENT


@pytest.fixture(scope="module")
def url(databases: DatabaseFactory) -> Iterator[str]:
    """A database with one held and one free seat."""
    world = PostgresWorld(databases.fresh())
    engine = Admission(world.store, PATIENT)
    engine.start()
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 2}}, {"seat": ()})))
    placed(engine, venue.seats("Stalls A 1"))
    yield world.url
    engine.stop()
    world.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE seat SET status = 'lost'",
        "UPDATE seat SET status = 'available' WHERE status = 'held'",
        "UPDATE seat SET status = 'sold' WHERE status = 'held'",
        "UPDATE seat SET held_until = NULL WHERE status = 'held'",
        "UPDATE seat SET holder_key = NULL WHERE status = 'held'",
        "UPDATE seat SET status = 'held' WHERE status = 'available'",
        "UPDATE seat SET status = 'sold' WHERE status = 'available'",
        "UPDATE seat SET status = 'blocked' WHERE status = 'available'",
        "UPDATE seat SET blocked_reason = 'rain'",
        "UPDATE seat SET version = 0",
        "UPDATE outbox SET hold_id = NULL, seat_id = NULL",
        "UPDATE event SET sale_starts_at = now(), sale_ends_at = now()",
    ],
)
def test_an_impossible_state_is_refused(url: str, change: str) -> None:
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(change.encode())


@pytest.mark.parametrize("of_seat", [True, False])
def test_a_fact_cannot_be_inserted_twice(url: str, of_seat: bool) -> None:
    """Also without a seat or a hold: NULLs count as equal."""
    which = "IS NOT NULL" if of_seat else "IS NULL"
    again = (
        "INSERT INTO outbox (organization_id, event_id, hold_id, seat_id, version, type,"
        " occurred_at, payload) SELECT organization_id, gen_random_uuid(), hold_id, seat_id,"
        f" version, type, occurred_at, payload FROM outbox WHERE seat_id {which}"
    )
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(again.encode())
