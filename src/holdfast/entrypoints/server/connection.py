"""An HTTP/1.1 connection.

The API answers with whole replies, so its requests do not go through ASGI: a general server needs
three times as much processor time for them. Everything else is served by an ASGI application.
"""

import asyncio
from collections import deque
from typing import cast

import structlog
from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
)
from uuid_utils import uuid7

from holdfast.entrypoints.api.http.exchange import Call, body_for
from holdfast.entrypoints.api.http.problems import Problem, unavailable
from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server.door import Door
from holdfast.entrypoints.server.exchange import Exchange, Headers, address_of
from holdfast.entrypoints.server.responses import (
    AsgiResponse,
    head_too_large,
    head_too_slow,
    malformed,
    own_headers,
    reply_head,
)

HEAD_BYTES_MAX = 64 * 1024
HEADERS_MAX = 100
HEAD_SECONDS_MAX = 10.0
BODY_BYTES_MAX = 10 * 1024 * 1024
BODY_SECONDS_MAX = 60.0
IDLE_SECONDS_MAX = 75.0
# Between two parts of a body, and for a client that does not read its response.
SILENT_SECONDS_MAX = 30.0
# How long a connection stays open for a client that still sends after its last response. Closing it
# at once could delete the response on its way.
LINGER_SECONDS_MAX = 2.0
# What is parsed at a time, and the requests that may wait: one read has up to 256 KB.
PIECE_BYTES = 16 * 1024
WAITING_MAX = 16
# A shared body, such as a seat map, is not copied for every client.
COPIED_BYTES_MAX = 16 * 1024

_SPECIAL_HEADERS = frozenset({b"expect", b"transfer-encoding"})
_UPGRADE = frozenset({b"connection", b"upgrade"})

_HEAD_TOO_LARGE = head_too_large(HEAD_BYTES_MAX, HEADERS_MAX)

_log = structlog.get_logger("holdfast.server")


