"""Requests about events, sessions, pools and ticket types."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.ids import PoolId
from holdfast.entrypoints.api.catalog.policy import PolicyChangeRequest, PolicyRequest
from holdfast.entrypoints.api.http.fields import (
    AN_ID,
    Amount,
    Capacity,
    Currency,
    EventRef,
    MetadataTexts,
    Moment,
    Name,
    SessionRef,
    StartsBefore,
    StartsFrom,
)
from holdfast.entrypoints.api.http.shapes import CreatedQuery, PageQuery, RequestShape

POOLS_PER_TYPE_MAX = 20

PoolIds: TypeAlias = Annotated[
    list[Annotated[PoolId, AN_ID]],
    Meta(
        min_length=1,
        max_length=POOLS_PER_TYPE_MAX,
        description="Pools of the session; each ticket takes a unit of every one.",
    ),
]
ReplacingMetadata: TypeAlias = Annotated[
    MetadataTexts, Meta(description="Replaces all of its metadata; an empty object clears it.")
]


class InitialStatus(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"


class CreateEventRequest(RequestShape, frozen=True):
    name: Name
    currency: Currency
    hold_policy: PolicyRequest | None = None
    status: InitialStatus = InitialStatus.PUBLISHED
    sale_starts_at: Moment | None = None
    sale_ends_at: Moment | None = None
    metadata: MetadataTexts | None = None


class ChangeEventRequest(RequestShape, frozen=True):
    """Omitted fields stay unchanged. A time of null opens that end of the sale."""

    name: Name | UnsetType = UNSET
    hold_policy: PolicyChangeRequest | UnsetType = UNSET
    status: EventStatus | UnsetType = UNSET
    sale_starts_at: Moment | UnsetType | None = UNSET
    sale_ends_at: Moment | UnsetType | None = UNSET
    metadata: ReplacingMetadata | UnsetType = UNSET


class CreateSessionRequest(RequestShape, frozen=True):
    event_id: EventRef
    name: Name
    starts_at: Moment | None = None
    metadata: MetadataTexts | None = None


class ChangeSessionRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    starts_at: Moment | UnsetType = UNSET
    metadata: ReplacingMetadata | UnsetType = UNSET


class CreatePoolRequest(RequestShape, frozen=True):
    session_id: SessionRef
    name: Name
    capacity: Capacity


class ChangePoolRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    capacity: Capacity | UnsetType = UNSET


class CreateTicketTypeRequest(RequestShape, frozen=True):
    """`capacity` creates a pool named like the ticket type; `pool_ids` are shared pools. At least
    one is required, unless `is_seated`: then its seats are for sale, and pools are further limits.
    """

    session_id: SessionRef
    name: Name
    price: Amount
    capacity: (
        Annotated[
            Capacity, Meta(description="Capacity of its own pool, named like the ticket type.")
        ]
        | None
    ) = None
    pool_ids: PoolIds | None = None
    hold_policy: PolicyRequest | None = None
    is_seated: Annotated[bool, Meta(description="Whether its tickets are for assigned seats.")] = (
        False
    )
    metadata: MetadataTexts | None = None


class ChangeTicketTypeRequest(RequestShape, frozen=True):
    name: Name | UnsetType = UNSET
    price: Amount | UnsetType = UNSET
    pool_ids: PoolIds | UnsetType = UNSET
    hold_policy: PolicyChangeRequest | UnsetType = UNSET
    metadata: ReplacingMetadata | UnsetType = UNSET


class EventsQuery(CreatedQuery, frozen=True):
    status: Annotated[EventStatus, Meta(description="Events with this status.")] | UnsetType = UNSET
    starts_from: (
        Annotated[
            StartsFrom, Meta(description="Events with a session that starts at this time or later.")
        ]
        | UnsetType
    ) = UNSET
    starts_before: (
        Annotated[
            StartsBefore, Meta(description="Events with a session that starts before this time.")
        ]
        | UnsetType
    ) = UNSET


class SessionsQuery(CreatedQuery, frozen=True):
    event_id: EventRef | UnsetType = UNSET
    event_status: (
        Annotated[EventStatus, Meta(description="Sessions of events with this status.")] | UnsetType
    ) = UNSET
    starts_from: StartsFrom | UnsetType = UNSET
    starts_before: StartsBefore | UnsetType = UNSET


class OfSessionQuery(PageQuery, frozen=True):
    session_id: SessionRef | UnsetType = UNSET
