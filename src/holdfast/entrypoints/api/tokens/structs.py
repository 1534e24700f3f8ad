"""Holder tokens in requests and answers."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.access.tokens import (
    TTL_SECONDS_DEFAULT,
    TTL_SECONDS_MAX,
    TTL_SECONDS_MIN,
    TokensRevoked,
)
from holdfast.domain.ids import EventId, SessionId
from holdfast.domain.policy import HOLDER_UNITS_MAX
from holdfast.entrypoints.api.http.fields import Email, EventRef, SessionRef, UserId
from holdfast.entrypoints.api.http.replies import AnyOutcome
from holdfast.entrypoints.api.http.shapes import AnswerShape, RequestShape, or_unset, utc
from holdfast.services.access.tokens import IssuedToken


class IssueTokenRequest(RequestShape, frozen=True):
    """For the holder with `user_id`, `customer_email` or both. Without either, for a new anonymous
    holder, if the setting `anonymous_holders` is on. With `event_id` or `session_id`, only for that
    event or session."""

    user_id: UserId | None = None
    customer_email: Email | None = None
    event_id: (
        Annotated[EventRef, Meta(description="The only event that the token is for.")] | None
    ) = None
    session_id: (
        Annotated[SessionRef, Meta(description="The only session that the token is for.")] | None
    ) = None
    ttl_seconds: Annotated[
        int,
        Meta(
            ge=TTL_SECONDS_MIN,
            le=TTL_SECONDS_MAX,
            description="How long it is valid.",
            examples=[TTL_SECONDS_DEFAULT],
        ),
    ] = TTL_SECONDS_DEFAULT
    quantity_max: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=HOLDER_UNITS_MAX,
                description="The most tickets that the holder may have in an event with this "
                "token: held, waited for or bought. A lower limit of the hold policy applies, too.",
                examples=[4],
            ),
        ]
        | None
    ) = None


class RevokeTokensRequest(RequestShape, frozen=True):
    """At least one of `user_id` and `customer_email`. A token that names the user or the address
    is revoked."""

    user_id: UserId | None = None
    customer_email: Email | None = None


class IssuedTokenAnswer(AnswerShape, frozen=True, kw_only=True):
    """A new holder token."""

    token: Annotated[
        str,
        Meta(
            description="The token, for the buyer's browser. Not stored: keep no copy.",
            examples=["ht_live_AQnH0m3ZbN8..."],
        ),
    ]
    token_id: Annotated[
        UUID, Meta(description="Id of the token, in the audit log: `token:` and this id.")
    ]
    expires_at: Annotated[datetime, Meta(description="From then on, the token is refused.")]
    user_id: (
        Annotated[UserId, Meta(description="The holder's user id; made up for an anonymous one.")]
        | UnsetType
    ) = UNSET
    event_id: EventId | UnsetType = UNSET
    session_id: SessionId | UnsetType = UNSET
    quantity_max: (
        Annotated[int, Meta(description="The most tickets that the holder may have in an event.")]
        | UnsetType
    ) = UNSET


class TokensRevokedAnswer(AnswerShape, frozen=True, kw_only=True):
    """The holder's tokens no longer work."""

    revoked_at: Annotated[
        datetime, Meta(description="Tokens issued at this time or earlier are refused.")
    ]


def issued_answer(issued: IssuedToken) -> IssuedTokenAnswer:
    token = issued.token
    return IssuedTokenAnswer(
        token=issued.text,
        token_id=token.id,
        expires_at=utc(token.expires_at),
        user_id=or_unset(token.holder.user_id),
        event_id=or_unset(token.event_id),
        session_id=or_unset(token.session_id),
        quantity_max=or_unset(token.quantity_max),
    )


def token_answer(outcome: AnyOutcome) -> object:
    if isinstance(outcome, IssuedToken):
        return issued_answer(outcome)
    assert isinstance(outcome, TokensRevoked)
    return TokensRevokedAnswer(revoked_at=utc(outcome.revoked_at))
