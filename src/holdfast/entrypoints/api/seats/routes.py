"""The routes of seats: what buyers and operators do with them."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.holds.routes import OF_SALE, OF_SEATS
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.seats import handlers, structs
from holdfast.entrypoints.api.seats.answers import (
    ReservedAnswer,
    SeatAnswer,
    SeatMapAnswer,
    SeatsBlockedAnswer,
    SeatsUnblockedAnswer,
)
from holdfast.entrypoints.api.seats.occupancy_answers import OccupancyAnswer
from holdfast.ports.access import Scope

_C = RefusalCode

SEAT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/events/{event_id}/seats/{seat_id}/reserve",
        scope=Scope.HOLDS_WRITE,
        summary="Reserve a very seat; again for the same holder, the reservation that stands",
        returns="The reservation.",
        handler=handlers.reserve_seat,
        body=structs.ReserveRequest,
        answer=ReservedAnswer,
        status=201,
        also={200: "The holder has this seat already."},
        not_found=refusals.event_not_found(),
        nested_not_found=refusals.seat_not_found(),
        invalid=ProblemCode.INVALID_REQUEST,
        refusals=(
            *OF_SALE,
            *OF_SEATS,
            _C.INSUFFICIENT_INVENTORY,
            _C.INVALID_TICKET_TYPE,
            _C.ACTIVE_HOLD_EXISTS,
            _C.ALREADY_WAITING,
            _C.OTHERS_ARE_WAITING,
            ProblemCode.HOLDER_REQUIRED,
        ),
    ),
    Route(
        method="GET",
        path="/api/events/{event_id}/seats/{seat_id}",
        scope=Scope.HOLDS_READ,
        summary="Read a seat as it is now",
        returns="The seat as it is now.",
        handler=handlers.get_seat,
        query=structs.SeatQuery,
        answer=SeatAnswer,
        not_found=refusals.event_not_found(),
        nested_not_found=refusals.seat_not_found(),
    ),
    Route(
        method="GET",
        path="/api/sessions/{session_id}/seats",
        scope=Scope.CATALOG_READ,
        summary="Read all seats of a session, or what has changed since",
        returns="The whole map, or what has changed since.",
        handler=handlers.get_seat_map,
        query=structs.SeatMapQuery,
        answer=SeatMapAnswer,
        not_found=refusals.session_not_found(),
        has_etag=True,
    ),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats/block",
        scope=Scope.CATALOG_WRITE,
        summary="Take seats out of the sale; a hold that has one of them ends",
        returns="The seats that are blocked now.",
        handler=handlers.block_seats,
        body=structs.BlockSeatsRequest,
        answer=SeatsBlockedAnswer,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEAT, _C.TOO_MANY_SEATS),
    ),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats/unblock",
        scope=Scope.CATALOG_WRITE,
        summary="Put seats back on sale; one that was sold stays sold",
        returns="The seats that are back on sale.",
        handler=handlers.unblock_seats,
        body=structs.BlockSeatsRequest,
        answer=SeatsUnblockedAnswer,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEAT,),
    ),
    Route(
        method="GET",
        path="/api/events/{event_id}/occupancy",
        scope=Scope.CATALOG_READ,
        summary="Read how full an event is",
        returns="How full the event is.",
        handler=handlers.get_occupancy,
        answer=OccupancyAnswer,
        not_found=refusals.event_not_found(),
    ),
)
