"""An HTTP/1.1 connection.

The API answers with whole replies, so its requests do not go through ASGI: a general-purpose server
needs about two and a half times the processor time. An ASGI application serves everything else.
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

from holdfast.entrypoints.api.http.exchange import body_for
from holdfast.entrypoints.api.http.problems import Problem, unavailable
from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server import limits
from holdfast.entrypoints.server.connections import Connections
from holdfast.entrypoints.server.exchange import Exchange, Headers, address_of
from holdfast.entrypoints.server.responses import (
    AsgiResponse,
    head_too_large,
    head_too_slow,
    malformed,
    own_headers,
    reply_head,
    write_reply,
)

_SPECIAL_HEADERS = frozenset({b"expect", b"transfer-encoding"})
_HEAD_TOO_LARGE = head_too_large(limits.HEAD_BYTES_MAX, limits.HEADERS_MAX)
_log = structlog.get_logger("holdfast.server")


class Connection(asyncio.Protocol):
    """Requests are answered in the order in which they arrive, one at a time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._parser = HttpRequestParser(self)
        self._unparsed = b""
        self._url = b""
        self._headers: Headers = []
        self._special: Headers = []
        self._head_since: float | None = None
        self._head_bytes = 0  # without the pieces in which it begins and ends
        self._has_head_begun = False  # in this piece
        self._framing_bytes = 0  # of chunks and trailers, since the last part of a body
        self._has_part = False
        self._arriving: Exchange | None = None  # until its body is complete
        self._body_since = 0.0
        self._pipelined: deque[Exchange] = deque()
        self._current: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_over = False  # ignore further input
        self._has_more = False  # the client may still be sending
        self._refusal: Problem | None = None  # the last response, after all others
        self._since = connections.now  # when the client last sent or read something
        self._lingers_since: float | None = None
        self._unwritable: asyncio.Event | None = None
        self._unsent_bytes = 0
        self._is_paused = False
        self._paused_at = 0.0
        self._is_refused = False
        self.is_closed = False
        self.proxies = connections.proxies
        self.client: tuple[str, int] | None = None  # the peer, perhaps a proxy
        self.server: tuple[str, int] | None = None

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.client = address_of(transport.get_extra_info("peername"))
        self.server = address_of(transport.get_extra_info("sockname"))
        if not self._connections.add(self):
            self._refuse_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._connections.remove(self)
        for exchange in (self._current, self._arriving):
            if exchange is not None:
                exchange.lose()
        self._pipelined.clear()
        self._unparsed = b""
        self._arriving = None
        self._connections.refused -= self._is_refused
        del self._parser  # it refers to this connection, and such cycles are collected rarely
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            self._transport.close()
        if self._is_over:
            return
        self._since = self._connections.now
        self._unparsed = self._unparsed + data if self._unparsed else data
        self._go_on()

    def pause_writing(self) -> None:
        self._since = self._connections.now
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
        self._head_since = None if self._is_over else self._connections.now
        self._head_bytes = 0
        self._has_head_begun = True

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
        self._body_since = self._connections.now
        self._framing_bytes = 0
        self._pipelined.append(exchange)

    def on_body(self, body: bytes) -> None:
        self._has_part = True
        if self._arriving is not None:
            self._arriving.feed(body)
            if self._arriving.size > limits.BODY_BYTES_MAX:
                self._cut_off(self._arriving)

    def on_message_complete(self) -> None:
        if self._arriving is not None:
            self._arriving.complete()
            if self._arriving is self._current and not self._arriving.is_replaceable:
                self._connections.mark_busy(self)
            self._arriving = None

    # Exchanges call these.

    def write(self, data: bytes) -> None:
        if not self.is_closed:
            self._transport.write(data)

    async def until_writable(self) -> None:
        """Wait until the client has read enough."""
        if self._unwritable is not None:
            await self._unwritable.wait()

    def own_headers(self, exchange: Exchange) -> bytes:
        """The Date and Connection headers. Also decides whether the connection closes after this
        request: because the client asked, the process is stopping, or part of the request is
        missing."""
        exchange.wants_continue = False
        exchange.is_last = (
            exchange.is_last
            or not exchange.is_complete
            or self._connections.is_closing
            or (self._is_over and not self._pipelined and self._refusal is None)
        )
        return own_headers(self._connections.date, exchange.is_last)

    def go_on(self) -> None:
        """Some of the body was used: there is room for more."""
        if self._unparsed or self._is_paused:
            self._go_on()

    # The process calls these.

    def shut_down(self) -> None:
        """Close the connection if it is idle. Otherwise it closes after its current request."""
        if self._current is None and self._lingers_since is None:
            self._transport.close()

    def stop_reading(self) -> None:
        if self._arriving is not None:
            self._cut_off(self._arriving)

    def abort(self) -> None:
        self._transport.abort()

    def check_time(self) -> None:
        """Call about once a second."""
        now = self._connections.now
        silent_seconds = now - self._since
        if self._lingers_since is not None:
            is_unsent = self._transport.get_write_buffer_size() > 0
            seconds_max = limits.SILENT_SECONDS_MAX if is_unsent else limits.LINGER_SECONDS_MAX
            if now - self._lingers_since > seconds_max:
                self._transport.abort()
        elif self._unwritable is not None:
            unsent_bytes = self._transport.get_write_buffer_size()
            if unsent_bytes < self._unsent_bytes:
                self._since = now
            elif silent_seconds > limits.SILENT_SECONDS_MAX:
                self._transport.abort()
            self._unsent_bytes = unsent_bytes
        elif self._is_paused:
            pass  # we are slow, not the client
        elif self._head_since is not None:
            if now - self._head_since > limits.HEAD_SECONDS_MAX:
                self._refuse(head_too_slow(limits.HEAD_SECONDS_MAX))
                self._go_on()
        elif self._arriving is not None:
            if (
                silent_seconds > limits.SILENT_SECONDS_MAX
                or now - self._body_since > limits.BODY_SECONDS_MAX
            ):
                self._cut_off(self._arriving)
        elif self._current is None and silent_seconds > limits.IDLE_SECONDS_MAX:
            self._transport.abort()  # also if it is closing, and the client reads nothing

    def _go_on(self) -> None:
        """Parse what has arrived, as far as there is room, and start the next request."""
        if self._transport.is_closing():
            return
        while self._unparsed and not (self._is_over or self._is_full()):
            piece, self._unparsed = (
                self._unparsed[: limits.PIECE_BYTES],
                self._unparsed[limits.PIECE_BYTES :],
            )
            self._parse(piece)
        if self._current is None and self._unwritable is None:
            if self._pipelined:
                self._start(self._pipelined.popleft())
            elif self._is_over:
                self._close()
        if self._unparsed or self._is_paused or self._pipelined:
            self._pause_or_resume()

    def _is_full(self) -> bool:
        """Whether more has arrived than can be used now."""
        is_ahead = self._arriving is not None and self._arriving.is_ahead
        return is_ahead or len(self._pipelined) >= limits.PIPELINED_MAX

    def _pause_or_resume(self) -> None:
        is_paused = bool(self._unparsed or self._pipelined) and not self._is_over
        if is_paused != self._is_paused:
            now = self._connections.now
            self._is_paused = is_paused
            if is_paused:
                self._paused_at = now
                self._transport.pause_reading()
                return
            self._since = now
            self._body_since += now - self._paused_at
            if self._head_since is not None:
                self._head_since += now - self._paused_at
            self._transport.resume_reading()

    def _parse(self, piece: bytes) -> None:
        self._has_part = self._has_head_begun = False
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
            self._head_bytes += 0 if self._has_head_begun else len(piece)
            if self._head_bytes > limits.HEAD_BYTES_MAX:
                self._refuse(_HEAD_TOO_LARGE)
        elif self._arriving is not None:
            self._framing_bytes = 0 if self._has_part else self._framing_bytes + len(piece)
            if self._framing_bytes > limits.HEAD_BYTES_MAX:
                self._cut_off(self._arriving)

    def _is_head_too_large(self) -> bool:
        if not self._head_bytes:  # it fits into two pieces
            return len(self._headers) > limits.HEADERS_MAX
        sizes = (len(name) + len(value) for name, value in self._headers)
        is_long = len(self._url) + sum(sizes) > limits.HEAD_BYTES_MAX
        return is_long or len(self._headers) > limits.HEADERS_MAX

    def _ignore_upgrade(self, rest: bytes) -> None:
        """The parser does not read the body of an upgrade request. We speak only HTTP/1.1, so parse
        it again without its upgrade headers, as the last request."""
        if self._is_over:
            return  # it was refused
        exchange = self._pipelined.pop()
        self._arriving = None
        if exchange.method == "CONNECT":
            self._refuse(malformed())
            return
        self._parser = HttpRequestParser(self)
        self._unparsed = exchange.head_without_upgrade() + rest + self._unparsed

    def _cannot_parse(self) -> None:
        latest = self._pipelined[-1] if self._pipelined else self._current
        if self._arriving is not None:
            self._cut_off(self._arriving)
        elif latest is None or not latest.is_last:
            self._refuse(malformed())
        self._is_over = True  # ignore bytes after the last request

    def _cut_off(self, exchange: Exchange) -> None:
        """Nothing more of this body will be read."""
        exchange.lose()
        self._arriving = None
        self._is_over = True

    def _refuse(self, problem: Problem) -> None:
        """Send this problem after the responses to earlier requests, then close."""
        self._is_over = True
        self._head_since = None
        self._refusal = problem

    def _start(self, exchange: Exchange) -> None:
        self._current = exchange
        self._connections.running.add(exchange)
        if exchange.is_complete:
            self._connections.mark_busy(self)
        api, path = self._connections.api, exchange.path
        if api is not None and (path.startswith(self._connections.api_paths) or path == api.prefix):
            answering = self._reply(api, exchange)
        else:
            answering = self._serve(exchange)
        self._task = asyncio.get_running_loop().create_task(answering)

    async def _reply(self, api: Edge, exchange: Exchange) -> None:
        try:
            call = exchange.call()
            call.on_delay = self._become_replaceable
            reply = await api.respond(call, exchange.receive)
            if not self.is_closed:
                head = reply_head(reply, call.request_id, self.own_headers(exchange))
                write_reply(self._transport, head, body_for(exchange.method, reply))
            api.log_reply(call, reply)
        except BaseException:
            self._transport.abort()
            raise
        finally:
            self._end(exchange)

    def _become_replaceable(self) -> None:
        """The caller is refused after a delay, and may lose its connection to somebody else."""
        if self._current is not None:
            self._current.is_replaceable = True
        self._connections.mark_idle(self)

    async def _serve(self, exchange: Exchange) -> None:
        """Answer through the ASGI application."""
        response = AsgiResponse(exchange)
        try:
            try:
                await self._connections.rest(exchange.scope(), exchange.receive, response.send)
            except Exception:
                _log.exception("server.application_failed", method=exchange.method)
            if not response.is_started:
                await response.send_error()
        finally:
            if not response.is_complete:
                self._transport.abort()  # tells the client that the response is cut off
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        self._current = self._task = None
        self._since = self._connections.now
        self._connections.running.discard(exchange)
        self._connections.mark_idle(self)
        if self.is_closed:
            return
        if exchange.is_last:
            self._is_over = True
            self._has_more = not exchange.is_complete or self._is_paused
            self._refusal = None
            self._arriving = None
            self._head_since = None
            self._pipelined.clear()
            self._unparsed = b""
        self._go_on()

    def _refuse_connection(self) -> None:
        """If it were closed before its request has arrived, the client would lose the response."""
        self._is_over = True
        self._write_refusal(unavailable())
        if self._connections.refused >= limits.REFUSED_MAX:
            self._transport.close()
            return
        self._connections.refused += 1
        self._is_refused = True
        asyncio.get_running_loop().call_later(limits.LINGER_SECONDS_MAX, self._transport.abort)

    def _close(self) -> None:
        """Close. If the client may still be sending, stay open for a moment so that it can read the
        last response."""
        if self._lingers_since is not None:
            return
        if self._refusal is not None:
            self._write_refusal(self._refusal)
        elif not self._has_more:
            self._transport.close()
            return
        self._lingers_since = self._connections.now
        self._unparsed = b""
        self._pause_or_resume()
        self._transport.write_eof()

    def _write_refusal(self, problem: Problem) -> None:
        request_id = str(uuid7())
        reply = problem.reply(request_id)
        head = reply_head(reply, request_id, own_headers(self._connections.date, is_last=True))
        self._transport.write(head + reply.body)
        _log.info("server.refused", code=problem.code.value, request_id=request_id)
