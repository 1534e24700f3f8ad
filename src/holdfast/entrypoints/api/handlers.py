"""Handlers of holds: read what is asked, call one service, map the answer."""

from functools import partial

from msgspec import UnsetType

from holdfast.domain.commands import Ask
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, Quantity
from holdfast.entrypoints.api.answers import availability_answer, seen_hold_answer
from holdfast.entrypoints.api.context import Context
from holdfast.entrypoints.api.cursors import page_request
from holdfast.entrypoints.api.exchange import Call, Reply
from holdfast.entrypoints.api.problems import FieldError, invalid
from holdfast.entrypoints.api.repetition import idempotency_of
from holdfast.entrypoints.api.replies import (
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
)
from holdfast.entrypoints.api.structs import (
    AskedLine,
    HoldsQuery,
    NoFields,
    PlaceHoldRequest,
    given_or_none,
)
from holdfast.ports.holds import HoldFilter
from holdfast.services import placing, reading, releasing
from holdfast.services.placing import HoldRequest


async def place_hold(context: Context, call: Call, body: PlaceHoldRequest) -> Reply:
    request = hold_request(body)
    key_text = placing.repeat_key_text(call.idempotency_key, body.hold_id)
    key = idempotency_of(call, key_text, body)
    command = placing.place_command(call.principal, request, call.origin, key)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def release_hold(context: Context, call: Call, body: NoFields) -> Reply:
    key = idempotency_of(call, call.idempotency_key, body)
    hold_id = HoldId(call.path_id)
    command = releasing.release_command(call.principal, hold_id, call.origin, key)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def get_hold(context: Context, call: Call, _: NoFields) -> Reply:
    found = await context.blocking.run(
        reading.hold, context.holds, call.principal.organization_id, HoldId(call.path_id)
    )
    return reply_to_reading(call, found, seen_hold_answer)


async def list_holds(context: Context, call: Call, query: HoldsQuery) -> Reply:
    only = HoldFilter(
        session_id=given_or_none(query.session_id),
        status=given_or_none(query.status),
        email=None if isinstance(query.email, UnsetType) else _email("email", query.email),
    )
    organization_id = call.principal.organization_id
    found = await context.blocking.run(
        reading.holds, context.holds, organization_id, only, page_request(query)
    )
    return reply_to_listing(call, found, seen_hold_answer)


async def get_availability(context: Context, call: Call, _: NoFields) -> Reply:
    found = await context.blocking.run(
        reading.availability,
        context.catalogue,
        call.principal.organization_id,
        SessionId(call.path_id),
    )
    return reply_to_reading(call, found, availability_answer)


def hold_request(body: PlaceHoldRequest) -> HoldRequest:
    """The request in the domain's words, or everything that is wrong with it."""
    errors: list[FieldError] = []
    holder = _holder(body, errors)
    asks = _asks(body, errors)
    if holder is None or errors:
        raise invalid(errors)
    return HoldRequest(body.session_id, holder, asks, body.hold_id)


def _holder(body: PlaceHoldRequest, errors: list[FieldError]) -> Holder | None:
    field = "customer_email"
    try:
        email = None if body.customer_email is None else EmailAddress(body.customer_email)
        field = "customer_email" if body.user_id is None else "user_id"
        return Holder(email, body.user_id)
    except InvalidValue as error:
        errors.append(FieldError(field, error.code, error.message))
        return None


def _asks(body: PlaceHoldRequest, errors: list[FieldError]) -> tuple[Ask, ...]:
    if body.lines is not None:
        asks = tuple(_ask(line) for line in body.lines)
        given = (body.ticket_type_id, body.quantity, body.unit_price)
        if any(value is not None for value in given):
            message = "Give either ticket_type_id and quantity, or lines"
            errors.append(FieldError("lines", "conflicting_fields", message))
    else:
        asks = _single_ask(body, errors)
    return asks


def _single_ask(body: PlaceHoldRequest, errors: list[FieldError]) -> tuple[Ask, ...]:
    for field, value in (("ticket_type_id", body.ticket_type_id), ("quantity", body.quantity)):
        if value is None:
            errors.append(FieldError(field, "required", "This field is required"))
    if body.ticket_type_id is None or body.quantity is None:
        return ()
    return (Ask(body.ticket_type_id, Quantity(body.quantity), body.unit_price),)


def _ask(line: AskedLine) -> Ask:
    return Ask(line.ticket_type_id, Quantity(line.quantity), line.unit_price)


def _email(field: str, text: str) -> EmailAddress:
    try:
        return EmailAddress(text)
    except InvalidValue as error:
        raise invalid([FieldError(field, error.code, error.message)]) from None
