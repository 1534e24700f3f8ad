"""The one table of routes. Routing, validation, the OpenAPI document and the access matrix of the
tests are all made of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from holdfast.domain import refusals
from holdfast.domain.refusals import Refusal, RefusalCode
from holdfast.entrypoints.api import catalogue_handlers as catalogue
from holdfast.entrypoints.api import handlers, structs
from holdfast.entrypoints.api.answers import (
    AvailabilityAnswer,
    EventAnswer,
    EventPage,
    HoldAnswer,
    HoldPage,
    PoolAnswer,
    PoolPage,
    SessionAnswer,
    SessionPage,
    TicketTypeAnswer,
    TicketTypePage,
)
from holdfast.entrypoints.api.codes import Code, ProblemCode
from holdfast.entrypoints.api.context import Context
from holdfast.entrypoints.api.exchange import Call, Reply
from holdfast.ports.access import Scope

G = TypeVar("G", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Generic[G]):
    """A request gives a body or a query, which the handler gets; or neither. A path with an id
    says how an id that nobody has is refused. `refusals` are those of this route; what
    any route may answer is added where it is needed."""

    method: str
    path: str
    scope: Scope
    summary: str
    handler: Callable[[Context, Call, G], Awaitable[Reply]]
    body: type[G] | None = None
    query: type[G] | None = None
    answer: type[msgspec.Struct]
    status: int = 200
    not_found: Refusal | None = None
    refusals: tuple[Code, ...] = ()

    @property
    def is_unsafe(self) -> bool:
        """It changes something, so it takes an Idempotency-Key."""
        return self.method in {"POST", "PATCH"}


_C = RefusalCode

ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/holds",
        scope=Scope.HOLDS_WRITE,
        summary="Hold tickets",
        handler=handlers.place_hold,
        body=structs.PlaceHoldRequest,
        answer=HoldAnswer,
        status=201,
        refusals=(
            _C.INSUFFICIENT_INVENTORY,
            _C.INVALID_SESSION,
            _C.INVALID_TICKET_TYPE,
            _C.QUANTITY_ABOVE_MAXIMUM,
            ProblemCode.HOLDER_REQUIRED,
        ),
    ),
    Route(
        method="GET",
        path="/api/holds",
        scope=Scope.HOLDS_READ,
        summary="List holds, newest first",
        handler=handlers.list_holds,
        query=structs.HoldsQuery,
        answer=HoldPage,
    ),
    Route(
        method="GET",
        path="/api/holds/{hold_id}",
        scope=Scope.HOLDS_READ,
        summary="Read a hold",
        handler=handlers.get_hold,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
    ),
    Route(
        method="POST",
        path="/api/holds/{hold_id}/release",
        scope=Scope.HOLDS_WRITE,
        summary="Let a hold go",
        handler=handlers.release_hold,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
        refusals=(_C.HOLD_EXPIRED, _C.INVALID_HOLD_STATE),
    ),
    Route(
        method="GET",
        path="/api/sessions/{session_id}/availability",
        scope=Scope.CATALOGUE_READ,
        summary="Read what a session has left, and at what price",
        handler=handlers.get_availability,
        answer=AvailabilityAnswer,
        not_found=refusals.session_not_found(),
    ),
    Route(
        method="GET",
        path="/api/events",
        scope=Scope.CATALOGUE_READ,
        summary="List events, newest first",
        handler=catalogue.list_events,
        query=structs.PageQuery,
        answer=EventPage,
    ),
    Route(
        method="POST",
        path="/api/events",
        scope=Scope.CATALOGUE_WRITE,
        summary="Create an event",
        handler=catalogue.create_event,
        body=structs.CreateEventRequest,
        answer=EventAnswer,
        status=201,
    ),
    Route(
        method="GET",
        path="/api/events/{event_id}",
        scope=Scope.CATALOGUE_READ,
        summary="Read an event",
        handler=catalogue.get_event,
        answer=EventAnswer,
        not_found=refusals.event_not_found(),
    ),
    Route(
        method="PATCH",
        path="/api/events/{event_id}",
        scope=Scope.CATALOGUE_WRITE,
        summary="Change an event",
        handler=catalogue.change_event,
        body=structs.ChangeEventRequest,
        answer=EventAnswer,
        not_found=refusals.event_not_found(),
    ),
    Route(
        method="GET",
        path="/api/sessions",
        scope=Scope.CATALOGUE_READ,
        summary="List sessions, newest first",
        handler=catalogue.list_sessions,
        query=structs.OfEventQuery,
        answer=SessionPage,
    ),
    Route(
        method="POST",
        path="/api/sessions",
        scope=Scope.CATALOGUE_WRITE,
        summary="Create a session of an event",
        handler=catalogue.create_session,
        body=structs.CreateSessionRequest,
        answer=SessionAnswer,
        status=201,
        refusals=(_C.INVALID_EVENT,),
    ),
    Route(
        method="GET",
        path="/api/sessions/{session_id}",
        scope=Scope.CATALOGUE_READ,
        summary="Read a session",
        handler=catalogue.get_session,
        answer=SessionAnswer,
        not_found=refusals.session_not_found(),
    ),
    Route(
        method="PATCH",
        path="/api/sessions/{session_id}",
        scope=Scope.CATALOGUE_WRITE,
        summary="Change a session",
        handler=catalogue.change_session,
        body=structs.ChangeSessionRequest,
        answer=SessionAnswer,
        not_found=refusals.session_not_found(),
    ),
    Route(
        method="GET",
        path="/api/pools",
        scope=Scope.CATALOGUE_READ,
        summary="List pools, newest first",
        handler=catalogue.list_pools,
        query=structs.OfSessionQuery,
        answer=PoolPage,
    ),
    Route(
        method="POST",
        path="/api/pools",
        scope=Scope.CATALOGUE_WRITE,
        summary="Create a pool that ticket types can share",
        handler=catalogue.create_pool,
        body=structs.CreatePoolRequest,
        answer=PoolAnswer,
        status=201,
        refusals=(_C.INVALID_SESSION,),
    ),
    Route(
        method="GET",
        path="/api/pools/{pool_id}",
        scope=Scope.CATALOGUE_READ,
        summary="Read a pool and its counters",
        handler=catalogue.get_pool,
        answer=PoolAnswer,
        not_found=refusals.pool_not_found(),
    ),
    Route(
        method="PATCH",
        path="/api/pools/{pool_id}",
        scope=Scope.CATALOGUE_WRITE,
        summary="Change a pool",
        handler=catalogue.change_pool,
        body=structs.ChangePoolRequest,
        answer=PoolAnswer,
        not_found=refusals.pool_not_found(),
        refusals=(_C.CAPACITY_IN_USE,),
    ),
    Route(
        method="GET",
        path="/api/ticket-types",
        scope=Scope.CATALOGUE_READ,
        summary="List ticket types, newest first",
        handler=catalogue.list_ticket_types,
        query=structs.OfSessionQuery,
        answer=TicketTypePage,
    ),
    Route(
        method="POST",
        path="/api/ticket-types",
        scope=Scope.CATALOGUE_WRITE,
        summary="Create a ticket type of a session",
        handler=catalogue.create_ticket_type,
        body=structs.CreateTicketTypeRequest,
        answer=TicketTypeAnswer,
        status=201,
        refusals=(_C.INVALID_SESSION, _C.INVALID_POOL),
    ),
    Route(
        method="GET",
        path="/api/ticket-types/{ticket_type_id}",
        scope=Scope.CATALOGUE_READ,
        summary="Read a ticket type",
        handler=catalogue.get_ticket_type,
        answer=TicketTypeAnswer,
        not_found=refusals.ticket_type_not_found(),
    ),
    Route(
        method="PATCH",
        path="/api/ticket-types/{ticket_type_id}",
        scope=Scope.CATALOGUE_WRITE,
        summary="Change a ticket type",
        handler=catalogue.change_ticket_type,
        body=structs.ChangeTicketTypeRequest,
        answer=TicketTypeAnswer,
        not_found=refusals.ticket_type_not_found(),
        refusals=(_C.INVALID_POOL,),
    ),
)
