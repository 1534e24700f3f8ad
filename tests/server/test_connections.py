"""HTTP behaviour that clients rely on, and limits for hostile clients."""

import asyncio
import gc
import json
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send

from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.parsing import read_body
from holdfast.entrypoints.server.limits import (
    BODY_BUFFER_BYTES,
    BODY_BYTES_MAX,
    BODY_SECONDS_MAX,
    HEAD_BYTES_MAX,
    HEAD_SECONDS_MAX,
    HEADERS_MAX,
    IDLE_SECONDS_MAX,
    LINGER_SECONDS_MAX,
    PIECE_BYTES,
    PIPELINED_MAX,
    SILENT_SECONDS_MAX,
)
from tests.server.clients import Client, hosting, run

LARGE = b"x" * 4_000_000


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
async def test_a_body_that_nobody_reads_stops_arriving() -> None:
    async def answer(call: Call, receive: Receive) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(b"POST /api/x HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n")
        client.send(LARGE * 5)
        await host.until(lambda: any(each._is_paused for each in host.connections))
        ((exchange,),) = ([*host.connections.running],)
        assert BODY_BUFFER_BYTES < exchange.size < len(LARGE)


@on_the_loop
async def test_a_body_above_every_limit_is_cut_off() -> None:
    received = []

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            received.append(len(message["body"]))

    async with hosting(rest=read) as host:
        client = await host.connect()
        client.send(f"POST /page HTTP/1.1\r\nContent-Length: {100 * BODY_BYTES_MAX}\r\n\r\n")
        for _ in range(5):
            client.send(LARGE)
        assert (await client.response()).status == 500
        assert sum(received) <= BODY_BYTES_MAX


@pytest.mark.parametrize("seconds", [1, SILENT_SECONDS_MAX - 1])
def test_a_body_has_to_arrive_in_time(seconds: float) -> None:
    """However steadily it drips in."""

    async def test() -> None:
        async with hosting(echo) as host:
            client = await host.connect()
            client.send("POST /api/x HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
            await host.until(lambda: bool(host.connections.running))
            for _ in range(int(BODY_SECONDS_MAX / seconds) + 2):
                client.send("x")
                await asyncio.sleep(0.001)
                host.pass_time(seconds)
            assert (await client.response()).status == 400

    run(test)


@on_the_loop
async def test_trailers_are_ignored_and_limited() -> None:
    seen = []

    async def answer(call: Call, receive: Receive) -> Reply:
        await read_body(call, receive)
        seen.append(call.headers)
        return Reply(200, b"")

    chunked = "POST /api/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    async with hosting(answer) as host:
        client = await host.connect()
        client.send(chunked + "Authorization: Bearer x\r\n\r\n")
        assert (await client.response()).status == 200
        assert b"authorization" not in seen[0]
        client.send(chunked + "a: b\r\n" * HEAD_BYTES_MAX)
        assert (await client.response()).status == 400


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


@pytest.mark.parametrize("size", [HEAD_BYTES_MAX + PIECE_BYTES, 100 * HEAD_BYTES_MAX])
@pytest.mark.parametrize("start", ["GET /api/", "GET /api/x HTTP/1.1\r\nX-Long: "])
def test_headers_are_limited(start: str, size: int) -> None:
    async def test() -> None:
        async with hosting() as host:
            client = await host.connect()
            client.send(start + "x" * size)
            await problem_of(client, 431, "headers_too_large")

    run(test)


@on_the_loop
async def test_complete_headers_are_limited_too() -> None:
    async with hosting() as host:
        client = await host.connect()
        client.send(get("/api/x", "X-Long: " + "x" * HEAD_BYTES_MAX))
        await problem_of(client, 431, "headers_too_large")


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Long: " + "x" * 2 * HEAD_BYTES_MAX, "Connection: Upgrade", "Upgrade: h2c"],
        [f"X-{number}: 1" for number in range(HEADERS_MAX + 1)],
    ],
    ids=["of an upgrade", "in number"],
)
def test_headers_are_limited_after_other_requests(headers: list[str]) -> None:
    async def test() -> None:
        async with hosting(echo) as host:
            client = await host.connect()
            client.send(post("/api/first", b"1") + get("/api/x", *headers).encode())
            first = await client.response()
            assert first.body == b"1"
            assert "connection" not in first.headers, "another response follows"
            await problem_of(client, 431, "headers_too_large")

    run(test)


