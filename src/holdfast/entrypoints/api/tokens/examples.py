"""Examples of holder tokens for the OpenAPI document."""

from datetime import timedelta
from uuid import UUID

from holdfast.domain.access.scopes import Mode
from holdfast.domain.access.tokens import TTL_SECONDS_DEFAULT, HolderToken
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.tokens.structs import (
    IssueTokenRequest,
    RevokeTokensRequest,
    TokensRevokedAnswer,
    issued_answer,
)
from holdfast.services.access.tokens import IssuedToken

_token = HolderToken(
    id=UUID("7a1c1b52-6f0e-4d59-9c0a-3f1f7c3f2a11"),
    organization_id=sale.ORGANIZATION,
    mode=Mode.LIVE,
    key_id=sale.KEY,
    holder=Holder(user_id="user-1"),
    issued_at=sale.NOW,
    expires_at=sale.NOW + timedelta(seconds=TTL_SECONDS_DEFAULT),
    event_id=sale.EVENT,
    quantity_max=4,
)

TOKEN_ANSWERS: sale.Answers = (
    issued_answer(IssuedToken(_token, "ht_live_AQnH0m3ZbN8...")),
    TokensRevokedAnswer(revoked_at=sale.NOW),
)
TOKEN_REQUESTS: sale.Requests = (
    ("for one event", IssueTokenRequest(user_id="user-1", event_id=sale.EVENT, quantity_max=4)),
    ("of a user", RevokeTokensRequest(user_id="user-1")),
)
