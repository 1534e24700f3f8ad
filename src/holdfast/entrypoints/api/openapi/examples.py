"""Examples for the OpenAPI document, built from real values to stay correct."""

from collections.abc import Mapping

from msgspec import Struct

from holdfast.entrypoints.api.carts.answers import CartHoldAnswer
from holdfast.entrypoints.api.carts.examples import CART_ANSWERS, CART_ON_WAITLIST, CART_REQUESTS
from holdfast.entrypoints.api.catalog.examples import CATALOG_ANSWERS, CATALOG_REQUESTS
from holdfast.entrypoints.api.facts.examples import FACT_ANSWERS
from holdfast.entrypoints.api.holds.answers import HoldAnswer, HoldPage, hold_answer
from holdfast.entrypoints.api.keys.examples import KEY_ANSWERS, KEY_REQUESTS
from holdfast.entrypoints.api.mails.examples import MAIL_ANSWERS, MAIL_REQUESTS
from holdfast.entrypoints.api.members.examples import MEMBER_ANSWERS, MEMBER_REQUESTS
from holdfast.entrypoints.api.openapi.example_values import NOW
from holdfast.entrypoints.api.orders.examples import HELD, ORDER_ANSWERS, ORDER_REQUESTS, WAITING
from holdfast.entrypoints.api.organization.examples import (
    ORGANIZATION_ANSWERS,
    ORGANIZATION_REQUESTS,
)
from holdfast.entrypoints.api.privacy.examples import PRIVACY_ANSWERS, PRIVACY_REQUESTS
from holdfast.entrypoints.api.seats.examples import SEAT_ANSWERS, SEAT_REQUESTS
from holdfast.entrypoints.api.tokens.examples import TOKEN_ANSWERS, TOKEN_REQUESTS
from holdfast.entrypoints.inventory.examples import INVENTORY_ANSWERS, INVENTORY_REQUESTS

_held = hold_answer(HELD, NOW)

ANSWERS: Mapping[type[Struct], Struct] = {
    type(answer): answer
    for answer in (
        _held,
        HoldPage([_held], True, "AAZJ7h6aAAABmPHCex58Op1SP4pvDAAG"),
        *CATALOG_ANSWERS,
        *SEAT_ANSWERS,
        *ORDER_ANSWERS,
        *FACT_ANSWERS,
        *CART_ANSWERS,
        *KEY_ANSWERS,
        *MEMBER_ANSWERS,
        *ORGANIZATION_ANSWERS,
        *MAIL_ANSWERS,
        *TOKEN_ANSWERS,
        *PRIVACY_ANSWERS,
        *INVENTORY_ANSWERS,
    )
}

RELEASED = hold_answer(HELD.released(NOW), NOW)

# The 202 answers of routes that can lead to the waitlist.
WAITLIST_ANSWERS: Mapping[type[Struct], Struct] = {
    HoldAnswer: hold_answer(WAITING, NOW, position=3),
    CartHoldAnswer: CART_ON_WAITLIST,
}

REQUESTS: dict[type[Struct], dict[str, Struct]] = {}
for _name, _request in (
    *SEAT_REQUESTS,
    *ORDER_REQUESTS,
    *CART_REQUESTS,
    *CATALOG_REQUESTS,
    *KEY_REQUESTS,
    *MEMBER_REQUESTS,
    *ORGANIZATION_REQUESTS,
    *MAIL_REQUESTS,
    *TOKEN_REQUESTS,
    *PRIVACY_REQUESTS,
    *INVENTORY_REQUESTS,
):
    REQUESTS.setdefault(type(_request), {})[_name] = _request
