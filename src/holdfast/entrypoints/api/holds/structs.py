"""Requests about holds."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.holds.hold import NOTES_LENGTH_MAX, HoldStatus, Source
from holdfast.domain.holds.placement import LINES_MAX, SEATS_PER_HOLD_MAX
from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.domain.values import QUANTITY_MAX
from holdfast.entrypoints.api.http.fields import (
    Amount,
    BlockRef,
    CartToken,
    Email,
    EventRef,
    HoldRef,
    MetadataTexts,
    Reference,
    SeatRef,
    SessionRef,
    TicketCount,
    TicketTypeRef,
    UserId,
)
from holdfast.entrypoints.api.http.shapes import CreatedQuery, RequestShape
from holdfast.ports.holds import HoldOrder
from holdfast.services.holds.statistics import HOURS_MAX

STATS_HOURS_DEFAULT = 24
SECONDS_PER_MINUTE = 60

SeatIds: TypeAlias = Annotated[
    list[SeatRef],
    Meta(min_length=1, max_length=SEATS_PER_HOLD_MAX, description="The seats to hold."),
]
AccessibleCount: TypeAlias = Annotated[
    int,
    Meta(ge=0, le=QUANTITY_MAX, description="How many must be accessible.", examples=[1]),
]
Together: TypeAlias = Annotated[
    bool, Meta(description="Whether the best available seats must be side by side.")
]
AtLeast: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=QUANTITY_MAX,
        description="Accept fewer than `quantity`, but at least this many.",
        examples=[1],
    ),
]
Notes: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=NOTES_LENGTH_MAX,
        examples=["Regular guest"],
        extra={"message": f"Must be 1 to {NOTES_LENGTH_MAX} characters"},
    ),
]


class AskedLine(RequestShape, frozen=True):
    """Either `ticket_type_id` and `quantity` (of a seated type, the best available, within
    `block_id` if given), or `seat_ids`."""

    ticket_type_id: TicketTypeRef | None = None
    quantity: TicketCount | None = None
    unit_price: Amount | None = None
    seat_ids: SeatIds | None = None
    block_id: BlockRef | None = None
    accessible: AccessibleCount | None = None
    together: Together | None = None
    at_least: AtLeast | None = None


class RemarkedRequest(RequestShape, frozen=True, kw_only=True):
    """What holds, carts and reservations alike may say about themselves."""

    source: Source | None = None


class PlaceHoldRequest(RemarkedRequest, frozen=True):
    """Either `ticket_type_id` and `quantity` (of a seated type, the best available, within
    `block_id` if given), or `seat_ids`, or `lines` of both kinds; and `customer_email` or
    `user_id`."""

    session_id: SessionRef
    ticket_type_id: TicketTypeRef | None = None
    quantity: TicketCount | None = None
    unit_price: Amount | None = None
    lines: (
        Annotated[
            list[AskedLine],
            Meta(
                min_length=1,
                max_length=LINES_MAX,
                description="Several lines, instead of one ticket type or seats.",
            ),
        ]
        | None
    ) = None
    customer_email: Email | None = None
    user_id: UserId | None = None
    hold_id: (
        Annotated[
            HoldRef,
            Meta(
                description="An id of your choice; retrying with it never holds twice. Any UUID "
                "except version 5."
            ),
        ]
        | None
    ) = None
    seat_ids: SeatIds | None = None
    block_id: BlockRef | None = None
    accessible: AccessibleCount | None = None
    together: Together | None = None
    at_least: AtLeast | None = None
    cart_token: CartToken | None = None
    notes: Notes | None = None
    metadata: MetadataTexts | None = None
    offer_alternative: (
        Annotated[
            bool,
            Meta(description="Whether a refusal for taken seats offers the next best."),
        ]
        | None
    ) = None


class ExtendHoldRequest(RequestShape, frozen=True):
    """By `minutes` or `seconds`. If `customer_email` or `user_id` is given, it must be the
    holder."""

    minutes: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=TTL_SECONDS_MAX // SECONDS_PER_MINUTE,
                examples=[5],
                description="Minutes to add.",
            ),
        ]
        | None
    ) = None
    seconds: (
        Annotated[
            int,
            Meta(ge=1, le=TTL_SECONDS_MAX, examples=[300], description="Seconds to add."),
        ]
        | None
    ) = None
    customer_email: Email | None = None
    user_id: UserId | None = None
    as_operator: (
        Annotated[
            bool,
            Meta(description="Whether to exceed the policy; needs the scope holds:operate."),
        ]
        | None
    ) = None


class HoldsQuery(CreatedQuery, frozen=True):
    event_id: EventRef | UnsetType = UNSET
    session_id: SessionRef | UnsetType = UNSET
    status: (
        Annotated[
            HoldStatus, Meta(description="Holds with this status; a lapsed hold counts as expired.")
        ]
        | UnsetType
    ) = UNSET
    customer_email: Email | UnsetType = UNSET
    user_id: UserId | UnsetType = UNSET
    reference: Reference | UnsetType = UNSET
    lapsed: Annotated[
        bool, Meta(description="Only holds whose time is up but whose expiry is not recorded yet.")
    ] = False
    order: Annotated[
        HoldOrder,
        Meta(description="`newest` first, or `expiry`: live holds, next to expire first."),
    ] = HoldOrder.NEWEST


class StatsQuery(RequestShape, frozen=True):
    session_id: SessionRef | UnsetType = UNSET
    hours: Annotated[
        int, Meta(ge=1, le=HOURS_MAX, examples=[24], description="Hours covered by `window`.")
    ] = STATS_HOURS_DEFAULT
