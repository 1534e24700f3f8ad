"""Two healthy services, each with its database on a PostgreSQL of its own."""

from collections.abc import Callable, Iterator

import pytest

from holdfast.adapters.embedded import EmbeddedPostgres
from tests.remote.crash.buyers import Buyer
from tests.remote.crash.killing import Killing
from tests.remote.layout import TwoServices
from tests.support.databases import DatabaseFactory
from tests.support.rabbit import RabbitBroker


@pytest.fixture(scope="package")
def postgres_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, EmbeddedPostgres]]:
    """By the name of the service. Each can be killed: what a process wrote before is kept by the
    kernel, so syncing to disk would prove nothing."""
    settings = {"max_connections": "200", "fsync": "off", "full_page_writes": "off"}
    made = {
        name: EmbeddedPostgres(tmp_path_factory.mktemp(f"postgres-{name}"), settings=settings)
        for name in ("holds", "inventory")
    }
    try:
        for postgres in made.values():
            postgres.start()
        yield made
    finally:
        for postgres in made.values():
            postgres.stop()


@pytest.fixture(scope="package")
def running_services(
    postgres_of: dict[str, EmbeddedPostgres],
    rabbit: RabbitBroker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[TwoServices]:
    of_holds, of_inventory = (DatabaseFactory(each) for each in postgres_of.values())
    directory = tmp_path_factory.mktemp("two-services")
    vhost = rabbit.new_vhost()
    with TwoServices(of_holds, directory, vhost, inventory_databases=of_inventory) as services:
        yield services


@pytest.fixture
def services(running_services: TwoServices) -> Iterator[TwoServices]:
    """Both run when a test begins, whatever became of the one before."""
    servers = (running_services.inventory, running_services.holds)
    environments = [server.environment for server in servers]
    yield running_services
    for server, environment in zip(servers, environments, strict=True):
        if server.environment is not environment:
            server.stop()
            server.environment = environment
        if not server.is_running:
            server.start()


@pytest.fixture
def killing(services: TwoServices) -> Iterator[Killing]:
    killing = Killing(services)
    yield killing
    killing.end()


@pytest.fixture
def new_buyer(services: TwoServices) -> Callable[[], Buyer]:
    return lambda: Buyer(services)
