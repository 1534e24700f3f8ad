"""Sends calls over HTTP, on httpx's own transport. httpx itself limits the wait for each part of an
answer, but not for all parts together, and it keeps cookies."""

import random
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpcore
import msgspec

from holdfast.ports.inventory.service import CALL_SECONDS_MAX, InventoryUnavailable

CONNECTIONS_MAX = 64
CONNECT_SECONDS_MAX = 2.0
IDLE_SECONDS_MAX = 5.0
ATTEMPTS_MAX = 3
RETRY_SECONDS = 0.1
# A page of 100 reservations with 50 lines each is smaller.
BODY_LENGTH_MAX = 2_000_000

# When the call of this thread gives up.
_call = threading.local()


class Answer(NamedTuple):
    """`is_certain`: no earlier attempt of the call may have had its effect."""

    status: int
    body: bytes
    is_certain: bool = True

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class _Transient(InventoryUnavailable):
    """Another attempt may succeed. `is_unsent`: this one did not reach the service."""

    def __init__(self, reason: str, *, is_unsent: bool = False) -> None:
        super().__init__(reason)
        self.is_unsent = is_unsent


class Calls:
    """One pool of connections for all threads. A call takes at most `seconds_max`, with all its
    attempts. It is tried again only after a failure that may pass."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._headers: dict[bytes | str, bytes | str] = {
            "authorization": f"Bearer {key}",
            "user-agent": "holdfast",
            # A compressed answer could be far larger than what is read.
            "accept-encoding": "identity",
        }
        self._pool = httpcore.ConnectionPool(
            max_connections=CONNECTIONS_MAX,
            keepalive_expiry=IDLE_SECONDS_MAX,
            network_backend=_BoundedBackend(),
        )

    def close(self) -> None:
        self._pool.close()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        seconds_max: float = CALL_SECONDS_MAX,
    ) -> Answer:
        target = f"{path}?{urlencode(query)}" if query else path
        return self._call("GET", target, None, seconds_max)

    def post(self, path: str, body: Mapping[str, object]) -> Answer:
        return self._call("POST", path, msgspec.json.encode(body), CALL_SECONDS_MAX)

    def _call(self, method: str, target: str, body: bytes | None, seconds_max: float) -> Answer:
        _call.give_up_at = give_up_at = time.monotonic() + seconds_max
        attempt, is_certain = 1, True
        while True:
            try:
                return self._attempt(method, target, body)._replace(is_certain=is_certain)
            except _Transient as problem:
                is_certain = is_certain and problem.is_unsent
                pause = random.uniform(0.5, 1.5) * RETRY_SECONDS * attempt  # noqa: S311
                if attempt == ATTEMPTS_MAX or time.monotonic() + pause >= give_up_at:
                    raise
            attempt += 1
            time.sleep(pause)

    def _attempt(self, method: str, target: str, body: bytes | None) -> Answer:
        try:
            answer = self._sent(method, target, body)
        except (httpcore.ConnectError, httpcore.ConnectTimeout):
            raise _Transient("it cannot be reached", is_unsent=True) from None
        except (httpcore.RemoteProtocolError, httpcore.NetworkError):
            raise _Transient("the connection was lost") from None
        except httpcore.TimeoutException:
            raise InventoryUnavailable("it did not answer in time") from None
        except (httpcore.ProtocolError, RuntimeError, OSError) as error:
            raise InventoryUnavailable(type(error).__name__) from None
        if answer.status == 503:
            raise _Transient("it answered 503")
        if answer.status >= 500:
            raise InventoryUnavailable(f"it answered {answer.status}")
        return answer

    def _sent(self, method: str, target: str, body: bytes | None) -> Answer:
        headers = dict(self._headers)
        if body is not None:
            headers["content-type"] = "application/json"
        left = _seconds_left(None)
        timeout = {"connect": min(left, CONNECT_SECONDS_MAX), "pool": left}
        with self._pool.stream(
            method,
            self._url + target,
            headers=headers,
            content=body,
            extensions={"timeout": timeout},
        ) as response:
            parts: list[bytes] = []
            length = 0
            for part in response.iter_stream():
                parts.append(part)
                length += len(part)
                if length > BODY_LENGTH_MAX:
                    raise InventoryUnavailable("its answer is too long")
            return Answer(response.status, b"".join(parts))


class _BoundedBackend(httpcore.NetworkBackend):
    """Connections on which no step waits longer than the call of this thread may."""

    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        where = (host, port, _seconds_left(timeout), local_address, socket_options)
        return _BoundedStream(self._backend.connect_tcp(*where))


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _seconds_left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _seconds_left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = _seconds_left(timeout)
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _seconds_left(timeout: float | None) -> float:
    left: float = _call.give_up_at - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the call has taken too long")
    return left if timeout is None else min(left, timeout)
