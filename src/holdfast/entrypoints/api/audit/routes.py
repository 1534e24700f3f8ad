"""The route of the audit log, and its handler."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.access.scopes import Scope
from holdfast.entrypoints.api.audit.answers import AuditPageAnswer, audit_page_answer
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import audit_entry_id
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.fields import AN_ID, HoldRef, SeatRef
from holdfast.entrypoints.api.http.replies import reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import CreatedQuery, filters_of
from holdfast.entrypoints.api.lookups import look_up
from holdfast.ports.audit.reader import AuditFilter
from holdfast.services.audit import trail

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
    key_id: (
        Annotated[UUID, AN_ID, Meta(description="Entries about changes of this API key.")]
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


async def list_audit(context: Context, call: Call, query: AuditQuery) -> Reply:
    only, before = AuditFilter(**filters_of(query)), audit_entry_id(query)
    found = await look_up(context, call, trail.entries, context.audit, only, query.limit, before)
    return reply_to_reading(call, found, audit_page_answer)


AUDIT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/audit",
        scope=Scope.AUDIT_READ,
        summary="List audit log entries, newest first",
        returns="A page of the audit log.",
        handler=list_audit,
        query=AuditQuery,
        answer=AuditPageAnswer,
    ),
)
