"""Clients that are slow, send too much, or keep connections for themselves."""

import asyncio
import gc
import weakref
from typing import cast

import pytest
from starlette.types import Receive

from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.parsing import read_body
from holdfast.entrypoints.server.limits import (
    BODY_BUFFER_BYTES,
    BODY_SECONDS_MAX,
    HEAD_BYTES_MAX,
    HEAD_SECONDS_MAX,
    HEADERS_MAX,
    IDLE_SECONDS_MAX,
    PIECE_BYTES,
    PIPELINED_MAX,
    SILENT_SECONDS_MAX,
)
from tests.server.clients import LARGE, echo, get, hosting, on_the_loop, post, problem_of, run


async def answer_large(call: Call, receive: Receive) -> Reply:
    return Reply(200, LARGE)


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
