"""Routes of checkouts, payment confirmation and orders."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.access.scopes import Scope
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.entrypoints.api.holds.routes import OF_EVENT
from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.orders import answers, handlers, structs

_C = RefusalCode

_OF_PAYING = (
    _C.HOLD_EXPIRED,
    _C.INVALID_HOLD_STATE,
    *OF_EVENT,
    _C.TOO_MANY_TICKETS,
    _C.TOO_MANY_ATTENDEES,
    _C.PAYMENT_REFUSED,
    _C.PAYMENT_ALREADY_USED,
    _C.ALREADY_PAID,
    _C.AMOUNT_CHANGED,
    ProblemCode.INVALID_EMAIL,
)

ORDER_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/holds/{hold_id}/confirm",
        attempt="hold.convert_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Confirm a paid hold and create its order",
        returns="The hold and its order.",
        handler=handlers.confirm_hold,
        body=structs.ConfirmHoldRequest,
        is_body_optional=True,
        answer=answers.ConfirmedHoldAnswer,
        not_found=refusals.hold_not_found(),
        refusals=_OF_PAYING,
    ),
    Route(
        method="POST",
        path="/api/checkouts",
        attempt="checkout.start_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Start a checkout of holds; each is extended once",
        returns="The new checkout.",
        is_for_holders=True,
        handler=handlers.start_checkout,
        body=structs.StartCheckoutRequest,
        answer=answers.CheckoutAnswer,
        status=201,
        also={200: "These holds are in this checkout already."},
        refusals=(
            _C.HOLD_NOT_FOUND,
            _C.EXPIRED_BEFORE_CHECKOUT,
            _C.INVALID_HOLD_STATE,
            _C.INVALID_EVENT,
            *OF_EVENT,
            _C.EMPTY_CART,
            _C.DIFFERENT_HOLDERS,
            _C.DIFFERENT_CURRENCIES,
            _C.TOO_MANY_TICKETS,
            ProblemCode.HOLDER_REQUIRED,
        ),
    ),
    Route(
        method="GET",
        path="/api/checkouts/{checkout_id}",
        scope=Scope.HOLDS_READ,
        summary="Read a checkout and its holds",
        returns="The checkout and its holds.",
        is_for_holders=True,
        handler=handlers.get_checkout,
        answer=answers.CheckoutAnswer,
        not_found=refusals.checkout_not_found(),
    ),
    Route(
        method="POST",
        path="/api/checkouts/{checkout_id}/complete",
        attempt="hold.convert_failed",
        scope=Scope.HOLDS_WRITE,
        summary="Complete a paid checkout and create one order",
        returns="The new order.",
        is_for_holders=True,
        handler=handlers.complete_checkout,
        body=structs.CompleteCheckoutRequest,
        answer=answers.OrderAnswer,
        status=201,
        also={200: "The order that already exists for this checkout."},
        not_found=refusals.checkout_not_found(),
        refusals=(*_OF_PAYING, _C.DIFFERENT_HOLDERS, _C.DIFFERENT_CURRENCIES),
    ),
    Route(
        method="GET",
        path="/api/orders",
        scope=Scope.ORDERS_READ,
        summary="List orders, newest first",
        description="A page has at most 10,000 tickets, so it may have fewer orders than "
        "`limit`: continue while `has_more`.",
        returns="A page of orders.",
        is_for_holders=True,
        handler=handlers.list_orders,
        query=structs.OrdersQuery,
        answer=answers.OrderPage,
    ),
    Route(
        method="GET",
        path="/api/orders/{order_id}",
        scope=Scope.ORDERS_READ,
        summary="Read an order and its tickets",
        returns="The order and its tickets.",
        is_for_holders=True,
        handler=handlers.get_order,
        answer=answers.OrderAnswer,
        not_found=refusals.order_not_found(),
    ),
    Route(
        method="POST",
        path="/api/orders/{order_id}/cancel",
        attempt="order.cancel_failed",
        scope=Scope.ORDERS_CANCEL,
        summary="Cancel an order, or some of its tickets",
        description="The tickets become void for good, and their places go to the waitlist or back "
        "on sale. Holdfast moves no money: refund the payment yourself.",
        returns="The order, with these tickets void. If it has more than "
        f"{answers.TICKETS_WRITTEN_AT_ONCE_MAX} tickets, only these are listed.",
        handler=handlers.cancel_order,
        body=structs.CancelOrderRequest,
        answer=answers.OrderAnswer,
        not_found=refusals.order_not_found(),
        refusals=(
            _C.ORDER_ALREADY_CANCELLED,
            _C.TICKET_ALREADY_VOID,
            _C.INVALID_TICKET,
            _C.ORDER_CHANGED,
        ),
    ),
    Route(
        method="POST",
        path="/api/orders/{order_id}/refunds",
        attempt="order.refund_failed",
        scope=Scope.ORDERS_CANCEL,
        summary="Record the refund of void tickets",
        description="For a refund that you made after the cancellation. Holdfast moves no money: "
        "it keeps your payment provider's reference with each ticket, and never replaces it.",
        returns="The order, with the reference at these tickets. An order of more than 500 tickets "
        "comes only with those that got it now.",
        handler=handlers.record_refund,
        body=structs.RecordRefundRequest,
        answer=answers.OrderAnswer,
        not_found=refusals.order_not_found(),
        refusals=(_C.TICKET_NOT_VOID, _C.ALREADY_REFUNDED, _C.INVALID_TICKET),
    ),
)

# Served only with the demo payment provider.
DEMO_ROUTES: tuple[Route[Any], ...] = (
    Route(
        method="POST",
        path="/api/demo/payments",
        scope=Scope.HOLDS_WRITE,
        summary="Make a demo payment",
        returns="The payment.",
        is_for_holders=True,
        handler=handlers.pay_at_demo_till,
        body=structs.DemoPaymentRequest,
        answer=answers.DemoPaymentAnswer,
        status=201,
        refusals=(_C.PAYMENT_REFUSED,),
    ),
)
