"""Routes of events, sessions, pools, ticket types and blocks, and of seat imports."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from msgspec import Struct

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.entrypoints.api.catalog import answers, hall_answers, handlers, structs
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.route import Route

IMPORT_BYTES_MAX = 8 * 1024 * 1024

_C = RefusalCode
_Handler = Callable[[Context, Call, Any], Awaitable[Reply]]


@immutable(kw_only=True)
class _Part:
    """A part of the catalog: it is listed, created, read and changed. `details` complete the
    summaries."""

    path: str
    name: str
    list: _Handler
    query: type[Struct] = structs.OfSessionQuery
    page: type[Struct]
    create: _Handler
    creation: type[Struct]
    creation_details: str = ""
    creation_refusals: tuple[RefusalCode, ...]
    get: _Handler
    answer: type[Struct]
    answer_details: str = ""
    not_found: Refusal
    change: _Handler
    changes: type[Struct]
    change_refusals: tuple[RefusalCode, ...] = ()
    is_for_holders: bool = False  # to read

    def routes(self) -> Iterator[Route[Any]]:
        name = self.name
        one = f"an {name}" if name == "event" else f"a {name}"
        path_of_one = f"{self.path}/{{{name.replace(' ', '_')}_id}}"
        yield Route(
            method="GET",
            path=self.path,
            scope=Scope.CATALOG_READ,
            summary=f"List {name}s, newest first",
            returns=f"A page of {name}s.",
            handler=self.list,
            query=self.query,
            answer=self.page,
            is_for_holders=self.is_for_holders,
        )
        yield Route(
            method="POST",
            path=self.path,
            scope=Scope.CATALOG_WRITE,
            summary=f"Create {one}{self.creation_details}",
            returns=f"The created {name}.",
            handler=self.create,
            body=self.creation,
            answer=self.answer,
            status=201,
            refusals=self.creation_refusals,
        )
        yield Route(
            method="GET",
            path=path_of_one,
            scope=Scope.CATALOG_READ,
            summary=f"Read {one}{self.answer_details}",
            returns=f"The {name}{self.answer_details}.",
            handler=self.get,
            answer=self.answer,
            is_for_holders=self.is_for_holders,
            not_found=self.not_found,
        )
        yield Route(
            method="PATCH",
            path=path_of_one,
            scope=Scope.CATALOG_WRITE,
            summary=f"Change {one}",
            returns=f"The updated {name}.",
            handler=self.change,
            body=self.changes,
            answer=self.answer,
            not_found=self.not_found,
            refusals=self.change_refusals,
        )


_PARTS = (
    _Part(
        path="/api/events",
        name="event",
        is_for_holders=True,
        list=handlers.list_events,
        query=structs.EventsQuery,
        page=answers.EventPage,
        create=handlers.create_event,
        creation=structs.CreateEventRequest,
        creation_refusals=(_C.INVALID_SALE_WINDOW,),
        get=handlers.get_event,
        answer=answers.EventAnswer,
        not_found=refusals.event_not_found(),
        change=handlers.change_event,
        changes=structs.ChangeEventRequest,
        change_refusals=(_C.INVALID_EVENT_STATE, _C.INVALID_SALE_WINDOW),
    ),
    _Part(
        path="/api/sessions",
        name="session",
        is_for_holders=True,
        list=handlers.list_sessions,
        query=structs.SessionsQuery,
        page=answers.SessionPage,
        create=handlers.create_session,
        creation=structs.CreateSessionRequest,
        creation_details=" of an event",
        creation_refusals=(_C.INVALID_EVENT,),
        get=handlers.get_session,
        answer=answers.SessionAnswer,
        not_found=refusals.session_not_found(),
        change=handlers.change_session,
        changes=structs.ChangeSessionRequest,
        change_refusals=(_C.INVALID_SESSION_STATE,),
    ),
    _Part(
        path="/api/pools",
        name="pool",
        list=handlers.list_pools,
        page=answers.PoolPage,
        create=handlers.create_pool,
        creation=structs.CreatePoolRequest,
        creation_details=" that ticket types can share",
        creation_refusals=(_C.INVALID_SESSION,),
        get=handlers.get_pool,
        answer=answers.PoolAnswer,
        answer_details=" and its counters",
        not_found=refusals.pool_not_found(),
        change=handlers.change_pool,
        changes=structs.ChangePoolRequest,
        change_refusals=(_C.CAPACITY_IN_USE,),
    ),
    _Part(
        path="/api/ticket-types",
        name="ticket type",
        is_for_holders=True,
        list=handlers.list_ticket_types,
        page=answers.TicketTypePage,
        create=handlers.create_ticket_type,
        creation=structs.CreateTicketTypeRequest,
        creation_details=" of a session",
        creation_refusals=(_C.INVALID_SESSION, _C.INVALID_POOL),
        get=handlers.get_ticket_type,
        answer=answers.TicketTypeAnswer,
        not_found=refusals.ticket_type_not_found(),
        change=handlers.change_ticket_type,
        changes=structs.ChangeTicketTypeRequest,
        change_refusals=(_C.INVALID_POOL,),
    ),
    _Part(
        path="/api/blocks",
        name="block",
        is_for_holders=True,
        list=handlers.list_blocks,
        page=hall_answers.BlockPage,
        create=handlers.create_block,
        creation=structs.CreateBlockRequest,
        creation_details=" of a session",
        creation_refusals=(_C.INVALID_SESSION, _C.INVALID_TICKET_TYPE, _C.DUPLICATE_BLOCK),
        get=handlers.get_block,
        answer=hall_answers.BlockAnswer,
        not_found=refusals.block_not_found(),
        change=handlers.change_block,
        changes=structs.ChangeBlockRequest,
        change_refusals=(_C.INVALID_TICKET_TYPE, _C.DUPLICATE_BLOCK, _C.CAPACITY_IN_USE),
    ),
)
CATALOG_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="GET",
        path="/api/sessions/{session_id}/availability",
        scope=Scope.CATALOG_READ,
        summary="Read the availability and prices of a session",
        returns="The availability of the session.",
        is_for_holders=True,
        handler=handlers.get_availability,
        answer=answers.AvailabilityAnswer,
        not_found=refusals.session_not_found(),
        is_compressed=True,
    ),
    *(route for part in _PARTS for route in part.routes()),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats",
        scope=Scope.CATALOG_WRITE,
        summary="Import the seats of a session from JSON or CSV",
        returns="The blocks that seats were added to.",
        handler=handlers.import_seats,
        body=structs.ImportSeatsRequest,
        takes_csv=True,
        body_bytes_max=IMPORT_BYTES_MAX,
        answer=hall_answers.ImportAnswer,
        status=201,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEATS, _C.INVALID_TICKET_TYPE),
    ),
)
