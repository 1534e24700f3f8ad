"""Holder tokens: recognized, issued and revoked."""

from collections.abc import Callable, Mapping, Sequence

import structlog
from uuid_utils.compat import uuid4

from holdfast.domain import refusals
from holdfast.domain.access.tokens import (
    TOKEN_SCOPES,
    HolderToken,
    IssueToken,
    RevokeTokens,
    TokensRevoked,
)
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import ApiKeyId, EventId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.ports.access import Principal, TokenDirectory, TokenStore
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.store import StoreError
from holdfast.services.access.authentication import Authenticator
from holdfast.services.access.origins import AllowedOrigins
from holdfast.services.access.token_box import TokenBox
from holdfast.services.failures import refusal_for

# Changes are announced; looking a token up again only bounds the effect of a missed announcement.
REMEMBERED_SECONDS = 60.0
REMEMBERED_MAX = 16_384

_SCOPES = frozenset(scope.value for scope in TOKEN_SCOPES)

_log = structlog.get_logger("holdfast.tokens")


@immutable
class IssuedToken:
    token: HolderToken
    text: str


TokenAnswered = StoredAnswer[IssuedToken | TokensRevoked | Refusal]


@immutable
class SealedTokens:
    """Implements KeyDirectory for tokens: what is looked up is the token as sent."""

    box: TokenBox
    directory: TokenDirectory

    def find(self, tokens: Sequence[bytes]) -> Mapping[bytes, Principal]:
        opened = {text: token for text in tokens if (token := self.box.opened(text)) is not None}
        if not opened:
            return {}
        left = self.directory.seconds_left(list(opened.values()))
        return {
            text: self._principal(token, left[token.id])
            for text, token in opened.items()
            if token.id in left
        }

    def _principal(self, token: HolderToken, seconds_left: float) -> Principal:
        return Principal(
            organization_id=token.organization_id,
            key_id=token.key_id,
            scopes=_SCOPES,
            mode=token.mode,
            expires_in_seconds=seconds_left,
            token_id=token.id,
            holder=token.holder,
            event_id=token.event_id,
            session_id=token.session_id,
            quantity_max=token.quantity_max,
            seals=self.box.seals(token.organization_id, token.holder),
        )


@immutable
class HolderAccess:
    """What a process needs for holder tokens."""

    box: TokenBox
    authenticator: Authenticator
    store: TokenStore
    origins: AllowedOrigins


def token_authenticator(box: TokenBox, directory: TokenDirectory) -> Authenticator:
    return Authenticator(
        SealedTokens(box, directory), lasts_seconds=REMEMBERED_SECONDS, size_max=REMEMBERED_MAX
    )


@immutable
class TokenDesk:
    """Issues and revokes the tokens of one organization, on behalf of one key. Calls block."""

    access: HolderAccess
    issuer: Principal
    key_id: ApiKeyId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[IssuedToken | TokensRevoked | Refusal], bytes] = lambda _: b""

    def issue(
        self,
        holder: Holder | None,
        ttl_seconds: int,
        event_id: EventId | None = None,
        session_id: SessionId | None = None,
        quantity_max: int | None = None,
    ) -> TokenAnswered:
        if not self.access.box.can_seal:
            return StoredAnswer(refusals.tokens_unavailable())
        issuer = self.issuer
        own = (issuer.organization_id, issuer.mode, self.key_id)
        limits = (event_id, session_id, quantity_max)
        wanted = IssueToken(uuid4(), *own, holder, ttl_seconds, *limits)
        made: dict[HolderToken, IssuedToken] = {}

        def issued(outcome: HolderToken | Refusal) -> IssuedToken | Refusal:
            """Once: every sealing gives another text."""
            if isinstance(outcome, Refusal):
                return outcome
            if outcome not in made:
                made[outcome] = IssuedToken(outcome, self.access.box.sealed(outcome))
            return made[outcome]

        try:
            answer = self.access.store.issue(
                wanted, self.origin, self.idempotency, lambda outcome: self.render(issued(outcome))
            )
        except StoreError as error:
            _log.error("token.issue_failed", problem=error.problem)
            return StoredAnswer(refusal_for(error))
        outcome = None if answer.outcome is None else issued(answer.outcome)
        return StoredAnswer(outcome, answer.body, answer.is_replay)

    def revoke(self, holder: Holder) -> TokenAnswered:
        """This process refuses them before the answer is sent; the others hear of it."""
        issuer = self.issuer
        change = RevokeTokens(issuer.organization_id, self.key_id, holder)
        try:
            answer = self.access.store.revoke(change, self.origin, self.idempotency, self.render)
        except StoreError as error:
            _log.error("token.revoke_failed", problem=error.problem)
            return StoredAnswer(refusal_for(error))
        self.access.authenticator.forget_organization(issuer.organization_id)
        return StoredAnswer(answer.outcome, answer.body, answer.is_replay)
