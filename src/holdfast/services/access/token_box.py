"""The text of a holder token: its claims, encrypted and authenticated with a key that is derived
from the installation's secret.

`ht_<mode>_` and, in base64url: a version byte, 4 bytes that say which secret it was made with, the
organization's id, a nonce and the sealed claims (AES-256-GCM). Prefix, version, secret id and
organization are authenticated with the claims. There is one algorithm, and no header to choose
another (ADR 0042).
"""

import base64
import binascii
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import HolderToken
from holdfast.domain.ids import ApiKeyId, EventId, OrganizationId, SessionId
from holdfast.domain.values import EmailAddress, Holder, InvalidValue
from holdfast.services.access.installation_secrets import (
    ID_BYTES,
    NONCE_BYTES,
    InstallationSecrets,
)

# The longest address and user id in UTF-8 fit in.
TOKEN_LENGTH_MAX = 4_096

_TOKEN = re.compile(rb"(ht_(?:test|live)_)([A-Za-z0-9_-]{64,})", re.ASCII)
_VERSION = b"\x01"
_ORGANIZATION_AT = 1 + ID_BYTES
_NONCE_AT = _ORGANIZATION_AT + 16
_SEALED_AT = _NONCE_AT + NONCE_BYTES


class _Claims(msgspec.Struct, array_like=True, frozen=True):
    token_id: UUID
    key_id: UUID
    issued_at: datetime
    expires_at: datetime
    user_id: str | None
    email: str | None
    event_id: UUID | None
    session_id: UUID | None
    quantity_max: int | None = None


_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode = msgspec.msgpack.Decoder(_Claims).decode


class TokenBox:
    """Makes and opens tokens. The first secret makes them; the others, from before a rotation, only
    open them. Without any, no token can be made or opened."""

    def __init__(self, installation_secrets: Sequence[str]) -> None:
        self._secrets = InstallationSecrets(installation_secrets)

    @property
    def can_seal(self) -> bool:
        return bool(self._secrets.ids)

    def sealed(self, token: HolderToken) -> str:
        secret_id = self._secrets.ids[0]
        holder = token.holder
        claims = _Claims(
            token.id,
            token.key_id,
            token.issued_at,
            token.expires_at,
            holder.user_id,
            None if holder.email is None else holder.email.value,
            token.event_id,
            token.session_id,
            token.quantity_max,
        )
        prefix = f"ht_{token.mode.value}_"
        head = _VERSION + secret_id + token.organization_id.bytes
        nonce = secrets.token_bytes(NONCE_BYTES)
        cipher = self._secrets.cipher(secret_id, b"token" + token.organization_id.bytes)
        sealed = cipher.encrypt(nonce, _encode(claims), prefix.encode() + head)
        text = base64.urlsafe_b64encode(head + nonce + sealed).rstrip(b"=")
        return prefix + text.decode("ascii")

    def opened(self, token: bytes) -> HolderToken | None:
        """The claims of a token that this installation made; whether it is still valid is for the
        directory to say."""
        found = _TOKEN.fullmatch(token) if len(token) <= TOKEN_LENGTH_MAX else None
        if found is None:
            return None
        prefix, text = found.groups()
        try:
            raw = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        except binascii.Error:
            return None
        secret_id, organization = raw[1:_ORGANIZATION_AT], raw[_ORGANIZATION_AT:_NONCE_AT]
        is_canonical = base64.urlsafe_b64encode(raw).rstrip(b"=") == text
        if raw[:1] != _VERSION or secret_id not in self._secrets.ids or not is_canonical:
            return None
        cipher = self._secrets.cipher(secret_id, b"token" + organization)
        bound = prefix + raw[:_NONCE_AT]
        try:
            claims = cipher.decrypt(raw[_NONCE_AT:_SEALED_AT], raw[_SEALED_AT:], bound)
            mode = Mode(prefix[3:7].decode())
            return _token(OrganizationId(UUID(bytes=organization)), mode, _decode(claims))
        except (InvalidTag, ValueError, msgspec.DecodeError, InvalidValue):
            return None

    def seals(self, organization_id: OrganizationId, holder: Holder) -> tuple[bytes, ...]:
        """Secrets for the recorded answers of a holder, the newest first."""
        name = b"answers" + organization_id.bytes + holder.key.bytes
        return tuple(self._secrets.key(secret_id, name) for secret_id in self._secrets.ids)


def _token(organization_id: OrganizationId, mode: Mode, claims: _Claims) -> HolderToken:
    email = None if claims.email is None else EmailAddress(claims.email)
    return HolderToken(
        id=claims.token_id,
        organization_id=organization_id,
        mode=mode,
        key_id=ApiKeyId(claims.key_id),
        holder=Holder(email, claims.user_id),
        issued_at=claims.issued_at,
        expires_at=claims.expires_at,
        event_id=None if claims.event_id is None else EventId(claims.event_id),
        session_id=None if claims.session_id is None else SessionId(claims.session_id),
        quantity_max=claims.quantity_max,
    )
