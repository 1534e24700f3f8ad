"""Raw clients of a server in this process, whose clock the test sets."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.parsing import read_body
from holdfast.entrypoints.api.http.routing import Edge
from holdfast.entrypoints.server.connection import Connection
from holdfast.entrypoints.server.connections import Connections
from holdfast.entrypoints.server.listener import Listener
from holdfast.entrypoints.server.proxies import TrustedProxies
from tests.api.world import KeptAttempts

WAIT_SECONDS_MAX = 20
LARGE = b"x" * 4_000_000

Answer = Callable[[Call, Receive], Awaitable[Reply]]


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)

    async def response(self, *, has_body: bool = True) -> Response:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers = {
                name: value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            body = b""
            if has_body and "content-length" in headers:
                body = await self.reader.readexactly(int(headers["content-length"]))
            elif has_body and headers.get("transfer-encoding") == "chunked":
                body = await self._chunks()
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", first)
        assert found is not None, first
        return Response(int(found[1]), headers, body)

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return body

    async def rest(self) -> bytes:
        """Everything the server sends until it closes the connection."""
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            return await self.reader.read()

    async def is_cut_off(self) -> bool:
        try:
            await self.rest()
        except ConnectionError:
            return True
        return False


@dataclass
class Host:
    connections: Connections
    port: int
    clients: list[Client] = field(default_factory=list)

    async def connect(self, **options: Any) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", self.port, **options))
        self.clients.append(client)
        return client

    def pass_time(self, seconds: float) -> None:
        self.connections.now += seconds
        for connection in self.connections:
            connection.check_time()

    async def until(self, is_met: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_SECONDS_MAX):
            while not is_met():
                await asyncio.sleep(0.001)


async def greet(call: Call, receive: Receive) -> Reply:
    return Reply(200, call.path.encode())


async def nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("expected API requests only")


@asynccontextmanager
async def hosting(
    answer: Answer = greet,
    rest: ASGIApp = nothing_else,
    connections_max: int = 100,
    proxies: TrustedProxies | None = None,
) -> AsyncIterator[Host]:
    connections = Connections(Edge(answer, KeptAttempts()), rest, connections_max, proxies)
    connections.date = b"Tue, 17 Nov 2026 12:00:00 GMT"
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    host = Host(connections, listening.getsockname()[1])
    listener = Listener(listening, partial(Connection, connections))
    try:
        yield host
    finally:
        for client in host.clients:
            client.writer.close()
        listener.close()


def run(test: Callable[[], Any]) -> None:
    """On the event loop of the server."""
    uvloop.run(test())


def on_the_loop(test: Callable[[], Any]) -> Callable[[], None]:
    @wraps(test)
    def running() -> None:
        run(test)

    return running


def get(path: str, *headers: str) -> str:
    return "\r\n".join((f"GET {path} HTTP/1.1", "Host: test", *headers, "", ""))


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


async def echo(call: Call, receive: Receive) -> Reply:
    body = call.body if call.body is not None else await read_body(call, receive, 10_000_000)
    return Reply(200, body)


async def problem_of(client: Client, status: int, error: str) -> None:
    """The next response, which is the last."""
    response = await client.response()
    assert response.status == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["connection"] == "close"
    assert response.headers["x-content-type-options"] == "nosniff"
    problem = json.loads(response.body)
    assert problem["error"] == error
    assert problem["request_id"] == response.headers["x-request-id"]
    assert await client.rest() == b""
