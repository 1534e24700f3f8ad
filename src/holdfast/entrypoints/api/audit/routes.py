"""The route of the audit log, and its handler."""

from ipaddress import ip_address
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import OrderId
from holdfast.entrypoints.api.audit.answers import AuditPageAnswer, audit_page_answer
from holdfast.entrypoints.api.holds.requests import holder_filters
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import audit_position
from holdfast.entrypoints.api.http.exchange import USER_AGENT_LENGTH_MAX, Call, Reply
from holdfast.entrypoints.api.http.fields import (
    AN_ID,
    CartToken,
    Email,
    EventRef,
    HoldRef,
    SeatRef,
    SessionRef,
    TicketTypeRef,
    UserId,
)
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.replies import reply_to_reading
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.http.shapes import CreatedQuery
from holdfast.entrypoints.api.lookups import look_up
from holdfast.ports.audit.reader import AuditFilter, AuditOutcome
from holdfast.services.audit import trail

ACTION_LENGTH_MAX = 100
ACTOR_LENGTH_MAX = 255
REQUEST_ID_LENGTH_MAX = 128
IP_LENGTH_MAX = 45


class AuditQuery(CreatedQuery, frozen=True):
    hold_id: HoldRef | UnsetType = UNSET
    seat_id: SeatRef | UnsetType = UNSET
    session_id: SessionRef | UnsetType = UNSET
    event_id: EventRef | UnsetType = UNSET
    ticket_type_id: TicketTypeRef | UnsetType = UNSET
    order_id: (
        Annotated[OrderId, AN_ID, Meta(description="Entries about the holds of this order.")]
        | UnsetType
    ) = UNSET
    cart_token: CartToken | UnsetType = UNSET
    customer_email: Email | UnsetType = UNSET
    user_id: UserId | UnsetType = UNSET
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
    acting_user: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=ACTOR_LENGTH_MAX,
                description="Entries of requests on behalf of this user.",
            ),
        ]
        | UnsetType
    ) = UNSET
    ip: (
        Annotated[
            str,
            Meta(
                min_length=2,
                max_length=IP_LENGTH_MAX,
                description="Entries of requests from this IP address.",
                examples=["203.0.113.7"],
            ),
        ]
        | UnsetType
    ) = UNSET
    user_agent: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=USER_AGENT_LENGTH_MAX,
                description="Entries of requests with exactly this User-Agent.",
            ),
        ]
        | UnsetType
    ) = UNSET
    request_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=REQUEST_ID_LENGTH_MAX,
                description="Entries of this request.",
            ),
        ]
        | UnsetType
    ) = UNSET
    error: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=ACTION_LENGTH_MAX,
                description="Attempts refused with this error code.",
                examples=["insufficient_inventory"],
            ),
        ]
        | UnsetType
    ) = UNSET
    outcome: (
        Annotated[AuditOutcome, Meta(description="Only changes, or only refused attempts.")]
        | UnsetType
    ) = UNSET


async def list_audit(context: Context, call: Call, query: AuditQuery) -> Reply:
    only, before = _filter(query), audit_position(query)
    found = await look_up(context, call, trail.entries, context.audit, only, query.limit, before)
    return reply_to_reading(call, found, audit_page_answer)


def _filter(query: AuditQuery) -> AuditFilter:
    if UNSET not in {query.customer_email, query.user_id}:
        message = "Don't combine customer_email with user_id"
        raise invalid([FieldError("user_id", "conflicting_fields", message)])
    only = holder_filters(query)
    if "ip" in only:
        try:
            only["ip"] = str(ip_address(only["ip"]))
        except ValueError:
            message = "Must be an IPv4 or IPv6 address"
            raise invalid([FieldError("ip", "invalid_value", message)]) from None
    return AuditFilter(**only)


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
