"""Accepts connections.

libuv accepts one connection per turn of the event loop. With a thousand busy connections, a turn
takes a tenth of a second and more, and newcomers would wait for seconds behind those who got in.
"""

import asyncio
import errno
import socket
from collections.abc import Callable

import structlog

BACKLOG = 4_096
# In one turn of the event loop, while existing connections wait.
ACCEPTED_AT_ONCE_MAX = 128
# After the system has refused to accept, because it is out of files or memory.
PAUSE_SECONDS = 1.0
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

_log = structlog.get_logger("holdfast.server")


class Listener:
    """Listens as soon as it is made, on the running event loop. Owns the socket."""

    def __init__(
        self, listening: socket.socket, make_protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        self._listening = listening
        self._make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[object]] = set()  # the event loop does not keep its tasks
        self._pause: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        listening.listen(BACKLOG)
        self._resume()

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept_some)

    def _accept_some(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE_MAX):
            try:
                accepted, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    continue  # that connection failed before it was accepted; the next need not
                _log.error("server.accept_failed", reason=error.strerror)
                self._loop.remove_reader(self._listening)
                self._pause = self._loop.call_later(PAUSE_SECONDS, self._resume)
                return
            self._open(accepted)

    def _open(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        opening = self._loop.create_task(
            self._loop.connect_accepted_socket(self._make_protocol, accepted)
        )
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
