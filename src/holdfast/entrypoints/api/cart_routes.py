"""The routes of carts: the platform's baskets, each with at most one live hold."""

from typing import Any

from holdfast.domain.refusals import RefusalCode
from holdfast.entrypoints.api import cart_handlers as handlers
from holdfast.entrypoints.api import cart_structs as structs
from holdfast.entrypoints.api.cart_answers import CartHoldAnswer, EmptyCartAnswer
from holdfast.entrypoints.api.codes import ProblemCode
from holdfast.entrypoints.api.route import Route
from holdfast.entrypoints.api.seat_routes import OF_SALE, OF_SEATS
from holdfast.ports.access import Scope

_C = RefusalCode

_PATH = "/api/carts/{cart}/hold"
_WAITS = "Nothing is left of it for now: the cart has a place in the line."

OF_WAITING = (_C.WAITING_PLACES_EXCEEDED, _C.OTHERS_ARE_WAITING)
_OF_HOLDING = (
    _C.INSUFFICIENT_INVENTORY,
    _C.NO_AVAILABLE_SEATS,
    _C.QUANTITY_ABOVE_MAXIMUM,
    _C.TOO_MANY_TICKETS,
    *OF_SALE,
    *OF_SEATS,
    *OF_WAITING,
    _C.INVALID_TICKET_TYPE,
    _C.INVALID_SEAT,
    _C.INVALID_BLOCK,
    _C.ACTIVE_HOLD_EXISTS,
    _C.CART_OF_ANOTHER_HOLDER,
)

CART_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="PUT",
        path=_PATH,
        scope=Scope.HOLDS_WRITE,
        summary="Hold what the cart has: all of it, or nothing is changed",
        handler=handlers.fill_cart,
        body=structs.FillCartRequest,
        answer=CartHoldAnswer,
        status=201,
        also={
            200: "The cart's hold as it is now: changed in place, or as it was already. Of a cart "
            "without items: what was let go.",
            202: _WAITS,
        },
        empty_answer=EmptyCartAnswer,
        refusals=(
            *_OF_HOLDING,
            _C.INVALID_SESSION,
            _C.CART_OF_ANOTHER_SESSION,
            ProblemCode.INVALID_LINES,
            ProblemCode.HOLDER_REQUIRED,
        ),
    ),
    Route(
        method="GET",
        path=_PATH,
        scope=Scope.HOLDS_READ,
        summary="Read what the cart holds or waits for, or held last",
        handler=handlers.get_cart,
        answer=CartHoldAnswer,
        refusals=(_C.HOLD_NOT_FOUND,),
    ),
    Route(
        method="DELETE",
        path=_PATH,
        scope=Scope.HOLDS_WRITE,
        summary="Let go of what the cart holds or waits for, if anything",
        handler=handlers.empty_cart,
        answer=EmptyCartAnswer,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/renew",
        scope=Scope.HOLDS_WRITE,
        summary="Hold again what the cart held when its time ran out, with fresh time",
        handler=handlers.renew_cart,
        body=structs.RenewCartRequest,
        is_body_optional=True,
        answer=CartHoldAnswer,
        status=201,
        also={200: "The cart's hold is live, and stays as it is.", 202: _WAITS},
        refusals=(*_OF_HOLDING, _C.EMPTY_CART, ProblemCode.HOLDER_REQUIRED),
    ),
)
