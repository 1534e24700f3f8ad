"""API keys as answers. Only a new key's answer has its secret."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.access.keys import ApiKey, IssuedKey
from holdfast.domain.ids import ApiKeyId
from holdfast.entrypoints.api.http.fields import AN_ID
from holdfast.entrypoints.api.http.shapes import (
    AnswerShape,
    PageAnswer,
    or_unset,
    utc,
    utc_or_unset,
)


class KeyAnswer(AnswerShape, frozen=True, kw_only=True):
    key_id: ApiKeyId
    name: str
    prefix: Annotated[
        str, Meta(description="The start of the secret key.", examples=["hk_test_x7Qa"])
    ]
    mode: Annotated[Literal["test", "live"], Meta(description="Whether it sees test or live data.")]
    scopes: Annotated[
        list[str], Meta(description="What it may do.", examples=[["holds:read", "holds:write"]])
    ]
    status: Annotated[
        Literal["valid", "expired", "revoked"], Meta(description="Only a valid key works.")
    ]
    created_at: datetime
    expires_at: Annotated[datetime, Meta(description="It works until this time.")] | UnsetType = (
        UNSET
    )
    revoked_at: (
        Annotated[datetime, Meta(description="It was revoked at this time.")] | UnsetType
    ) = UNSET
    last_used_at: (
        Annotated[datetime, Meta(description="Its last use, exact to about a minute.")] | UnsetType
    ) = UNSET
    replaces: (
        Annotated[ApiKeyId, AN_ID, Meta(description="Id of the key that it was rotated from.")]
        | UnsetType
    ) = UNSET


class IssuedKeyAnswer(KeyAnswer, frozen=True, kw_only=True):
    secret_key: Annotated[
        str,
        Meta(
            description="The secret key. Store it safely: no other call returns it.",
            examples=["hk_test_x7Qa..."],
        ),
    ]


class KeyPage(PageAnswer[KeyAnswer], frozen=True):
    """A page of API keys."""


def key_answer(found: ApiKey | IssuedKey) -> KeyAnswer:
    if isinstance(found, IssuedKey):
        return IssuedKeyAnswer(**_fields(found.key), secret_key=found.secret)
    return KeyAnswer(**_fields(found))


def _fields(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "mode": key.mode.value,
        "scopes": list(key.scopes),
        "status": key.status.value,
        "created_at": utc(key.created_at),
        "expires_at": utc_or_unset(key.expires_at),
        "revoked_at": utc_or_unset(key.revoked_at),
        "last_used_at": utc_or_unset(key.last_used_at),
        "replaces": or_unset(key.replaces),
    }
