"""Handlers of members who sign in and out."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import structlog

from holdfast.entrypoints.api.access.password_turns import PasswordTurns, TooManyLogIns
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import Problem, unavailable
from holdfast.entrypoints.api.http.replies import written
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.members.answers import SignedOutAnswer, session_answer
from holdfast.entrypoints.api.members.requests import SignInRequest
from holdfast.ports.members import Credentials
from holdfast.ports.store import StoreError
from holdfast.services.access.sign_in import NotSignedIn

T = TypeVar("T")

_log = structlog.get_logger("holdfast.api")

_WRONG = (
    "The username, password or code is wrong, or this person is not a member of the organization"
)
_NO_TWO_FACTOR = (
    "Your organization requires two-factor authentication. Set it up in the admin pages first"
)


class LogInThread:
    """Passwords are checked on a thread of their own, one at a time: hashing must not hold up the
    event loop or anybody's reads."""

    def __init__(self, turns: PasswordTurns) -> None:
        self._turns = turns
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="holdfast-log-in")

    async def run(self, address: str, log_in: Callable[[], T]) -> T:
        async def on_thread() -> T:
            return await asyncio.get_running_loop().run_in_executor(self._thread, log_in)

        return await self._turns.run(address, on_thread)

    def remember(self, address: str) -> None:
        self._turns.remember(address)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


async def sign_in(context: Context, call: Call, body: SignInRequest) -> Reply:
    call.actor = "anonymous"
    given = Credentials(body.organization_id, body.username, body.password, body.code)
    log_in = partial(context.front_desk.sign_in, given, call.origin)
    try:
        found = await context.log_ins.run(call.address, log_in)
    except TooManyLogIns:
        raise _busy("Too many log-ins at once. Try again in a few seconds", 5) from None
    except StoreError as error:
        _log.warning("log_in.failed", problem=error.problem)
        raise unavailable() from None
    if isinstance(found, NotSignedIn):
        if found.retry_seconds is not None:
            raise _busy("Too many wrong passwords from this address", found.retry_seconds)
        if found.needs_two_factor:
            raise Problem(ProblemCode.TWO_FACTOR_REQUIRED, _NO_TWO_FACTOR)
        headers = ((b"www-authenticate", b'Bearer realm="holdfast"'),)
        raise Problem(ProblemCode.UNAUTHORIZED, _WRONG, headers=headers)
    context.log_ins.remember(call.address)
    return Reply(201, written(session_answer(found)))


async def sign_out(context: Context, call: Call, _: NoFields) -> Reply:
    """Every process hears of it within milliseconds; this one acts on it before it answers."""
    principal = call.principal
    if principal.member is None:
        raise Problem(ProblemCode.NOT_FOUND, "This call was made with a key, not with a session")
    own, session_id = principal.organization_id, principal.member.session_id
    try:
        close = context.front_desk.sign_out
        await context.blocking.run(own, close, own, session_id, call.origin)
    except StoreError:
        raise unavailable() from None
    context.forget_credential(session_id)
    return Reply(200, written(SignedOutAnswer()))


def _busy(message: str, retry_seconds: int) -> Problem:
    headers = ((b"retry-after", b"%d" % retry_seconds),)
    return Problem(ProblemCode.TOO_MANY_REQUESTS, message, headers=headers)
