"""Callers and API keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol
from uuid import UUID

from holdfast.domain.access.keys import ApiKey, KeyChange
from holdfast.domain.access.members import SignedIn
from holdfast.domain.access.scopes import Mode
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.paging import Page, PageRequest

KeyOutcome = ApiKey | Refusal


@immutable
class Principal:
    """The caller, from its credential, which is the only source of the organization: an API key, or
    the session of a member."""

    organization_id: OrganizationId
    key_id: ApiKeyId | None
    scopes: frozenset[str]
    mode: Mode = Mode.TEST
    # How long the credential was still valid when it was looked up; None without an end.
    expires_in_seconds: float | None = None
    member: SignedIn | None = None
    actor: str = field(init=False)
    credential_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        member = self.member
        actor = f"key:{self.key_id}" if member is None else f"member:{member.user_id}"
        object.__setattr__(self, "actor", actor)
        object.__setattr__(
            self, "credential_id", self.key_id if member is None else member.session_id
        )


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
