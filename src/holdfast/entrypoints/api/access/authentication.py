"""The caller's credential: `Authorization: Bearer` with an API key (`hk_...`) or a member's session
(`hs_...`)."""

from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.api.access.key_lookups import KeyLookups, TooManyLookups
from holdfast.entrypoints.api.access.tarpit import Tarpit
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.ports.access import Principal
from holdfast.services.access.authentication import Authenticator, secret_hash

_SCHEME = b"bearer "


class Bearer:
    """Recognizes most callers from their last request, looks the others up, and delays the answer
    to unknown ones."""

    def __init__(self, authenticator: Authenticator, lookups: KeyLookups, tarpit: Tarpit) -> None:
        self._authenticator = authenticator
        self._lookups = lookups
        self._tarpit = tarpit

    def recognized(self, call: Call) -> Principal | None:
        """The caller of a cached key. Most callers are, and need no coroutine."""
        authorization = call.headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return None
        hashed = secret_hash(authorization[len(_SCHEME) :].strip())
        return None if hashed is None else self._authenticator.remembered(hashed)

    async def authenticate(self, call: Call) -> Principal:
        authorization = call.headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            problem = _unauthorized("Send your secret key as Authorization: Bearer", b"")
            raise await self._delayed(call, problem)
        hashed = secret_hash(sent_secret(call))
        principal = None
        if hashed is not None:
            principal = self._authenticator.remembered(hashed) or await self._look_up(call, hashed)
        if principal is None:
            problem = _unauthorized("The secret key is not valid", b', error="invalid_token"')
            raise await self._delayed(call, problem)
        return principal

    async def delay_stranger(self, call: Call) -> None:
        """Delay the refusal of a bad route or method, unless the key is cached. The key is not
        looked up."""
        authorization = call.headers.get(b"authorization", b"")
        hashed = secret_hash(authorization[len(_SCHEME) :].strip())
        if hashed is None or self._authenticator.remembered(hashed) is None:
            await self._delay(call)

    async def _look_up(self, call: Call, hashed: bytes) -> Principal | None:
        if self._authenticator.is_unknown(hashed):
            return None
        try:
            return await self._lookups.find(hashed, call.address)
        except TooManyLookups:
            message = (
                "Too many unrecognized keys are being checked. Wait a few seconds and try again."
            )
            problem = Problem(ProblemCode.TOO_MANY_REQUESTS, message)
        raise await self._delayed(call, problem)

    async def _delayed(self, call: Call, problem: Problem) -> Problem:
        await self._delay(call)
        return problem

    async def _delay(self, call: Call) -> None:
        if call.on_delay is not None:
            call.on_delay()
        await self._tarpit.wait(call.address)


def sent_secret(call: Call) -> bytes:
    """The key in a Bearer header."""
    return call.headers[b"authorization"][len(_SCHEME) :].strip()


def missing_scope(scope: Scope) -> Problem:
    challenge = f'Bearer realm="holdfast", error="insufficient_scope", scope="{scope.value}"'
    return Problem(
        ProblemCode.INSUFFICIENT_SCOPE,
        f"This call needs the scope {scope.value}",
        headers=((b"www-authenticate", challenge.encode()),),
    )


def _unauthorized(message: str, challenge: bytes) -> Problem:
    headers = ((b"www-authenticate", b'Bearer realm="holdfast"' + challenge),)
    return Problem(ProblemCode.UNAUTHORIZED, message, headers=headers)
