"""A TCP proxy in front of PostgreSQL for faults the server cannot produce: cut a connection around
a commit, swallow the answer, or fall silent in one direction."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from urllib.parse import urlsplit

# Groups write one of these facts in the same exchange as COMMIT.
FACTS = (
    b"hold.created",
    b"hold.changed",
    b"hold.cancelled",
    b"hold.waiting",
    b"hold.promoted",
    b"hold.converted",
    b"order.cancelled",
    b"seat.blocked",
)
COMMITTED = b"COMMIT\x00"


class Fault(Enum):
    CUT_BEFORE_COMMIT = auto()  # the writes and COMMIT never reach the server
    CUT_IN_COMMIT = auto()  # they reach it, and the connection is cut at once
    SWALLOW_ANSWER = auto()  # the server commits, and its answer is dropped
    STALL_ANSWERS = auto()  # the server commits, and its answers are delayed


@dataclass
class _Link:
    """One connection. Surveys end with COMMIT too; only commits after writes count."""

    has_written: bool = False


class Proxy:
    """Forwards everything; after `fault_next` the next commit fails, once."""

    def __init__(self, url: str) -> None:
        self._url = url
        address = urlsplit(url)
        self._server = (str(address.hostname), int(address.port or 5432))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._fault: Fault | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.faulted = threading.Event()
        self._resume = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        host, port = self._server
        return self._url.replace(f"{host}:{port}", f"127.0.0.1:{self._listener.getsockname()[1]}")

    def fault_next(self, fault: Fault) -> None:
        self.faulted.clear()
        self._resume.clear()
        self._fault = fault

    def resume(self) -> None:
        """Deliver the delayed answers."""
        self._resume.set()

    def cut_all(self) -> None:
        with self._lock:
            sockets = list(self._open)
        for each in sockets:
            _close(each)

    def close(self) -> None:
        self._resume.set()
        _close(self._listener)
        self.cut_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._server, timeout=5)
                except OSError:
                    _close(client)
                    continue
                server.settimeout(None)
                with self._lock:
                    self._open |= {client, server}
                link = _Link()
                for source, target, act in (
                    (client, server, partial(self._on_request, link)),
                    (server, client, partial(self._on_answer, link)),
                ):
                    threading.Thread(
                        target=self._pass_on, args=(source, target, act), daemon=True
                    ).start()

    def _pass_on(
        self,
        source: socket.socket,
        target: socket.socket,
        act: Callable[[bytes, socket.socket], bool],
    ) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not act(data, target):
                    break
        for each in (source, target):
            _close(each)
        with self._lock:
            self._open -= {source, target}

    def _on_request(self, link: _Link, data: bytes, server: socket.socket) -> bool:
        is_writing = any(fact in data for fact in FACTS)
        link.has_written |= is_writing
        if is_writing and self._take(Fault.CUT_BEFORE_COMMIT):
            return False
        server.sendall(data)
        return not (is_writing and self._take(Fault.CUT_IN_COMMIT))

    def _on_answer(self, link: _Link, data: bytes, client: socket.socket) -> bool:
        if COMMITTED in data and link.has_written:
            link.has_written = False
            if self._take(Fault.SWALLOW_ANSWER):
                return False
            if self._take(Fault.STALL_ANSWERS):
                self._resume.wait()  # forever, unless the test resumes or ends
        client.sendall(data)
        return True

    def _take(self, fault: Fault) -> bool:
        """Whether this fault is due; it occurs once."""
        with self._lock:
            if self._fault is not fault:
                return False
            self._fault = None
        self.faulted.set()
        return True


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
