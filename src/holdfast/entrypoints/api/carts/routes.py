"""The routes of carts: the platform's baskets, each with at most one live hold."""

from typing import Any

from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.carts import handlers, structs
from holdfast.entrypoints.api.carts.answers import CartHoldAnswer, EmptyCartAnswer
from holdfast.entrypoints.api.holds.routes import OF_SALE, OF_SEATS, OF_WAITING
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.ports.access import Scope

_C = RefusalCode

_PATH = "/api/carts/{cart_token}/hold"
_WAITS = "Sold out for now: the cart has joined the waitlist."

_FILLING = """\
Say all that the cart has, not what has changed: the hold is changed in place by the difference.

- **All or nothing.** What cannot be met leaves everything as it was. With `at_least` an item takes
  as many as there are up to `quantity`, and no fewer than that. Asking for less always succeeds.
- **The clock** is not reset: `expires_at` stays.
- **Prices** of what is kept stay as they were; only what is added costs today's.
- **Waiting.** Where the policy has a waitlist, a cart that holds nothing yet gets a place in the
  line (202) for what is not there; of an item with `at_least`, for that many. A cart that holds
  something never waits for more: it is refused. Nor does it get past those who wait:
  `others_are_waiting`.
- `available_quantity` of a refused change is what could be had in addition to what is held.
- The first call says for whom the hold is; `source` and `notes` are of that call, too.

The same cart again changes nothing."""
_READING = """\
`position` and `estimated_wait_seconds` are told while it waits; `can_renew` says that its time is
up, and that it can be had again with fresh time if the places are still there."""
_EMPTYING = """\
However often. What was held is free at once, or goes to whoever waits; a place in the line is
given up."""
_RENEWING = """\
All of it, if it is still there, at today's prices, in a new hold. Where the policy has a waitlist
and it is not there, the cart gets a place in the line. A hold that is still live stays as it is: no
time is added. What was let go or paid for is not renewed."""

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
    _C.ALREADY_WAITING,
    _C.CART_OF_ANOTHER_HOLDER,
)

CART_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="PUT",
        path=_PATH,
        scope=Scope.HOLDS_WRITE,
        summary="Hold what the cart has: all of it, or nothing is changed",
        description=_FILLING,
        returns="The cart's new hold.",
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
        description=_READING,
        returns="What the cart holds or waits for, or held last.",
        handler=handlers.get_cart,
        answer=CartHoldAnswer,
        refusals=(_C.HOLD_NOT_FOUND,),
    ),
    Route(
        method="DELETE",
        path=_PATH,
        scope=Scope.HOLDS_WRITE,
        summary="Let go of what the cart holds or waits for, if anything",
        description=_EMPTYING,
        returns="The empty cart.",
        handler=handlers.empty_cart,
        answer=EmptyCartAnswer,
    ),
    Route(
        method="POST",
        path=f"{_PATH}/renew",
        scope=Scope.HOLDS_WRITE,
        summary="Hold again what the cart held when its time ran out, with fresh time",
        description=_RENEWING,
        returns="The cart's new hold.",
        handler=handlers.renew_cart,
        body=structs.RenewCartRequest,
        is_body_optional=True,
        answer=CartHoldAnswer,
        status=201,
        also={200: "The cart's hold is live, and stays as it is.", 202: _WAITS},
        refusals=(*_OF_HOLDING, _C.EMPTY_CART, ProblemCode.HOLDER_REQUIRED),
    ),
)
