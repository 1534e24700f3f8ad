"""A running Inventory Service with two processes, and one item of it."""

from collections.abc import Iterator

import pytest

from tests.inventory.store import Store
from tests.support.databases import DatabaseFactory
from tests.support.platform import new_platform
from tests.support.servers import RunningServer


@pytest.fixture(scope="package")
def inventory(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("inventory") / "log"
    two = {"HOLDFAST_PROCESSES": "2"}
    with RunningServer(databases.fresh(), log, two, command="inventory") as running:
        yield running


@pytest.fixture
def store(inventory: RunningServer) -> Store:
    """Of an organization of its own, with 10 tickets."""
    store = Store(new_platform(inventory.base_url, inventory.database_url, ("inventory",)))
    assert store.stock(10).status_code == 200
    return store
