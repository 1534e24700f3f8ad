"""Groups without an engine, each on its own venue, and a large database."""

from collections.abc import Iterator

import pytest

from tests.contract.worlds import PostgresWorld
from tests.postgres.large import Large
from tests.postgres.rounds import Rounds
from tests.support.databases import DatabaseFactory


@pytest.fixture(scope="module")
def quiet_database_url(databases: DatabaseFactory) -> str:
    """A database without servers, whose promoter would lock rows here."""
    return databases.fresh()


@pytest.fixture
def rounds(quiet_database_url: str) -> Iterator[Rounds]:
    world = PostgresWorld(quiet_database_url)
    made = Rounds(world, world.venue({"floor": 100, "balcony": 100}, {"standing": ("floor",)}))
    yield made
    made.close()
    world.close()


@pytest.fixture(scope="module")
def large(databases: DatabaseFactory) -> Iterator[Large]:
    made = Large(databases.fresh())
    yield made
    for connection in (made.owner, made.application, made.engine):
        connection.close()
    made.world.close()
