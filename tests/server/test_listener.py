"""New connections, while others keep the event loop busy."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server import listener
from holdfast.entrypoints.server.connection import Connection
from holdfast.entrypoints.server.connections import Connections
from holdfast.entrypoints.server.listener import ACCEPTED_AT_ONCE_MAX, BACKLOG, Listener
from tests.api.world import KeptAttempts
from tests.server.clients import get, greet, hosting, nothing_else, on_the_loop, run

CLIENTS = 2 * ACCEPTED_AT_ONCE_MAX
TURNS_MAX = 20


@contextmanager
def waiting_clients(port: int) -> Iterator[list[socket.socket]]:
    """Clients that connect before the event loop has its next turn."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


async def _accepted_after(turns: int, connections: Connections) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return len([*connections])


@on_the_loop
async def test_many_connections_are_accepted_in_few_turns_of_the_event_loop() -> None:
    async with hosting(connections_max=CLIENTS) as host:
        with waiting_clients(host.port):
            assert await _accepted_after(TURNS_MAX, host.connections) == CLIENTS


@on_the_loop
async def test_the_event_loop_itself_accepts_one_connection_per_turn() -> None:
    """The control: why there is a listener."""
    connections = Connections(Edge(greet, KeptAttempts()), nothing_else, CLIENTS)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        partial(Connection, connections), "127.0.0.1", 0, backlog=BACKLOG
    )
    with waiting_clients(server.sockets[0].getsockname()[1]):
        assert await _accepted_after(TURNS_MAX, connections) <= TURNS_MAX
    server.close()


@on_the_loop
async def test_responses_are_sent_without_delay() -> None:
    async with hosting() as host:
        client = await host.connect()
        client.send(get("/api/x"))
        assert (await client.response()).status == 200
        (connection,) = host.connections
        accepted = connection._transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class _OutOfFiles(socket.socket):
    """The process has no more files, for a while."""

    failures = 0
    reason = errno.EMFILE

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(self.reason, "no")
        return super().accept()


def test_a_process_without_files_accepts_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "PAUSE_SECONDS", 0.01)

    async def scenario() -> None:
        connections = Connections(Edge(greet, KeptAttempts()), nothing_else, CLIENTS)
        listening = _OutOfFiles()
        listening.failures = 2
        listening.bind(("127.0.0.1", 0))
        own = Listener(listening, partial(Connection, connections))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(get("/api/late").encode())
        assert b"200" in await reader.readline()
        assert not listening.failures
        own.close()
        writer.close()

    run(scenario)


@pytest.mark.parametrize("reason", [errno.ECONNABORTED, errno.EPROTO, errno.ENETDOWN])
def test_a_connection_that_failed_does_not_delay_the_next(reason: int) -> None:
    """Without a pause: the listener would be deaf for a second."""

    async def scenario() -> None:
        listening = _OutOfFiles()
        listening.failures, listening.reason = 3, reason
        listening.bind(("127.0.0.1", 0))
        own = Listener(listening, asyncio.Protocol)
        with socket.create_connection(listening.getsockname()):
            while listening.failures:
                await asyncio.sleep(0)
            assert own._pause is None
            assert len(own._opening) == 1, "accepted in the same turn"
            own.close()

    run(scenario)


def test_nothing_is_accepted_after_closing_during_a_pause() -> None:
    async def scenario() -> None:
        listening = _OutOfFiles()
        listening.failures = 1
        listening.bind(("127.0.0.1", 0))
        own = Listener(listening, asyncio.Protocol)
        with socket.create_connection(listening.getsockname()):
            while listening.failures:
                await asyncio.sleep(0)
            own.close()
            assert listening.fileno() == -1

    run(scenario)
