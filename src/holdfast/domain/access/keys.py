"""API keys: issued, rotated and revoked. The table stores only a hash of the secret."""

from datetime import datetime, timedelta
from enum import StrEnum

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal

# Valid keys of an organization, per mode.
KEYS_MAX = 100
# How long a rotated key keeps working.
OVERLAP_SECONDS_DEFAULT = 86_400
OVERLAP_SECONDS_MAX = 30 * 86_400


class KeyStatus(StrEnum):
    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


@immutable
class ApiKey:
    """`prefix` is the start of the secret, by which people tell keys apart."""

    id: ApiKeyId
    created_at: datetime
    name: str
    prefix: str
    mode: Mode
    scopes: tuple[str, ...]
    status: KeyStatus
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    replaces: ApiKeyId | None


@immutable
class IssuedKey:
    """A new key with its secret, which is shown only now."""

    key: ApiKey
    secret: str


@immutable
class NewSecret:
    """A secret as stored."""

    key_id: ApiKeyId
    prefix: str
    secret_hash: bytes


@immutable
class CreateKey:
    """`issuer_id` is the key that creates this one; None for an operator."""

    organization_id: OrganizationId
    secret: NewSecret
    name: str
    scopes: tuple[str, ...]
    expires_at: datetime | None
    issuer_id: ApiKeyId | None


@immutable
class RotateKey:
    """Replace a key by one with the same name and scopes, and the same lifetime unless
    `expires_at` is given. The old one works for `overlap_seconds` longer."""

    organization_id: OrganizationId
    key_id: ApiKeyId
    secret: NewSecret
    overlap_seconds: int
    expires_at: datetime | None
    issuer_id: ApiKeyId | None


@immutable
class RevokeKey:
    organization_id: OrganizationId
    key_id: ApiKeyId


KeyChange = CreateKey | RotateKey | RevokeKey


@immutable
class Issue:
    """What a new key may do, and until when. `issuer` is None for an operator, who may issue any
    key; a key must not issue one that may do more than itself, or lasts longer."""

    issuer: ApiKey | None
    scopes: tuple[str, ...]
    expires_at: datetime | None

    @property
    def ends_at(self) -> datetime | None:
        """Without an end of its own, that of its issuer."""
        return self.expires_at or (None if self.issuer is None else self.issuer.expires_at)

    def refusal(self, valid_keys: int, at: datetime) -> Refusal | None:
        """`valid_keys` are those that the organization has already."""
        if self.expires_at is not None and self.expires_at <= at:
            return refusals.invalid_expiry()
        issuer = self.issuer
        if issuer is not None:
            # It may have been revoked while its request arrived.
            if issuer.status is not KeyStatus.VALID:
                return refusals.key_not_valid(issuer.status.value)
            missing = [scope for scope in self.scopes if scope not in issuer.scopes]
            if missing:
                return refusals.scope_not_held(missing[0])
            limit = issuer.expires_at
            if limit is not None and self.expires_at is not None and self.expires_at > limit:
                return refusals.expiry_beyond_issuer()
        return refusals.too_many_keys(KEYS_MAX) if valid_keys >= KEYS_MAX else None


def successor_expires_at(key: ApiKey, at: datetime) -> datetime | None:
    """A key that was meant to last for a month is replaced by one that lasts for a month."""
    if key.expires_at is None:
        return None
    try:
        return at + (key.expires_at - key.created_at)
    except OverflowError:
        return key.expires_at  # in the year 9999


def successor(
    old: ApiKey, issuer: ApiKey | None, expires_at: datetime | None, at: datetime
) -> Issue:
    """A key with the same scopes. Unless `expires_at` is asked for, it lasts as long as the old one
    was meant to, but no longer than its issuer."""
    if expires_at is None:
        ends = (successor_expires_at(old, at), None if issuer is None else issuer.expires_at)
        expires_at = min((end for end in ends if end is not None), default=None)
    return Issue(issuer, old.scopes, expires_at)


def overlap_ends_at(key: ApiKey, at: datetime, overlap_seconds: int) -> datetime:
    """When a rotated key expires: never later than it would have."""
    ends_at = at + timedelta(seconds=overlap_seconds)
    return ends_at if key.expires_at is None else min(key.expires_at, ends_at)
