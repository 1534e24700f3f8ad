"""A request that arrives on a connection, and its response."""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.types import Message, Scope

if TYPE_CHECKING:
    from holdfast.entrypoints.server.connection import Connection

Headers = list[tuple[bytes, bytes]]

# Bytes of a body that are kept until somebody reads them; then the connection pauses.
BODY_BUFFER_BYTES = 64 * 1024

_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode("ascii"))
    for status in HTTPStatus
}
_NO_CONTENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_LAST_CHUNK = b"0\r\n\r\n"


def status_line(status: int) -> bytes:
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


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
        "_arrived",
        "_is_read",
        "_parts",
        "_waiter",
        "connection",
        "headers",
        "is_complete",
        "is_http_1_0",
        "is_last",
        "is_lost",
        "method",
        "path",
        "query_string",
        "raw_path",
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
        self.raw_path, self.path, self.query_string = _split(url)
        self.headers = headers
        self.is_http_1_0 = is_http_1_0
        self.is_last = is_last  # the connection closes after it
        self.is_complete = False
        self.is_lost = False  # the client is gone, or the body is broken
        self.wants_continue = False
        self._parts: list[bytes] = []
        self._arrived = 0
        self._is_read = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def whole_body(self) -> bytes | None:
        """The body, if all of it is here and nobody has read any of it."""
        if not self.is_complete:
            return None
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    @property
    def is_ahead(self) -> bool:
        """Whether more has arrived than is kept."""
        return self._arrived > BODY_BUFFER_BYTES

    def feed(self, part: bytes) -> None:
        self._parts.append(part)
        self._arrived += len(part)
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
        self._parts, self._arrived = [], 0
        self._is_read = self.is_complete
        self.connection.read_on()
        return {"type": "http.request", "body": body, "more_body": not self.is_complete}

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def scope(self) -> Scope:
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
            "client": self.connection.client,
            "server": self.connection.server,
        }


class AsgiResponse:
    """Writes the response of an ASGI application."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._head: bytes | None = None  # until the first part of the body
        self._is_chunked = False
        self._has_body = True
        self.is_started = False
        self.is_complete = False

    async def send(self, message: Message) -> None:
        exchange = self._exchange
        if message["type"] == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
            return
        await exchange.connection.is_writable()
        body = message.get("body", b"") if self._has_body else b""
        head, self._head = self._head or b"", None
        self.is_complete = not message.get("more_body", False)
        if self._is_chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (
                _LAST_CHUNK if self.is_complete else b""
            )
        exchange.connection.write(head + body)

    def _start(self, status: int, sent: "list[tuple[bytes, bytes]]") -> None:
        exchange = self._exchange
        headers = [(name.lower(), value) for name, value in sent]
        names = {name for name, _ in headers}
        self.is_started = True
        self._has_body = exchange.method != "HEAD" and status not in _NO_CONTENT
        if self._has_body and b"content-length" not in names:
            if exchange.is_http_1_0:
                exchange.is_last = True
            else:
                self._is_chunked = True
                headers.append((b"transfer-encoding", b"chunked"))
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        self._head = b"%b%b%b\r\n" % (
            status_line(status),
            exchange.connection.own_headers(exchange),
            lines,
        )
