"""Each log-in costs a password hash, so log-ins run one at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.template.loader import render_to_string
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.entrypoints.api.access import password_turns
from holdfast.entrypoints.api.access.password_turns import PasswordTurns
from holdfast.entrypoints.asgi import login_gate
from holdfast.entrypoints.asgi.login_gate import LoginGate
from tests.support.servers import RunningServer

ENDLESS_SECONDS = 3600.0
LONG_SECONDS = 60.0
UNANSWERED = 0


@dataclass
class Hashing:
    """A stand-in for Django, in which every log-in runs until the test lets it end."""

    status: int = 200
    running: int = 0
    running_max: int = 0
    done: list[bytes] = field(default_factory=list)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        self.running += 1
        self.running_max = max(self.running, self.running_max)
        await self.may_end.wait()
        self.running -= 1
        self.done.append(body)
        await send({"type": "http.response.start", "status": self.status, "headers": []})


async def post(
    app: ASGIApp,
    address: str = "192.0.2.1",
    *chunks: bytes,
    path: str = "/admin/login/",
    **how: Any,
) -> int:
    """The status of the answer. `receive` replaces that of a client that has sent its whole
    body."""
    sent = list(chunks or (b"username=x",))
    statuses: list[int] = []

    async def receive() -> Message:
        body = sent.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(sent)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    method = how.get("method", "POST")
    scope = {"type": "http", "method": method, "path": path, "client": (address, 1)}
    async with asyncio.timeout(LONG_SECONDS):
        await app(scope, how.get("receive", receive), send)
    return statuses[0] if statuses else UNANSWERED


async def begun(*calls: Awaitable[int]) -> list[asyncio.Task[int]]:
    """Start these and let each run until it blocks."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    for _ in range(20):
        await asyncio.sleep(0)
    return tasks


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scene()

    asyncio.run(run())


@pytest.fixture(autouse=True)
def without_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rests between log-ins and no delay before refusals."""
    monkeypatch.setattr(password_turns, "REST_FACTOR", 0.0)
    monkeypatch.setattr(password_turns, "REFUSED_AFTER_SECONDS", 0.0)


@pytest.mark.parametrize("is_guarded", [True, False])
def test_log_ins_run_one_at_a_time(is_guarded: bool) -> None:
    """Without the gate, as a control, they all run at once."""

    async def scene() -> None:
        django = Hashing()
        app: ASGIApp = LoginGate(django, b"busy", PasswordTurns()) if is_guarded else django
        tasks = await begun(*(post(app, f"192.0.2.{number}") for number in range(5)))
        assert django.running == (1 if is_guarded else 5)
        django.may_end.set()
        assert await asyncio.gather(*tasks) == [200] * 5
        assert django.running_max == (1 if is_guarded else 5)

    play(scene)


def test_the_queue_of_an_address_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_turns, "WAITING_OF_ADDRESS_MAX", 2)

    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        waiting = await begun(*(post(gate) for _ in range(3)))
        assert await post(gate) == 429
        waiting += await begun(post(gate, "192.0.2.2"))
        django.may_end.set()
        assert await asyncio.gather(*waiting) == [200] * 4
        assert await post(gate) == 200

    play(scene)


def test_addresses_of_one_ipv6_network_share_their_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_turns, "WAITING_OF_ADDRESS_MAX", 2)

    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        waiting = await begun(*(post(gate, f"2001:db8:1:2::{number}") for number in range(3)))
        assert await post(gate, "2001:db8:1:2:ffff::9") == 429
        waiting += await begun(post(gate, "2001:db8:1:3::1"))
        django.may_end.set()
        assert await asyncio.gather(*waiting) == [200] * 4

    play(scene)


def test_the_whole_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_turns, "WAITING_MAX", 2)

    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        waiting = await begun(*(post(gate, f"192.0.2.{number}") for number in range(3)))
        assert await post(gate, "192.0.2.9") == 429
        django.may_end.set()
        assert await asyncio.gather(*waiting) == [200] * 3

    play(scene)


@pytest.mark.parametrize("has_logged_in", [True, False])
def test_strangers_do_not_keep_out_known_networks(
    has_logged_in: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an earlier log-in, as a control, staff wait behind everybody, or are refused."""
    monkeypatch.setattr(password_turns, "WAITING_MAX", 40)

    async def scene() -> None:
        django = Hashing(status=302 if has_logged_in else 200)
        gate = LoginGate(django, b"busy", PasswordTurns())
        django.may_end.set()
        await post(gate, "192.0.2.1")
        django.may_end.clear()
        django.done.clear()
        django.status = 200
        crowd = await begun(*(post(gate, f"198.51.100.{number}") for number in range(41)))
        staff = await begun(post(gate, "192.0.2.1", b"staff"), post(gate, "192.0.2.1", b"staff"))
        django.may_end.set()
        statuses = await asyncio.gather(*staff)
        await asyncio.gather(*crowd)
        if has_logged_in:
            assert statuses == [200, 200]
            assert [at for at, body in enumerate(django.done) if body == b"staff"] == [2, 4]
        else:
            assert statuses == [429, 429]

    play(scene)


