"""API keys: issued, rotated and revoked. Only the hash of a secret is ever stored."""

from collections.abc import Collection, Iterable
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
    """`grantable` are the scopes of the key that creates this one; None for an operator, who may
    grant all."""

    organization_id: OrganizationId
    secret: NewSecret
    name: str
    scopes: tuple[str, ...]
    expires_at: datetime | None
    grantable: Collection[str] | None


@immutable
class RotateKey:
    """Replace a key by one with the same name and scopes. The old one works for `overlap_seconds`
    longer."""

    organization_id: OrganizationId
    key_id: ApiKeyId
    secret: NewSecret
    overlap_seconds: int
    expires_at: datetime | None
    grantable: Collection[str] | None


@immutable
class RevokeKey:
    organization_id: OrganizationId
    key_id: ApiKeyId


KeyChange = CreateKey | RotateKey | RevokeKey


def refuse_issue(
    change: CreateKey | RotateKey, scopes: Iterable[str], valid_keys: int, at: datetime
) -> Refusal | None:
    """`valid_keys` are those that the organization has already."""
    if change.expires_at is not None and change.expires_at <= at:
        return refusals.invalid_expiry()
    if change.grantable is not None:
        # Otherwise a key could give itself every right.
        missing = [scope for scope in scopes if scope not in change.grantable]
        if missing:
            return refusals.scope_not_held(missing[0])
    return refusals.too_many_keys(KEYS_MAX) if valid_keys >= KEYS_MAX else None


def overlap_ends_at(key: ApiKey, at: datetime, overlap_seconds: int) -> datetime:
    """When a rotated key expires: never later than it would have."""
    ends_at = at + timedelta(seconds=overlap_seconds)
    return ends_at if key.expires_at is None else min(key.expires_at, ends_at)
