"""Two engines, like two server processes, on their own database."""

from collections.abc import Iterator

import pytest

from holdfast.engine import Admission, Limits
from tests.contract.worlds import PostgresWorld
from tests.race.guards import TwoEngines


@pytest.fixture
def two_engines(fresh_database_url: str) -> Iterator[TwoEngines]:
    world = PostgresWorld(fresh_database_url)
    # A crowd of a thousand on a slow machine must not time out.
    limits = Limits(deadline_seconds=30)
    engines = [Admission(PostgresWorld(fresh_database_url).store, limits) for _ in range(2)]
    for engine in engines:
        engine.start()
    yield world, engines
    for engine in engines:
        engine.stop()
    world.close()
