"""Requests about API keys."""

from typing import Annotated

from msgspec import Meta

from holdfast.domain.access.keys import OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX
from holdfast.domain.access.scopes import SCOPE_SETS, Scope
from holdfast.entrypoints.api.http.fields import Moment, Name
from holdfast.entrypoints.api.http.shapes import RequestShape

SCOPE_NAMES = (*SCOPE_SETS, *(scope.value for scope in Scope))

_Expiry = Annotated[
    Moment, Meta(description="The key works until this time. Without it, until it is revoked.")
]


class CreateKeyRequest(RequestShape, frozen=True):
    name: Name
    scopes: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"enum": SCOPE_NAMES})]],
        Meta(
            min_length=1,
            max_length=len(SCOPE_NAMES),
            description="Scopes, or sets of scopes: "
            + ", ".join(f"`{name}`" for name in SCOPE_SETS),
            examples=[["holds", "facts:read"]],
        ),
    ]
    expires_at: _Expiry | None = None


class RotateKeyRequest(RequestShape, frozen=True):
    overlap_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=OVERLAP_SECONDS_MAX,
            description="How much longer the old key works.",
            examples=[3600],
        ),
    ] = OVERLAP_SECONDS_DEFAULT
    expires_at: _Expiry | None = None
