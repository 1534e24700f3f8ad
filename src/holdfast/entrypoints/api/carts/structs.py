"""The shapes of requests about carts."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from holdfast.domain.holds.hold import CART_ITEM_ID_LENGTH_MAX, Source
from holdfast.domain.holds.placement import LINES_MAX
from holdfast.entrypoints.api.holds.structs import AskedLine, Notes
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import (
    Email,
    MetadataTexts,
    SessionRef,
    UserId,
    ruled,
)
from holdfast.entrypoints.api.http.shapes import RequestShape

CartItemId: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=CART_ITEM_ID_LENGTH_MAX,
        description="Your own id of the item. It comes back with each line that it holds.",
        examples=["item-1"],
        extra=ruled(
            ProblemCode.INVALID_CART_ITEM_ID,
            f"cart_item_id must be 1 to {CART_ITEM_ID_LENGTH_MAX} printable characters",
        ),
    ),
]


class CartItemRequest(AskedLine, frozen=True, kw_only=True):
    """Either `ticket_type_id` and `quantity`, or `seat_ids`, as in a line of a hold."""

    cart_item_id: CartItemId


class FillCartRequest(RequestShape, frozen=True):
    """All that the cart has, not what has changed: what is no longer in it is let go. With items,
    `session_id` and at least one of `customer_email` and `user_id` are needed. No items at all let
    go of everything; then the holder, if one is named, has to be the cart's."""

    items: Annotated[
        list[CartItemRequest], Meta(max_length=LINES_MAX, description="All items of the cart.")
    ]
    session_id: SessionRef | None = None
    customer_email: Email | None = None
    user_id: UserId | None = None
    source: Source | None = None
    notes: Notes | None = None
    metadata: (
        Annotated[
            MetadataTexts,
            Meta(description="Your own texts by key. Left out, a live hold keeps its own."),
        ]
        | None
    ) = None


class RenewCartRequest(RequestShape, frozen=True):
    """`customer_email` or `user_id` say whose cart it has to be."""

    customer_email: Email | None = None
    user_id: UserId | None = None
