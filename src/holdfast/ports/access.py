"""Callers and API keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol
from uuid import UUID

from holdfast.domain.access.keys import ApiKey, KeyChange
from holdfast.domain.access.members import SignedIn
from holdfast.domain.access.reach import Reach
from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken, IssueToken, RevokeTokens, TokensRevoked
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import ApiKeyId, EventId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.paging import Page, PageRequest

KeyOutcome = ApiKey | Refusal


@immutable
class Principal:
    """The caller, from its credential, which is the only source of the organization: an API key, a
    member's session, or a holder token. For a token, `key_id` is the key that issued it, and the
    fields about the token are set."""

    organization_id: OrganizationId
    key_id: ApiKeyId | None
    scopes: frozenset[str]
    mode: Mode = Mode.TEST
    # How much longer the credential was valid when it was looked up; None if it has no end.
    expires_in_seconds: float | None = None
    token_id: UUID | None = None
    holder: Holder | None = None
    event_id: EventId | None = None
    session_id: SessionId | None = None
    quantity_max: int | None = None
    # Secrets to seal recorded answers with, the newest first: a renewed token opens them, too.
    seals: tuple[bytes, ...] = field(default=(), repr=False)
    member: SignedIn | None = None
    actor: str = field(init=False)
    # Of the key or the session whose end is the end of this credential.
    credential_id: UUID = field(init=False)
    reach: Reach | None = field(init=False)

    def __post_init__(self) -> None:
        member, compute = self.member, object.__setattr__
        if member is not None:
            actor = f"member:{member.user_id}"
        elif self.token_id is not None:
            actor = f"token:{self.token_id}"
        else:
            actor = f"key:{self.key_id}"
        compute(self, "actor", actor)
        compute(self, "credential_id", self.key_id if member is None else member.session_id)
        reach = None
        if self.holder is not None:
            reach = Reach(self.holder, self.event_id, self.session_id, self.quantity_max)
        compute(self, "reach", reach)


class KeyDirectory(Protocol):
    def find(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, Principal]:
        """The principals of the keys and sessions that are valid now. Notes that they were used.
        May raise StoreError."""
        ...


class KeyStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def apply(
        self,
        change: KeyChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[KeyOutcome], bytes],
    ) -> StoredAnswer[KeyOutcome]:
        """Make the change, write its audit entry and record its answer, in one transaction. Every
        server process hears of it."""
        ...

    def key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey | None: ...

    def keys(self, organization_id: OrganizationId, page: PageRequest) -> Page[ApiKey]: ...


class TokenDirectory(Protocol):
    """Every call blocks, and may raise StoreError."""

    def seconds_left(self, tokens: Sequence[HolderToken]) -> Mapping[UUID, float]:
        """How long each of these tokens, by id, is still valid. Those that have expired, that were
        revoked, or whose issuing key is not valid any more, are left out."""
        ...

    def allowed_origins(self) -> Mapping[OrganizationId, frozenset[str]]:
        """Those of every organization that has any."""
        ...


class TokenStore(Protocol):
    """Every call blocks, and may raise StoreError."""

    def issue(
        self,
        wanted: IssueToken,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[HolderToken | Refusal], bytes],
    ) -> StoredAnswer[HolderToken | Refusal]:
        """Check the request, write its audit entry and record its answer, in one transaction."""
        ...

    def revoke(
        self,
        change: RevokeTokens,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[TokensRevoked], bytes],
    ) -> StoredAnswer[TokensRevoked]:
        """Revoke in one transaction with its audit entry and answer. Every server process hears of
        it."""
        ...
