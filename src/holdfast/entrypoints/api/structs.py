"""The shapes of requests. A field that breaks a rule with a code of its own names that code here,
in `extra`, beside the rule."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.ids import EventId, PoolId, SessionId
from holdfast.domain.policy import POLICY_BOUNDS, TTL_SECONDS_DEFAULT
from holdfast.domain.values import (
    EMAIL_LENGTH_MAX,
    MINOR_UNITS_MAX,
    QUANTITY_MAX,
    USER_ID_LENGTH_MAX,
)
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.ports.paging import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX

NAME_LENGTH_MAX = 200
CAPACITY_MAX = 1_000_000_000
POOLS_PER_TYPE_MAX = 20
CURSOR_LENGTH_MAX = 32
CURSOR_MESSAGE = "Use next_cursor of the page before, unchanged"

T = TypeVar("T")


def ruled(code: ProblemCode, message: str) -> dict[str, str]:
    return {"code": code.value, "message": message}


def given_or_none(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


AN_ID = Meta(examples=["0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d"])
Name: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=NAME_LENGTH_MAX,
        pattern=r"\S",
        examples=["Friday night"],
        extra={"message": f"Must be 1 to {NAME_LENGTH_MAX} characters, not all of them blank"},
    ),
]
Email: TypeAlias = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=EMAIL_LENGTH_MAX,
        description="Who holds. It appears in no answer.",
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
        pattern=r"\S",
        description="Your own id of the user who holds.",
        examples=["user-4711"],
        extra=ruled(
            ProblemCode.INVALID_USER_ID,
            f"user_id must be 1 to {USER_ID_LENGTH_MAX} printable characters and must not be blank",
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
Capacity: TypeAlias = Annotated[int, Meta(ge=0, le=CAPACITY_MAX, examples=[500])]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True, examples=["2026-12-31T20:00:00Z"])]
CreatedFrom: TypeAlias = Annotated[Moment, Meta(description="Created at this time or later.")]
CreatedBefore: TypeAlias = Annotated[Moment, Meta(description="Created before this time.")]
PoolIds: TypeAlias = Annotated[
    list[Annotated[PoolId, AN_ID]],
    Meta(
        min_length=1,
        max_length=POOLS_PER_TYPE_MAX,
        description="Pools of the session that it draws from, all at once.",
    ),
]


def policy_number(field: str, description: str, example: int) -> Meta:
    """The rule of a whole number of a hold policy."""
    least, most = POLICY_BOUNDS[field]
    return Meta(
        ge=least,
        le=most,
        description=description,
        examples=[example],
        extra=ruled(
            ProblemCode.INVALID_POLICY, f"{field} must be a whole number from {least} to {most}"
        ),
    )


TtlSeconds: TypeAlias = Annotated[
    int, policy_number("ttl_seconds", "How long a hold lasts.", TTL_SECONDS_DEFAULT)
]
QuantityMax: TypeAlias = Annotated[
    int, policy_number("quantity_max", "The most of one ticket type in one hold.", 8)
]
OneActiveHold: TypeAlias = Annotated[
    bool, Meta(description="A holder has at most one live hold of a session.")
]
RefuseOrphans: TypeAlias = Annotated[
    bool, Meta(description="Hand-picked seats may not leave a single seat alone.")
]
CheckoutExtensionSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "checkout_extension_seconds", "How much longer going to pay makes a hold last, once.", 300
    ),
]
LifetimeMaxSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "lifetime_max_seconds", "From its creation on, no extension goes beyond this.", 1200
    ),
]
WarningSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "warning_seconds", "How long before its end a hold is announced to end; 0: not at all.", 60
    ),
]
LatePaymentSeconds: TypeAlias = Annotated[
    int,
    policy_number(
        "late_payment_seconds",
        "A payment that comes so late still gets its places, if they are free; 0: never.",
        120,
    ),
]


Waitlist: TypeAlias = Annotated[
    bool, Meta(description="Who finds nothing left waits in line, instead of being refused.")
]
WaitingSeconds: TypeAlias = Annotated[
    int, policy_number("waiting_seconds", "How long a place in the line lasts.", 86_400)
]
WaitingPlacesMax: TypeAlias = Annotated[
    int,
    policy_number("waiting_places_max", "The most places in line of one holder, in a session.", 4),
]
WaitingPassesMax: TypeAlias = Annotated[
    int,
    policy_number(
        "waiting_passes_max",
        "How often smaller parties may pass the first in line, who needs more than is free; 0: "
        "never.",
        3,
    ),
]


class InitialStatus(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"


class RequestShape(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A field left out and a field of null are the same, unless a change has to tell them apart."""


class NoFields(RequestShape, frozen=True):
    """A request that takes nothing."""


