"""The routes of the Inventory Service."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.inventory import handlers, structs
from holdfast.entrypoints.inventory.answers import (
    ItemAnswer,
    ItemList,
    ReservationAnswer,
    ReservationPage,
)

PREFIX = "/inventory"

_C = RefusalCode
_OF_RESERVATION = (_C.INVALID_SESSION, _C.INVALID_HOLD_STATE, _C.IDEMPOTENCY_KEY_REUSED)

INVENTORY_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/inventory/hold",
        attempt="hold.create_failed",
        scope=Scope.INVENTORY,
        summary="Reserve tickets for a hold",
        description="All lines or none.",
        returns="The new reservation.",
        handler=handlers.hold,
        body=structs.HoldRequest,
        answer=ReservationAnswer,
        status=201,
        also={200: "The reservation that an earlier call with the same body made."},
        refusals=(_C.INSUFFICIENT_INVENTORY, _C.INVALID_TICKET_TYPE, *_OF_RESERVATION),
    ),
    Route(
        method="POST",
        path="/inventory/release",
        attempt="hold.release_failed",
        scope=Scope.INVENTORY,
        summary="Give back the tickets of a hold",
        description="May arrive before the hold, which is then refused.",
        returns="The released reservation.",
        handler=handlers.release,
        body=structs.ReleaseRequest,
        answer=ReservationAnswer,
        refusals=_OF_RESERVATION,
    ),
    Route(
        method="POST",
        path="/inventory/commit",
        attempt="hold.convert_failed",
        scope=Scope.INVENTORY,
        summary="Sell the tickets of a hold, or put cancelled ones back on sale",
        description="For each ticket type, the smallest quantity ever sent counts.",
        returns="The committed reservation.",
        handler=handlers.commit,
        body=structs.CommitRequest,
        answer=ReservationAnswer,
        refusals=(_C.HOLD_NOT_FOUND, _C.INVALID_TICKET_TYPE, *_OF_RESERVATION),
    ),
    Route(
        method="GET",
        path="/inventory/holds",
        scope=Scope.INVENTORY,
        summary="List reservations, oldest first",
        description="A page may miss reservations that were made or changed while it was read.",
        returns="A page of reservations.",
        handler=handlers.list_reservations,
        query=structs.ReservationsQuery,
        answer=ReservationPage,
        refusals=(ProblemCode.INVALID_CURSOR,),
    ),
    Route(
        method="GET",
        path="/inventory/holds/{hold_id}",
        scope=Scope.INVENTORY,
        summary="Read the reservation of a hold",
        returns="The reservation.",
        handler=handlers.get_reservation,
        answer=ReservationAnswer,
        not_found=refusals.hold_not_found(),
    ),
    Route(
        method="GET",
        path="/inventory/items/{session_id}",
        scope=Scope.INVENTORY,
        summary="Read how many tickets of each ticket type are left",
        returns="All items of the session.",
        handler=handlers.list_items,
        answer=ItemList,
        not_found=refusals.session_not_found(),
    ),
    Route(
        method="GET",
        path="/inventory/items/{session_id}/{ticket_type_id}",
        scope=Scope.INVENTORY,
        summary="Read how many tickets are left",
        returns="The item.",
        handler=handlers.get_item,
        answer=ItemAnswer,
        not_found=refusals.session_not_found(),
        nested_not_found=refusals.ticket_type_not_found(),
    ),
    Route(
        method="PUT",
        path="/inventory/items/{session_id}/{ticket_type_id}",
        scope=Scope.INVENTORY,
        summary="Set the number of tickets",
        description="Creates the session and the item if they do not exist.",
        returns="The item.",
        handler=handlers.set_stock,
        body=structs.StockRequest,
        answer=ItemAnswer,
        not_found=refusals.session_not_found(),
        nested_not_found=refusals.ticket_type_not_found(),
        refusals=(_C.CAPACITY_IN_USE, _C.TOO_MANY_ITEMS),
    ),
)
