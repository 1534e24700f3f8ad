"""The backend of this process."""

import atexit
import os
import threading
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from holdfast.entrypoints.api.http.exchange import JSON, Call, RawHeaders, Reply
from holdfast.entrypoints.drf.conf import Conf, conf


class Backend(Protocol):
    """Answers calls of the API. Both methods block for a bounded time, and raise a Problem if there
    is no answer by then."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def authenticate(self, call: Call) -> None:
        """Raise a Problem unless the call's credential is valid."""

    def send(self, call: Call) -> Reply: ...


def new_call(
    method: str,
    path_parts: Sequence[str],
    *,
    secret: str,
    body: bytes | None = None,
    query_string: bytes = b"",
    headers: RawHeaders = (),
    client: tuple[str, object] | None = None,
) -> Call:
    """A call to /api/ and these parts, with this credential."""
    sent = [(b"authorization", b"Bearer " + secret.encode("latin-1", "replace")), *headers]
    if body is not None:
        sent.append((b"content-type", JSON))
    path = "/api/" + "/".join(path_parts)
    raw_path = b"/api/" + "/".join(quote(part, safe="") for part in path_parts).encode()
    call = Call(method, path, raw_path, query_string, sent, client=client)
    call.body = body
    return call


class _Current:
    """The backend is started by the first request of a process, so after any fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: tuple[Conf, Backend] | None = None
        self._of_parents: list[tuple[Conf, Backend]] = []

    def get(self) -> Backend:
        wanted = conf()
        started = self._started
        if started is not None and started[0] is wanted:
            return started[1]
        with self._lock:
            if self._started is not None and self._started[0] is not wanted:
                self._stop()
            if self._started is None:
                made = _new_backend(wanted)
                made.start()
                self._started = (wanted, made)
            return self._started[1]

    def stop(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        started, self._started = self._started, None
        if started is not None:
            started[1].stop()

    def forget(self) -> None:
        """In a forked child: the parent's threads and connections are not ours, and another of its
        threads may have had the lock."""
        self._lock = threading.Lock()
        if self._started is not None:
            self._of_parents.append(self._started)  # its finalizers would wait for those threads
        self._started = None


def _new_backend(wanted: Conf) -> Backend:
    if wanted.server_url is not None:
        from holdfast.entrypoints.drf.backends.server import HoldfastServer  # noqa: PLC0415

        return HoldfastServer(wanted.server_url, wanted.timeout_seconds)
    from holdfast.entrypoints.drf.backends.in_process import InProcessEngine  # noqa: PLC0415

    assert wanted.in_process is not None
    return InProcessEngine(wanted.in_process)


_current = _Current()
backend = _current.get
stop_backend = _current.stop
atexit.register(stop_backend)
os.register_at_fork(after_in_child=_current.forget)
