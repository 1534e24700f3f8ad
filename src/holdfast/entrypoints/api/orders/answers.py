"""Answers about checkouts and orders, without e-mail addresses."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, cast
from uuid import UUID

from msgspec import UNSET, Meta, Raw, UnsetType, json, structs

from holdfast.domain.group.outcomes import CheckoutStarted, OrderCancelled, RefundRecorded
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import CheckoutId, OrderId
from holdfast.domain.orders.order import Order, OrderStatus, Ticket
from holdfast.domain.slices import giving_way
from holdfast.domain.values import Money
from holdfast.entrypoints.api.holds.answers import (
    HoldAnswer,
    LineSeatAnswer,
    hold_answer,
    line_seat_answer,
)
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import (
    AnswerShape,
    PageAnswer,
    metadata_or_unset,
    or_unset,
    utc,
)
from holdfast.ports.orders import SeenCheckout

# A larger order is serialized on a thread, in parts; this many tickets take a few milliseconds.
TICKETS_WRITTEN_AT_ONCE_MAX = 500


class TicketStatus(StrEnum):
    VALID = "valid"
    VOID = "void"


class TicketAnswer(AnswerShape, frozen=True):
    """A `void` ticket was cancelled: its code admits nobody."""

    ticket_id: UUID
    code: Annotated[
        str, Meta(description="Unguessable code that admits its bearer while it is valid.")
    ]
    status: TicketStatus
    hold_id: UUID
    session_id: UUID
    ticket_type_id: UUID
    unit_price: int
    seat: LineSeatAnswer | UnsetType = UNSET
    attendee_name: Annotated[str, Meta(description="Name of the attendee.")] | UnsetType = UNSET
    voided_at: Annotated[Moment, Meta(description="When it became void.")] | UnsetType = UNSET
    refund_reference: str | UnsetType = UNSET


class OrderAnswer(AnswerShape, frozen=True, kw_only=True):
    """One ticket per unit, in the order of holds and lines. After a late payment, `hold_ids` are
    the holds that replace the expired ones. `total` is what was paid: cancelling does not change
    it."""

    order_id: UUID
    status: OrderStatus
    version: int
    references: Annotated[
        list[str], Meta(description="Booking references: the short codes of its holds.")
    ]
    user_id: Annotated[str, Meta(description="Your id of the customer.")] | UnsetType = UNSET
    event_ids: Annotated[list[UUID], Meta(description="The events of its tickets.")]
    session_ids: Annotated[list[UUID], Meta(description="The sessions of its tickets.")]
    checkout_id: (
        Annotated[UUID, Meta(description="The completed checkout, if there was one.")] | UnsetType
    ) = UNSET
    hold_ids: Annotated[list[UUID], Meta(description="The holds it was made from.")]
    payment_reference: str | UnsetType = UNSET
    total: int
    currency: str
    created_at: Moment
    cancelled_at: (
        Annotated[Moment, Meta(description="When its last valid ticket became void.")] | UnsetType
    ) = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    tickets: list[TicketAnswer]


class OrderPage(PageAnswer[OrderAnswer], frozen=True):
    """Orders, newest first."""


class ConfirmedHoldAnswer(HoldAnswer, frozen=True, kw_only=True):
    """The hold, and the order it became."""

    order: Annotated[OrderAnswer, Meta(description="The order it became.")]


class CheckoutAnswer(AnswerShape, frozen=True, kw_only=True):
    """`expires_at` is when the first hold expires. A paid checkout has an `order_id`."""

    checkout_id: UUID
    expires_at: Annotated[Moment, Meta(description="When the first hold expires.")]
    expires_in_seconds: int
    total: Annotated[int, Meta(description="Amount due, in minor units of the currency.")]
    currency: str
    order_id: Annotated[UUID, Meta(description="The order, once it is paid.")] | UnsetType = UNSET
    holds: Annotated[list[HoldAnswer], Meta(description="The holds to pay for.")]


class DemoPaymentAnswer(AnswerShape, frozen=True):
    payment_reference: str
    amount: int
    currency: str


def changed_answer(done: OrderCancelled | RefundRecorded) -> OrderAnswer:
    """Of a large order, only the tickets that changed now: its locks are held meanwhile, and the
    answer is stored with each idempotency key."""
    order = done.order
    if len(order.tickets) <= TICKETS_WRITTEN_AT_ONCE_MAX:
        return order_answer(order)
    changed = frozenset(done.ticket_ids)
    return order_answer(order, [ticket for ticket in order.tickets if ticket.id in changed])


def order_answer(order: Order, shown: Sequence[Ticket] | None = None) -> OrderAnswer:
    """With all its tickets, or those that are to be shown."""
    return OrderAnswer(
        order_id=order.id,
        status=order.status,
        version=order.version,
        references=list(order.references),
        user_id=or_unset(order.holder.user_id),
        event_ids=list(order.event_ids),
        session_ids=list(order.session_ids),
        checkout_id=or_unset(order.checkout_id),
        hold_ids=list(order.hold_ids),
        payment_reference=or_unset(order.payment_reference),
        total=order.total.minor,
        currency=order.total.currency,
        created_at=utc(order.created_at),
        cancelled_at=UNSET if order.cancelled_at is None else utc(order.cancelled_at),
        metadata=metadata_or_unset(order.metadata),
        tickets=_ticket_answers(order.tickets if shown is None else shown),
    )


def _ticket_answers(tickets: Sequence[Ticket]) -> list[TicketAnswer]:
    """Those of a large order are serialized one by one, because a single call for all of them would
    keep the interpreter for ten milliseconds."""
    if len(tickets) <= TICKETS_WRITTEN_AT_ONCE_MAX:
        return [_ticket_answer(ticket) for ticket in tickets]
    texts = (Raw(json.encode(_ticket_answer(ticket))) for ticket in giving_way(tickets))
    return cast("list[TicketAnswer]", list(texts))


def confirmed_answer(hold: Hold, order: Order, at: datetime) -> ConfirmedHoldAnswer:
    return ConfirmedHoldAnswer(**structs.asdict(hold_answer(hold, at)), order=order_answer(order))


def started_answer(started: CheckoutStarted) -> CheckoutAnswer:
    return _checkout_answer(started.checkout_id, started.holds, None, started.at)


def seen_checkout_answer(seen: SeenCheckout) -> CheckoutAnswer:
    return _checkout_answer(seen.checkout.id, seen.holds, seen.order_id, seen.at)


def demo_payment_answer(reference: str, amount: Money) -> DemoPaymentAnswer:
    return DemoPaymentAnswer(reference, amount.minor, amount.currency)


def _checkout_answer(
    checkout_id: CheckoutId, holds: Sequence[Hold], order_id: OrderId | None, at: datetime
) -> CheckoutAnswer:
    return CheckoutAnswer(
        checkout_id=checkout_id,
        expires_at=utc(min(hold.expires_at for hold in holds)),
        expires_in_seconds=min(hold.remaining_seconds(at) for hold in holds),
        total=sum(hold.total.minor for hold in holds),
        currency=holds[0].currency,
        order_id=or_unset(order_id),
        holds=[hold_answer(hold, at) for hold in holds],
    )


def _ticket_answer(ticket: Ticket) -> TicketAnswer:
    attendee, voided = ticket.attendee, ticket.voided
    return TicketAnswer(
        ticket_id=ticket.id,
        code=ticket.code,
        status=TicketStatus.VALID if voided is None else TicketStatus.VOID,
        hold_id=ticket.hold_id,
        session_id=ticket.session_id,
        ticket_type_id=ticket.ticket_type_id,
        unit_price=ticket.unit_price_minor,
        seat=UNSET if ticket.seat is None else line_seat_answer(ticket.seat),
        attendee_name=UNSET if attendee is None else or_unset(attendee.name),
        voided_at=UNSET if voided is None else utc(voided.at),
        refund_reference=UNSET if voided is None else or_unset(voided.refund_reference),
    )
