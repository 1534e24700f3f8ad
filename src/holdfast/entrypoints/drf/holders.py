"""The project's users as holders. Each acts with a holder token, so Holdfast itself keeps them to
their own holds. The token stays in this process."""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
import structlog

from holdfast.domain.values import EmailAddress, InvalidValue
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.problems import unavailable
from holdfast.entrypoints.drf.backends.backend import backend, new_call
from holdfast.entrypoints.drf.conf import conf

TOKEN_SECONDS = 1_800
RENEW_SECONDS = TOKEN_SECONDS / 2
REMEMBERED_MAX = 4096

_log = structlog.get_logger("holdfast.drf")


def holder_of(user: Any) -> dict[str, str]:
    """The default of HOLDFAST['HOLDER']: the primary key as the user id and, for e-mails, the
    address if there is one."""
    holder = {"user_id": str(user.pk)}
    email = getattr(user, "email", "")
    if email and _is_address(email):
        holder["customer_email"] = email
    return holder


def _is_address(text: str) -> bool:
    try:
        EmailAddress(text)
    except InvalidValue:
        return False
    return True


class _Remembered(NamedTuple):
    token: str
    renew_at: float


class HolderTokens:
    """Holder tokens that this process has been issued. Each is renewed long before it expires."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[tuple[str, tuple[tuple[str, str], ...]], _Remembered] = (
            OrderedDict()
        )

    def forget(self) -> None:
        """In a forked child: another thread of the parent may have had the lock."""
        self._lock = threading.Lock()
        self._tokens.clear()

    def token_of(self, user: Any, refused: str | None = None) -> str:
        """A token of this user, other than `refused`. Raises a Problem if none is issued."""
        holder = conf().holder(user)
        key = (conf().key, tuple(sorted(holder.items())))
        with self._lock:
            found = self._tokens.get(key)
        if found is not None and found.token != refused and time.monotonic() < found.renew_at:
            return found.token
        token = _issued(holder)
        with self._lock:
            self._tokens[key] = _Remembered(token, time.monotonic() + RENEW_SECONDS)
            self._tokens.move_to_end(key)
            if len(self._tokens) > REMEMBERED_MAX:
                self._tokens.popitem(last=False)
        return token


def _issued(holder: Mapping[str, str]) -> str:
    body = msgspec.json.encode({**holder, "ttl_seconds": TOKEN_SECONDS})
    call = new_call("POST", ["holder-tokens"], secret=conf().key, body=body)
    reply = backend().send(call)
    answer = msgspec.json.decode(reply.body)
    if reply.status != HTTPStatus.CREATED:
        # A mistake in the project's settings, or Holdfast is unavailable: never the user's fault.
        _log.error("token.refused", status=reply.status, error=answer.get("error"))
        raise unavailable()
    return str(answer["token"])


_tokens = HolderTokens()
os.register_at_fork(after_in_child=_tokens.forget)


def send_for_user(user: Any, call_with: Callable[[str], Call]) -> Reply:
    """Send the call with a token of this user. Retry once if the token has been revoked."""
    token = _tokens.token_of(user)
    reply = backend().send(call_with(token))
    if reply.status != HTTPStatus.UNAUTHORIZED:
        return reply
    return backend().send(call_with(_tokens.token_of(user, refused=token)))
