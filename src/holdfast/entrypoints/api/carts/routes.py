"""Routes of carts. A cart has at most one live hold."""

from typing import Any

from holdfast.domain.access.scopes import Scope
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.carts import handlers, structs
from holdfast.entrypoints.api.carts.answers import CartHoldAnswer, EmptyCartAnswer
from holdfast.entrypoints.api.holds.routes import OF_HOLDER, OF_SALE, OF_SEATS, OF_WAITING
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route

_C = RefusalCode

_PATH = "/api/carts/{cart_token}/hold"
_WAITS = "Sold out for now: the cart has joined the waitlist."

_FILLING = """\
Send the whole cart, not the changes: its hold is updated in place.

- **All or nothing.** If anything is not available, nothing changes. An item with `at_least` takes
  as many as are free, up to `quantity` and no fewer than `at_least`. Asking for less always works.
- **Expiry.** `expires_at` does not change.
- **Prices** of kept items stay; added items have today's price.
- **Waitlist.** If the policy has a waitlist, a cart that holds nothing yet joins it (202); an item
  with `at_least` waits for that many. A cart that holds something never waits for more and never
  overtakes the waitlist: it is refused (`others_are_waiting`).
- `available_quantity` of a refused change is what is free in addition to what is held.
- The first call sets the holder, `source` and `notes`.

Sending the same cart again changes nothing."""
_READING = """\
On the waitlist, the answer has `position` and `estimated_wait_seconds`. `can_renew` says that the
hold has expired and can be renewed if its places are still free."""
_EMPTYING = """\
Can be repeated. Held places are free at once, or go to the next party on the waitlist."""
_RENEWING = """\
Holds everything again, at today's prices, in a new hold. If it is no longer available and the
policy has a waitlist, the cart joins it. A live hold stays as it is and gets no more time. Released
or paid holds are not renewed."""

_OF_HOLDING = (
    _C.INSUFFICIENT_INVENTORY,
    _C.NOT_WITH_REMOTE_INVENTORY,
    _C.NO_AVAILABLE_SEATS,
    _C.QUANTITY_ABOVE_MAXIMUM,
    _C.TOO_MANY_TICKETS,
    *OF_SALE,
    *OF_SEATS,
    *OF_WAITING,
    _C.INVALID_TICKET_TYPE,
    _C.INVALID_SEAT,
    _C.INVALID_BLOCK,
    *OF_HOLDER,
    _C.CART_OF_ANOTHER_HOLDER,
)

CART_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="PUT",
        path=_PATH,
        attempt="cart.fill_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Set the contents of a cart and hold them",
        description=_FILLING,
        returns="The cart's new hold.",
        is_for_holders=True,
        handler=handlers.fill_cart,
        body=structs.FillCartRequest,
        answer=CartHoldAnswer,
        status=201,
        also={
            200: "The cart's hold, updated or unchanged; for a cart without items, the "
            "released hold.",
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
        summary="Read the hold of a cart",
        description=_READING,
        returns="The cart's current hold, or its last one.",
        is_for_holders=True,
        handler=handlers.get_cart,
        answer=CartHoldAnswer,
        refusals=(_C.HOLD_NOT_FOUND,),
    ),
    Route(
        method="DELETE",
        path=_PATH,
        attempt="hold.release_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Empty a cart: release its hold or leave the waitlist",
        description=_EMPTYING,
        returns="The empty cart.",
        is_for_holders=True,
        handler=handlers.empty_cart,
        answer=EmptyCartAnswer,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/renew",
        attempt="cart.renew_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Renew the expired hold of a cart",
        description=_RENEWING,
        returns="The cart's new hold.",
        is_for_holders=True,
        handler=handlers.renew_cart,
        body=structs.RenewCartRequest,
        is_body_optional=True,
        answer=CartHoldAnswer,
        status=201,
        also={200: "The cart's hold is still live and stays as it is.", 202: _WAITS},
        refusals=(*_OF_HOLDING, _C.EMPTY_CART, ProblemCode.HOLDER_REQUIRED),
    ),
)
