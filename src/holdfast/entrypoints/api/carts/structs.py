"""Requests about carts."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from holdfast.domain.holds.hold import CART_ITEM_ID_LENGTH_MAX
from holdfast.domain.holds.placement import LINES_MAX
from holdfast.entrypoints.api.holds.structs import AskedLine, Notes, RemarkedRequest
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import Email, MetadataTexts, SessionRef, UserId, ruled
from holdfast.entrypoints.api.http.shapes import RequestShape

CartItemId: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=CART_ITEM_ID_LENGTH_MAX,
        description="Your id of the item, returned with each of its lines.",
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


class FillCartRequest(RemarkedRequest, frozen=True):
    """The whole cart, not the changes: missing items are released. With items, `session_id` and
    `customer_email` or `user_id` are required. Without items, everything is released; a given
    holder must then be the cart's."""

    items: Annotated[
        list[CartItemRequest], Meta(max_length=LINES_MAX, description="All items of the cart.")
    ]
    session_id: SessionRef | None = None
    customer_email: Email | None = None
    user_id: UserId | None = None
    notes: Notes | None = None
    metadata: (
        Annotated[
            MetadataTexts,
            Meta(description="Your own texts by key. Left out, a live hold keeps its own."),
        ]
        | None
    ) = None


class RenewCartRequest(RequestShape, frozen=True):
    """If `customer_email` or `user_id` is given, it must be the cart's holder."""

    customer_email: Email | None = None
    user_id: UserId | None = None