@on_the_loop
async def test_earlier_requests_do_not_count_towards_the_header_limit() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        request = post("/api/x", LARGE[:70_000])
        client.send(post("/api/x", LARGE[:16_000]) + get("/api/y", "X: " + "x" * 52_000).encode())
        assert [(await client.response()).status for _ in range(2)] == [200, 200]
        for _ in range(4):
            client.send(request + get("/api/y").encode()[:9])
            assert len((await client.response()).body) == 70_000
            client.send(get("/api/y")[9:])
            assert (await client.response()).status == 200


@on_the_loop
async def test_thousands_of_pipelined_requests_stay_mostly_unparsed() -> None:
    async with hosting() as host:
        client = await host.connect()
        client.send(get("/api/x") * 5_000)
        for _ in range(5_000):
            assert (await client.response()).status == 200
            assert all(len(each._pipelined) <= 2 * PIPELINED_MAX * 16 for each in host.connections)


@on_the_loop
async def test_slow_headers_are_refused() -> None:
    async with hosting() as host:
        client = await host.connect()
        for name in "abcd":
            client.send("GET /api/x HTTP/1.1\r\n" if name == "a" else f"{name}: 1\r\n")
            await asyncio.sleep(0.01)
            host.pass_time(HEAD_SECONDS_MAX / 3)
        host.pass_time(1)
        await problem_of(client, 408, "request_timeout")


@on_the_loop
async def test_headers_are_not_late_while_another_request_is_answered() -> None:
    is_released = asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        if call.path == "/api/slow":
            await is_released.wait()
        return Reply(200, b"")

    async with hosting(answer) as host:
        client = await host.connect()
        client.send(get("/api/slow") + get("/api/x") + get("/api/y")[:10])
        await host.until(lambda: any(each._is_paused for each in host.connections))
        client.send(get("/api/y")[10:])
        host.pass_time(HEAD_SECONDS_MAX * 3)
        is_released.set()
        assert [(await client.response()).status for _ in range(3)] == [200, 200, 200]


@on_the_loop
async def test_a_body_that_stops_arriving_is_cut_off() -> None:
    async with hosting(echo) as host:
        client = await host.connect()
        client.send("POST /api/x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel")
        await host.until(lambda: bool(host.connections.running))
        host.pass_time(SILENT_SECONDS_MAX + 1)
        response = await client.response()
    assert response.status == 400
    assert b"incomplete" in response.body


@on_the_loop
async def test_an_idle_connection_is_closed() -> None:
    async with hosting() as host:
        client = await host.connect()
        client.send(get("/api/x"))
        await client.response()
        host.pass_time(IDLE_SECONDS_MAX - 1)
        client.send(get("/api/y"))
        assert (await client.response()).status == 200
        host.pass_time(IDLE_SECONDS_MAX + 1)
        assert await client.rest() == b""


async def answer_large(call: Call, receive: Receive) -> Reply:
    return Reply(200, LARGE)


@on_the_loop
async def test_a_client_that_does_not_read_gets_one_response_at_a_time() -> None:
    started = []

    async def answer(call: Call, receive: Receive) -> Reply:
        started.append(call.path)
        return Reply(200, LARGE)

    async with hosting(answer) as host:
        client = await host.connect(limit=1024)
        client.send(get("/api/x") * 50)
        await host.until(lambda: bool(started))
        await asyncio.sleep(0.05)
        assert len(started) < 5
        host.pass_time(SILENT_SECONDS_MAX + 1)
        host.pass_time(SILENT_SECONDS_MAX + 1)
        await host.until(lambda: not [*host.connections])


