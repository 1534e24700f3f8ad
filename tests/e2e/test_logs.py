"""The server log: every hold placed, ended or expired, and nobody's email address."""

import json
import re
import time
from uuid import uuid4

import httpx
import pytest

from tests.e2e.owner import Owner
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform
from tests.support.servers import RunningServer

TTL_SECONDS = 600
ADDRESS = re.compile(r"[^\s\"'<>:=,;()]+@[\w-]+\.[\w.-]+")


def lines_with(server: RunningServer, text: str, count: int) -> list[Json]:
    """All log entries with this text, once there are that many: an answer may arrive before its
    entry."""

    def found() -> list[str]:
        return [line for line in server.log.read_text().splitlines() if text in line]

    wait_until(lambda: len(found()) >= count, f"{count} lines with {text} in the log")
    return [json.loads(line) for line in found()]


def let_the_log_catch_up(server: RunningServer, platform: Platform) -> None:
    """Wait for the entry of a refused request, which is written after all earlier ones."""
    request_id = f"last-{uuid4().hex}"
    platform.client.get("/api/nowhere", headers={"X-Request-ID": request_id})
    lines_with(server, request_id, 1)


def test_an_invitation_is_not_logged(server: RunningServer, platform: Platform) -> None:
    """Django logs the path of every page that is not found."""
    secret = f"hi_{uuid4().hex}"
    assert httpx.get(f"{server.base_url}/admin/invitation/{secret}/").status_code == 404
    lines_with(server, "/admin/invitation/hi_***", 1)
    let_the_log_catch_up(server, platform)
    assert secret not in server.log.read_text()


def test_placing_and_releasing_a_hold_is_logged_with_its_requests(
    server: RunningServer, platform: Platform
) -> None:
    sale = platform.on_sale(5)
    body = platform.hold_body(sale, 2, customer_email="bartholomew@example.com")
    created = platform.client.post("/api/holds", json=body, headers={"X-Request-ID": "coming-1"})
    hold_id = created.json()["hold_id"]
    path = f"/api/holds/{hold_id}/release"
    for request_id in ("going-1", "going-2"):
        platform.client.post(path, headers={"X-Request-ID": request_id})
    let_the_log_catch_up(server, platform)
    came, went = lines_with(server, hold_id, 2)
    for line, event, request_id in (
        (came, "hold.created", "coming-1"),
        (went, "hold.cancelled", "going-1"),
    ):
        assert (line["event"], line["request_id"]) == (event, request_id)
        assert line["organization_id"] == platform.organization_id
        assert (line["session_id"], line["quantity"]) == (sale.session_id, 2)
        assert line["customer_email"] == "b***@example.com"
        assert line["timestamp"].endswith("Z")


def test_a_repeated_request_logs_no_second_hold(server: RunningServer, platform: Platform) -> None:
    sale = platform.on_sale(5)
    body = platform.hold_body(sale, 2)
    headers = {"Idempotency-Key": uuid4().hex}
    answers = [platform.client.post("/api/holds", json=body, headers=headers) for _ in range(3)]
    (hold_id,) = {answer.json()["hold_id"] for answer in answers}
    let_the_log_catch_up(server, platform)
    (line,) = lines_with(server, hold_id, 1)
    assert line["event"] == "hold.created"


def test_an_expired_hold_is_logged_once(
    server: RunningServer, platform: Platform, owner: Owner
) -> None:
    sale = platform.on_sale(5)
    hold_id = platform.place(sale, 2).json()["hold_id"]
    owner.let_pass(platform.organization_id, TTL_SECONDS + 1)
    lines_with(server, hold_id, 2)
    platform.client.post(f"/api/holds/{hold_id}/release")
    platform.place(sale, 5)
    let_the_log_catch_up(server, platform)
    created, expired = lines_with(server, hold_id, 2)
    assert (created["event"], expired["event"]) == ("hold.created", "hold.expired")
    assert expired["request_id"] not in {None, "", created["request_id"]}


def test_an_evicted_hold_is_logged_with_the_request_that_needed_its_places(
    unreaped_server: RunningServer, unreaped: Platform, unreaped_owner: Owner
) -> None:
    sale = unreaped.on_sale(2)
    hold_id = unreaped.place(sale, 2).json()["hold_id"]
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    next_body = unreaped.hold_body(sale, 2)
    following = unreaped.client.post(
        "/api/holds", json=next_body, headers={"X-Request-ID": "next-in-line"}
    )
    assert following.status_code == 201
    let_the_log_catch_up(unreaped_server, unreaped)
    created, expired = lines_with(unreaped_server, hold_id, 2)
    assert (created["event"], expired["event"]) == ("hold.created", "hold.expired")
    assert expired["request_id"] == "next-in-line"


def test_every_request_is_one_entry_with_its_id(server: RunningServer, platform: Platform) -> None:
    request_id = f"look-{uuid4().hex}"
    platform.client.get(f"/api/holds/{uuid4()}", headers={"X-Request-ID": request_id})
    (line,) = lines_with(server, request_id, 1)
    assert (line["event"], line["method"], line["status"]) == ("request", "GET", 404)
    assert line["route"] == "/api/holds/{hold_id}", "the route, not the requested path"


def test_no_email_is_in_the_log_after_a_burst(server: RunningServer, platform: Platform) -> None:
    """Whether it is sent in the right field or a wrong one, well-formed or not."""
    client, sale = platform.client, platform.on_sale(5)
    name = f"anneliese{uuid4().hex[:8]}"
    email = f"{name}@example.com"
    for bad in (
        email,
        f"{name}@@example.com",
        f"<{email}>",
        f"to:{email}",
        f"{name}@example",
        name,
    ):
        for place in ("customer_email", "user_id", "session_id", "ticket_type_id", "hold_id"):
            client.post("/api/holds", json=platform.hold_body(sale, 9) | {place: bad})
        client.post("/api/holds", json=platform.hold_body(sale) | {bad: bad})
        client.post("/api/events", json={"name": bad, "currency": bad})
        for parameter in ("email", "cursor", bad):
            client.get("/api/holds", params={parameter: bad})
        for path in (f"/api/holds/{bad}", f"/api/{bad}", f"/{bad}/", f"/admin/%07{bad}/"):
            client.get(path)
        headers = {"X-Request-ID": bad, "User-Agent": bad, "Idempotency-Key": bad}
        client.get("/api/holds", headers=headers)
        client.get("/api/holds", headers={"Authorization": f"Bearer {bad}"})
        client.post("/api/holds", content=f'{{"customer_email": "{bad}', headers=headers)
    placed = platform.place(sale, customer_email=email, user_id=email)
    assert placed.status_code == 201
    client.post(f"/api/holds/{placed.json()['hold_id']}/release")
    let_the_log_catch_up(server, platform)
    log = server.log.read_text()
    assert placed.json()["hold_id"] in log
    found = {text for text in ADDRESS.findall(log) if not re.match(r"^.?\*\*\*@", text)}
    assert not found
    assert email not in log
    for line in log.splitlines():
        json.loads(line)


@pytest.mark.alone
def test_a_long_email_is_redacted_quickly(server: RunningServer, platform: Platform) -> None:
    """Redacting addresses in the log must not be a way to keep the server busy."""
    started = time.monotonic()
    for path in ("@%20" + "a" * 60_000, "a" * 60_000 + "@", "a@" * 30_000, "@ " * 15_000):
        assert platform.client.get(f"/{path}").status_code in {400, 404, 414, 431}
    assert time.monotonic() - started < 2
