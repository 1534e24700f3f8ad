"""What the document shows of carts."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import msgspec

from holdfast.domain.hold import CartItem, Hold, Remarks
from holdfast.domain.outcomes import CartEmptied, Placed, Waiting
from holdfast.entrypoints.api import cart_answers, cart_structs
from holdfast.entrypoints.api.example_values import NOW, SEATED_TYPE, SEATS, SESSION, TYPE
from holdfast.entrypoints.api.order_examples import HELD, WAITING

_CART = "cart-8842"
_ITEM = CartItem("item-1", UUID("0198f1c2-7b1d-7a11-8f0e-6b2d94c10010"))


def _in_cart(hold: Hold) -> Hold:
    return replace(
        hold,
        lines=(replace(hold.lines[0], item=_ITEM),),
        remarks=Remarks(cart_token=_CART),
        is_cart=True,
    )


_HELD = _in_cart(HELD)
_LATER = NOW + timedelta(minutes=1)

CART_ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    cart_answers.CartHoldAnswer: cart_answers.filled_answer(Placed(_HELD, NOW)),
    cart_answers.EmptyCartAnswer: cart_answers.emptied_answer(
        _CART, CartEmptied(_HELD.released(_LATER), _LATER)
    ),
}

CART_ON_WAITLIST = cart_answers.filled_answer(Waiting(_in_cart(WAITING), NOW, position=3))

CART_REQUESTS: Mapping[type[msgspec.Struct], Mapping[str, msgspec.Struct]] = {
    cart_structs.FillCartRequest: {
        "tickets": cart_structs.FillCartRequest(
            session_id=SESSION,
            items=[
                cart_structs.CartItemRequest(
                    cart_item_id="item-1", ticket_type_id=TYPE, quantity=4, at_least=2
                )
            ],
            customer_email="user@example.com",
        ),
        "seats, and the best beside each other": cart_structs.FillCartRequest(
            session_id=SESSION,
            items=[
                cart_structs.CartItemRequest(cart_item_id="item-1", seat_ids=list(SEATS[:2])),
                cart_structs.CartItemRequest(
                    cart_item_id="item-2", ticket_type_id=SEATED_TYPE, quantity=2, together=True
                ),
            ],
            user_id="user-4711",
        ),
        "nothing any more": cart_structs.FillCartRequest(items=[]),
    },
    cart_structs.RenewCartRequest: {
        "by its holder": cart_structs.RenewCartRequest(customer_email="user@example.com")
    },
}
