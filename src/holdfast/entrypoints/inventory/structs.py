"""Requests of the Hold Service to the Inventory Service."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.inventory.reservation import (
    RESERVED_LINES_MAX,
    RESERVED_QUANTITY_MAX,
    ReservationStatus,
)
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.fields import (
    CAPACITY_MAX,
    CURSOR_LENGTH_MAX,
    HoldRef,
    Limit,
    SessionRef,
    TicketTypeRef,
    ruled,
)
from holdfast.entrypoints.api.http.shapes import RequestShape
from holdfast.ports.paging import PAGE_SIZE_DEFAULT

AFTER_MESSAGE = "Use next of the previous page, unchanged"

ReservedQuantity: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=RESERVED_QUANTITY_MAX,
        description="Number of tickets.",
        examples=[2],
        extra=ruled(
            ProblemCode.INVALID_QUANTITY,
            f"Quantity must be a whole number from 1 to {RESERVED_QUANTITY_MAX}",
        ),
    ),
]


class ReservedLineRequest(RequestShape, frozen=True):
    ticket_type_id: TicketTypeRef
    quantity: ReservedQuantity


class ReleaseRequest(RequestShape, frozen=True):
    hold_id: HoldRef
    session_id: SessionRef


class HoldRequest(ReleaseRequest, frozen=True):
    lines: Annotated[
        list[ReservedLineRequest],
        Meta(
            min_length=1,
            max_length=RESERVED_LINES_MAX,
            description="Each ticket type at most once.",
        ),
    ]


class CommitRequest(ReleaseRequest, frozen=True):
    lines: Annotated[
        list[ReservedLineRequest],
        Meta(
            max_length=RESERVED_LINES_MAX,
            description="The tickets sold, at most those reserved. Empty if everything was "
            "cancelled.",
        ),
    ]


class ReservationsQuery(RequestShape, frozen=True):
    status: (
        Annotated[ReservationStatus, Meta(description="Only reservations with this status.")]
        | UnsetType
    ) = UNSET
    limit: Limit = PAGE_SIZE_DEFAULT
    after: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=CURSOR_LENGTH_MAX,
                description="`next` of the previous page.",
                extra=ruled(ProblemCode.INVALID_CURSOR, AFTER_MESSAGE),
            ),
        ]
        | UnsetType
    ) = UNSET


class StockRequest(RequestShape, frozen=True):
    total: Annotated[
        int,
        Meta(
            ge=0,
            le=CAPACITY_MAX,
            description="Number of tickets: available, held and sold.",
            examples=[500],
        ),
    ]
