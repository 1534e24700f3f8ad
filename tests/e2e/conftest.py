"""Beside the shared server: a server without a reaper, and the owner of the database."""

from collections.abc import Iterator

import pytest

from tests.e2e.owner import Owner
from tests.support.databases import DatabaseFactory
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer


@pytest.fixture
def owner(database_url: str) -> Owner:
    return Owner(database_url)


@pytest.fixture
def neighbour(server: RunningServer) -> Platform:
    """Another organization on the same server."""
    return new_platform(server.base_url, server.database_url)


@pytest.fixture(scope="session")
def unreaped_server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server without a reaper, on its own database so that no other reaper touches it."""
    log = tmp_path_factory.mktemp("unreaped") / "log"
    without_reaper = {"HOLDFAST_DUTIES": "none"}
    with RunningServer(databases.fresh(), log, without_reaper) as running:
        yield running


@pytest.fixture
def unreaped(unreaped_server: RunningServer) -> Platform:
    """A platform on the server without a reaper."""
    return new_platform(unreaped_server.base_url, unreaped_server.database_url)


@pytest.fixture
def unreaped_owner(unreaped_server: RunningServer) -> Owner:
    return Owner(unreaped_server.database_url)
