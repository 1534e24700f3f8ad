"""A limited number of pages is made at once; the others wait, and too many are refused."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from holdfast.entrypoints.asgi import page_gate
from holdfast.entrypoints.asgi.page_gate import PageGate


class Pages:
    """An application that answers when the test allows it."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_end = asyncio.Event()
        self.begun = self.most = self.at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body", False):
            pass
        self.begun += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.may_answer.wait()
        self.at_once -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.may_end.wait()
        await send({"type": "http.response.body", "body": b""})


async def ask(gate: PageGate, address: str = "192.0.2.1", sent: asyncio.Event | None = None) -> int:
    """The body is complete when it is `sent`."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Message:
        if sent is not None:
            await sent.wait()
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: dict[str, Any] = {"type": "http", "client": (address, 1), "headers": []}
    await gate(scope, receive, send)
    return statuses[0]


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("at_once", [2, 50], ids=["limited", "control"])
def test_only_so_many_pages_are_made_at_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the limit, all of them are."""
    monkeypatch.setattr(page_gate, "PAGES_AT_ONCE_MAX", at_once)

    async def scene() -> None:
        pages = Pages()
        pages.may_end.set()
        gate = PageGate(pages)
        asked = [asyncio.ensure_future(ask(gate)) for _ in range(10)]
        await settled()
        assert pages.begun == min(at_once, 10)
        pages.may_answer.set()
        assert await asyncio.gather(*asked) == [200] * 10
        assert pages.most == min(at_once, 10)

    asyncio.run(scene())


def test_too_many_that_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_gate, "PAGES_AT_ONCE_MAX", 1)
    monkeypatch.setattr(page_gate, "WAITING_MAX", 3)
    monkeypatch.setattr(page_gate, "WAITING_OF_ADDRESS_MAX", 2)

    async def scene() -> None:
        pages = Pages()
        pages.may_end.set()
        gate = PageGate(pages)
        admitted = [asyncio.ensure_future(ask(gate)) for _ in range(3)]
        await settled()
        assert await ask(gate) == 503, "of one address"
        admitted.append(asyncio.ensure_future(ask(gate, "192.0.2.2")))
        await settled()
        assert await ask(gate, "192.0.2.3") == 503, "in all"
        pages.may_answer.set()
        assert await asyncio.gather(*admitted) == [200] * 4

    asyncio.run(scene())


def test_a_page_that_waits_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_gate, "PAGES_AT_ONCE_MAX", 1)
    monkeypatch.setattr(page_gate, "WAIT_SECONDS_MAX", 0.01)

    async def scene() -> None:
        pages = Pages()
        pages.may_end.set()
        gate = PageGate(pages)
        first = asyncio.ensure_future(ask(gate))
        await settled()
        assert await ask(gate) == 503
        pages.may_answer.set()
        assert await first == 200

    asyncio.run(scene())


def test_a_response_that_streams_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_gate, "PAGES_AT_ONCE_MAX", 1)

    async def scene() -> None:
        pages = Pages()
        pages.may_answer.set()
        gate = PageGate(pages)
        streams = [asyncio.ensure_future(ask(gate)) for _ in range(3)]
        await settled()
        assert pages.begun == 3
        pages.may_end.set()
        assert await asyncio.gather(*streams) == [200] * 3

    asyncio.run(scene())


def test_slow_senders_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_gate, "PAGES_AT_ONCE_MAX", 1)

    async def scene() -> None:
        pages, sent = Pages(), asyncio.Event()
        pages.may_answer.set()
        pages.may_end.set()
        gate = PageGate(pages)
        slow = [asyncio.ensure_future(ask(gate, sent=sent)) for _ in range(3)]
        await settled()
        assert await asyncio.wait_for(ask(gate), 5) == 200
        sent.set()
        assert await asyncio.gather(*slow) == [200] * 3

    asyncio.run(scene())
