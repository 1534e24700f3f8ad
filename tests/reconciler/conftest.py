"""Both services, for one test alone."""

from collections.abc import Iterator

import pytest

from tests.contract.worlds import PostgresWorld
from tests.reconciler.pair import Pair
from tests.support.inventory_service import InventoryService


@pytest.fixture
def service() -> Iterator[InventoryService]:
    with InventoryService() as running:
        yield running


@pytest.fixture
def pair(fresh_world: PostgresWorld, service: InventoryService) -> Iterator[Pair]:
    made = Pair(fresh_world, service)
    yield made
    made.close()
