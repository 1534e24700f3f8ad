"""Handlers of the Inventory Service: parse the request, submit a command or read, and map the
answer."""

from functools import partial

from msgspec import UNSET

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionAvailability
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.inventory.command import ReservationCommand
from holdfast.domain.inventory.commit_tickets import CommitTickets
from holdfast.domain.inventory.release_tickets import ReleaseTickets
from holdfast.domain.inventory.reservation import ReservedLine, is_reservation
from holdfast.domain.inventory.reserve_tickets import ReserveTickets
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import cursor_text, page_after
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import render, reply_to, reply_to_reading, written
from holdfast.entrypoints.api.http.shapes import NoFields, given_or_none
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.inventory.answers import (
    ItemList,
    ReservationPage,
    item_answer,
    reservation_answer,
    reserved_answer,
    stock_answer,
)
from holdfast.entrypoints.inventory.structs import (
    AFTER_MESSAGE,
    CommitRequest,
    HoldRequest,
    ReleaseRequest,
    ReservationsQuery,
    ReservedLineRequest,
    StockRequest,
)
from holdfast.ports.paging import PageRequest
from holdfast.services import reads
from holdfast.services.catalog.changes import CatalogEditor


async def hold(context: Context, call: Call, body: HoldRequest) -> Reply:
    about, key = (body.hold_id, body.session_id), _key(call, body)
    organization_id = call.principal.organization_id
    command = ReserveTickets(organization_id, *about, _lines(body.lines), call.origin, key)
    return await _decided(context, call, command)


async def release(context: Context, call: Call, body: ReleaseRequest) -> Reply:
    about, key = (body.hold_id, body.session_id), _key(call, body)
    command = ReleaseTickets(call.principal.organization_id, *about, call.origin, key)
    return await _decided(context, call, command)


async def commit(context: Context, call: Call, body: CommitRequest) -> Reply:
    about, key = (body.hold_id, body.session_id), _key(call, body)
    organization_id = call.principal.organization_id
    command = CommitTickets(organization_id, *about, _lines(body.lines), call.origin, key)
    return await _decided(context, call, command)


def _key(call: Call, body: ReleaseRequest) -> IdempotencyKey | None:
    return idempotency_of(call, call.idempotency_key, body)


async def _decided(context: Context, call: Call, command: ReservationCommand) -> Reply:
    rendering = partial(render, call, show=reserved_answer) if command.idempotency else None
    answer = await context.engine.answer(command, rendering)
    return reply_to(call, answer, reserved_answer)


def _lines(given: list[ReservedLineRequest]) -> tuple[ReservedLine, ...]:
    seen = set()
    for number, line in enumerate(given):
        if line.ticket_type_id in seen:
            message = "This ticket type is listed twice"
            raise invalid([FieldError(f"lines[{number}].ticket_type_id", "duplicate", message)])
        seen.add(line.ticket_type_id)
    return tuple(ReservedLine(line.ticket_type_id, line.quantity) for line in given)


async def list_reservations(context: Context, call: Call, query: ReservationsQuery) -> Reply:
    page = _page(query)
    status = given_or_none(query.status)
    found = await look_up(context, call, reads.reservations, context.reservations, status, page)
    if isinstance(found, Refusal):
        return refusal_reply(found, call.request_id)
    following = cursor_text(found.next) if found.next else UNSET
    data = [reservation_answer(each) for each in found.items]
    return Reply(200, written(ReservationPage(data, found.next is not None, following)))


def _page(query: ReservationsQuery) -> PageRequest:
    try:
        return page_after(query.limit, given_or_none(query.after))
    except Problem:
        code = ProblemCode.INVALID_CURSOR.value
        raise invalid([FieldError("after", code, AFTER_MESSAGE)]) from None


async def get_reservation(context: Context, call: Call, _: NoFields) -> Reply:
    seen = await look_up(context, call, reads.hold, context.holds, HoldId(call.path_id))
    if not isinstance(seen, Refusal) and not is_reservation(seen.hold):
        seen = refusals.hold_not_found()
    return reply_to_reading(call, seen, lambda each: reservation_answer(each.hold))


async def list_items(context: Context, call: Call, _: NoFields) -> Reply:
    return reply_to_reading(call, await _items(context, call), _item_list)


def _item_list(found: SessionAvailability) -> ItemList:
    return ItemList([item_answer(found.session_id, each) for each in found.ticket_types])


async def get_item(context: Context, call: Call, _: NoFields) -> Reply:
    found = await _items(context, call)
    if not isinstance(found, Refusal):
        for each in found.ticket_types:
            if each.ticket_type_id == call.nested_id:
                return Reply(200, written(item_answer(found.session_id, each)))
        found = refusals.ticket_type_not_found()
    return refusal_reply(found, call.request_id)


async def _items(context: Context, call: Call) -> SessionAvailability | Refusal:
    session_id = SessionId(call.path_id)
    return await look_up(context, call, reads.availability, context.catalog, session_id)


async def set_stock(context: Context, call: Call, body: StockRequest) -> Reply:
    organization_id, ticket_type_id = call.principal.organization_id, TicketTypeId(call.nested_id)
    show = partial(stock_answer, ticket_type_id)
    editor = CatalogEditor(
        context.catalog,
        context.submit,
        organization_id,
        call.origin,
        idempotency_of(call, call.idempotency_key, body),
        partial(render, call, show=show),
    )
    session_id = SessionId(call.path_id)
    set_stock_of = editor.set_stock
    answer = await context.blocking.run(
        organization_id, set_stock_of, session_id, ticket_type_id, body.total
    )
    return reply_to(call, answer, show)
