"""Handlers of checkouts, payments and orders: parse the request, call one service, map the
answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

from holdfast.domain import refusals
from holdfast.domain.group.outcomes import (
    AlreadyConverted,
    Converted,
    OrderCancelled,
    RefundRecorded,
)
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, TicketId
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.order import HOLDS_PER_CHECKOUT_MAX, Attendee, Order
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.orders.start_checkout import StartCheckout
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder, InvalidValue, Money, metadata_of
from holdfast.entrypoints.api.access.holders import (
    are_own,
    is_own_hold,
    is_own_order,
    refuse_closed,
    refuse_event,
)
from holdfast.entrypoints.api.holds.requests import holder_of, own_filters
from holdfast.entrypoints.api.http.context import Context
from holdfast.entrypoints.api.http.cursors import page_request
from holdfast.entrypoints.api.http.exchange import Call, Reply
from holdfast.entrypoints.api.http.idempotency import idempotency_of
from holdfast.entrypoints.api.http.problems import FieldError, Problem, invalid, refusal_reply
from holdfast.entrypoints.api.http.replies import (
    AnyOutcome,
    Show,
    answer_of,
    as_replayed,
    render,
    reply_to,
    reply_to_listing,
    reply_to_reading,
)
from holdfast.entrypoints.api.http.shapes import NoFields
from holdfast.entrypoints.api.lookups import look_up
from holdfast.entrypoints.api.orders import answers, structs
from holdfast.ports.engine import Answer
from holdfast.ports.holds import SeenHold
from holdfast.ports.orders import OrderFilter
from holdfast.ports.paging import Page
from holdfast.services.orders import checkout
from holdfast.services.orders.checkout import Payment, Sale

T = TypeVar("T")
PayingRequest = structs.ConfirmHoldRequest | structs.CompleteCheckoutRequest


async def start_checkout(context: Context, call: Call, body: structs.StartCheckoutRequest) -> Reply:
    _refuse_choice(body)
    is_anybody = body.customer_email is None and body.user_id is None and body.event_id is None
    holder = call.principal.holder
    if holder is None and not is_anybody:
        holder = holder_of(body.customer_email, body.user_id)
    hold_ids = await _holds_to_pay(context, call, body, holder)
    if isinstance(hold_ids, Refusal):
        return refusal_reply(hold_ids, call.request_id)
    if len(hold_ids) > HOLDS_PER_CHECKOUT_MAX:
        field = "event_id" if body.cart_token is None else "cart_token"
        message = f"There are more than {HOLDS_PER_CHECKOUT_MAX} holds: choose some with hold_ids"
        raise invalid([FieldError(field, "too_many", message)])
    key = idempotency_of(call, call.idempotency_key, body)
    organization_id, reach = call.principal.organization_id, call.principal.reach
    command = StartCheckout(organization_id, hold_ids, call.origin, holder, key, reach)
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return reply_to(call, answer)


async def _holds_to_pay(
    context: Context, call: Call, body: structs.StartCheckoutRequest, holder: Holder | None
) -> tuple[HoldId, ...] | Refusal:
    organization_id = call.principal.organization_id
    is_visible = partial(is_own_hold, context, call.principal)
    if body.cart_token is not None:
        return await context.blocking.run_for_command(
            organization_id,
            checkout.held_in_cart,
            context.holds,
            organization_id,
            body.cart_token,
            is_visible,
        )
    if body.event_id is not None and holder is not None:
        if await refuse_event(context, call, body.event_id) is not None:
            return refusals.invalid_event()
        return await context.blocking.run_for_command(
            organization_id,
            checkout.held_for_event,
            context.holds,
            context.catalog,
            organization_id,
            body.event_id,
            checkout.Buyer(holder, is_visible),
        )
    return tuple(body.hold_ids or ())


async def get_checkout(context: Context, call: Call, _: NoFields) -> Reply:
    checkout_id = CheckoutId(call.path_id)
    found = await look_up(context, call, checkout.checkout, context.orders, checkout_id)
    if not isinstance(found, Refusal) and not await are_own(context, call, found.holds):
        found = refusals.checkout_not_found()
    return reply_to_reading(call, found, answers.seen_checkout_answer)


async def complete_checkout(
    context: Context, call: Call, body: structs.CompleteCheckoutRequest
) -> Reply:
    if call.principal.holder is not None and not context.cashier.verifies_payments:
        # Otherwise a buyer could say that they have paid.
        raise refuse_closed()
    attendees = _attendees(body.attendees or ())
    payment, checkout_id = _payment(call, body), CheckoutId(call.path_id)
    due = await context.blocking.run_for_command(
        call.principal.organization_id, context.cashier.holds_to_complete, payment, checkout_id
    )
    if isinstance(due, Refusal):
        return refusal_reply(due, call.request_id)
    sale = Sale(due, attendees, metadata_of(body.metadata), checkout_id)
    answer = await _convert(context, call, body, sale, answer_of)
    if not isinstance(answer.outcome, AlreadyConverted):
        return await _reply_to_sale(context, call, answer, answer_of)
    paid_order = partial(
        context.cashier.paid_order, payment, due.hold_ids[0], answer.outcome.order_id
    )
    return await context.blocking.run_for_command(
        call.principal.organization_id, _reply_again, call, paid_order, answers.order_answer
    )


async def confirm_hold(context: Context, call: Call, body: structs.ConfirmHoldRequest) -> Reply:
    attendees = _attendees(body.attendees or ())
    payment, hold_id = _payment(call, body), HoldId(call.path_id)
    due = await context.blocking.run_for_command(
        call.principal.organization_id, context.cashier.hold_to_confirm, payment, hold_id
    )
    if isinstance(due, Refusal):
        return refusal_reply(due, call.request_id)
    sale = Sale(due, attendees, metadata_of(body.metadata))
    answer = await _convert(context, call, body, sale, _confirmed_now)
    if not isinstance(answer.outcome, AlreadyConverted):
        return await _reply_to_sale(context, call, answer, _confirmed_now)
    paid_hold = partial(context.cashier.paid_hold, payment, hold_id, answer.outcome.order_id)
    return await context.blocking.run_for_command(
        call.principal.organization_id, _reply_again, call, paid_hold, _confirmed_before
    )


def _payment(call: Call, body: PayingRequest) -> Payment:
    principal = call.principal
    return Payment(
        principal.organization_id,
        body.payment_reference,
        call.origin,
        body.amount,
        principal.reach,
        body.currency,
    )


async def _convert(
    context: Context, call: Call, body: PayingRequest, sale: Sale, show: Show
) -> Answer:
    key = idempotency_of(call, call.idempotency_key, body)
    command = context.cashier.command(_payment(call, body), sale, key)
    return await context.engine.answer(command, partial(render, call, show=show) if key else None)


async def _reply_to_sale(context: Context, call: Call, answer: Answer, show: Show) -> Reply:
    """A recorded answer was serialized by the engine. Otherwise a large order is serialized on a
    thread, to keep the event loop free."""
    done = answer.outcome if answer.body is None else None
    if (
        isinstance(done, Converted | OrderCancelled | RefundRecorded)
        and len(done.order.tickets) > answers.TICKETS_WRITTEN_AT_ONCE_MAX
    ):
        organization_id = call.principal.organization_id
        try:
            return await context.large.run(organization_id, reply_to, call, answer, show)
        except Problem:
            pass  # the threads are busy, but what is done must not be answered with 503
    return reply_to(call, answer, show)


def _reply_again(call: Call, read: Callable[[], T | Refusal], show: Callable[[T], object]) -> Reply:
    """The existing order. Runs on the reading thread."""
    found = read()
    if isinstance(found, Refusal) and found.code is RefusalCode.ALREADY_PAID:
        call.is_recorded = True  # by the cashier
    reply = reply_to_reading(call, found, show)
    return reply if isinstance(found, Refusal) else as_replayed(reply)


async def get_order(context: Context, call: Call, _: NoFields) -> Reply:
    organization_id = call.principal.organization_id
    found = await look_up(context, call, checkout.order, context.orders, OrderId(call.path_id))
    if not isinstance(found, Refusal) and not await is_own_order(context, call, found):
        found = refusals.order_not_found()
    # On the reading thread: an order may have thousands of tickets.
    return await context.blocking.run(
        organization_id, reply_to_reading, call, found, answers.order_answer
    )


async def list_orders(context: Context, call: Call, query: structs.OrdersQuery) -> Reply:
    return await context.large.run(
        call.principal.organization_id, _orders_reply, context, call, query
    )


def _orders_reply(context: Context, call: Call, query: structs.OrdersQuery) -> Reply:
    only = own_filters(query, call.principal.reach)
    found: Page[Order] | Refusal = Page((), None)
    if only is not None:
        found = checkout.orders(
            context.orders,
            call.principal.organization_id,
            OrderFilter(**only),
            page_request(query),
        )
    return reply_to_listing(call, found, answers.order_answer)


async def cancel_order(context: Context, call: Call, body: structs.CancelOrderRequest) -> Reply:
    ticket_ids = tuple(body.ticket_ids or ())
    _refuse_doubled("ticket_ids", ticket_ids, "This ticket is listed twice")
    key = idempotency_of(call, call.idempotency_key, body)
    command = CancelOrder(
        call.principal.organization_id,
        OrderId(call.path_id),
        ticket_ids,
        replace(call.origin, reason=body.reason),
        body.refund_reference,
        body.version,
        key,
    )
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return await _reply_to_sale(context, call, answer, answer_of)


async def record_refund(context: Context, call: Call, body: structs.RecordRefundRequest) -> Reply:
    ticket_ids = tuple(body.ticket_ids or ())
    _refuse_doubled("ticket_ids", ticket_ids, "This ticket is listed twice")
    key = idempotency_of(call, call.idempotency_key, body)
    command = RecordRefund(
        call.principal.organization_id,
        OrderId(call.path_id),
        body.refund_reference,
        ticket_ids,
        call.origin,
        key,
    )
    answer = await context.engine.answer(command, partial(render, call) if key else None)
    return await _reply_to_sale(context, call, answer, answer_of)


async def pay_at_demo_till(context: Context, call: Call, body: structs.DemoPaymentRequest) -> Reply:
    assert context.demo_till is not None, "this route is served only with a demo till"
    amount = Money(body.amount, body.currency)
    key = idempotency_of(call, call.idempotency_key, body)
    # The same key is the same payment, though nothing is stored.
    reference = context.demo_till.take(amount, body.card, key.digest if key else uuid4())
    if reference is None:
        refusal = refusals.payment_refused("the card was declined")
        return refusal_reply(refusal, call.request_id)
    paid = reply_to_reading(call, reference, lambda made: answers.demo_payment_answer(made, amount))
    return paid._replace(status=call.success_status)


def _confirmed_now(outcome: AnyOutcome) -> answers.ConfirmedHoldAnswer:
    assert isinstance(outcome, Converted)
    return answers.confirmed_answer(outcome.holds[0], outcome.order, outcome.at)


def _confirmed_before(found: tuple[SeenHold, Order]) -> answers.ConfirmedHoldAnswer:
    seen, order = found
    return answers.confirmed_answer(seen.hold, order, seen.at)


def _refuse_choice(body: structs.StartCheckoutRequest) -> None:
    given = [each for each in (body.hold_ids, body.event_id, body.cart_token) if each is not None]
    if len(given) != 1:
        code = "conflicting_fields" if given else "required"
        raise invalid(
            [FieldError("hold_ids", code, "Give exactly one of hold_ids, cart_token and event_id")]
        )
    _refuse_doubled("hold_ids", body.hold_ids or (), "This hold is listed twice")


def _refuse_doubled(field: str, ids: Sequence[HoldId] | Sequence[TicketId], message: str) -> None:
    seen, doubled = set[UUID](), []
    for position, id_ in enumerate(ids):
        if id_ in seen:
            doubled.append(FieldError(f"{field}[{position}]", "duplicate", message))
        seen.add(id_)
    if doubled:
        raise invalid(doubled)


def _attendees(asked: Sequence[structs.AttendeeRequest | None]) -> tuple[Attendee | None, ...]:
    errors: list[FieldError] = []
    attendees = [
        None if attendee is None else _attendee(f"attendees[{position}]", attendee, errors)
        for position, attendee in enumerate(asked)
    ]
    if errors:
        raise invalid(errors)
    return tuple(attendees)


def _attendee(
    path: str, asked: structs.AttendeeRequest, errors: list[FieldError]
) -> Attendee | None:
    field = f"{path}.email"
    try:
        email = None if asked.email is None else EmailAddress(asked.email)
        field = path if asked.name is None else f"{path}.name"
        return Attendee(asked.name, email)
    except InvalidValue as error:
        errors.append(FieldError(field, error.code, error.message))
        return None
