"""Examples of API keys for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta

from holdfast.domain.access.keys import ApiKey, IssuedKey, KeyStatus
from holdfast.domain.access.scopes import SCOPE_SETS, Mode
from holdfast.entrypoints.api.keys.answers import KeyPage, key_answer
from holdfast.entrypoints.api.keys.requests import CreateKeyRequest, RotateKeyRequest
from holdfast.entrypoints.api.openapi import example_values as sale

_issued = ApiKey(
    id=sale.KEY,
    created_at=sale.NOW,
    name="Box office",
    prefix="hk_test_x7Qa",
    mode=Mode.TEST,
    scopes=tuple(scope.value for scope in SCOPE_SETS["operate"]),
    status=KeyStatus.VALID,
    expires_at=sale.NOW + timedelta(days=90),
    revoked_at=None,
    last_used_at=None,
    replaces=None,
)
_used = replace(_issued, last_used_at=sale.NOW + timedelta(hours=3))

KEY_ANSWERS: sale.Answers = (
    key_answer(IssuedKey(_issued, "hk_test_x7Qa...")),
    key_answer(_used),
    KeyPage([key_answer(_used)], has_more=False),
)
KEY_REQUESTS: sale.Requests = (
    ("a key for the box office", CreateKeyRequest(name="Box office", scopes=["operate"])),
    ("an hour to switch over", RotateKeyRequest(overlap_seconds=3600)),
)
