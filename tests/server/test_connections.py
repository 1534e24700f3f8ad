"""HTTP behaviour that clients rely on."""

import asyncio

import pytest
from starlette.types import Receive

from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.server.limits import (
    LINGER_SECONDS_MAX,
)
from tests.server.clients import LARGE, echo, get, hosting, on_the_loop, post, problem_of, run


@on_the_loop
async def test_pipelined_requests_are_answered_one_by_one_in_order() -> None:
    is_released = asyncio.Event()
    started = []

    async def answer(call: Call, receive: Receive) -> Reply:
        started.append(call.path)
        if call.path == "/api/first":
            await is_released.wait()
        return Reply(200, call.path.encode())

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(get("/api/first") + get("/api/second?x=1") + get("/api/third"))
        await host.until(lambda: bool(started))
        await asyncio.sleep(0.01)
        assert started == ["/api/first"]
        is_released.set()
        bodies = [(await client.response()).body for _ in range(3)]
    assert bodies == [b"/api/first", b"/api/second", b"/api/third"]


@on_the_loop
async def test_a_request_may_arrive_byte_by_byte() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        for byte in post("/api/x", b"hello"):
            client.send(bytes([byte]))
            await client.writer.drain()
            await asyncio.sleep(0)
        response = await client.response()
    assert (response.status, response.body) == (200, b"hello")
    assert response.headers["date"].endswith("GMT")


@on_the_loop
async def test_a_large_body_is_read_as_the_application_asks_for_it() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        client.send(post("/api/x", LARGE))
        assert (await client.response()).body == LARGE
        client.send(get("/api/again"))
        assert (await client.response()).body == b""


@on_the_loop
async def test_a_client_that_still_sends_can_read_the_refusal() -> None:
    async def answer(call: Call, receive: Receive) -> Reply:
        return Reply(413, b"too large")

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(b"POST /api/x HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n")
        for _ in range(20):
            client.send(LARGE)
        response = await client.response()
        assert (response.status, response.body) == (413, b"too large")
        assert response.headers["connection"] == "close"
        host.pass_time(LINGER_SECONDS_MAX + 1)
        await host.until(lambda: not [*host.connections])


@on_the_loop
async def test_a_client_that_expects_100_continue_gets_it() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        head = "POST /api/x HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n"
        client.send(head)
        assert (await client.response()).status == 100
        client.send("ok")
        assert (await client.response()).body == b"ok"


@on_the_loop
async def test_a_response_to_head_has_no_body() -> None:
    async with hosting() as host:
        client = await host.connect()
        client.send(get("/api/x").replace("GET", "HEAD") + get("/api/y"))
        assert (await client.response(has_body=False)).headers["content-length"] == "6"
        assert (await client.response()).body == b"/api/y"


@pytest.mark.parametrize(
    "request_text",
    [get("/api/x", "Connection: close"), "GET /api/x HTTP/1.0\r\n\r\n"],
    ids=["close", "HTTP/1.0"],
)
def test_the_connection_closes_if_the_client_wants_that(request_text: str) -> None:
    async def test() -> None:
        async with hosting() as host:
            client = await host.connect()
            client.send(request_text + get("/api/ignored"))
            assert (await client.response()).headers["connection"] == "close"
            assert await client.rest() == b""

    run(test)


@on_the_loop
async def test_an_upgrade_is_ignored() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        client.send(post("/api/x", b"body", "Connection: Upgrade", "Upgrade: h2c"))
        response = await client.response()
        assert (response.status, response.body) == (200, b"body")
        assert await client.rest() == b""


@on_the_loop
async def test_an_upgrade_among_other_requests_is_ignored() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        wish = ("Connection: Upgrade", "Upgrade: websocket")
        client.send(post("/api/x", b"first") + post("/api/y", b"second", *wish) * 3)
        assert (await client.response()).body == b"first"
        assert (await client.response()).body == b"second"
        assert await client.rest() == b""


@pytest.mark.parametrize("behind", [b"", b"x" * 300_000])
def test_connect_is_refused(behind: bytes) -> None:
    async def test() -> None:
        async with hosting() as host:
            client = await host.connect()
            client.send(b"CONNECT a:1 HTTP/1.1\r\n\r\n" + behind)
            await problem_of(client, 400, "malformed_request")

    run(test)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("http://example.com/api/x?y=1", "/api/x"),
        ("/api/%C3%A9#part", "/api/é"),
        ("/%61pi/x", "/api/x"),
    ],
)
def test_every_form_of_an_address_leads_to_the_api(address: str, path: str) -> None:
    async def test() -> None:
        async with hosting() as host:
            client = await host.connect()
            client.send(get(address))
            assert (await client.response()).body.decode() == path

    run(test)


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"GET /api/x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /api/x HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /api/x HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"GET /api/x HTTP/1.1\r\nX: \x00\r\n\r\n",
        b"GET /api/x HTTP/9.9\r\n\r\n",
        b"GET /api/x HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
    ],
    ids=lambda garbage: repr(garbage[:30]),
)
def test_a_malformed_request_gets_a_problem(garbage: bytes) -> None:
    async def test() -> None:
        async with hosting() as host:
            client = await host.connect()
            client.send(get("/api/before").encode() + garbage)
            assert (await client.response()).body == b"/api/before"
            await problem_of(client, 400, "malformed_request")

    run(test)


@on_the_loop
async def test_a_client_that_hangs_up_cancels_nothing() -> None:
    is_released, is_done = asyncio.Event(), asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        await is_released.wait()
        is_done.set()
        return Reply(200, b"")

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(post("/api/x", b"{}"))
        await host.until(lambda: bool(host.connections.running))
        client.writer.transport.abort()
        await host.until(lambda: not [*host.connections])
        is_released.set()
        await host.until(is_done.is_set)
        await host.until(lambda: not host.connections.running)


@on_the_loop
async def test_the_last_response_arrives_although_others_are_pipelined() -> None:
    """Closing a connection with unread data would delete the response."""
    is_released = asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        await is_released.wait()
        return Reply(200, b"")

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(get("/api/x") * 3)
        await host.until(lambda: any(each._is_paused for each in host.connections))
        client.send(get("/api/x") * 3 + "garbage")
        await asyncio.sleep(0.01)
        host.connections.is_closing = True
        for connection in host.connections:
            connection.shut_down()
        is_released.set()
        await host.until(lambda: not host.connections.running)
        for connection in host.connections:
            connection.shut_down()
        assert (await client.response()).status == 200
        assert await client.rest() == b"", "no second response follows the last"


@on_the_loop
async def test_no_refusal_follows_the_last_response() -> None:
    is_released = asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        await is_released.wait()
        return Reply(200, b"")

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(get("/api/x"))
        await host.until(lambda: bool(host.connections.running))
        client.send("garbage\r\n\r\n")
        await host.until(lambda: any(each._refusal for each in host.connections))
        host.connections.is_closing = True
        is_released.set()
        assert (await client.response()).headers["connection"] == "close"
        assert await client.rest() == b""


@on_the_loop
async def test_at_shutdown_the_current_request_is_answered() -> None:
    is_released = asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        await is_released.wait()
        return Reply(200, b"")

    async with hosting(answer) as host:
        busy, idle = await host.connect(), await host.connect()
        busy.send(get("/api/x"))
        await host.until(lambda: bool(host.connections.running))
        host.connections.is_closing = True
        for connection in host.connections:
            connection.shut_down()
        assert await idle.rest() == b""
        is_released.set()
        assert (await busy.response()).headers["connection"] == "close"
        assert await busy.rest() == b""
