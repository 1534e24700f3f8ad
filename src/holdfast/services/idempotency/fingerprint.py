"""Recognizing repeated requests."""

from hashlib import sha256
from uuid import UUID

from holdfast.domain.group.origin import IdempotencyKey
from holdfast.ports.access import Principal


def request_fingerprint(method: str, path: str, body: bytes) -> bytes:
    """`body` is the canonical encoding of the parsed request: white space and the order of fields
    make no difference."""
    return sha256(b"\n".join((method.encode(), path.encode(), body))).digest()


def repeat_key(principal: Principal, key: str, fingerprint: bytes) -> IdempotencyKey:
    """The same key text from two principals gives two different keys. All tokens of a holder with
    the same limits are one principal, so that a retry may come with a renewed token."""
    holder, limit = principal.holder, principal.session_id or principal.event_id
    scope = principal.credential_id.bytes if holder is None else b"holder" + holder.key.bytes
    if limit is not None:
        # Framed, so that no key text of an unlimited token can continue into it.
        scope = sha256(scope + limit.bytes).digest()
    digest = sha256(scope + key.encode()).digest()
    return IdempotencyKey(principal.organization_id, UUID(bytes=digest[:16]), fingerprint)