class CsvText(Struct, frozen=True):
    """A body that is CSV. It is read where it is used, for that may take a while."""

    content: bytes


class PolicyRequest(RequestShape, frozen=True):
    """What is left out is decided by the level above: event, then organization."""

    ttl_seconds: TtlSeconds | None = None
    quantity_max: QuantityMax | None = None
    one_active_hold: OneActiveHold | None = None
    refuse_orphans: RefuseOrphans | None = None
    checkout_extension_seconds: CheckoutExtensionSeconds | None = None
    lifetime_max_seconds: LifetimeMaxSeconds | None = None
    warning_seconds: WarningSeconds | None = None
    late_payment_seconds: LatePaymentSeconds | None = None
    waitlist: Waitlist | None = None
    waiting_seconds: WaitingSeconds | None = None
    waiting_places_max: WaitingPlacesMax | None = None
    waiting_passes_max: WaitingPassesMax | None = None


class PolicyChangeRequest(RequestShape, frozen=True):
    """A field left out stays as it is; null leaves it to the level above again."""

    ttl_seconds: TtlSeconds | UnsetType | None = UNSET
    quantity_max: QuantityMax | UnsetType | None = UNSET
    one_active_hold: OneActiveHold | UnsetType | None = UNSET
    refuse_orphans: RefuseOrphans | UnsetType | None = UNSET
    checkout_extension_seconds: CheckoutExtensionSeconds | UnsetType | None = UNSET
    lifetime_max_seconds: LifetimeMaxSeconds | UnsetType | None = UNSET
    warning_seconds: WarningSeconds | UnsetType | None = UNSET
    late_payment_seconds: LatePaymentSeconds | UnsetType | None = UNSET
    waitlist: Waitlist | UnsetType | None = UNSET
    waiting_seconds: WaitingSeconds | UnsetType | None = UNSET
    waiting_places_max: WaitingPlacesMax | UnsetType | None = UNSET
    waiting_passes_max: WaitingPassesMax | UnsetType | None = UNSET


class CreateEventRequest(RequestShape, frozen=True):
    name: Name
    currency: Currency
    hold_policy: PolicyRequest | None = None
    status: InitialStatus = InitialStatus.PUBLISHED
    sale_starts_at: Moment | None = None
    sale_ends_at: Moment | None = None


class ChangeEventRequest(RequestShape, frozen=True):
    """A field left out stays as it is. A time of null opens that end of the sale."""

    name: Name | UnsetType = UNSET
    hold_policy: PolicyChangeRequest | UnsetType = UNSET
    status: EventStatus | UnsetType = UNSET
    sale_starts_at: Moment | UnsetType | None = UNSET
    sale_ends_at: Moment | UnsetType | None = UNSET


class CreateSessionRequest(RequestShape, frozen=True):
    event_id: Annotated[EventId, AN_ID]
    name: Name
    starts_at: Moment | None = None


class ChangeSessionRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    starts_at: Moment | UnsetType = UNSET


class CreatePoolRequest(RequestShape, frozen=True):
    session_id: Annotated[SessionId, AN_ID]
    name: Name
    capacity: Capacity


class ChangePoolRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    capacity: Capacity | UnsetType = UNSET


class CreateTicketTypeRequest(RequestShape, frozen=True):
    """`capacity` makes a pool of its very own, named like the ticket type; `pool_ids` are shared.
    At least one of the two, unless `is_seated`: then its seats are what there is of it, and the
    pools are further limits."""

    session_id: Annotated[SessionId, AN_ID]
    name: Name
    price: Amount
    capacity: Capacity | None = None
    pool_ids: PoolIds | None = None
    hold_policy: PolicyRequest | None = None
    is_seated: bool = False


class ChangeTicketTypeRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    price: Amount | UnsetType = UNSET
    pool_ids: PoolIds | UnsetType = UNSET
    hold_policy: PolicyChangeRequest | UnsetType = UNSET


Limit: TypeAlias = Annotated[int, Meta(ge=1, le=PAGE_SIZE_MAX, description="Page size.")]
CursorText: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=CURSOR_LENGTH_MAX,
        description="`next_cursor` of the page before.",
        extra=ruled(ProblemCode.INVALID_CURSOR, CURSOR_MESSAGE),
    ),
]


class PageQuery(RequestShape, frozen=True):
    limit: Limit = PAGE_SIZE_DEFAULT
    cursor: CursorText | UnsetType = UNSET


class OfEventQuery(PageQuery, frozen=True):
    event_id: Annotated[EventId, AN_ID] | UnsetType = UNSET


class OfSessionQuery(PageQuery, frozen=True):
    session_id: Annotated[SessionId, AN_ID] | UnsetType = UNSET
