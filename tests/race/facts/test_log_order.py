"""The facts of a hold keep their order, though transactions get their ids long before their
locks."""

import psycopg

from holdfast.engine import Admission
from tests.contract.asking import ask, placed
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import rows


def test_facts_sort_after_those_of_a_hold_with_a_higher_transaction_id(
    fresh_world: PostgresWorld, fresh_engine: Admission
) -> None:
    """The hold's last fact has a higher transaction id. The expiry and everything in its
    transaction sort after it, and so do later transactions with their own ids."""
    venue = fresh_world.venue({"floor": 1}, {"standing": ("floor",)})
    old = placed(fresh_engine, venue.place(("standing", 1)))
    with psycopg.connect(fresh_world.url, autocommit=True) as connection:
        for table, column in (("hold", "changed_xid"), ("outbox", "xid")):
            connection.execute(f"UPDATE {table} SET {column} = '999999999'".encode())
    fresh_world.let_pass(venue, 601)
    new = placed(fresh_engine, venue.place(("standing", 1)))
    ask(fresh_engine, venue.extend(new.id, 10))
    ask(fresh_engine, venue.release(new.id))
    assert [fact[:3] for fact in fresh_world.facts(venue)] == [
        ("hold.created", old.id, 1),
        ("hold.expired", old.id, 2),
        ("hold.created", new.id, 1),
        ("hold.extended", new.id, 2),
        ("hold.cancelled", new.id, 3),
    ]
    assert rows(fresh_world.url, "SELECT min(xid)::text FROM outbox") == [("999999999",)]
