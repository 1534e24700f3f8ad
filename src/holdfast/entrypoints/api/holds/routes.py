"""The routes of holds, and the refusals that routes of several subjects share."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.holds import handlers, structs
from holdfast.entrypoints.api.holds.answers import HoldAnswer, HoldPage
from holdfast.entrypoints.api.holds.statistics_answers import StatsAnswer
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route

_C = RefusalCode

OF_EVENT = (_C.EVENT_NOT_AVAILABLE, _C.EVENT_UNAVAILABLE)
OF_SALE = (*OF_EVENT, _C.EVENT_SALES_CLOSED)
OF_SEATS = (
    _C.SEAT_HELD_BY_ANOTHER_USER,
    _C.SEAT_NOT_AVAILABLE,
    _C.LOCK_NOT_AVAILABLE,
    _C.BLOCK_AT_CAPACITY,
    _C.ORPHAN_SEAT,
)
OF_HOLDER = (
    _C.ACTIVE_HOLD_EXISTS,
    _C.ALREADY_WAITING,
    _C.HOLDER_LIMIT_REACHED,
    _C.HOLDER_COOLDOWN,
)
OF_WAITING = (_C.WAITING_PLACES_EXCEEDED, _C.TOO_MANY_QUEUES, _C.OTHERS_ARE_WAITING)

HOLD_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/holds",
        attempt="hold.create_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Hold tickets",
        returns="The new hold.",
        is_for_holders=True,
        handler=handlers.place_hold,
        body=structs.PlaceHoldRequest,
        answer=HoldAnswer,
        status=201,
        also={
            200: "The existing hold: placed with this hold_id by the same request, or held "
            "by the same holder on exactly these seats.",
            202: "Sold out for now: the hold has joined the waitlist.",
        },
        refusals=(
            _C.INSUFFICIENT_INVENTORY,
            _C.NOT_WITH_REMOTE_INVENTORY,
            _C.INVALID_HOLD_STATE,
            _C.INVALID_SESSION,
            _C.INVALID_TICKET_TYPE,
            _C.QUANTITY_ABOVE_MAXIMUM,
            _C.TOO_MANY_TICKETS,
            *OF_SALE,
            *OF_SEATS,
            *OF_WAITING,
            _C.NO_AVAILABLE_SEATS,
            _C.INVALID_SEAT,
            _C.INVALID_BLOCK,
            *OF_HOLDER,
            ProblemCode.HOLDER_REQUIRED,
            ProblemCode.INVALID_LINES,
        ),
    ),
    Route(
        method="GET",
        path="/api/holds",
        scope=Scope.HOLDS_READ,
        summary="List holds, newest first, or live holds by expiry",
        returns="A page of holds.",
        is_for_holders=True,
        handler=handlers.list_holds,
        query=structs.HoldsQuery,
        answer=HoldPage,
    ),
    Route(
        method="GET",
        path="/api/holds/{hold_id}",
        scope=Scope.HOLDS_READ,
        summary="Read a hold",
        returns="The hold.",
        is_for_holders=True,
        handler=handlers.get_hold,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
    ),
    Route(
        method="POST",
        path="/api/holds/{hold_id}/release",
        attempt="hold.release_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Release a hold",
        returns="The cancelled hold.",
        ends_hold=True,
        is_for_holders=True,
        handler=handlers.release_hold,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
        refusals=(_C.HOLD_EXPIRED, _C.INVALID_HOLD_STATE),
    ),
    Route(
        method="DELETE",
        path="/api/holds/{hold_id}",
        attempt="hold.release_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Release a hold (same as `release`)",
        returns="The cancelled hold.",
        ends_hold=True,
        is_for_holders=True,
        handler=handlers.delete_hold,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
        refusals=(_C.HOLD_EXPIRED, _C.INVALID_HOLD_STATE),
    ),
    Route(
        method="POST",
        path="/api/holds/{hold_id}/extend",
        attempt="hold.extend_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Extend a hold within its policy",
        returns="The extended hold.",
        is_for_holders=True,
        handler=handlers.extend_hold,
        body=structs.ExtendHoldRequest,
        answer=HoldAnswer,
        not_found=refusals.hold_not_found(),
        refusals=(
            _C.HOLD_EXPIRED,
            _C.INVALID_HOLD_STATE,
            _C.EXTENSION_LIMIT_REACHED,
            *OF_EVENT,
        ),
    ),
    Route(
        method="GET",
        path="/api/stats",
        scope=Scope.HOLDS_READ,
        summary="Read hold statistics",
        description="For all sessions, or for one. Numbers outside `window` are current; "
        "those in it cover the holds made in the last `hours`. A party on the "
        "waitlist counts as a hold once it is promoted.",
        returns="The statistics.",
        handler=handlers.get_stats,
        query=structs.StatsQuery,
        answer=StatsAnswer,
        refusals=(_C.INVALID_SESSION,),
    ),
)