def test_only_a_right_password_makes_a_network_known() -> None:
    """The other guarded forms send strangers to the log-in with a redirect."""

    async def scene() -> None:
        turns = PasswordTurns()
        django = Hashing(status=302)
        django.may_end.set()
        gate = LoginGate(django, b"busy", turns)
        await post(gate, path="/admin/password_change/")
        assert not turns._networks
        await post(gate)
        assert list(turns._networks) == ["192.0.2.1"]

    play(scene)


def test_a_process_remembers_the_latest_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_turns, "KNOWN_NETWORKS_MAX", 2)
    turns = PasswordTurns()
    for number in (1, 2, 1, 3):
        turns.remember(f"192.0.2.{number}")
    assert list(turns._networks) == ["192.0.2.1", "192.0.2.3"]


def test_the_gate_rests_after_a_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_turns, "REST_FACTOR", 1e12)
    monkeypatch.setattr(password_turns, "REST_SECONDS_MAX", ENDLESS_SECONDS)
    monkeypatch.setattr(password_turns, "WAIT_SECONDS_MAX", 0.05)

    async def scene() -> None:
        django = Hashing()
        django.may_end.set()
        gate = LoginGate(django, b"busy", PasswordTurns())
        assert await post(gate) == 200
        assert await post(gate) == 429

    play(scene)


def test_slow_or_oversized_bodies_do_not_delay_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def scene() -> None:
        django = Hashing()
        django.may_end.set()
        gate = LoginGate(django, b"busy", PasswordTurns())
        slow = await begun(*(post(gate, receive=never) for _ in range(10)))
        assert await post(gate, "192.0.2.1", b"x" * login_gate.BODY_BYTES_MAX, b"x") == 413
        assert await post(gate, "192.0.2.1", b"user", b"name") == 200
        assert django.done == [b"username"]
        for task in slow:
            task.cancel()
        monkeypatch.setattr(login_gate, "BODY_SECONDS_MAX", 0.05)
        assert await post(gate, receive=never) == UNANSWERED, "the outer application answers 400"

    play(scene)


def test_a_disconnect_frees_no_turn_before_the_hash_is_done() -> None:
    """Told of a disconnect, Django drops the request while its thread goes on hashing."""
    heard: list[bool] = []

    async def django(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        (more,) = await begun(receive())  # type: ignore[arg-type]
        heard.append(more.done())
        more.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def hang_up() -> Message:
        body: Message = {"type": "http.request", "body": b"", "more_body": False}
        return body if not heard else {"type": "http.disconnect"}

    async def scene() -> None:
        assert await post(LoginGate(django, b"busy", PasswordTurns()), receive=hang_up) == 200

    play(scene)
    assert heard == [False]


def test_the_server_installs_the_gate(server: RunningServer) -> None:
    """Nothing else limits the size of a log-in."""
    body = b"x" * (login_gate.BODY_BYTES_MAX + 1)
    answer = httpx.post(f"{server.base_url}/admin/login/", content=body, timeout=LONG_SECONDS)
    assert (answer.status_code, answer.text) == (413, "The request body is too large.\n")
    assert "Too many logins at once" in render_to_string("pages/login_busy.html")


@pytest.mark.parametrize(
    ("method", "path"), [("get", "/admin/login/"), ("POST", "/admin/"), ("GET", "/")]
)
def test_other_requests_bypass_the_gate(method: str, path: str) -> None:
    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        tasks = await begun(*(post(gate, method=method, path=path) for _ in range(5)))
        assert django.running == 5
        django.may_end.set()
        assert await asyncio.gather(*tasks) == [200] * 5

    play(scene)


@pytest.mark.parametrize("path", ["/admin/password_change/", "/admin/account/two-factor/off/"])
def test_other_forms_with_a_password_pass_the_gate(path: str) -> None:
    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        tasks = await begun(*(post(gate, path=path) for _ in range(3)))
        assert django.running == 1
        for task in tasks:
            task.cancel()

    play(scene)


@pytest.mark.parametrize("method", ["post", "PoSt", "PUT"])
def test_the_spelling_of_the_method_does_not_bypass_the_gate(method: str) -> None:
    """Django uppercases every method."""

    async def scene() -> None:
        django = Hashing()
        gate = LoginGate(django, b"busy", PasswordTurns())
        tasks = await begun(*(post(gate, method=method) for _ in range(3)))
        assert django.running == 1
        for task in tasks:
            task.cancel()

    play(scene)
