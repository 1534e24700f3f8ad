"""Handlers of carts: parse the request, call one service, map the answer."""

from functools import partial

from holdfast.domain.values import Holder
from holdfast.entrypoints.api.carts.answers import cart_hold_answer, emptied_answer, filled_answer
from holdfast.entrypoints.api.carts.requests import cart_request, named_holder
from holdfast.entrypoints.api.carts.structs import FillCartRequest, RenewCartRequest
from holdfast.entrypoints.api.holds.handlers import reply_with_position
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.replies import render, reply_to, reply_to_reading
from holdfast.entrypoints.api.http.shapes import NoFields, RequestShape
from holdfast.entrypoints.api.lookups import look_up
from holdfast.services import carts, reads


async def fill_cart(context: Context, call: Call, body: FillCartRequest) -> Reply:
    if not body.items:
        return await _empty(context, call, body, named_holder(body))
    request = cart_request(call.cart, body)
    key = idempotency_of(call, call.idempotency_key, body)
    command = carts.fill_command(call.principal, request, call.origin, key)
    rendering = partial(render, call, show=filled_answer) if key else None
    answer = await context.engine.answer(command, rendering)
    return await reply_with_position(context, call, answer, filled_answer, cart_hold_answer)


async def get_cart(context: Context, call: Call, _: NoFields) -> Reply:
    found = await look_up(context, call, reads.cart_hold, context.holds, call.cart)
    return reply_to_reading(call, found, cart_hold_answer)


async def empty_cart(context: Context, call: Call, body: NoFields) -> Reply:
    return await _empty(context, call, body, None)


async def renew_cart(context: Context, call: Call, body: RenewCartRequest) -> Reply:
    holder = named_holder(body)
    key = idempotency_of(call, call.idempotency_key, body)
    command = carts.renew_command(call.principal, call.cart, holder, call.origin, key)
    rendering = partial(render, call, show=filled_answer) if key else None
    answer = await context.engine.answer(command, rendering)
    return await reply_with_position(context, call, answer, filled_answer, cart_hold_answer)


async def _empty(context: Context, call: Call, body: RequestShape, holder: Holder | None) -> Reply:
    key = idempotency_of(call, call.idempotency_key, body)
    command = carts.empty_command(call.principal, call.cart, holder, call.origin, key)
    show = partial(emptied_answer, call.cart)
    answer = await context.engine.answer(command, partial(render, call, show=show) if key else None)
    return reply_to(call, answer, show)
