"""Issues, rotates and revokes API keys. Every call blocks."""

from collections.abc import Callable, Collection
from datetime import datetime

import structlog

from holdfast.domain.access.keys import (
    ApiKey,
    CreateKey,
    IssuedKey,
    KeyChange,
    RevokeKey,
    RotateKey,
)
from holdfast.domain.access.scopes import Mode
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.access import KeyOutcome, KeyStore
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.store import StoreError
from holdfast.services.access.authentication import new_secret_key
from holdfast.services.failures import refusal_for

KeyAnswered = StoredAnswer[ApiKey | IssuedKey | Refusal]

_log = structlog.get_logger("holdfast.keys")


@immutable
class KeyRing:
    """The keys of one organization, on behalf of one caller. `issuer_id` is the caller's own key;
    None for an operator."""

    store: KeyStore
    organization_id: OrganizationId
    mode: Mode
    issuer_id: ApiKeyId | None
    origin: Origin
    idempotency: IdempotencyKey | None = None
    render: Callable[[ApiKey | IssuedKey | Refusal], bytes] = lambda _: b""

    def create(
        self, name: str, scopes: Collection[str], expires_at: datetime | None
    ) -> KeyAnswered:
        secret, stored = new_secret_key(self.mode)
        change = CreateKey(
            self.organization_id, stored, name, tuple(scopes), expires_at, self.issuer_id
        )
        return self._apply(change, secret)

    def rotate(
        self, key_id: ApiKeyId, overlap_seconds: int, expires_at: datetime | None
    ) -> KeyAnswered:
        secret, stored = new_secret_key(self.mode)
        change = RotateKey(
            self.organization_id, key_id, stored, overlap_seconds, expires_at, self.issuer_id
        )
        return self._apply(change, secret)

    def revoke(self, key_id: ApiKeyId) -> KeyAnswered:
        return self._apply(RevokeKey(self.organization_id, key_id), None)

    def _apply(self, change: KeyChange, secret: str | None) -> KeyAnswered:
        def issued(outcome: KeyOutcome) -> ApiKey | IssuedKey | Refusal:
            if secret is None or isinstance(outcome, Refusal):
                return outcome
            return IssuedKey(outcome, secret)

        try:
            answer = self.store.apply(
                change, self.origin, self.idempotency, lambda outcome: self.render(issued(outcome))
            )
        except StoreError as error:
            kind = type(error).__name__
            _log.error("key.change_failed", change=type(change).__name__, problem=kind)
            return StoredAnswer(refusal_for(error))
        outcome = None if answer.outcome is None else issued(answer.outcome)
        return StoredAnswer(outcome, answer.body, answer.is_replay)
