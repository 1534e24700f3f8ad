"""Properties of every answer, whatever the route."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from structlog.testing import capture_logs

from holdfast.entrypoints.api.http import parsing
from holdfast.entrypoints.api.http.routing import Edge
from tests.api.world import KeptAttempts, World, hold_body


@pytest.mark.parametrize("request_id", ["a", "A-b_c.9", "x" * 128])
def test_the_callers_request_id_is_echoed(world: World, request_id: str) -> None:
    answer = world.call("GET", "/api/holds", headers={"X-Request-ID": request_id})
    assert answer.headers["x-request-id"] == request_id


@pytest.mark.parametrize("request_id", ["", "x" * 129, "a b", "a/b", "<script>", "ü"])
def test_a_harmful_request_id_is_replaced(world: World, request_id: str) -> None:
    answer = world.call("GET", "/api/nowhere", headers={"X-Request-ID": request_id.encode()})
    assert len(answer.headers["x-request-id"]) == 36
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_answers_forbid_caching_framing_sniffing_and_scripts(world: World) -> None:
    for path in ("/api/holds", "/api/nowhere", "/api/schema"):
        headers = world.call("GET", path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]


def test_head_is_get_without_the_body(world: World) -> None:
    got, head = world.call("GET", "/api/events"), world.call("HEAD", "/api/events")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))


def test_an_unexpected_error_is_logged_and_reveals_nothing() -> None:
    async def broken(*_: object) -> Any:
        raise RuntimeError("secret host name")

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(
            app=Edge(broken, KeptAttempts()), raise_app_exceptions=False
        )
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            return await client.get("/api/holds", headers={"X-Request-ID": "r-1"})

    with capture_logs() as logs:
        answer = asyncio.run(call())
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text
    failed = next(line for line in logs if line["event"] == "request.failed")
    assert failed["request_id"] == "r-1"
    assert failed["exc_info"]


def test_a_client_that_disconnects_mid_body_places_no_hold(world: World) -> None:
    messages = iter(
        [
            {"type": "http.request", "body": b'{"session_id"', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/holds",
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {world.secret}".encode())],
        "client": None,
    }
    holds = len(world.store.stored_holds)
    asyncio.run(world.api(scope, receive, send))
    start, body = sent
    assert start["status"] == 400
    assert json.loads(body["body"])["error"] == "malformed_json"
    assert len(world.store.stored_holds) == holds


def test_a_refused_request_is_one_log_entry_without_the_email(world: World) -> None:
    with capture_logs() as logs:
        placed = world.place(customer_email="jane@example.com")
        world.place(customer_email="jane@@example.com", headers={"X-Request-ID": "r-2"})
        world.call("POST", f"/api/holds/{placed.json()['hold_id']}/nowhere")
    requests = [line for line in logs if line["event"] == "request"]
    assert [(line["route"], line["status"]) for line in requests] == [
        ("/api/holds", 400),
        (None, 404),
    ]
    assert requests[0]["request_id"] == "r-2"
    assert "jane" not in str(logs)


def test_the_api_serves_full_paths_under_a_mount(world: World) -> None:
    outer = Starlette(routes=[Mount("/api", app=world.api)])

    async def call() -> list[int]:
        transport = httpx.ASGITransport(app=outer)
        headers = {"Authorization": f"Bearer {world.secret}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
            placed = await client.post("/api/holds", json=hold_body(), headers=headers)
            read = await client.get(f"/api/holds/{placed.json()['hold_id']}", headers=headers)
            lost = await client.get("/api/", headers=headers)
            return [placed.status_code, read.status_code, lost.status_code]

    assert asyncio.run(call()) == [201, 200, 404]


def test_a_body_that_never_arrives_times_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "BODY_SECONDS_MAX", 0.1)
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        return {}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/holds",
        "raw_path": b"/api/holds",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "headers": [
            (b"authorization", f"Bearer {world.secret}".encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"100"),
        ],
    }
    asyncio.run(asyncio.wait_for(world.api(scope, receive, send), 10))  # type: ignore[arg-type]
    assert sent[0]["status"] == 400
