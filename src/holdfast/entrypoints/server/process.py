"""One server process: its event loop, its connections, and its end."""

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
from holdfast.entrypoints.server.door import Door

CONNECTIONS_MAX = 8_192
# Files that the process needs besides connections.
_OTHER_FILES = 256
_BACKLOG = 4_096
_CHECK_SECONDS = 1.0
# At the end, for requests to arrive completely, and for the last responses to be sent.
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
    door = Door(application.api, application.rest, _connections_max())
    async with application.running():
        clock = loop.create_task(_keep_time(door))
        await asyncio.sleep(0)  # the first look at the clock
        server = await loop.create_server(
            partial(Connection, door), sock=listening, backlog=_BACKLOG
        )
        await is_stopping.wait()
        server.close()
        await _finish(door)
        clock.cancel()


async def _keep_time(door: Door) -> None:
    """One timer for all connections: a timer per request would cost more than reading it."""
    loop = asyncio.get_running_loop()
    while True:
        door.now = loop.time()
        door.date = formatdate(usegmt=True).encode("ascii")
        for connection in door:
            try:
                connection.check_time()
            except Exception:
                _log.exception("server.connection_failed")
                connection.abort()
        await asyncio.sleep(_CHECK_SECONDS)


async def _finish(door: Door) -> None:
    """Answer the requests that have arrived, or are about to."""
    door.is_closing = True
    await _until_empty(door, FINISH_SECONDS_MAX / 2)
    for connection in door:
        connection.stop_reading()
    await _until_empty(door, FINISH_SECONDS_MAX / 2)


async def _until_empty(door: Door, seconds_max: float) -> None:
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + seconds_max
    while (left := [*door]) and loop.time() < give_up_at:
        for connection in left:
            connection.shut_down()
        await asyncio.sleep(0.02)


def _connections_max() -> int:
    """Allow as many open files as the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    return max(1, min(CONNECTIONS_MAX, soft - _OTHER_FILES))