@on_the_loop
async def test_a_closing_connection_ends_even_if_nobody_reads_its_response() -> None:
    size = 1_000

    async def answer(call: Call, receive: Receive) -> Reply:
        return Reply(200, LARGE[:size])

    async with hosting(answer) as host:
        client = await host.connect(limit=1024)
        cast("asyncio.Transport", client.writer.transport).pause_reading()
        while not any(each._transport.get_write_buffer_size() for each in host.connections):
            client.send(get("/api/x"))
            await asyncio.sleep(0.001)
            size = min(size * 2, 60_000)
        client.send(get("/api/x", "Connection: close"))
        await host.until(lambda: not host.connections.running)
        for _ in range(3):
            await asyncio.sleep(0.01)
            host.pass_time(IDLE_SECONDS_MAX + 1)
        await host.until(lambda: not [*host.connections])


@on_the_loop
async def test_a_client_that_reads_slowly_gets_everything() -> None:
    async with hosting(answer_large) as host:
        client = await host.connect(limit=1024)
        client.send(get("/api/x") + get("/api/y"))
        for _ in range(2):
            assert (await client.response()).body == LARGE
            host.pass_time(SILENT_SECONDS_MAX - 1)


@on_the_loop
async def test_a_new_connection_replaces_the_one_that_has_been_idle_longest() -> None:
    async with hosting(connections_max=2) as host:
        first, second = await host.connect(), await host.connect()
        for client in (second, first):
            client.send(get("/api/x"))
            await client.response()
        third = await host.connect()
        third.send(get("/api/x"))
        assert (await third.response()).status == 200
        await second.is_cut_off()
        first.send(get("/api/x"))
        assert (await first.response()).status == 200


@on_the_loop
async def test_connections_that_were_never_used_are_replaced_first() -> None:
    async with hosting(connections_max=2) as host:
        used, unused = await host.connect(), await host.connect()
        used.send(get("/api/x"))
        await used.response()
        await (await host.connect()).writer.drain()
        await unused.is_cut_off()
        used.send(get("/api/x"))
        assert (await used.response()).status == 200


@pytest.mark.parametrize(
    "occupying",
    ["POST /api/body HTTP/1.1\r\nContent-Length: 100\r\n\r\nx", get("/api/delayed")],
    ids=["an incomplete request", "a delayed refusal"],
)
def test_unfinished_requests_cannot_keep_others_out(occupying: str) -> None:
    async def answer(call: Call, receive: Receive) -> Reply:
        if call.path == "/api/delayed":
            assert call.on_delay is not None
            call.on_delay()
            await asyncio.Event().wait()
        if call.path == "/api/body":
            await read_body(call, receive)
        return Reply(200, b"")

    async def test() -> None:
        async with hosting(answer, connections_max=3) as host:
            for _ in range(3):
                (await host.connect()).send(occupying)
            await host.until(lambda: len(host.connections.running) == 3)
            newcomer = await host.connect()
            newcomer.send(get("/api/x"))
            assert (await newcomer.response()).status == 200

    run(test)


@on_the_loop
async def test_a_connection_beyond_the_limit_is_refused_if_all_are_busy() -> None:
    is_released = asyncio.Event()

    async def answer(call: Call, receive: Receive) -> Reply:
        await is_released.wait()
        return Reply(200, b"")

    async with hosting(answer, connections_max=1) as host:
        busy = await host.connect()
        busy.send(get("/api/x"))
        await host.until(lambda: bool(host.connections.running))
        await problem_of(await host.connect(), 503, "service_unavailable")
        is_released.set()
        assert (await busy.response()).status == 200


@on_the_loop
async def test_a_refused_client_that_sends_at_once_can_read_why() -> None:
    async def answer(call: Call, receive: Receive) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    async with hosting(answer, connections_max=1) as host:
        (await host.connect()).send(get("/api/x"))
        await host.until(lambda: bool(host.connections.running))
        refused = [await host.connect() for _ in range(5)]
        for client in refused:
            client.send(post("/api/x", b"{}"))
        for client in refused:
            assert (await client.response()).status == 503
        await host.until(lambda: not host.connections.refused)


