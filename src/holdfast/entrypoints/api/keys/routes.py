"""Routes of API keys, and their handlers."""

from collections.abc import Callable
from functools import partial
from typing import Any, Concatenate, ParamSpec

from msgspec import Struct

from holdfast.domain import refusals
from holdfast.domain.access.keys import (
    ApiKey,
    IssuedKey,
)
from holdfast.domain.access.scopes import Scope, scopes_named
from holdfast.domain.ids import ApiKeyId
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.catalog.handlers import utc_or_none
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import (
    AnyOutcome,
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
)
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.routing import HTTP_REFUSED
from holdfast.entrypoints.api.http.shapes import NoFields, PageQuery
from holdfast.entrypoints.api.keys.answers import IssuedKeyAnswer, KeyAnswer, KeyPage, key_answer
from holdfast.entrypoints.api.keys.requests import (
    SCOPE_NAMES,
    CreateKeyRequest,
    RotateKeyRequest,
)
from holdfast.entrypoints.api.lookups import look_up
from holdfast.services import reads
from holdfast.services.access.keys import KeyAnswered, KeyRing

P = ParamSpec("P")
_C = RefusalCode
_PATH = "/api/keys/{key_id}"


async def list_keys(context: Context, call: Call, query: PageQuery) -> Reply:
    found = await look_up(context, call, reads.keys, context.keys, page_request(query))
    return reply_to_listing(call, found, key_answer)


async def get_key(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.key, context.keys, ApiKeyId(call.path_id))
    return reply_to_reading(call, found, key_answer)


async def create_key(context: Context, call: Call, body: CreateKeyRequest) -> Reply:
    scopes = _scopes(body.scopes)
    for scope in scopes:
        # A key is checked again where it issues the new one; a member has no key.
        if scope not in call.principal.scopes:
            return refusal_reply(refusals.scope_not_held(scope), call.request_id)
    return await _change(
        context,
        call,
        body,
        KeyRing.create,
        body.name,
        scopes,
        utc_or_none("expires_at", body.expires_at),
    )


async def rotate_key(context: Context, call: Call, body: RotateKeyRequest) -> Reply:
    key_id, expires_at = ApiKeyId(call.path_id), utc_or_none("expires_at", body.expires_at)
    reply = await _change(
        context, call, body, KeyRing.rotate, key_id, body.overlap_seconds, expires_at
    )
    if reply.status < HTTP_REFUSED:
        context.forget_credential(key_id)
    return reply


async def revoke_key(context: Context, call: Call, body: NoFields) -> Reply:
    """Every process hears of a change within milliseconds; this one acts on it before it
    answers."""
    key_id = ApiKeyId(call.path_id)
    reply = await _change(context, call, body, KeyRing.revoke, key_id)
    if reply.status < HTTP_REFUSED:
        context.forget_credential(key_id)
    return reply


async def _change(
    context: Context,
    call: Call,
    body: Struct,
    change: Callable[Concatenate[KeyRing, P], KeyAnswered],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Reply:
    principal = call.principal
    ring = KeyRing(
        context.keys,
        principal.organization_id,
        principal.mode,
        principal.key_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=_shown),
    )
    answer = await context.blocking.run(principal.organization_id, change, ring, *args, **kwargs)
    return reply_to(call, answer, _shown)


def _shown(outcome: AnyOutcome) -> object:
    assert isinstance(outcome, ApiKey | IssuedKey)
    return key_answer(outcome)


def _scopes(names: list[str]) -> tuple[str, ...]:
    for position, name in enumerate(names):
        if name not in SCOPE_NAMES:
            message = f"Must be one of {', '.join(SCOPE_NAMES)}"
            raise invalid([FieldError(f"scopes[{position}]", "invalid_value", message)])
    return tuple(scope.value for scope in scopes_named(names))


_ISSUING = (_C.SCOPE_NOT_HELD, _C.INVALID_EXPIRY, _C.TOO_MANY_KEYS)

KEY_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/keys",
        scope=Scope.KEYS_READ,
        summary="List API keys, newest first",
        returns="A page of API keys, without their secrets.",
        handler=list_keys,
        query=PageQuery,
        answer=KeyPage,
    ),
    Route(
        method="POST",
        path="/api/keys",
        scope=Scope.KEYS_WRITE,
        summary="Create an API key",
        description="The new key belongs to the same organization and mode as your own. You can "
        "give it only scopes that your own key has.",
        returns="The created key, with its secret.",
        handler=create_key,
        body=CreateKeyRequest,
        answer=IssuedKeyAnswer,
        status=201,
        refusals=_ISSUING,
    ),
    Route(
        method="GET",
        path=_PATH,
        scope=Scope.KEYS_READ,
        summary="Read an API key",
        returns="The key, without its secret.",
        handler=get_key,
        answer=KeyAnswer,
        not_found=refusals.key_not_found(),
    ),
    Route(
        method="POST",
        path=f"{_PATH}/rotate",
        scope=Scope.KEYS_WRITE,
        summary="Replace an API key",
        description="Creates a key with the same name and scopes. The old key keeps working for "
        "`overlap_seconds`, so that you can switch over.",
        returns="The new key, with its secret.",
        handler=rotate_key,
        body=RotateKeyRequest,
        is_body_optional=True,
        answer=IssuedKeyAnswer,
        status=201,
        not_found=refusals.key_not_found(),
        refusals=(_C.KEY_NOT_VALID, *_ISSUING),
    ),
    Route(
        method="POST",
        path=f"{_PATH}/revoke",
        scope=Scope.KEYS_WRITE,
        summary="Revoke an API key",
        description="It stops working at once. A key can revoke itself.",
        returns="The revoked key.",
        handler=revoke_key,
        answer=KeyAnswer,
        not_found=refusals.key_not_found(),
    ),
)
