"""The shapes of requests. A field that breaks a rule with a code of its own names that code here,
in `extra`, beside the rule."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.ids import EventId, PoolId, SessionId
from holdfast.domain.policy import POLICY_FIELDS
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
CURSOR_LENGTH = 32

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
PoolIds: TypeAlias = Annotated[
    list[Annotated[PoolId, AN_ID]],
    Meta(
        min_length=1,
        max_length=POOLS_PER_TYPE_MAX,
        description="Pools of the session that it draws from, all at once.",
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


def policy_type(name: str) -> Any:
    """The type of a field of a hold policy, with its rule."""
    field = POLICY_FIELDS[name]
    if field.bounds is None:
        return Annotated[bool, Meta(description=field.meaning)]
    meta = Meta(
        ge=field.bounds.least,
        le=field.bounds.most,
        description=field.meaning,
        examples=[field.bounds.example],
        extra=ruled(ProblemCode.INVALID_POLICY, field.rule(name)),
    )
    return Annotated[int, meta]


if TYPE_CHECKING:  # the fields are those of the domain's policy; nothing reads them one by one

    class PolicyRequest(RequestShape, frozen=True): ...

    class PolicyChangeRequest(RequestShape, frozen=True): ...
else:
    PolicyRequest = defstruct(
        "PolicyRequest",
        [(name, policy_type(name) | None, None) for name in POLICY_FIELDS],
        bases=(RequestShape,),
        namespace={
            "__doc__": "What is left out is decided by the level above: event, then organization."
        },
        module=__name__,
        frozen=True,
    )
    PolicyChangeRequest = defstruct(
        "PolicyChangeRequest",
        [(name, policy_type(name) | UnsetType | None, UNSET) for name in POLICY_FIELDS],
        bases=(RequestShape,),
        namespace={
            "__doc__": "A field left out stays as it is; null leaves it to the level above again."
        },
        module=__name__,
        frozen=True,
    )


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
    total: Capacity


class ChangePoolRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    total: Capacity | UnsetType = UNSET


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
        min_length=CURSOR_LENGTH,
        max_length=CURSOR_LENGTH,
        description="`next_cursor` of the page before.",
        extra=ruled(ProblemCode.INVALID_CURSOR, "Use next_cursor of the page before, unchanged"),
    ),
]


class PageQuery(RequestShape, frozen=True):
    limit: Limit = PAGE_SIZE_DEFAULT
    cursor: CursorText | UnsetType = UNSET


class OfEventQuery(PageQuery, frozen=True):
    event_id: Annotated[EventId, AN_ID] | UnsetType = UNSET


class OfSessionQuery(PageQuery, frozen=True):
    session_id: Annotated[SessionId, AN_ID] | UnsetType = UNSET
