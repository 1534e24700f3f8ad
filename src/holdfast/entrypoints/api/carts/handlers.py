"""Handlers of carts: parse the request, call one service, map the answer."""

from functools import partial

from uuid_utils.compat import uuid7

from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.ids import HoldId
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.access.holders import own_hold
from holdfast.entrypoints.api.carts.answers import cart_hold_answer, emptied_answer, filled_answer
from holdfast.entrypoints.api.carts.requests import fill_command, named_holder
from holdfast.entrypoints.api.carts.structs import FillCartRequest, RenewCartRequest
from holdfast.entrypoints.api.holds.handlers import reply_with_position
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.replies import render, reply_to, reply_to_reading
from holdfast.entrypoints.api.http.shapes import NoFields, RequestShape
from holdfast.entrypoints.api.lookups import look_up
from holdfast.services import reads


async def fill_cart(context: Context, call: Call, body: FillCartRequest) -> Reply:
    if not body.items:
        return await _empty(context, call, body, named_holder(body))
    key = idempotency_of(call, call.idempotency_key, body)
    command = fill_command(call, body, key)
    rendering = partial(render, call, show=filled_answer) if key else None
    answer = await context.rates.fill(call, command, rendering)
    return await reply_with_position(context, call, answer, filled_answer, cart_hold_answer)


async def get_cart(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.cart_hold, context.holds, call.cart)
    found = await own_hold(context, call, found)
    return reply_to_reading(call, found, cart_hold_answer)


async def empty_cart(context: Context, call: Call, body: NoFields) -> Reply:
    return await _empty(context, call, body, None)


async def renew_cart(context: Context, call: Call, body: RenewCartRequest) -> Reply:
    holder = named_holder(body)
    key = idempotency_of(call, call.idempotency_key, body)
    principal, new_ids = call.principal, (HoldId(uuid7()), uuid7())
    command = RenewCart(
        principal.organization_id,
        call.cart,
        *new_ids,
        call.origin,
        principal.holder or holder,
        key,
        principal.reach,
    )
    rendering = partial(render, call, show=filled_answer) if key else None
    answer = await context.rates.renew(call, command, rendering)
    return await reply_with_position(context, call, answer, filled_answer, cart_hold_answer)


async def _empty(context: Context, call: Call, body: RequestShape, holder: Holder | None) -> Reply:
    key = idempotency_of(call, call.idempotency_key, body)
    organization_id, reach = call.principal.organization_id, call.principal.reach
    command = EmptyCart(organization_id, call.cart, call.origin, holder, key, reach)
    show = partial(emptied_answer, call.cart)
    answer = await context.engine.answer(command, partial(render, call, show=show) if key else None)
    return reply_to(call, answer, show)
