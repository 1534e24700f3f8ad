"""Every test here runs on every store."""

from collections.abc import Iterator

import pytest

from holdfast.engine import Admission, Limits
from tests.contract.seen import World
from tests.contract.worlds import MemoryWorld, PostgresWorld
from tests.support.databases import DatabaseFactory
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(scope="package")
def database_url(databases: DatabaseFactory) -> str:
    """A database without a server: its reaper would expire holds before the test does."""
    return databases.fresh()


@pytest.fixture(params=["memory", "postgres"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    world: World
    if request.param == "memory":
        world = MemoryWorld()
    else:
        world = PostgresWorld(request.getfixturevalue("database_url"))
    yield world
    world.close()


@pytest.fixture
def engine(world: World) -> Iterator[Admission]:
    admission = Admission(world.store, Limits(deadline_seconds=PATIENCE_SECONDS))
    admission.start()
    yield admission
    admission.stop()
