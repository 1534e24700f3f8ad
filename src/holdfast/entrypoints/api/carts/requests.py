"""Translates cart requests into those of the domain, or reports all their errors."""

from collections.abc import Iterator, Sequence

from uuid_utils.compat import uuid7

from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import CartAsk
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.ids import HoldId
from holdfast.domain.values import Holder, InvalidValue
from holdfast.entrypoints.api.carts.structs import (
    CartItemRequest,
    FillCartRequest,
    RenewCartRequest,
)
from holdfast.entrypoints.api.holds.requests import (
    ask_of,
    errors_of_seats,
    holder_of,
    read_holder,
    remarks_of,
)
from holdfast.entrypoints.api.http.exchange import Call
from holdfast.entrypoints.api.http.problems import FieldError, invalid
from holdfast.entrypoints.api.http.shapes import given_metadata


def fill_command(call: Call, body: FillCartRequest, key: IdempotencyKey | None) -> FillCart:
    errors: list[FieldError] = []
    if body.session_id is None:
        errors.append(FieldError("session_id", "required", "This field is required"))
    own = call.principal.holder
    holder = own or read_holder(body.customer_email, body.user_id, errors)
    asks = _asks(body.items, errors)
    if body.session_id is None or holder is None or errors:
        raise invalid(errors)
    return FillCart(
        organization_id=call.principal.organization_id,
        session_id=body.session_id,
        cart=call.cart,
        hold_id=HoldId(uuid7()),
        group_id=uuid7(),
        holder=holder,
        asks=asks,
        origin=call.origin,
        idempotency=key,
        remarks=remarks_of(body, call.cart, body.notes),
        metadata=given_metadata(body.metadata),
        reach=call.principal.reach,
    )


def named_holder(body: FillCartRequest | RenewCartRequest) -> Holder | None:
    """The required holder of the cart, if the request names one."""
    if body.customer_email is None and body.user_id is None:
        return None
    return holder_of(body.customer_email, body.user_id)


def _asks(items: Sequence[CartItemRequest], errors: list[FieldError]) -> tuple[CartAsk, ...]:
    asked = [(f"items[{position}].", item) for position, item in enumerate(items)]
    asks = [_cart_ask(path, item, errors) for path, item in asked]
    errors.extend(_doubled_items(asked))
    errors.extend(errors_of_seats("items", asked))
    return tuple(ask for ask in asks if ask is not None)


def _cart_ask(path: str, item: CartItemRequest, errors: list[FieldError]) -> CartAsk | None:
    ask = ask_of(path, item, errors)
    try:
        return None if ask is None else CartAsk(item.cart_item_id, ask)
    except InvalidValue as error:
        errors.append(FieldError(f"{path}cart_item_id", error.code, error.message))
        return None


def _doubled_items(asked: Sequence[tuple[str, CartItemRequest]]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for path, item in asked:
        if item.cart_item_id in seen:
            yield FieldError(f"{path}cart_item_id", "duplicate", "This item is listed twice")
        seen.add(item.cart_item_id)
