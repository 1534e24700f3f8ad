"""Sends log-ins to the admin pages through `PasswordTurns`: Django would hash as many passwords at
once as there are requests."""

import asyncio
from functools import partial

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.entrypoints.api.access.password_turns import PasswordTurns, TooManyLogIns
from holdfast.entrypoints.pages.middleware import PAGES_POLICY

LOG_IN_PATH = "/admin/login/"
# Where a password is checked.
GUARDED_PATHS = frozenset(
    {LOG_IN_PATH, "/admin/password_change/", "/admin/account/two-factor/off/"}
)
# The form is shown again unless the password is right.
_LOGGED_IN = 302
BODY_BYTES_MAX = 8 * 1024
BODY_SECONDS_MAX = 10.0


class LoginGate:
    """Wraps Django. Requests beyond the limits get `busy_page`."""

    def __init__(self, app: ASGIApp, busy_page: bytes, turns: PasswordTurns) -> None:
        self._app = app
        self._busy_page = busy_page
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Django treats `post` as POST.
        is_log_in = scope["type"] == "http" and scope["path"] in GUARDED_PATHS
        if not is_log_in or scope["method"].upper() in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        # Read the body first: a slow sender delays nobody else.
        try:
            body = await _read_body(receive)
        except _TooLong:
            refusal = PlainTextResponse("The request body is too large.\n", status_code=413)
            await refusal(scope, receive, send)
            return
        if body is None:
            return  # the outer application sends the response
        address = scope["client"][0] if scope["client"] else ""

        async def note_and_send(message: Message) -> None:
            # The other forms also redirect people who are not logged in.
            if message.get("status") == _LOGGED_IN and scope["path"] == LOG_IN_PATH:
                self._turns.remember(address)
            await send(message)

        try:
            await self._turns.run(address, partial(self._app, scope, _Replay(body), note_and_send))
        except TooManyLogIns:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-length", b"%d" % len(self._busy_page)),
            (b"cache-control", b"no-store"),
            (b"content-security-policy", PAGES_POLICY.encode()),
            (b"retry-after", b"5"),
            (b"x-frame-options", b"DENY"),
        ]
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": self._busy_page})


class _Replay:
    """Replays the body, then blocks: on a disconnect Django would return and free the slot while
    its thread is still hashing."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _TooLong(Exception):
    """The body is longer than any log-in form."""


async def _read_body(receive: Receive) -> bytes | None:
    """None if it does not arrive completely."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS_MAX):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if len(body) > BODY_BYTES_MAX:
                    raise _TooLong
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return None
