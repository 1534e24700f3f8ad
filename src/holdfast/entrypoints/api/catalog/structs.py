"""Requests about the catalog."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.catalog.layout import Numbering
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.domain.catalog.seat_import import (
    BLOCKS_PER_IMPORT_MAX,
    SEATS_PER_IMPORT_MAX,
    SEATS_PER_ROW_MAX,
)
from holdfast.domain.ids import PoolId
from holdfast.domain.seats.seat import SEAT_LABEL_LENGTH_MAX
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
    TicketTypeRef,
    TimeZone,
    Venue,
)
from holdfast.entrypoints.api.http.shapes import CreatedQuery, PageQuery, RequestShape

POOLS_PER_TYPE_MAX = 20
RANK_MAX = 1_000_000
TYPES_PER_BLOCK_MAX = 100
COORDINATE_MAX = 1_000_000

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
    venue: Venue | None = None
    time_zone: TimeZone | None = None


class ChangeEventRequest(RequestShape, frozen=True):
    """Omitted fields stay unchanged. A time of null opens that end of the sale; null clears the
    venue or the time zone."""

    name: Name | UnsetType = UNSET
    hold_policy: PolicyChangeRequest | UnsetType = UNSET
    status: EventStatus | UnsetType = UNSET
    sale_starts_at: Moment | UnsetType | None = UNSET
    sale_ends_at: Moment | UnsetType | None = UNSET
    metadata: ReplacingMetadata | UnsetType = UNSET
    venue: Venue | UnsetType | None = UNSET
    time_zone: TimeZone | UnsetType | None = UNSET


class CreateSessionRequest(RequestShape, frozen=True):
    event_id: EventRef
    name: Name
    starts_at: Moment | None = None
    metadata: MetadataTexts | None = None


class ChangeSessionRequest(RequestShape, frozen=True):
    """Omitted fields stay unchanged. A cancelled session sells nothing more and stays cancelled;
    its holds and orders stay as they are until they are released and cancelled."""

    name: Name | UnsetType = UNSET
    starts_at: Moment | UnsetType = UNSET
    status: SessionStatus | UnsetType = UNSET
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
    is_seated: bool = False
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


class SoldHereRequest(RequestShape, frozen=True):
    """A seated ticket type sold in a block, with its price there."""

    ticket_type_id: TicketTypeRef
    price: Amount


Rank: TypeAlias = Annotated[
    int,
    Meta(
        ge=0,
        le=RANK_MAX,
        description="Blocks are listed, and searched for the best seats, from the lowest "
        "rank to the highest.",
        examples=[0],
    ),
]
SoldHere: TypeAlias = Annotated[
    list[SoldHereRequest],
    Meta(
        max_length=TYPES_PER_BLOCK_MAX,
        description="Ticket types sold here, the default of its seats first. Empty: every "
        "seated ticket type, at its own price.",
    ),
]


class CreateBlockRequest(RequestShape, frozen=True):
    """A `capacity` limits how many seats can be held and sold. It is counted in a pool named like
    the block."""

    session_id: SessionRef
    name: Name
    capacity: Capacity | None = None
    rank: Rank | None = None
    ticket_types: SoldHere | None = None


class ChangeBlockRequest(RequestShape, frozen=True):
    """Omitted fields stay unchanged. A `capacity` of null removes the limit."""

    name: Name | UnsetType = UNSET
    capacity: Capacity | UnsetType | None = UNSET
    rank: Rank | UnsetType = UNSET
    ticket_types: SoldHere | UnsetType = UNSET


RowLabel: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=SEAT_LABEL_LENGTH_MAX,
        pattern=r"^\S(.*\S)?$",
        examples=["A"],
        extra={
            "message": f"Must be 1 to {SEAT_LABEL_LENGTH_MAX} characters, without leading or "
            "trailing blanks"
        },
    ),
]
RangeLabel: TypeAlias = Annotated[
    str,
    Meta(
        pattern="^([A-Z]{1,3}|[0-9]{1,5})$",
        examples=["A"],
        extra={"message": "Must be one to three letters A to Z, or a number of up to five digits"},
    ),
]
SeatNames: TypeAlias = Annotated[
    list[str],
    Meta(
        max_length=SEATS_PER_IMPORT_MAX,
        description="Row and number as printed, such as A1; with a hyphen if that is ambiguous.",
        examples=[["A1", "A20"]],
    ),
]
Coordinate: TypeAlias = Annotated[
    float,
    Meta(
        ge=-COORDINATE_MAX,
        le=COORDINATE_MAX,
        extra={"message": f"Must be a number from -{COORDINATE_MAX} to {COORDINATE_MAX}"},
    ),
]


class RowRangeRequest(RequestShape, frozen=True, rename={"first": "from", "last": "to"}):
    """From A to M, from Z to AC, or from 1 to 30."""

    first: Annotated[RangeLabel, Meta(description="First row.")]
    last: Annotated[RangeLabel, Meta(description="Last row.")]


class PointRequest(RequestShape, frozen=True):
    x: Coordinate
    y: Coordinate


class BlockLayoutRequest(RequestShape, frozen=True):
    """Rows of equal length. An existing block of this name gets more seats; a new one is created
    with `capacity`, `rank` and `ticket_types`. Several entries can describe one block. `gaps` are
    places without a seat. The first place of the first row is drawn at `origin`."""

    name: Name
    rows: (
        Annotated[
            list[RowLabel],
            Meta(
                min_length=1,
                max_length=SEATS_PER_IMPORT_MAX,
                description="Names of the rows, or the first and last name.",
            ),
        ]
        | RowRangeRequest
    )
    seats_per_row: Annotated[
        int,
        Meta(
            ge=1,
            le=SEATS_PER_ROW_MAX,
            examples=[20],
            description="Number of places in each row, gaps included.",
        ),
    ]
    numbering: Annotated[
        Numbering,
        Meta(description="`left` or `right`: the side of seat 1. `odd_even`: 5 3 1 2 4 6."),
    ] = Numbering.LEFT
    aisles_after: Annotated[
        list[int],
        Meta(
            max_length=100,
            description="Places followed by an aisle, counted from the left.",
            examples=[[5, 15]],
        ),
    ] = []
    gaps: Annotated[SeatNames, Meta(description="Places without a seat.")] = []
    accessible: Annotated[SeatNames, Meta(description="Wheelchair accessible seats.")] = []
    companion: Annotated[SeatNames, Meta(description="Companion seats.")] = []
    restricted_view: Annotated[SeatNames, Meta(description="Seats with a restricted view.")] = []
    origin: (
        Annotated[
            PointRequest, Meta(description="Where the first place of the first row is drawn.")
        ]
        | None
    ) = None
    spacing: (
        Annotated[
            PointRequest, Meta(description="Distance from seat to seat, and from row to row.")
        ]
        | None
    ) = None
    capacity: Capacity | None = None
    rank: Rank | None = None
    ticket_types: SoldHere | None = None


class ImportSeatsRequest(RequestShape, frozen=True):
    """Imports all seats, or none if any is invalid."""

    blocks: Annotated[
        list[BlockLayoutRequest],
        Meta(
            min_length=1, max_length=BLOCKS_PER_IMPORT_MAX, description="The seats, block by block."
        ),
    ]
