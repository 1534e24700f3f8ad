"""One server process: its event loop, its connections, and its shutdown."""

import asyncio
import resource
import signal
import socket
from collections.abc import Callable
from email.utils import formatdate
from functools import partial

import structlog
import uvloop

from holdfast.entrypoints.asgi.app import Application
from holdfast.entrypoints.server.connection import Connection
from holdfast.entrypoints.server.connections import Connections
from holdfast.entrypoints.server.listener import Listener
from holdfast.entrypoints.server.proxies import TrustedProxies

CONNECTIONS_MAX = 8_192
# Files that the process needs besides connections.
_OTHER_FILES = 256
_CHECK_SECONDS = 1.0
# At shutdown: half for bodies that are still arriving, half for the last responses.
FINISH_SECONDS_MAX = 10.0

_log = structlog.get_logger("holdfast.server")


def serve_process(create: Callable[[], Application], listening: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""
    uvloop.run(_serve(create, listening))


async def _serve(create: Callable[[], Application], listening: socket.socket) -> None:
    application = create()
    loop = asyncio.get_running_loop()
    is_stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_stopping.set)
    networks = application.trusted_proxies
    connections = Connections(
        application.api,
        application.rest,
        _connections_max(),
        TrustedProxies(networks) if networks else None,
    )
    async with application.running():
        clock = loop.create_task(_keep_time(connections))
        await asyncio.sleep(0)  # lets the clock set `now` and `date`
        listener = Listener(listening, partial(Connection, connections))
        await is_stopping.wait()
        listener.close()
        await _finish(connections)
        clock.cancel()


async def _keep_time(connections: Connections) -> None:
    """One timer for all connections: one per request would cost more than reading the request."""
    loop = asyncio.get_running_loop()
    while True:
        connections.now = loop.time()
        connections.date = formatdate(usegmt=True).encode("ascii")
        for connection in connections:
            try:
                connection.check_time()
            except Exception:
                _log.exception("server.connection_failed")
                connection.abort()
        await asyncio.sleep(_CHECK_SECONDS)


async def _finish(connections: Connections) -> None:
    """Finish the current request of each connection, and wait for its body. Close all others."""
    connections.is_closing = True
    await _until_empty(connections, FINISH_SECONDS_MAX / 2)
    for connection in connections:
        connection.stop_reading()
    await _until_empty(connections, FINISH_SECONDS_MAX / 2)


async def _until_empty(connections: Connections, seconds_max: float) -> None:
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + seconds_max
    while (left := [*connections]) and loop.time() < give_up_at:
        for connection in left:
            connection.shut_down()
        await asyncio.sleep(0.02)


def _connections_max() -> int:
    """Raise the limit on open files as far as the system allows, and leave some for other files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return max(1, min(CONNECTIONS_MAX, soft - _OTHER_FILES))
