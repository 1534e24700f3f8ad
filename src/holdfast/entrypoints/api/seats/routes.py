"""Routes of seats, for buyers and operators."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.holds.routes import OF_HOLDER, OF_SALE, OF_SEATS
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.seats import answers, handlers, structs
from holdfast.entrypoints.api.seats.occupancy_answers import OccupancyAnswer

_C = RefusalCode

SEAT_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/events/{event_id}/seats/{seat_id}/reserve",
        attempt="seat_reserve_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Reserve one specific seat, or get the holder's existing reservation",
        returns="The reservation.",
        is_for_holders=True,
        handler=handlers.reserve_seat,
        body=structs.ReserveRequest,
        answer=answers.ReservedAnswer,
        status=201,
        also={200: "The holder's existing reservation."},
        not_found=refusals.event_not_found(),
        nested_not_found=refusals.seat_not_found(),
        invalid=ProblemCode.INVALID_REQUEST,
        refusals=(
            *OF_SALE,
            *OF_SEATS,
            _C.INSUFFICIENT_INVENTORY,
            _C.NOT_WITH_REMOTE_INVENTORY,
            _C.INVALID_TICKET_TYPE,
            *OF_HOLDER,
            _C.OTHERS_ARE_WAITING,
            ProblemCode.HOLDER_REQUIRED,
        ),
    ),
    Route(
        method="GET",
        path="/api/events/{event_id}/seats/{seat_id}",
        scope=Scope.HOLDS_READ,
        summary="Read a seat",
        returns="The current state of the seat.",
        is_for_holders=True,
        handler=handlers.get_seat,
        query=structs.SeatQuery,
        answer=answers.SeatAnswer,
        not_found=refusals.event_not_found(),
        nested_not_found=refusals.seat_not_found(),
    ),
    Route(
        method="GET",
        path="/api/sessions/{session_id}/seats",
        scope=Scope.CATALOG_READ,
        summary="Read the seat map of a session, or its changes",
        returns="The whole map, or the changes since a version.",
        is_for_holders=True,
        handler=handlers.get_seat_map,
        query=structs.SeatMapQuery,
        answer=answers.SeatMapAnswer,
        not_found=refusals.session_not_found(),
        has_etag=True,
        is_compressed=True,
    ),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats/block",
        attempt="seat.block_failed",
        scope=Scope.SEATS_BLOCK,
        summary="Block seats: take them off sale and end their holds",
        returns="The blocked seats.",
        handler=handlers.block_seats,
        body=structs.BlockSeatsRequest,
        answer=answers.SeatsBlockedAnswer,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEAT, _C.TOO_MANY_SEATS),
    ),
    Route(
        method="POST",
        path="/api/sessions/{session_id}/seats/unblock",
        attempt="seat.unblock_failed",
        scope=Scope.SEATS_BLOCK,
        summary="Unblock seats: put them back on sale; sold seats stay sold",
        returns="The unblocked seats.",
        handler=handlers.unblock_seats,
        body=structs.BlockSeatsRequest,
        answer=answers.SeatsUnblockedAnswer,
        not_found=refusals.session_not_found(),
        refusals=(_C.INVALID_SEAT,),
    ),
    Route(
        method="GET",
        path="/api/events/{event_id}/occupancy",
        scope=Scope.CATALOG_READ,
        summary="Read the occupancy of an event",
        returns="The occupancy of the event.",
        handler=handlers.get_occupancy,
        answer=OccupancyAnswer,
        not_found=refusals.event_not_found(),
        is_compressed=True,
    ),
)
