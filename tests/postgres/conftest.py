"""Groups without an engine, on a venue of the test's own."""

from collections.abc import Iterator

import pytest

from tests.contract.worlds import PostgresWorld
from tests.postgres.rounds import Rounds


@pytest.fixture
def rounds(database_url: str) -> Iterator[Rounds]:
    world = PostgresWorld(database_url)
    made = Rounds(world, world.venue({"floor": 100, "balcony": 100}, {"standing": ("floor",)}))
    yield made
    made.connection.close()
    world.close()
