"""An HTTP/1.1 connection.

The API answers with whole replies, so its requests do not go through ASGI: a general server needs
three times as much processor time for them. Everything else is served by an ASGI application.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

import structlog
from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
)
from starlette.types import ASGIApp
from uuid_utils import uuid7

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call, Reply, body_for
from holdfast.entrypoints.api.http.problems import Problem, unavailable
from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server.exchange import AsgiResponse, Exchange, Headers, status_line

HEAD_BYTES_MAX = 64 * 1024
HEAD_SECONDS_MAX = 10.0
IDLE_SECONDS_MAX = 75.0
# Between two parts of a body, and for a client that does not read its response.
SILENT_SECONDS_MAX = 30.0
# How long a connection stays open for a client that still sends after its last response. Closing it
# at once could delete the response on its way.
LINGER_SECONDS_MAX = 2.0

_UPGRADE = frozenset({b"connection", b"upgrade"})

_log = structlog.get_logger("holdfast.server")


class Door:
    """What the connections of a process share. `now` and `date` are at most a second old."""

    def __init__(self, api: Edge | None, rest: ASGIApp, connections_max: int) -> None:
        self.api = api
        self.rest = rest
        self.now = 0.0
        self.date = b""
        self.is_closing = False
        self.running: set[Exchange] = set()
        self._connections_max = connections_max
        self._connections: set[Connection] = set()
        self._idle: dict[Connection, None] = {}  # idle for the longest time first

    def enter(self, connection: "Connection") -> bool:
        """Whether there is space. A new connection replaces the one that has been idle longest."""
        if len(self._connections) >= self._connections_max:
            if not self._idle:
                return False
            longest = next(iter(self._idle))
            self.leave(longest)
            longest.abort()
        self._connections.add(connection)
        self._idle[connection] = None
        return True

    def leave(self, connection: "Connection") -> None:
        self._connections.discard(connection)
        self._idle.pop(connection, None)

    def began(self, connection: "Connection", exchange: Exchange) -> None:
        self._idle.pop(connection, None)
        self.running.add(exchange)

    def ended(self, connection: "Connection", exchange: Exchange) -> None:
        self.running.discard(exchange)
        if connection in self._connections:
            self._idle[connection] = None

    def __iter__(self) -> "Iterator[Connection]":
        return iter(tuple(self._connections))


class Connection(asyncio.Protocol):
    """Requests are answered in the order in which they arrive, one at a time."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._parser = HttpRequestParser(self)
        self._url = b""
        self._headers: Headers = []
        self._head_since: float | None = None
        self._head_bytes = 0  # while it is incomplete
        self._data_bytes = 0  # that arrived last
        self._arriving: Exchange | None = None  # until its body is complete
        self._waiting: deque[Exchange] = deque()
        self._current: Exchange | None = None
        self._is_over = False  # what else arrives is ignored
        self._has_more = False  # the client may still be sending
        self._refusal: Problem | None = None  # the last response, after all others
        self._task: asyncio.Task[None] | None = None
        self._since = door.now  # of silence
        self._lingers_since: float | None = None
        self._unwritable: asyncio.Event | None = None
        self._unsent_bytes = 0
        self._is_paused = False
        self.is_closed = False
        self.client: tuple[str, int] | None = None
        self.server: tuple[str, int] | None = None

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.client = _address(transport.get_extra_info("peername"))
        self.server = _address(transport.get_extra_info("sockname"))
        if not self._door.enter(self):
            self._write_refusal(unavailable())
            self._is_over = True
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._door.leave(self)
        for exchange in (self._current, self._arriving):
            if exchange is not None:
                exchange.lose()
        self._waiting.clear()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._since = self._door.now
        self._data_bytes = len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
            return
        except HttpParserCallbackError:
            _log.exception("server.parser_failed")
            self._cannot_parse()
        except HttpParserError:
            self._cannot_parse()
        if self._head_since is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(_head_too_large())
        self._go_on()

    def pause_writing(self) -> None:
        self._since = self._door.now
        self._unsent_bytes = self._transport.get_write_buffer_size()
        self._unwritable = asyncio.Event()

    def resume_writing(self) -> None:
        if self._unwritable is not None:
            self._unwritable.set()
            self._unwritable = None
            if not self.is_closed:
                self._go_on()

    # The parser calls these.

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = []
        self._head_since = self._door.now
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_since = None
        if self._is_over:
            return
        if self._data_bytes > HEAD_BYTES_MAX and self._is_head_too_large():
            self._refuse(_head_too_large())
            return
        parser = self._parser
        is_http_1_0 = parser.get_http_version() != "1.1"
        exchange = Exchange(
            self,
            parser.get_method().decode("ascii"),
            self._url,
            self._headers,
            is_http_1_0=is_http_1_0,
            is_last=is_http_1_0 or not parser.should_keep_alive(),
        )
        exchange.wants_continue = (b"expect", b"100-continue") in self._headers
        self._arriving = exchange
        self._waiting.append(exchange)

    def on_body(self, body: bytes) -> None:
        if self._arriving is not None:
            self._arriving.feed(body)

    def on_message_complete(self) -> None:
        if self._arriving is not None:
            self._arriving.complete()
            self._arriving = None

    # Exchanges call these.

    def write(self, data: bytes) -> None:
        if not self.is_closed:
            self._transport.write(data)

    def read_on(self) -> None:
        """Pause while more has arrived than is being used, resume after that."""
        is_ahead = (
            bool(self._waiting)
            or self._unwritable is not None
            or (self._arriving is not None and self._arriving.is_ahead)
        )
        if is_ahead != self._is_paused and not self._transport.is_closing():
            self._is_paused = is_ahead
            (self._transport.pause_reading if is_ahead else self._transport.resume_reading)()

    async def is_writable(self) -> None:
        """Wait while the client is slow to read."""
        if self._unwritable is not None:
            await self._unwritable.wait()

    def own_headers(self, exchange: Exchange) -> bytes:
        """Decides whether the connection closes after this request: if the client or the process
        wants that, or if not all of the request has arrived."""
        exchange.is_last = (
            exchange.is_last
            or not exchange.is_complete
            or self._door.is_closing
            or (self._is_over and not self._waiting)
        )
        return _own_headers(self._door.date, exchange.is_last)

    # The process calls these.

    def shut_down(self) -> None:
        """Close the connection, if it is not in use, or else after its present request."""
        if self._current is None:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def check_time(self) -> None:
        """Call about once a second."""
        now = self._door.now
        if self._lingers_since is not None:
            if now - self._lingers_since > LINGER_SECONDS_MAX:
                self._transport.abort()
        elif self._head_since is not None:
            if now - self._head_since > HEAD_SECONDS_MAX:
                self._refuse(_head_too_slow())
                self._go_on()
        elif self._unwritable is not None:
            unsent_bytes = self._transport.get_write_buffer_size()
            if unsent_bytes < self._unsent_bytes:
                self._since = now
            elif now - self._since > SILENT_SECONDS_MAX:
                self._transport.abort()
            self._unsent_bytes = unsent_bytes
        elif self._arriving is not None:
            if now - self._since > SILENT_SECONDS_MAX and not self._is_paused:
                self._arriving.lose()
        elif self._current is None and now - self._since > IDLE_SECONDS_MAX:
            self._transport.close()

    def _go_on(self) -> None:
        """Start the next request, if its turn has come."""
        if self._current is None and self._unwritable is None:
            if self._waiting:
                self._start(self._waiting.popleft())
            elif self._is_over:
                self._close()
        if self._waiting or self._arriving is not None or self._is_paused:
            self.read_on()

    def _start(self, exchange: Exchange) -> None:
        self._current = exchange
        self._door.began(self, exchange)
        api, path = self._door.api, exchange.path
        if api is not None and (path.startswith("/api/") or path == "/api"):
            answering = self._reply(api, exchange)
        else:
            answering = self._serve(exchange)
        self._task = asyncio.get_running_loop().create_task(answering)

    async def _reply(self, api: Edge, exchange: Exchange) -> None:
        call = Call(
            exchange.method,
            exchange.path,
            exchange.raw_path,
            exchange.query_string,
            exchange.headers,
            client=self.client,
        )
        call.body = exchange.whole_body
        reply = await api.respond(call, exchange.receive)
        if not self.is_closed:
            head = _head(reply, call.request_id, self.own_headers(exchange))
            self._transport.write(head + body_for(exchange.method, reply))
        api.log_reply(call, reply)
        self._end(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        """By the ASGI application."""
        response = AsgiResponse(exchange)
        try:
            await self._door.rest(exchange.scope(), exchange.receive, response.send)
        except Exception:
            _log.exception("server.application_failed", method=exchange.method)
        if not response.is_started and not self.is_closed:
            message = b"Internal Server Error\n"
            head = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(message))]
            await response.send({"type": "http.response.start", "status": 500, "headers": head})
            await response.send({"type": "http.response.body", "body": message})
        if not response.is_complete:
            self._transport.abort()  # the client can't tell otherwise that the response is cut off
        exchange.lose()  # for an application that still waits for the client to disconnect
        self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        self._current = self._task = None
        self._since = self._door.now
        self._door.ended(self, exchange)
        if self.is_closed:
            return
        if exchange.is_last:
            self._is_over = True
            self._has_more = not exchange.is_complete
            self._arriving = None
            self._waiting.clear()
        self._go_on()

    def _is_head_too_large(self) -> bool:
        sizes = (len(name) + len(value) for name, value in self._headers)
        return len(self._url) + sum(sizes) > HEAD_BYTES_MAX

    def _ignore_upgrade(self, rest: bytes) -> None:
        """The parser does not read the body of a request that wants to upgrade. We speak HTTP/1.1
        only, so the request is parsed again without that wish, and is the last."""
        exchange = self._waiting.pop()
        lines = [b"%b %b HTTP/1.1" % (exchange.method.encode("ascii"), self._url)]
        lines += [b"%b: %b" % each for each in exchange.headers if each[0] not in _UPGRADE]
        self._arriving = None
        self._parser = HttpRequestParser(self)
        self.data_received(b"\r\n".join((*lines, b"connection: close", b"", rest)))

    def _cannot_parse(self) -> None:
        latest = self._waiting[-1] if self._waiting else self._current
        self._is_over = True
        if self._arriving is not None:
            self._arriving.lose()
            self._arriving = None
        elif latest is None or not latest.is_last:  # after the last, anything may follow
            self._refuse(_malformed())

    def _refuse(self, problem: Problem) -> None:
        """After the requests that have arrived."""
        self._is_over = True
        self._head_since = None
        self._refusal = problem

    def _close(self) -> None:
        """Tell the client, and wait until it stops sending."""
        if self._lingers_since is not None or self._transport.is_closing():
            return
        if self._refusal is not None:
            self._write_refusal(self._refusal)
        elif not self._has_more:
            self._transport.close()
            return
        self._lingers_since = self._door.now
        self.read_on()
        self._transport.write_eof()

    def _write_refusal(self, problem: Problem) -> None:
        request_id = str(uuid7())
        reply = problem.reply(request_id)
        own_headers = _own_headers(self._door.date, is_last=True)
        self._transport.write(_head(reply, request_id, own_headers) + reply.body)


@lru_cache(maxsize=4)
def _own_headers(date: bytes, is_last: bool) -> bytes:
    return b"date: %b\r\n%b" % (date, b"connection: close\r\n" if is_last else b"")


@lru_cache(maxsize=256)
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def _head(reply: Reply, request_id: str, own_headers: bytes) -> bytes:
    return b"%b%bcontent-type: %b\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b\r\n" % (
        status_line(reply.status),
        own_headers,
        reply.content_type,
        len(reply.body),
        request_id.encode("ascii"),
        _lines(reply.standing_headers + reply.headers),
    )


def _address(name: object) -> tuple[str, int] | None:
    """None for a Unix socket."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def _malformed() -> Problem:
    return Problem(ProblemCode.MALFORMED_REQUEST, "This is not a valid HTTP/1.1 request")


def _head_too_large() -> Problem:
    message = f"The address and the headers must not exceed {HEAD_BYTES_MAX} bytes"
    return Problem(ProblemCode.HEADERS_TOO_LARGE, message)


def _head_too_slow() -> Problem:
    message = f"The headers did not arrive within {HEAD_SECONDS_MAX:g} seconds"
    return Problem(ProblemCode.REQUEST_TIMEOUT, message)
