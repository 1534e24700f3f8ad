"""The audit that the race and fault tests trust: it finds a sound database sound, and notices every
kind of damage."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.engine import Admission
from tests.contract.asking import ask, placed
from tests.contract.venues import STRANGER, Hall, Plan
from tests.contract.worlds import PostgresWorld
from tests.support.auditing import CHECKS, assert_sound
from tests.support.databases import DatabaseFactory


@pytest.fixture(scope="module")
def lively_url(databases: DatabaseFactory) -> Iterator[str]:
    """Holds of every kind and end: live, cancelled, expired, paid; seats held, sold and blocked."""
    world = PostgresWorld(databases.fresh())
    engine = Admission(world.store)
    engine.start()
    hall = Hall({"Stalls": {"A": 9}}, {"seat": ()}, {"Stalls": 8})
    venue = world.build(Plan({"floor": 10}, {"standing": ("floor",)}, hall=hall))
    lapsed = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(lapsed.id))
    ask(engine, venue.release(placed(engine, venue.place(("seat", 2))).id))
    world.sell(placed(engine, venue.seats("Stalls A 9")))
    ask(engine, venue.block("Stalls A 8", "Stalls A 9"))
    ask(engine, venue.unblock("Stalls A 8"))
    placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 2)))
    placed(engine, venue.place(("seat", 1), holder=STRANGER))
    yield world.url
    engine.stop()
    world.close()


def test_a_sound_database_is_found_sound(lively_url: str) -> None:
    assert_sound(lively_url)


HELD = "(SELECT id FROM seat WHERE status = 'held' LIMIT 1)"
SOLD = (
    "(SELECT l.seat_id FROM hold_line l JOIN hold h ON h.id = l.hold_id"
    " WHERE h.status = 'converted')"
)
DAMAGES = [
    "UPDATE pool SET held = held + 1",
    "UPDATE pool SET sold = sold + 1",
    "UPDATE pool_lapse SET units = units + 1",
    "DELETE FROM outbox WHERE seat_id IS NULL AND version = 2",
    "DELETE FROM audit WHERE action = 'hold.created'",
    "UPDATE hold SET quantity = quantity + 1",
    "UPDATE hold_line SET quantity = 2 WHERE seat_id IS NOT NULL",
    f"UPDATE seat SET status = 'available', hold_id = NULL, held_until = NULL WHERE id = {HELD}",
    f"UPDATE seat SET held_until = held_until + interval '1s' WHERE id = {HELD}",
    f"UPDATE seat SET hold_id = gen_random_uuid() WHERE id = {HELD}",
    (
        "UPDATE seat SET status = 'held', hold_id = gen_random_uuid(), held_until = now(),"
        " holder_key = gen_random_uuid(), locked_at = now() WHERE status = 'available'"
    ),
    (
        "UPDATE hold_line SET seat_id = (SELECT id FROM seat WHERE status = 'available' LIMIT 1)"
        f" WHERE seat_id = {HELD}"
    ),
    f"UPDATE hold_line SET seat_id = {SOLD} WHERE seat_id = {HELD}",
    "UPDATE pool SET total = held + sold - 1, held = held - 1 WHERE name = 'Stalls capacity'",
    "DELETE FROM outbox WHERE type = 'seat.held'",
    "DELETE FROM outbox WHERE type = 'seat.released'",
    "UPDATE outbox SET type = 'seat.released' WHERE type = 'seat.sold'",
    "DELETE FROM outbox WHERE type = 'seat.blocked'",
    "DELETE FROM audit WHERE action = 'seat.unblocked'",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(lively_url: str, damage: str) -> None:
    assert any(_finds(lively_url, query, damage) for query in CHECKS.values())


@pytest.mark.parametrize("description", sorted(set(CHECKS) - {"an oversold pool"}))
def test_every_check_can_fail(lively_url: str, description: str) -> None:
    """PostgreSQL itself refuses an oversold pool, so that one cannot be shown."""
    assert any(_finds(lively_url, CHECKS[description], damage) for damage in DAMAGES)


def _finds(url: str, query: str, damage: str) -> bool:
    with psycopg.connect(url) as connection, connection.transaction(force_rollback=True):
        changed = connection.execute(damage.encode())
        assert changed.rowcount > 0
        return bool(connection.execute(query.encode()).fetchall())
