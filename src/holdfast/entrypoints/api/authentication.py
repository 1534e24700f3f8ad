"""The caller's credential: `Authorization: Bearer hk_...`."""

from holdfast.entrypoints.api.codes import ProblemCode
from holdfast.entrypoints.api.exchange import Call
from holdfast.entrypoints.api.problems import Problem, unavailable
from holdfast.entrypoints.api.waiting import BlockingCalls, SharedLookups
from holdfast.ports.access import Principal, Scope
from holdfast.ports.store import StoreError
from holdfast.services.authenticating import Authenticator, secret_hash

_SCHEME = b"bearer "


class Bearer:
    """Knows most callers from their last request; asks the directory for the others, one question
    per key however many requests come with it."""

    def __init__(self, authenticator: Authenticator, blocking: BlockingCalls) -> None:
        self._authenticator = authenticator
        self._lookups = SharedLookups(blocking.run, authenticator.find)

    async def authenticate(self, call: Call) -> Principal:
        authorization = call.headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise _unauthorized("Send your secret key as Authorization: Bearer", b"")
        hashed = secret_hash(sent_secret(call))
        principal = None
        if hashed is not None:
            principal = self._authenticator.remembered(hashed) or await self._look_up(hashed)
        if principal is None:
            raise _unauthorized("The secret key is not valid", b', error="invalid_token"')
        return principal

    async def _look_up(self, hashed: bytes) -> Principal | None:
        try:
            return await self._lookups.get(hashed)
        except StoreError:
            raise unavailable() from None


def sent_secret(call: Call) -> bytes:
    """Of a header that says Bearer."""
    return call.headers[b"authorization"][len(_SCHEME) :].strip()


def require_scope(principal: Principal, scope: Scope) -> None:
    if principal.may(scope):
        return
    challenge = f'Bearer realm="holdfast", error="insufficient_scope", scope="{scope.value}"'
    raise Problem(
        ProblemCode.INSUFFICIENT_SCOPE,
        f"This key needs the scope {scope.value}",
        headers=((b"www-authenticate", challenge.encode()),),
    )


def _unauthorized(message: str, challenge: bytes) -> Problem:
    headers = ((b"www-authenticate", b'Bearer realm="holdfast"' + challenge),)
    return Problem(ProblemCode.UNAUTHORIZED, message, headers=headers)
