"""Requests about the audit log."""

from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.fields import AN_ID, HoldRef, SeatRef
from holdfast.entrypoints.api.http.shapes import CreatedQuery

ACTION_LENGTH_MAX = 100
ACTOR_LENGTH_MAX = 255


class AuditQuery(CreatedQuery, frozen=True):
    hold_id: HoldRef | UnsetType = UNSET
    seat_id: SeatRef | UnsetType = UNSET
    catalog_id: (
        Annotated[
            UUID,
            AN_ID,
            Meta(description="Entries about this event, session, pool, ticket type or block."),
        ]
        | UnsetType
    ) = UNSET
    action: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=ACTION_LENGTH_MAX,
                description="Entries with this action.",
                examples=["hold.extended"],
            ),
        ]
        | UnsetType
    ) = UNSET
    actor: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=ACTOR_LENGTH_MAX,
                description="Entries by this actor.",
                examples=["reaper"],
            ),
        ]
        | UnsetType
    ) = UNSET
