"""Fields that requests of several subjects share. `extra` has the error code of a rule, if it has
its own."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta

from holdfast.domain.catalog.model import VENUE_LENGTH_MAX, VENUE_RULE
from holdfast.domain.holds.hold import CART_TOKEN_LENGTH_MAX
from holdfast.domain.ids import BlockId, EventId, HoldId, SeatId, SessionId, TicketTypeId
from holdfast.domain.values import (
    EMAIL_LENGTH_MAX,
    METADATA_KEY_LENGTH_MAX,
    METADATA_KEYS_MAX,
    METADATA_RULE,
    METADATA_TEXT_LENGTH_MAX,
    MINOR_UNITS_MAX,
    QUANTITY_MAX,
    TIME_ZONE_LENGTH_MAX,
    TIME_ZONE_RULE,
    USER_ID_LENGTH_MAX,
)
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.ports.paging import PAGE_SIZE_MAX

NAME_LENGTH_MAX = 200
CAPACITY_MAX = 1_000_000_000
CURSOR_LENGTH_MAX = 32
REFERENCE_LENGTH_MAX = 20
# URLs end up in logs and browser histories, so a search for an address, or for the code of a ticket
# (which admits people), has it in a header. By the field of the query.
HEADER_OF_FIELD = {"customer_email": "X-Customer-Email", "ticket_code": "X-Ticket-Code"}
CURSOR_MESSAGE = "Use next_cursor of the previous page, unchanged"


def ruled(code: ProblemCode, message: str) -> dict[str, str]:
    return {"code": code.value, "message": message}


AN_ID = Meta(examples=["0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d"])
Name: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=NAME_LENGTH_MAX,
        pattern=r"\S",
        examples=["Friday night"],
        extra={"message": f"Must be 1 to {NAME_LENGTH_MAX} characters and not blank"},
    ),
]
Email: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=EMAIL_LENGTH_MAX,
        description="E-mail address of the holder; never returned.",
        examples=["user@example.com"],
        extra_json_schema={"format": "email"},
        extra=ruled(ProblemCode.INVALID_EMAIL, "Invalid email format"),
    ),
]
UserId: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=USER_ID_LENGTH_MAX,
        pattern=r"^\S(.*\S)?$(?!\n)",
        description="Your id of the holder.",
        examples=["user-4711"],
        extra=ruled(
            ProblemCode.INVALID_USER_ID,
            f"user_id must be 1 to {USER_ID_LENGTH_MAX} printable characters, not with a"
            " space at either end",
        ),
    ),
]
TicketCount: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=QUANTITY_MAX,
        examples=[2],
        extra=ruled(
            ProblemCode.INVALID_QUANTITY,
            f"Quantity must be a whole number from 1 to {QUANTITY_MAX}",
        ),
    ),
]
Amount: TypeAlias = Annotated[
    int,
    Meta(
        ge=0,
        le=MINOR_UNITS_MAX,
        description="In minor units of the event's currency, such as cents.",
        examples=[4500],
        extra=ruled(
            ProblemCode.INVALID_PRICE,
            f"An amount must be a whole number from 0 to {MINOR_UNITS_MAX} minor units",
        ),
    ),
]
Currency: TypeAlias = Annotated[
    str,
    Meta(
        pattern="^[A-Z]{3}$",
        description="ISO 4217.",
        examples=["EUR"],
        extra=ruled(ProblemCode.INVALID_CURRENCY, "Currency must be a three-letter ISO 4217 code"),
    ),
]
Venue: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=VENUE_LENGTH_MAX,
        pattern=r"\S",
        description="Where the event takes place, for e-mails.",
        examples=["Harbour Hall, 1 Harbour Street"],
        extra={"message": f"venue {VENUE_RULE}"},
    ),
]
TimeZone: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=TIME_ZONE_LENGTH_MAX,
        description="Time zone of the event, for the times in e-mails. Without one, it is the "
        "organization's.",
        examples=["Europe/Berlin"],
        extra={"message": f"time_zone {TIME_ZONE_RULE}"},
    ),
]
Capacity: TypeAlias = Annotated[int, Meta(ge=0, le=CAPACITY_MAX, examples=[500])]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True, examples=["2026-12-31T20:00:00Z"])]
CreatedFrom: TypeAlias = Annotated[Moment, Meta(description="Created at this time or later.")]
CreatedBefore: TypeAlias = Annotated[Moment, Meta(description="Created before this time.")]
StartsFrom: TypeAlias = Annotated[Moment, Meta(description="Starts at this time or later.")]
StartsBefore: TypeAlias = Annotated[Moment, Meta(description="Starts before this time.")]
EventRef: TypeAlias = Annotated[EventId, AN_ID]
SessionRef: TypeAlias = Annotated[SessionId, AN_ID]
TicketTypeRef: TypeAlias = Annotated[TicketTypeId, AN_ID]
BlockRef: TypeAlias = Annotated[BlockId, AN_ID]
SeatRef: TypeAlias = Annotated[SeatId, AN_ID]
HoldRef: TypeAlias = Annotated[HoldId, AN_ID]
CartToken: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=CART_TOKEN_LENGTH_MAX,
        description="Your token of the cart or checkout.",
        examples=["cart-8842"],
        extra={"message": f"Must be 1 to {CART_TOKEN_LENGTH_MAX} characters"},
    ),
]
MetadataTexts: TypeAlias = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=METADATA_KEY_LENGTH_MAX)],
        Annotated[str, Meta(max_length=METADATA_TEXT_LENGTH_MAX)],
    ],
    Meta(
        max_length=METADATA_KEYS_MAX,
        examples=[{"campaign": "spring"}],
        extra=ruled(ProblemCode.INVALID_METADATA, METADATA_RULE),
    ),
]
Reference: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=REFERENCE_LENGTH_MAX, examples=["K7M2QX"])
]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=PAGE_SIZE_MAX, description="Page size.")]
CursorText: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=CURSOR_LENGTH_MAX,
        description="`next_cursor` of the previous page.",
        extra=ruled(ProblemCode.INVALID_CURSOR, CURSOR_MESSAGE),
    ),
]
