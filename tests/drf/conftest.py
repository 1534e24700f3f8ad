"""The sample shop in both modes, and the platforms of other tests with the shop in front."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drf.fronts import DjangoPlatform, django_platform
from tests.drf.shops import RunningShop, against, in_process
from tests.e2e.owner import Owner
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer


@pytest.fixture(scope="package")
def shop(
    server: RunningServer, database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningShop]:
    """With the engine in its own process."""
    with new_shop(server, tmp_path_factory.mktemp("shop"), in_process(database_url)) as running:
        yield running


@pytest.fixture(scope="package")
def shop_of_server(
    server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningShop]:
    """Against the server."""
    directory = tmp_path_factory.mktemp("shop-of-server")
    with new_shop(server, directory, against(server.base_url)) as running:
        yield running


def new_shop(server: RunningServer, directory: Path, environment: dict[str, str]) -> RunningShop:
    platform = new_platform(server.base_url, server.database_url)
    sale = platform.on_sale(100, 2)
    return RunningShop(platform, server.database_url, sale, directory, environment)


@pytest.fixture
def platform(shop: RunningShop, database_url: str) -> Iterator[DjangoPlatform]:
    platform = django_platform(shop, database_url)
    yield platform
    assert platform.fronts.answered_by_shop, "this test asks for nothing that the shop has"


@pytest.fixture
def owner(database_url: str) -> Owner:
    return Owner(database_url)


@pytest.fixture
def neighbour(shop: RunningShop, database_url: str) -> Platform:
    """Another organization."""
    return django_platform(shop, database_url)
