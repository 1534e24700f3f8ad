"""A request that arrives on a connection, and its response."""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.types import Message, Scope

from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.server.limits import BODY_BUFFER_BYTES, PARTS_MAX

if TYPE_CHECKING:
    from holdfast.entrypoints.server.connection import Connection

Headers = list[tuple[bytes, bytes]]

_UPGRADE = frozenset({b"connection", b"upgrade"})


def address_of(name: object) -> tuple[str, int] | None:
    """None for a Unix socket."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def _split(url: bytes) -> tuple[bytes, str, bytes]:
    """The path as sent, the decoded path, and the query."""
    if not url.startswith(b"/") or b"#" in url:
        url = _origin_form(url)
    raw_path, _, query = url.partition(b"?")
    path = raw_path.decode("latin-1")
    return raw_path, unquote(path) if "%" in path else path, query


def _origin_form(url: bytes) -> bytes:
    """Without the scheme and host that a client of a proxy sends, and without a fragment."""
    url = url.partition(b"#")[0]
    _, is_absolute, rest = url.partition(b"://")
    if not is_absolute or url.startswith(b"/"):
        return url
    at = min((at for at in (rest.find(b"/"), rest.find(b"?")) if at >= 0), default=len(rest))
    return rest[at:] if rest[at:].startswith(b"/") else b"/" + rest[at:]


class Exchange:
    """The request, whose body may still be arriving."""

    __slots__ = (
        "_is_read",
        "_kept_bytes",
        "_parts",
        "_url",
        "_waiter",
        "connection",
        "headers",
        "is_complete",
        "is_http_1_0",
        "is_last",
        "is_lost",
        "is_replaceable",
        "method",
        "path",
        "query_string",
        "raw_path",
        "size",
        "wants_continue",
    )

    def __init__(
        self,
        connection: "Connection",
        method: str,
        url: bytes,
        headers: Headers,
        *,
        is_http_1_0: bool,
        is_last: bool,
    ) -> None:
        self.connection = connection
        self.method = method
        self._url = url
        self.raw_path, self.path, self.query_string = _split(url)
        self.headers = headers
        self.is_http_1_0 = is_http_1_0
        self.is_last = is_last  # the connection closes after it
        self.is_complete = False
        self.is_lost = False  # the client is gone, or the body is broken
        self.is_replaceable = False  # by a new connection, although its request is complete
        self.wants_continue = False
        self.size = 0  # of the body, as far as it has arrived
        self._parts: list[bytes] = []
        self._kept_bytes = 0
        self._is_read = False
        self._waiter: asyncio.Future[None] | None = None

    def call(self) -> Call:
        """For the API, with the body if all of it has arrived. Use it before `receive`."""
        client = self.connection.client
        if self.connection.proxies is not None:
            client = self.connection.proxies.client(client, self.headers)
        call = Call(
            self.method,
            self.path,
            self.raw_path,
            self.query_string,
            self.headers,
            client=client,
        )
        if self.is_complete:
            call.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return call

    def head_without_upgrade(self) -> bytes:
        """The request line and headers, as those of the last request on its connection."""
        version = b"1.0" if self.is_http_1_0 else b"1.1"
        lines = [b"%b %b HTTP/%b" % (self.method.encode("ascii"), self._url, version)]
        lines += [b"%b: %b" % each for each in self.headers if each[0] not in _UPGRADE]
        return b"\r\n".join((*lines, b"connection: close", b"", b""))

    @property
    def is_ahead(self) -> bool:
        """Whether the unread part exceeds the buffer."""
        return self._kept_bytes > BODY_BUFFER_BYTES

    def feed(self, part: bytes) -> None:
        self._parts.append(part)
        if len(self._parts) > PARTS_MAX:
            self._parts = [b"".join(self._parts)]
        self._kept_bytes += len(part)
        self.size += len(part)
        self._wake()

    def complete(self) -> None:
        self.is_complete = True
        self._wake()

    def lose(self) -> None:
        """Nothing more will arrive."""
        self.is_lost = True
        self._wake()

    async def receive(self) -> Message:
        """As in ASGI: the body, then nothing until the client disconnects."""
        if self.wants_continue and not (self.is_complete or self._parts):
            self.connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.wants_continue = False
        while not (self.is_lost or ((self._parts or self.is_complete) and not self._is_read)):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self.is_lost:
            return {"type": "http.disconnect"}
        body = b"".join(self._parts)
        self._parts, self._kept_bytes = [], 0
        self._is_read = self.is_complete
        more_body = not self.is_complete
        self.connection.go_on()
        return {"type": "http.request", "body": body, "more_body": more_body}

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def scope(self) -> Scope:
        client = self.connection.client
        if self.connection.proxies is not None:
            client = self.connection.proxies.client(client, self.headers)
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.0" if self.is_http_1_0 else "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query_string,
            "root_path": "",
            "headers": self.headers,
            "client": client,
            "server": self.connection.server,
        }
