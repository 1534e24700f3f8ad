"""Holder tokens: short-lived credentials for browsers. Each acts for one holder."""

from datetime import datetime, timedelta
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Mode, Scope
from holdfast.domain.ids import ApiKeyId, EventId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder

TTL_SECONDS_DEFAULT = 1_800
TTL_SECONDS_MIN = 60
TTL_SECONDS_MAX = 86_400

# What a token may do, on the routes that are open to tokens.
TOKEN_SCOPES = frozenset(
    {Scope.CATALOG_READ, Scope.HOLDS_READ, Scope.HOLDS_WRITE, Scope.ORDERS_READ}
)


@immutable
class HolderToken:
    """The claims of a token. `key_id` is the key that issued it."""

    id: UUID
    organization_id: OrganizationId
    mode: Mode
    key_id: ApiKeyId
    holder: Holder
    issued_at: datetime
    expires_at: datetime
    event_id: EventId | None = None
    session_id: SessionId | None = None
    quantity_max: int | None = None


@immutable
class IssueToken:
    """A token to be issued. Without `holder`, it is for a new anonymous one."""

    id: UUID
    organization_id: OrganizationId
    mode: Mode
    key_id: ApiKeyId
    holder: Holder | None
    ttl_seconds: int = TTL_SECONDS_DEFAULT
    event_id: EventId | None = None
    session_id: SessionId | None = None
    quantity_max: int | None = None

    def issued(self, at: datetime, *, allows_anonymous: bool) -> HolderToken | Refusal:
        """`allows_anonymous` is the setting of the organization."""
        holder = self.holder
        if holder is None:
            if not allows_anonymous:
                return refusals.anonymous_holders_off()
            holder = Holder(user_id=f"anonymous-{self.id}")
        return HolderToken(
            id=self.id,
            organization_id=self.organization_id,
            mode=self.mode,
            key_id=self.key_id,
            holder=holder,
            issued_at=at,
            expires_at=at + timedelta(seconds=self.ttl_seconds),
            event_id=self.event_id,
            session_id=self.session_id,
            quantity_max=self.quantity_max,
        )


@immutable
class RevokeTokens:
    """Revoke every token of the holder that has been issued so far."""

    organization_id: OrganizationId
    key_id: ApiKeyId
    holder: Holder


@immutable
class TokensRevoked:
    """Tokens issued at this time or earlier no longer work."""

    revoked_at: datetime


def revocation_keys(holder: Holder) -> tuple[UUID, ...]:
    """A token that names a user and an address ends when either is revoked."""
    named = [Holder(user_id=holder.user_id)] if holder.user_id is not None else []
    named += [Holder(holder.email)] if holder.email is not None else []
    return tuple(each.key for each in named)
