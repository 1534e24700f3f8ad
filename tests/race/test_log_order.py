"""The facts of a hold come in the order in which they happened, though transactions get their
numbers long before they get their locks."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.engine import Admission, Limits
from tests.contract.asking import ask, placed
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows


@pytest.fixture
def world(fresh_database_url: str) -> Iterator[PostgresWorld]:
    world = PostgresWorld(fresh_database_url)
    yield world
    world.close()


@pytest.fixture
def engine(world: PostgresWorld) -> Iterator[Admission]:
    engine = Admission(world.store, Limits())
    engine.start()
    yield engine
    engine.stop()


def test_what_is_made_beside_an_older_hold_keeps_its_order_too(
    world: PostgresWorld, engine: Admission
) -> None:
    """A hold was last told of by a transaction with a higher number. Whoever ends it is written
    down after that, and so is what else they do; the next, with a number of their own, after
    them."""
    venue = world.venue({"floor": 1}, {"standing": ("floor",)})
    old = placed(engine, venue.place(("standing", 1)))
    with psycopg.connect(world.url, autocommit=True) as connection:
        for table, column in (("hold", "changed_xid"), ("outbox", "xid")):
            connection.execute(f"UPDATE {table} SET {column} = '999999999'".encode())
    world.let_pass(venue, 601)
    new = placed(engine, venue.place(("standing", 1)))
    ask(engine, venue.extend(new.id, 10))
    ask(engine, venue.release(new.id))
    assert [fact[:3] for fact in world.facts(venue)] == [
        ("hold.created", old.id, 1),
        ("hold.expired", old.id, 2),
        ("hold.created", new.id, 1),
        ("hold.extended", new.id, 2),
        ("hold.cancelled", new.id, 3),
    ]
    assert rows(world.url, "SELECT min(xid)::text FROM outbox") == [("999999999",)]
