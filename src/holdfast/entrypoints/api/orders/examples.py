"""Examples of payments and the audit log for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from holdfast.domain.facts import audit_values
from holdfast.domain.group.outcomes import CheckoutStarted
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, Remarks, WaitingPlace
from holdfast.domain.orders.order import Attendee, Order, Ticket, ticket_code
from holdfast.domain.values import EmailAddress, Holder, Metadata
from holdfast.entrypoints.api.audit.answers import audit_page_answer
from holdfast.entrypoints.api.holds.structs import ExtendHoldRequest
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.orders import answers, structs
from holdfast.ports.audit.reader import AuditEntry, AuditSlice

_PAYMENT = "pi_3MtwBwLkdIwHu7ix28a3tqPa"
_DEMO_PAYMENT = "demo_9000_EUR_" + "5d2c1e9f" * 4 + "_" + "0a10c4d2" * 4
_SEED = bytes(32)

HELD = Hold(
    organization_id=sale.ORGANIZATION,
    id=sale.HOLD,
    session_id=sale.SESSION,
    reference="K7M2QX",
    holder=Holder(EmailAddress(sale.EMAIL)),
    lines=(Line(sale.TYPE, 2, 4500, (sale.POOL,)),),
    currency="EUR",
    status=HoldStatus.ACTIVE,
    version=1,
    created_at=sale.NOW,
    updated_at=sale.NOW,
    held_at=sale.NOW,
    expires_at=sale.NOW + timedelta(minutes=10),
    remarks=Remarks(metadata=Metadata({"campaign": "spring"})),
)
WAITING = replace(
    HELD,
    status=HoldStatus.WAITING,
    held_at=None,
    expires_at=sale.NOW + timedelta(days=1),
    waiting=WaitingPlace(sale.SESSION, sale.NOW),
)
_PAYING = HELD.checked_out(sale.NOW, sale.CHECKOUT, sale.NOW + timedelta(minutes=15), 60)
_ORDER = Order(
    sale.ORGANIZATION,
    sale.ORDER,
    HELD.holder,
    (sale.HOLD,),
    HELD.total,
    sale.NOW,
    tuple(
        Ticket(
            ticket_id,
            ticket_code(_SEED, number),
            sale.HOLD,
            sale.SESSION,
            sale.TYPE,
            4500,
            None,
            attendee,
        )
        for number, (ticket_id, attendee) in enumerate(
            zip(sale.TICKETS, (Attendee("Ada Lovelace"), None), strict=True)
        )
    ),
    _PAYMENT,
    sale.CHECKOUT,
    Metadata({"invoice": "2026-0117"}),
    references=(HELD.reference,),
    event_ids=(sale.EVENT,),
)
_CONFIRMED = replace(_ORDER, checkout_id=None)
_AUDITED = AuditEntry(
    seq=90211,
    at=sale.NOW,
    action="hold.extended",
    hold_id=sale.HOLD,
    seat_id=None,
    catalog_id=None,
    key_id=None,
    session_id=sale.SESSION,
    ticket_type_ids=(HELD.lines[0].ticket_type_id,),
    cart=None,
    holder=UUID("5f0c1d0e-4b7a-9c3f-8e2d-6b1a0c9f8e7d"),
    actor="key:0198f1c0-0b20-7a00-8b00-5d2c1e9f0010",
    acting_user=None,
    request_id=sale.REQUEST_ID,
    ip="203.0.113.7",
    user_agent="tickets/2.1",
    old=audit_values(HELD),
    new=audit_values(_PAYING) or {},
)

ORDER_ANSWERS: sale.Answers = (
    answers.started_answer(CheckoutStarted(sale.CHECKOUT, (_PAYING,), sale.NOW)),
    answers.order_answer(_ORDER),
    answers.OrderPage([answers.order_answer(_ORDER)], False),
    answers.confirmed_answer(HELD.converted(sale.NOW, sale.ORDER), _CONFIRMED, sale.NOW),
    answers.demo_payment_answer(_DEMO_PAYMENT, HELD.total),
    audit_page_answer(AuditSlice((_AUDITED,), _AUDITED.position)),
)

ORDER_REQUESTS: sale.Requests = (
    ("by its holder", ExtendHoldRequest(minutes=5, customer_email=sale.EMAIL)),
    ("by an operator", ExtendHoldRequest(minutes=15, as_operator=True)),
    ("paid", structs.ConfirmHoldRequest(payment_reference=_PAYMENT)),
    ("these holds", structs.StartCheckoutRequest(hold_ids=[sale.HOLD])),
    ("all of a cart", structs.StartCheckoutRequest(cart_token=sale.CART)),
    (
        "all of an event",
        structs.StartCheckoutRequest(event_id=sale.EVENT, customer_email=sale.EMAIL),
    ),
    (
        "with names",
        structs.CompleteCheckoutRequest(
            payment_reference=_PAYMENT,
            attendees=[structs.AttendeeRequest(name="Ada Lovelace"), None],
            metadata={"invoice": "2026-0117"},
        ),
    ),
    (
        "the whole order",
        structs.CancelOrderRequest(reason="The buyer fell ill", refund_reference="re_3MtwBwLk"),
    ),
    (
        "one ticket",
        structs.CancelOrderRequest(ticket_ids=[sale.TICKETS[1]], reason="Bought one too many"),
    ),
    ("the whole order", structs.RecordRefundRequest(refund_reference="re_3MtwBwLk")),
    (
        "one ticket",
        structs.RecordRefundRequest(refund_reference="re_3MtwBwLk", ticket_ids=[sale.TICKETS[1]]),
    ),
    ("paid", structs.DemoPaymentRequest(amount=9000, currency="EUR")),
    ("declined", structs.DemoPaymentRequest(amount=9000, currency="EUR", card="4000000000000002")),
)
