"""A shop on a database without a reaper, and a mail server."""

from collections.abc import Iterator

import pytest

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.settings import Settings
from tests.consuming.mail_server import MailServer
from tests.consuming.shop import Shop
from tests.contract.worlds import PostgresWorld
from tests.support.databases import DatabaseFactory


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


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server