@on_the_loop
async def test_closed_connections_leave_nothing_in_memory() -> None:
    """Without waiting for the garbage collector, which looks for cycles rarely."""
    gc.disable()
    try:
        async with hosting(echo) as host:
            client = await host.connect()
            client.send(get("/api/x"))
            await client.response()
            client.send("POST /api/x HTTP/1.1\r\nContent-Length: 50\r\n\r\nhello")
            await host.until(lambda: bool(host.connections.running))
            (connection,) = (weakref.ref(each) for each in host.connections)
            client.writer.close()
            await host.until(lambda: not host.connections.running)
            await host.until(lambda: connection() is None)
    finally:
        gc.enable()


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


# Everything but the API is an ASGI application.


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    headers = [(b"X-Path", scope["path"].encode()), (b"x-query", scope["query_string"])]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in (body[:2], b"", body[2:]):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


@on_the_loop
async def test_pages_are_streamed_in_chunks() -> None:
    async with hosting(rest=stream) as host:
        client = await host.connect()
        client.send(post("/page?a=b", b"hello") + post("/other", b""))
        response = await client.response()
        assert response.headers["transfer-encoding"] == "chunked"
        assert response.headers["x-path"] == "/page"
        assert response.headers["x-query"] == "a=b"
        assert response.body == b"hello"
        assert (await client.response()).body == b""


@on_the_loop
async def test_a_page_for_http_1_0_ends_when_the_connection_closes() -> None:
    async with hosting(rest=stream) as host:
        client = await host.connect()
        client.send("POST /page HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")
        response = await client.response()
        assert "transfer-encoding" not in response.headers
        assert await client.rest() == b"hello"


@on_the_loop
async def test_an_error_in_a_page_is_a_500_without_details() -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("a secret")

    async with hosting(rest=fail) as host:
        client = await host.connect()
        client.send(get("/page"))
        response = await client.response()
    assert response.status == 500
    assert b"secret" not in response.body


@on_the_loop
async def test_a_page_that_fails_half_way_is_cut_off() -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        head = [(b"content-length", b"10")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError

    async with hosting(rest=fail) as host:
        client = await host.connect()
        client.send(get("/page"))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.response()


@pytest.mark.parametrize("length", [b"3", b"5"])
def test_a_page_with_the_wrong_length_is_cut_off(length: bytes) -> None:
    """The client would confuse this response with the next."""
    executed = []

    async def answer(call: Call, receive: Receive) -> Reply:
        executed.append(call.path)
        return Reply(200, b"")

    async def lie(scope: Scope, receive: Receive, send: Send) -> None:
        head = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b"four"})

    async def test() -> None:
        async with hosting(answer, lie) as host:
            client = await host.connect()
            client.send(get("/page") + get("/api/after"))
            await host.until(lambda: not [*host.connections])

    run(test)
    assert not executed, "no client would get the response"


@on_the_loop
async def test_a_page_that_is_cancelled_frees_its_connection() -> None:
    async def cancel(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    async with hosting(rest=cancel) as host:
        client = await host.connect()
        client.send(get("/page"))
        await host.until(lambda: not host.connections.running and not [*host.connections])


@on_the_loop
async def test_a_page_may_wait_for_its_client_after_its_response() -> None:
    heard = []

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})
        heard.append((await receive())["type"])

    async with hosting(rest=wait) as host:
        client = await host.connect()
        head = "POST /page HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        client.send(head)
        assert (await client.response()).body == b"done"
        await host.until(lambda: not host.connections.running)
    assert heard == ["http.disconnect"]


@on_the_loop
async def test_a_page_learns_that_its_client_disconnected() -> None:
    heard = []

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append((await receive())["type"])
        heard.append((await receive())["type"])

    async with hosting(rest=wait) as host:
        client = await host.connect()
        client.send(get("/page"))
        await host.until(lambda: bool(heard))
        client.writer.close()
        await host.until(lambda: not host.connections.running)
    assert heard == ["http.request", "http.disconnect"]
