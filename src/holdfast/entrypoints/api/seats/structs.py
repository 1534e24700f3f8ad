"""Requests about seats."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.seats.block_seats import SEATS_PER_BLOCKING_MAX
from holdfast.domain.seats.seat import BLOCKED_REASON_LENGTH_MAX
from holdfast.entrypoints.api.holds.structs import RemarkedRequest
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import (
    CartToken,
    Email,
    MetadataTexts,
    SeatRef,
    UserId,
    ruled,
)
from holdfast.entrypoints.api.http.shapes import RequestShape

Reason: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=BLOCKED_REASON_LENGTH_MAX,
        pattern=r"\S",
        description="Reason, stored with the seat and in the audit log.",
        examples=["Camera position"],
        extra={"message": f"Must be 1 to {BLOCKED_REASON_LENGTH_MAX} characters and not blank"},
    ),
]
MapVersion: TypeAlias = Annotated[
    int,
    Meta(
        ge=0,
        le=2**63 - 1,
        description="`version` of an earlier answer, to get only later changes.",
        extra=ruled(ProblemCode.INVALID_CURSOR, "Use version of an earlier answer, unchanged"),
    ),
]


class ReserveRequest(RemarkedRequest, frozen=True):
    """At least one of `customer_email` and `user_id` is required, unless a member reserves the seat
    for themselves."""

    customer_email: Email | None = None
    user_id: UserId | None = None
    cart_token: CartToken | None = None
    metadata: MetadataTexts | None = None


class BlockSeatsRequest(RequestShape, frozen=True):
    seat_ids: Annotated[list[SeatRef], Meta(min_length=1, max_length=SEATS_PER_BLOCKING_MAX)]
    reason: Reason


class SeatQuery(RequestShape, frozen=True):
    """The caller's customer, who gets `hold_id` if they hold the seat."""

    customer_email: Email | UnsetType = UNSET
    user_id: UserId | UnsetType = UNSET


class SeatMapQuery(RequestShape, frozen=True):
    since: MapVersion | UnsetType = UNSET
