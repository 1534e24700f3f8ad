"""A shop on a database that no reaper visits, a broker that nobody else uses, a mail server."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.embedded import EmbeddedValkey
from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from tests.consuming.mail_server import MailServer
from tests.consuming.shop import Shop
from tests.contract.worlds import PostgresWorld
from tests.support.brokers import BrokerAddress, BrokerUnderTest
from tests.support.databases import DatabaseFactory
from tests.support.rabbit import RabbitBroker


@pytest.fixture(scope="package")
def unreaped_url(databases: DatabaseFactory) -> str:
    return databases.fresh()


@pytest.fixture(scope="package")
def room(unreaped_url: str) -> Iterator[EngineRoom]:
    room = EngineRoom(Settings(database_url=unreaped_url))
    room.start()
    yield room
    room.stop()


@pytest.fixture
def shop(unreaped_url: str, room: EngineRoom) -> Iterator[Shop]:
    world = PostgresWorld(unreaped_url)
    yield Shop(world, room)
    world.close()


@pytest.fixture(params=["rabbitmq", "valkey"])
def broker(request: pytest.FixtureRequest) -> BrokerUnderTest:
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
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server
