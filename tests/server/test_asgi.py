"""Everything but the API is an ASGI application."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.server.limits import (
    BODY_BYTES_MAX,
)
from tests.server.clients import LARGE, get, hosting, on_the_loop, post, run


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    headers = [(b"X-Path", scope["path"].encode()), (b"x-query", scope["query_string"])]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in (body[:2], b"", body[2:]):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


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
