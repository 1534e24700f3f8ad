"""Reads idempotency keys."""

import re
from uuid import UUID

import msgspec

from holdfast.domain.group.origin import IdempotencyKey
from holdfast.entrypoints.api.access.authentication import sent_secret
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.services.idempotency.fingerprint import repeat_key, request_fingerprint
from holdfast.services.idempotency.seal import seal_of

_KEY = re.compile(rb"[\x21-\x7e]{1,255}")

_encode = msgspec.json.Encoder(order="deterministic").encode


def checked_key(sent: bytes) -> str:
    """The value of the Idempotency-Key header."""
    if not _KEY.fullmatch(sent):
        raise Problem(
            ProblemCode.INVALID_IDEMPOTENCY_KEY,
            "Idempotency-Key must be 1 to 255 visible ASCII characters",
        )
    return sent.decode("ascii")


def repeat_key_text(sent: str | None, hold_id: UUID | None) -> str | None:
    """The key as sent, or else the hold id that the client chose. Keys as sent contain no spaces,
    so the two kinds never clash."""
    if sent is not None or hold_id is None:
        return sent
    return f"hold {hold_id}"


def idempotency_of(call: Call, key: str | None, body: msgspec.Struct) -> IdempotencyKey | None:
    """Also sets the seal of the recorded answer."""
    if key is None:
        return None
    fingerprint = request_fingerprint(call.method, _address(call), _encode(body))
    own = call.principal.seals
    call.seal = (
        seal_of(own[0], key, fingerprint, own[1:])
        if own
        else seal_of(sent_secret(call), key, fingerprint)
    )
    return repeat_key(call.principal, key, fingerprint)


def _address(call: Call) -> str:
    """Cart tokens are case-sensitive. In other paths only ids may have capitals, and these are
    hexadecimal."""
    if call.cart:
        return f"{call.route_path} {call.cart}"
    return call.path.lower()
