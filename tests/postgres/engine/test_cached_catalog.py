"""The cached catalog of an engine is trusted as long as its connection to the server lasts."""

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.engine import Admission
from tests.contract.asking import placed
from tests.contract.worlds import PostgresWorld
from tests.support.patience import PATIENT

ENDED = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE application_name = 'holdfast engine' AND datname = current_database()
"""


@pytest.fixture
def engine(fresh_world: PostgresWorld) -> Iterator[Admission]:
    engine = Admission(fresh_world.store, PATIENT)
    engine.start()
    yield engine
    engine.stop()


def test_after_a_failover_the_same_version_may_have_other_contents(
    fresh_world: PostgresWorld, engine: Admission
) -> None:
    """A promoted replica may have missed a change of the catalog, and counts its versions on."""
    venue = fresh_world.venue({"floor": 10}, {"standing": ("floor",)})
    assert placed(engine, venue.place(("standing", 1))).total_minor == 4500
    with psycopg.connect(fresh_world.url, autocommit=True) as owner:
        owner.execute(OWNER_AT_WORK)
        owner.execute("UPDATE ticket_type SET price_minor = 9900")
        assert placed(engine, venue.place(("standing", 1))).total_minor == 4500, "it is cached"
        owner.execute(ENDED)
    assert placed(engine, venue.place(("standing", 1))).total_minor == 9900


def test_a_changed_column_type_fails_no_hold(fresh_world: PostgresWorld, engine: Admission) -> None:
    """Prepared statements become stale when a migration changes a type that they return."""
    venue = fresh_world.venue({"floor": 10}, {"standing": ("floor",)})
    placed(engine, venue.place(("standing", 1)))
    with psycopg.connect(fresh_world.url, autocommit=True) as owner:
        owner.execute(OWNER_AT_WORK)
        owner.execute("ALTER TABLE session ALTER version TYPE bigint")
    placed(engine, venue.place(("standing", 1)))
