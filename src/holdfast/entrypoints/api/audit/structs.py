"""The shapes of requests about the audit."""

from typing import Annotated, TypeAlias
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.ids import HoldId
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.seats.structs import SeatRef
from holdfast.entrypoints.api.structs import AN_ID, Limit, Moment, RequestShape, ruled
from holdfast.ports.paging import PAGE_SIZE_DEFAULT

ACTION_LENGTH_MAX = 100
ACTOR_LENGTH_MAX = 255

EntryNumber: TypeAlias = Annotated[
    int,
    Meta(
        ge=1,
        le=2**63 - 1,
        description="`next_before` of the page before.",
        extra=ruled(ProblemCode.INVALID_CURSOR, "Use next_before of the page before, unchanged"),
    ),
]


class AuditQuery(RequestShape, frozen=True):
    """`since` is included, `until` is not."""

    hold_id: Annotated[HoldId, AN_ID] | UnsetType = UNSET
    seat_id: SeatRef | UnsetType = UNSET
    catalog_id: Annotated[UUID, AN_ID] | UnsetType = UNSET
    action: (
        Annotated[str, Meta(min_length=1, max_length=ACTION_LENGTH_MAX, examples=["hold.extended"])]
        | UnsetType
    ) = UNSET
    actor: (
        Annotated[str, Meta(min_length=1, max_length=ACTOR_LENGTH_MAX, examples=["reaper"])]
        | UnsetType
    ) = UNSET
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    before: EntryNumber | UnsetType = UNSET
    limit: Limit = PAGE_SIZE_DEFAULT
