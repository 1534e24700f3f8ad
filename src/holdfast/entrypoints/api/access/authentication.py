"""The caller's credential: `Authorization: Bearer` with a secret key (`hk_...`), a member's session
(`hs_...`) or a holder token (`ht_...`)."""

from datetime import UTC, datetime, timedelta

from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.api.access.key_lookups import KeyLookups, TooManyLookups
from holdfast.entrypoints.api.access.networks import network_of
from holdfast.entrypoints.api.access.tarpit import Tarpit
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.ports.access import Principal
from holdfast.services.access.authentication import Authenticator, secret_hash
from holdfast.services.access.tokens import HolderAccess

_SCHEME = b"bearer "
TOKEN_PREFIX, SESSION_PREFIX = b"ht_", b"hs_"
# The database decides when a token ends. Past this, our own clock is enough to refuse it.
_CLOCKS_DIFFER_MAX = timedelta(minutes=1)


class Bearer:
    """Recognizes most callers from their last request, looks the others up, and delays the answer
    to unknown ones."""

    def __init__(
        self,
        authenticator: Authenticator,
        lookups: KeyLookups,
        tokens: "Tokens",
        tarpit: Tarpit,
    ) -> None:
        self._authenticator = authenticator
        self._lookups = lookups
        self._tokens = tokens
        self._tarpit = tarpit

    def recognized(self, call: Call) -> Principal | None:
        """The caller of a cached credential. Most callers are, and need no coroutine."""
        authorization = call.headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return None
        secret = authorization[len(_SCHEME) :].strip()
        hashed = secret_hash(secret)
        if hashed is not None:
            return self._authenticator.remembered(hashed)
        return self._tokens.recognized(call, secret)

    async def authenticate(self, call: Call) -> Principal:
        authorization = call.headers.get(b"authorization", b"")
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            message = "Send your secret key, session or holder token as Authorization: Bearer"
            raise await self._delayed(call, _unauthorized(message, b""))
        secret = sent_secret(call)
        if secret.startswith(TOKEN_PREFIX):
            return await self._find_token(call, secret)
        hashed = secret_hash(secret)
        principal = None
        if hashed is not None:
            principal = self._authenticator.remembered(hashed) or await self._look_up(call, hashed)
        if principal is None:
            raise await self._delayed(call, _invalid(_not_valid(secret)))
        return principal

    async def delay_stranger(self, call: Call) -> None:
        """Delay the refusal of a bad route or method, unless the key is cached. The key is not
        looked up."""
        if self.recognized(call) is None:
            await self._delay(call)

    async def _find_token(self, call: Call, token: bytes) -> Principal:
        """Refuse a token that was valid a moment ago without a delay: its caller is a browser that
        needs a new one, not a stranger."""
        was_known = self._tokens.was_known(token)
        try:
            principal = await self._tokens.find(call, token)
        except TooManyLookups:
            raise await self._delayed(call, _too_many_lookups()) from None
        if principal is not None:
            return principal
        if call.token_organization is None:
            raise await self._delayed(call, _invalid("The holder token is not valid"))
        problem = _invalid(
            "The holder token has expired or was revoked. Ask your server for a new one"
        )
        raise problem if was_known else await self._delayed(call, problem)

    async def _look_up(self, call: Call, hashed: bytes) -> Principal | None:
        if self._authenticator.is_unknown(hashed):
            return None
        try:
            return await self._lookups.find(hashed, network_of(call.address))
        except TooManyLookups:
            raise await self._delayed(call, _too_many_lookups()) from None

    async def _delayed(self, call: Call, problem: Problem) -> Problem:
        await self._delay(call)
        return problem

    async def _delay(self, call: Call) -> None:
        if call.on_delay is not None:
            call.on_delay()
        await self._tarpit.wait(network_of(call.address))


class Tokens:
    """Recognizes holder tokens. A forged one is refused without a look-up."""

    def __init__(self, access: HolderAccess, lookups: KeyLookups) -> None:
        self._box = access.box
        self._authenticator = access.authenticator
        self._lookups = lookups

    def recognized(self, call: Call, token: bytes) -> Principal | None:
        principal = self._authenticator.remembered(token)
        if principal is not None:
            call.token_organization = principal.organization_id
        return principal

    async def find(self, call: Call, token: bytes) -> Principal | None:
        """None for a forged token, and for one that is not valid any more: `call` then knows its
        claims."""
        opened = self._box.opened(token)
        if opened is None:
            return None
        call.token, call.token_organization = opened, opened.organization_id
        principal = self._authenticator.remembered(token)
        is_over = opened.expires_at + _CLOCKS_DIFFER_MAX < datetime.now(UTC)
        if principal is not None or is_over or self._authenticator.is_unknown(token):
            return principal
        return await self._lookups.find(token, network_of(call.address))

    def was_known(self, token: bytes) -> bool:
        return self._authenticator.was_known(token)


def sent_secret(call: Call) -> bytes:
    """The credential in a Bearer header."""
    return call.headers[b"authorization"][len(_SCHEME) :].strip()


def _not_valid(secret: bytes) -> str:
    if secret.startswith(SESSION_PREFIX):
        return "The session has ended or is not valid. Sign in again"
    return "The secret key is not valid"


def missing_scope(scope: Scope) -> Problem:
    challenge = f'Bearer realm="holdfast", error="insufficient_scope", scope="{scope.value}"'
    return Problem(
        ProblemCode.INSUFFICIENT_SCOPE,
        f"This call needs the scope {scope.value}",
        headers=((b"www-authenticate", challenge.encode()),),
    )


def _too_many_lookups() -> Problem:
    message = "Too many unrecognized keys are being checked. Wait a few seconds and try again."
    return Problem(ProblemCode.TOO_MANY_REQUESTS, message)


def _invalid(message: str) -> Problem:
    return _unauthorized(message, b', error="invalid_token"')


def _unauthorized(message: str, challenge: bytes) -> Problem:
    headers = ((b"www-authenticate", b'Bearer realm="holdfast"' + challenge),)
    return Problem(ProblemCode.UNAUTHORIZED, message, headers=headers)
