"""Formats and writes responses."""

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus

from starlette.types import Message

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import SAFE_HEADERS, Reply
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.server.exchange import Exchange

_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode("ascii"))
    for status in HTTPStatus
}
_NO_CONTENT = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# A larger body may be shared, such as a seat map, and is not copied for every client.
_COPIED_BYTES_MAX = 16 * 1024
_LAST_CHUNK = b"0\r\n\r\n"
_MALFORMED = (
    "This is not a valid HTTP/1.1 request. Check its method and headers, and don't use TLS or"
    " HTTP/2 on this port"
)


def status_line(status: int) -> bytes:
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


@lru_cache(maxsize=4)
def own_headers(date: bytes, is_last: bool) -> bytes:
    return b"date: %b\r\n%b" % (date, b"connection: close\r\n" if is_last else b"")


@lru_cache(maxsize=256)
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def reply_head(reply: Reply, request_id: str, own: bytes) -> bytes:
    return b"%b%bcontent-type: %b\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b\r\n" % (
        status_line(reply.status),
        own,
        reply.content_type,
        len(reply.body),
        request_id.encode("ascii"),
        _lines(reply.standing_headers + reply.headers),
    )


def write_reply(transport: asyncio.Transport, head: bytes, body: bytes) -> None:
    if len(body) <= _COPIED_BYTES_MAX:
        transport.write(head + body)
    else:
        transport.writelines((head, body))


def malformed() -> Problem:
    return Problem(ProblemCode.MALFORMED_REQUEST, _MALFORMED)


def head_too_large(bytes_max: int, headers_max: int) -> Problem:
    message = f"Send at most {headers_max} headers, and {bytes_max} bytes of URL and headers"
    return Problem(ProblemCode.HEADERS_TOO_LARGE, message)


def head_too_slow(seconds_max: float) -> Problem:
    message = f"The headers did not arrive within {seconds_max:g} seconds. Retry the request"
    return Problem(ProblemCode.REQUEST_TIMEOUT, message)


class AsgiResponse:
    """Writes the response of an ASGI application."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._head = b""  # until the first part of the body
        self._is_chunked = False
        self._has_body = True
        self._left_bytes: int | None = None  # of the declared length
        self.is_started = False
        self.is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        elif not self.is_complete:
            await self._exchange.connection.until_writable()
            self._write(message.get("body", b""), is_last=not message.get("more_body", False))

    async def send_error(self) -> None:
        message = b"Internal Server Error\n"
        head = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(message))]
        self._start(HTTPStatus.INTERNAL_SERVER_ERROR, head)
        self._write(message, is_last=True)

    def _write(self, body: bytes, *, is_last: bool) -> None:
        if not self._has_body:
            body = b""
        if self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body = chunk + (_LAST_CHUNK if is_last else b"")
        elif self._left_bytes is not None:
            self._left_bytes -= len(body)
        self._exchange.connection.write(self._head + body)
        self._head = b""
        # With a wrong length, the client would confuse this response with the next.
        self.is_complete = is_last and not self._left_bytes
        if self.is_complete:
            self._exchange.lose()  # for an application that waits for the client to disconnect

    def _start(self, status: int, sent: Iterable[tuple[bytes, bytes]]) -> None:
        exchange = self._exchange
        headers = [(name.lower(), value) for name, value in sent]
        given = dict(headers)
        headers += [header for header in SAFE_HEADERS if header[0] not in given]
        length = given.get(b"content-length")
        self.is_started = True
        self._has_body = exchange.method != "HEAD" and status not in _NO_CONTENT
        if self._has_body and length is not None:
            self._left_bytes = int(length)
        elif self._has_body and not exchange.is_http_1_0:
            self._is_chunked = True
            headers.append((b"transfer-encoding", b"chunked"))
        elif self._has_body:
            exchange.is_last = True  # the end of the connection is the end of the body
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        own_headers = exchange.connection.own_headers(exchange)
        self._head = b"%b%b%b\r\n" % (status_line(status), own_headers, lines)