class Connection(asyncio.Protocol):
    """Requests are answered in the order in which they arrive, one at a time."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._parser = HttpRequestParser(self)
        self._unparsed = b""
        self._url = b""
        self._headers: Headers = []
        self._special: Headers = []
        self._head_since: float | None = None
        self._head_bytes = 0  # without the piece that is being parsed
        self._framing_bytes = 0  # of chunks and trailers, since the last part of a body
        self._has_part = False
        self._arriving: Exchange | None = None  # until its body is complete
        self._body_since = 0.0
        self._waiting: deque[Exchange] = deque()
        self._current: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_over = False  # what else arrives is ignored
        self._has_more = False  # the client may still be sending
        self._refusal: Problem | None = None  # the last response, after all others
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
        self.client = address_of(transport.get_extra_info("peername"))
        self.server = address_of(transport.get_extra_info("sockname"))
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
        self._unparsed = b""
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._since = self._door.now
        self._unparsed = self._unparsed + data if self._unparsed else data
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
        self._special = []
        self._head_since = None if self._is_over else self._door.now
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._arriving is None:  # trailers are ignored
            name = name.lower()
            self._headers.append((name, value))
            if name in _SPECIAL_HEADERS:
                self._special.append((name, value.lower()))

    def on_headers_complete(self) -> None:
        self._head_since = None
        if self._is_over:
            return
        if self._is_head_too_large():
            self._refuse(_HEAD_TOO_LARGE)
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
        for name, value in self._special:
            if name == b"expect":
                exchange.wants_continue = value == b"100-continue" and not is_http_1_0
            elif value != b"chunked":
                self._refuse(malformed())
                return
        self._arriving = exchange
        self._body_since = self._door.now
        self._framing_bytes = 0
        self._waiting.append(exchange)

    def on_body(self, body: bytes) -> None:
        self._has_part = True
        if self._arriving is not None:
            self._arriving.feed(body)
            if self._arriving.size > BODY_BYTES_MAX:
                self._cut_off(self._arriving)

    def on_message_complete(self) -> None:
        if self._arriving is not None:
            self._arriving.complete()
            if self._arriving is self._current:
                self._door.is_busy(self)
            self._arriving = None

    # Exchanges call these.

    def write(self, data: bytes) -> None:
        if not self.is_closed:
            self._transport.write(data)

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
            or (self._is_over and not self._waiting and self._refusal is None)
        )
        return own_headers(self._door.date, exchange.is_last)

    def go_on(self) -> None:
        """Some of the body was used: there is room for more."""
        if self._unparsed or self._is_paused:
            self._go_on()

    # The process calls these.

    def shut_down(self) -> None:
        """Close the connection if it is idle. Otherwise it closes after its present request."""
        if self._current is None:
            self._transport.close()

    def stop_reading(self) -> None:
        if self._arriving is not None:
            self._cut_off(self._arriving)

    def abort(self) -> None:
        self._transport.abort()

    def check_time(self) -> None:
        """Call about once a second."""
        now = self._door.now
        silent_seconds = now - self._since
        if self._lingers_since is not None:
            is_unsent = self._transport.get_write_buffer_size() > 0
            seconds_max = SILENT_SECONDS_MAX if is_unsent else LINGER_SECONDS_MAX
            if now - self._lingers_since > seconds_max:
                self._transport.abort()
        elif self._unwritable is not None:
            unsent_bytes = self._transport.get_write_buffer_size()
            if unsent_bytes < self._unsent_bytes:
                self._since = now
            elif silent_seconds > SILENT_SECONDS_MAX:
                self._transport.abort()
            self._unsent_bytes = unsent_bytes
        elif self._is_paused:
            pass  # we are slow, not the client
        elif self._head_since is not None:
            if now - self._head_since > HEAD_SECONDS_MAX:
                self._refuse(head_too_slow(HEAD_SECONDS_MAX))
                self._go_on()
        elif self._arriving is not None:
            if silent_seconds > SILENT_SECONDS_MAX or now - self._body_since > BODY_SECONDS_MAX:
                self._cut_off(self._arriving)
        elif self._current is None and silent_seconds > IDLE_SECONDS_MAX:
            self._transport.abort()  # also if it is closing, and the client reads nothing

    def _go_on(self) -> None:
        """Parse what has arrived, as far as there is room, and start the next request."""
        if self._transport.is_closing():
            return
        while self._unparsed and not (self._is_over or self._is_full()):
            piece, self._unparsed = self._unparsed[:PIECE_BYTES], self._unparsed[PIECE_BYTES:]
            self._parse(piece)
        if self._current is None and self._unwritable is None:
            if self._waiting:
                self._start(self._waiting.popleft())
            elif self._is_over:
                self._close()
        if self._unparsed or self._is_paused or self._waiting:
            self._pause_or_resume()

    def _is_full(self) -> bool:
        """Whether more has arrived than can be used now."""
        is_ahead = self._arriving is not None and self._arriving.is_ahead
        return is_ahead or len(self._waiting) >= WAITING_MAX

    def _pause_or_resume(self) -> None:
        is_paused = bool(self._unparsed or self._waiting) and not self._is_over
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            if is_paused:
                self._transport.pause_reading()
                return
            self._since = self._body_since = self._door.now
            if self._head_since is not None:
                self._head_since = self._door.now
            self._transport.resume_reading()

    def _parse(self, piece: bytes) -> None:
        self._has_part = False
        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrade(piece[upgrade.args[0] :])
            return
        except HttpParserCallbackError:
            _log.exception("server.parser_failed")
            self._cannot_parse()
        except HttpParserError:
            self._cannot_parse()
        if self._head_since is not None:
            self._head_bytes += len(piece)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(_HEAD_TOO_LARGE)
        elif self._arriving is not None:
            self._framing_bytes = 0 if self._has_part else self._framing_bytes + len(piece)
            if self._framing_bytes > HEAD_BYTES_MAX:
                self._cut_off(self._arriving)

    def _is_head_too_large(self) -> bool:
        if not self._head_bytes:  # it fits into one piece
            return len(self._headers) > HEADERS_MAX
        sizes = (len(name) + len(value) for name, value in self._headers)
        is_long = len(self._url) + sum(sizes) > HEAD_BYTES_MAX
        return is_long or len(self._headers) > HEADERS_MAX

    def _ignore_upgrade(self, rest: bytes) -> None:
        """The parser does not read the body of a request that wants to upgrade. We speak HTTP/1.1
        only, so the request is parsed again without that wish, and is the last."""
        if self._is_over:
            return  # it was refused
        exchange = self._waiting.pop()
        self._arriving = None
        if exchange.method == "CONNECT":
            self._refuse(malformed())
            return
        version = b"1.0" if exchange.is_http_1_0 else b"1.1"
        lines = [b"%b %b HTTP/%b" % (exchange.method.encode("ascii"), self._url, version)]
        lines += [b"%b: %b" % each for each in exchange.headers if each[0] not in _UPGRADE]
        head = b"\r\n".join((*lines, b"connection: close", b"", b""))
        self._parser = HttpRequestParser(self)
        self._unparsed = head + rest + self._unparsed

    def _cannot_parse(self) -> None:
        latest = self._waiting[-1] if self._waiting else self._current
        if self._arriving is not None:
            self._cut_off(self._arriving)
        elif latest is None or not latest.is_last:
            self._refuse(malformed())
        self._is_over = True  # after the last request, anything may follow

    def _cut_off(self, exchange: Exchange) -> None:
        """Nothing more of this body will be read."""
        exchange.lose()
        self._arriving = None
        self._is_over = True

    def _refuse(self, problem: Problem) -> None:
        """After the requests that have arrived."""
        self._is_over = True
        self._head_since = None
        self._refusal = problem

    def _start(self, exchange: Exchange) -> None:
        self._current = exchange
        self._door.running.add(exchange)
        if exchange.is_complete:
            self._door.is_busy(self)
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
        call.on_delay = self._become_replaceable
        try:
            reply = await api.respond(call, exchange.receive)
            if not self.is_closed:
                head = reply_head(reply, call.request_id, self.own_headers(exchange))
                body = body_for(exchange.method, reply)
                if len(body) <= COPIED_BYTES_MAX:
                    self._transport.write(head + body)
                else:
                    self._transport.writelines((head, body))
            api.log_reply(call, reply)
        except BaseException:
            self._transport.abort()
            raise
        finally:
            self._end(exchange)

    def _become_replaceable(self) -> None:
        """The caller is refused after a delay, and may lose its connection to somebody else."""
        self._door.is_idle(self)

    async def _serve(self, exchange: Exchange) -> None:
        """By the ASGI application."""
        response = AsgiResponse(exchange)
        try:
            await self._door.rest(exchange.scope(), exchange.receive, response.send)
        except Exception:
            _log.exception("server.application_failed", method=exchange.method)
        try:
            if not response.is_started:
                await response.send_error()
        finally:
            if not response.is_complete:
                self._transport.abort()  # tells the client that the response is cut off
            exchange.lose()  # for an application that still waits for the client to disconnect
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        self._current = self._task = None
        self._since = self._door.now
        self._door.running.discard(exchange)
        self._door.is_idle(self)
        if self.is_closed:
            return
        if exchange.is_last:
            self._is_over = True
            self._has_more = not exchange.is_complete
            self._arriving = None
            self._head_since = None
            self._waiting.clear()
            self._unparsed = b""
        self._go_on()

    def _close(self) -> None:
        """Tell the client, and wait until it stops sending."""
        if self._lingers_since is not None:
            return
        if self._refusal is not None:
            self._write_refusal(self._refusal)
        elif not self._has_more:
            self._transport.close()
            return
        self._lingers_since = self._door.now
        self._unparsed = b""
        self._pause_or_resume()
        self._transport.write_eof()

    def _write_refusal(self, problem: Problem) -> None:
        request_id = str(uuid7())
        reply = problem.reply(request_id)
        head = reply_head(reply, request_id, own_headers(self._door.date, is_last=True))
        self._transport.write(head + reply.body)
