"""One private PostgreSQL, RabbitMQ and Valkey per pytest worker, one server, and a platform per
test."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from holdfast.adapters.embedded import (
    EmbeddedPostgres,
    EmbeddedServiceError,
    EmbeddedValkey,
)
from holdfast.bootstrap.logs import configure_logs
from holdfast.bootstrap.settings import Settings
from holdfast.engine import Admission
from holdfast.ports.facts import deliveries
from tests.contract.worlds import PostgresWorld
from tests.support import debian, scratch
from tests.support.brokers import BrokerAddress, BrokerUnderTest
from tests.support.databases import DatabaseFactory
from tests.support.patience import PATIENT
from tests.support.platform import Platform, new_platform
from tests.support.rabbit import RabbitBroker
from tests.support.servers import RunningServer
from tests.support.stalls import pytest_runtest_protocol, pytest_terminal_summary

__all__ = ["pytest_runtest_protocol", "pytest_terminal_summary"]

# Variables of the developer's shell must not affect the tests.
for variable in [name for name in os.environ if name.startswith("HOLDFAST_")]:
    del os.environ[variable]
configure_logs(Settings(holdfast_log_format="console"))
# A cached logger keeps its processors when a test configures logs, and `capture_logs` misses it.
structlog.configure(cache_logger_on_first_use=False)
os.environ.pop("DATABASE_URL", None)
# Tests read rows as their owner; servers and commands do not (`own_environment`).
os.environ["PGOPTIONS"] = "-c holdfast.owner=on"
os.environ.pop("REDIS_URL", None)
os.environ.pop("AMQP_URL", None)
scratch.use_memory()


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseFactory]:
    # Nothing here outlives the run, and tests kill processes, never the operating system. The
    # kernel keeps what a killed process wrote, so syncing to disk would prove nothing.
    settings = {"max_connections": "200", "fsync": "off", "full_page_writes": "off"}
    directory = tmp_path_factory.mktemp("postgres")
    with EmbeddedPostgres(directory, settings=settings) as postgres:
        yield DatabaseFactory(postgres)
    # A failed run keeps its directories, and this one would fill the memory.
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def database_url(databases: DatabaseFactory) -> str:
    """A migrated database that all tests share; each makes its own organization."""
    return databases.migrated()


@pytest.fixture
def fresh_database_url(databases: DatabaseFactory) -> str:
    """A migrated database for this test alone."""
    return databases.fresh()


@pytest.fixture
def fresh_world(fresh_database_url: str) -> Iterator[PostgresWorld]:
    world = PostgresWorld(fresh_database_url)
    yield world
    world.close()


@pytest.fixture
def fresh_engine(fresh_world: PostgresWorld) -> Iterator[Admission]:
    engine = Admission(fresh_world.store, PATIENT)
    engine.start()
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def rabbit(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RabbitBroker]:
    """One private RabbitMQ for the whole run; each test takes a `new_vhost()`."""
    debian.announce(request.config, "Starting RabbitMQ, fetched where it is missing ...")
    broker = RabbitBroker(tmp_path_factory.mktemp("rabbit"))
    try:
        _ = broker.installation
    except EmbeddedServiceError as error:
        debian.unavailable(str(error))
    with broker:
        yield broker


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    """One private Valkey for the whole run; a test that needs it empty flushes it."""
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey")) as valkey:
        yield valkey


@pytest.fixture(params=["rabbitmq", "valkey"])
def broker(request: pytest.FixtureRequest) -> BrokerUnderTest:
    """A broker that no other test uses, of each kind."""
    fixture = "rabbit_alone" if request.param == "rabbitmq" else "valkey_alone"
    under_test = request.getfixturevalue(fixture)
    assert isinstance(under_test, BrokerUnderTest)
    return under_test


@pytest.fixture
def rabbit_alone(rabbit: RabbitBroker) -> BrokerUnderTest:
    return BrokerUnderTest(BrokerAddress("rabbitmq", rabbit.new_vhost()), rabbit)


@pytest.fixture
def valkey_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerUnderTest]:
    settings = {"appendonly": "yes", "appendfsync": "always"}
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey"), settings=settings) as valkey:
        yield BrokerUnderTest(BrokerAddress("valkey", valkey.url), valkey)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between attempts."""
    monkeypatch.setattr(deliveries, "PAUSE_SECONDS_MAX", 0.05)


@pytest.fixture(scope="session")
def server(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(database_url, tmp_path_factory.mktemp("server") / "log") as running:
        yield running


@pytest.fixture
def platform(server: RunningServer) -> Platform:
    return new_platform(server.base_url, server.database_url)


@pytest.fixture
def make_server(
    tmp_path: Path,
) -> Iterator[Callable[..., RunningServer]]:
    """A function that makes servers for this test alone, to be broken."""
    made: list[RunningServer] = []

    def make(database_url: str, **environment: str) -> RunningServer:
        server = RunningServer(database_url, tmp_path / f"server-{len(made)}.log", environment)
        made.append(server)
        return server

    yield make
    for server in made:
        server.kill()
