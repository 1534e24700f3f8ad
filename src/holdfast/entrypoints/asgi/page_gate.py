"""Limits how many pages Django renders at once. Each takes a thread and a connection to PostgreSQL:
a few hundred open dashboards would leave none for anybody else."""

import asyncio
from collections import Counter

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGES_AT_ONCE_MAX = 16
# Requests that wait for their turn, in all and of one address, and for how long.
WAITING_MAX = 128
WAITING_OF_ADDRESS_MAX = 96
WAIT_SECONDS_MAX = 20.0


class _Busy(Exception):
    """No place became free in time."""


class PageGate:
    """Wraps Django. A page enters when its request is complete, so that slow senders keep nobody
    out, and leaves when its response begins: exports stream for minutes, and have a limit of their
    own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._places = asyncio.Semaphore(PAGES_AT_ONCE_MAX)
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope["client"] else ""
        is_complete = is_inside = False

        async def entering() -> Message:
            """Django reads the whole body before anything else."""
            nonlocal is_complete, is_inside
            message = await receive()
            is_last = message["type"] == "http.request" and not message.get("more_body", False)
            if is_last and not is_complete:
                is_complete = True
                await self._enter(address)
                is_inside = True
            return message

        def leave() -> None:
            nonlocal is_inside
            if is_inside:
                is_inside = False
                self._places.release()

        async def leaving(message: Message) -> None:
            leave()
            await send(message)

        try:
            await self._app(scope, entering, leaving)
        except _Busy:
            busy = PlainTextResponse(
                "The server is busy. Try again in a few seconds.\n",
                status_code=503,
                headers={"Retry-After": "5"},
            )
            await busy(scope, receive, send)
        finally:
            leave()

    async def _enter(self, address: str) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        if self._waiting.total() >= WAITING_MAX or self._waiting[address] >= WAITING_OF_ADDRESS_MAX:
            raise _Busy
        self._waiting[address] += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._places.acquire()
        except TimeoutError:
            raise _Busy from None
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
