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
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.orders.examples import HELD, WAITING

_ITEM = CartItem("item-1", UUID("0198f1c2-7b1d-7a11-8f0e-6b2d94c10010"))


def _in_cart(hold: Hold) -> Hold:
    return replace(
        hold,
        lines=(replace(hold.lines[0], item=_ITEM),),
        remarks=Remarks(cart_token=sale.CART),
        is_cart=True,
    )


_HELD = _in_cart(HELD)
_LATER = sale.NOW + timedelta(minutes=1)

CART_ANSWERS: sale.Answers = (
    answers.filled_answer(Placed(_HELD, sale.NOW)),
    answers.emptied_answer(sale.CART, CartEmptied(_HELD.released(_LATER), _LATER)),
)

CART_ON_WAITLIST = answers.filled_answer(Waiting(_in_cart(WAITING), sale.NOW, position=3))

CART_REQUESTS: sale.Requests = (
    (
        "tickets",
        FillCartRequest(
            session_id=sale.SESSION,
            items=[
                CartItemRequest(
                    cart_item_id="item-1", ticket_type_id=sale.TYPE, quantity=4, at_least=2
                )
            ],
            customer_email=sale.EMAIL,
        ),
    ),
    (
        "specific seats, and the best two together",
        FillCartRequest(
            session_id=sale.SESSION,
            items=[
                CartItemRequest(cart_item_id="item-1", seat_ids=list(sale.SEATS[:2])),
                CartItemRequest(
                    cart_item_id="item-2",
                    ticket_type_id=sale.SEATED_TYPE,
                    quantity=2,
                    together=True,
                ),
            ],
            user_id="user-4711",
        ),
    ),
    ("empty the cart", FillCartRequest(items=[])),
    ("by its holder", RenewCartRequest(customer_email=sale.EMAIL)),
)
