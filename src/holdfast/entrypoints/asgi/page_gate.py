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


class PageGate:
    """Wraps Django. A page leaves the gate when its response begins: exports stream for minutes,
    and have a limit of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._places = asyncio.Semaphore(PAGES_AT_ONCE_MAX)
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not await self._enter(scope["client"][0] if scope["client"] else ""):
            busy = PlainTextResponse(
                "Too many pages are being made. Try again in a few seconds.\n",
                status_code=503,
                headers={"Retry-After": "5"},
            )
            await busy(scope, receive, send)
            return
        is_inside = True

        def leave() -> None:
            nonlocal is_inside
            if is_inside:
                is_inside = False
                self._places.release()

        async def leaving(message: Message) -> None:
            leave()
            await send(message)

        try:
            await self._app(scope, receive, leaving)
        finally:
            leave()

    async def _enter(self, address: str) -> bool:
        if not self._places.locked():
            await self._places.acquire()
            return True
        if self._waiting.total() >= WAITING_MAX or self._waiting[address] >= WAITING_OF_ADDRESS_MAX:
            return False
        self._waiting[address] += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._places.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        return True
