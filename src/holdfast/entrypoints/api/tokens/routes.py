"""Routes of holder tokens, and their handlers."""

from functools import partial
from typing import Any

from msgspec import Struct

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.access.tokens import TOKEN_SCOPES
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.holds.requests import holder_of
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import render, reply_to
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.tokens.structs import (
    IssuedTokenAnswer,
    IssueTokenRequest,
    RevokeTokensRequest,
    TokensRevokedAnswer,
    token_answer,
)
from holdfast.services.access.tokens import TokenDesk

_PATH = "/api/holder-tokens"


async def issue_token(context: Context, call: Call, body: IssueTokenRequest) -> Reply:
    if body.event_id is not None and body.session_id is not None:
        message = "Don't combine event_id with session_id"
        raise invalid([FieldError("session_id", "conflicting_fields", message)])
    for scope in sorted(TOKEN_SCOPES - call.principal.scopes):
        return refusal_reply(refusals.scope_not_held(scope), call.request_id)
    is_anonymous = body.customer_email is None and body.user_id is None
    holder = None if is_anonymous else holder_of(body.customer_email, body.user_id)
    answer = await context.blocking.run(
        call.principal.organization_id,
        _desk(context, call, body).issue,
        holder,
        body.ttl_seconds,
        body.event_id,
        body.session_id,
        body.quantity_max,
    )
    return reply_to(call, answer, token_answer)


async def revoke_tokens(context: Context, call: Call, body: RevokeTokensRequest) -> Reply:
    desk = _desk(context, call, body)
    holder = holder_of(body.customer_email, body.user_id)
    answer = await context.blocking.run(call.principal.organization_id, desk.revoke, holder)
    return reply_to(call, answer, token_answer)


def _desk(context: Context, call: Call, body: Struct) -> TokenDesk:
    """A token ends with the key that issued it, so it takes a key, not a member's session."""
    if call.principal.key_id is None:
        message = "Holder tokens are issued and revoked with a secret key"
        raise Problem(ProblemCode.SECRET_KEY_REQUIRED, message)
    return TokenDesk(
        context.holders,
        call.principal,
        call.principal.key_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=token_answer),
    )


TOKEN_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path=_PATH,
        scope=Scope.TOKENS_WRITE,
        summary="Issue a holder token for a buyer's browser",
        description="The browser sends it as `Authorization: Bearer`, and can then view the "
        "catalog, hold, join the waitlist and check out for this holder only. The token is refused "
        "after `expires_at`, once the holder's tokens are revoked, and once the key that issued it "
        "is revoked or has expired. Your key needs every scope that a token has: `catalog:read`, "
        "`holds:read`, `holds:write` and `orders:read`.",
        returns="The token.",
        handler=issue_token,
        body=IssueTokenRequest,
        is_body_optional=True,
        answer=IssuedTokenAnswer,
        status=201,
        refusals=(
            RefusalCode.SCOPE_NOT_HELD,
            RefusalCode.INVALID_EVENT,
            RefusalCode.INVALID_SESSION,
            RefusalCode.ANONYMOUS_HOLDERS_OFF,
            RefusalCode.TOKENS_UNAVAILABLE,
        ),
    ),
    Route(
        method="POST",
        path=f"{_PATH}/revoke",
        scope=Scope.TOKENS_WRITE,
        summary="Revoke all holder tokens of a holder",
        description="Every token that was issued before is refused at once, on every server. Holds "
        "stay: release them if you need to.",
        returns="When they were revoked.",
        handler=revoke_tokens,
        body=RevokeTokensRequest,
        answer=TokensRevokedAnswer,
        refusals=(ProblemCode.HOLDER_REQUIRED,),
    ),
)
