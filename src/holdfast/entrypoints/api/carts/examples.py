"""Examples of carts for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from holdfast.domain.group.outcomes import CartEmptied, Placed, Waiting
from holdfast.domain.holds.hold import CartItem, Hold, Remarks
from holdfast.entrypoints.api.carts import answers
from holdfast.entrypoints.api.carts.structs import (
    CartItemRequest,
    FillCartRequest,
    RenewCartRequest,
)
from holdfast.entrypoints.api.openapi.example_values import (
    CART,
    EMAIL,
    NOW,
    SEATED_TYPE,
    SEATS,
    SESSION,
    TYPE,
    Answers,
    Requests,
)
from holdfast.entrypoints.api.orders.examples import HELD, WAITING

_ITEM = CartItem("item-1", UUID("0198f1c2-7b1d-7a11-8f0e-6b2d94c10010"))


def _in_cart(hold: Hold) -> Hold:
    return replace(
        hold,
        lines=(replace(hold.lines[0], item=_ITEM),),
        remarks=Remarks(cart_token=CART),
        is_cart=True,
    )


_HELD = _in_cart(HELD)
_LATER = NOW + timedelta(minutes=1)

CART_ANSWERS: Answers = (
    answers.filled_answer(Placed(_HELD, NOW)),
    answers.emptied_answer(CART, CartEmptied(_HELD.released(_LATER), _LATER)),
)

CART_ON_WAITLIST = answers.filled_answer(Waiting(_in_cart(WAITING), NOW, position=3))

CART_REQUESTS: Requests = (
    (
        "tickets",
        FillCartRequest(
            session_id=SESSION,
            items=[
                CartItemRequest(cart_item_id="item-1", ticket_type_id=TYPE, quantity=4, at_least=2)
            ],
            customer_email=EMAIL,
        ),
    ),
    (
        "specific seats, and the best two together",
        FillCartRequest(
            session_id=SESSION,
            items=[
                CartItemRequest(cart_item_id="item-1", seat_ids=list(SEATS[:2])),
                CartItemRequest(
                    cart_item_id="item-2", ticket_type_id=SEATED_TYPE, quantity=2, together=True
                ),
            ],
            user_id="user-4711",
        ),
    ),
    ("empty the cart", FillCartRequest(items=[])),
    ("by its holder", RenewCartRequest(customer_email=EMAIL)),
)
