"""One example of each problem, built from real refusals to stay correct."""

from typing import Any

from holdfast.domain import refusals
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.queues import QUEUES_MAX
from holdfast.entrypoints.api.http.codes import KINDS, Code, ProblemCode
from holdfast.entrypoints.api.http.problems import FieldError, problem_body
from holdfast.entrypoints.api.openapi.example_values import HOLD, NOW, ORDER, SEATS, SESSION
from holdfast.entrypoints.api.openapi.examples import REQUEST_ID

_REFUSALS: dict[Code, Refusal] = {
    refusal.code: refusal
    for refusal in (
        refusals.quantity_above_maximum(8),
        refusals.insufficient_inventory(1),
        refusals.capacity_in_use(120),
        refusals.invalid_hold_state("cancelled"),
        refusals.seat_held_by_another_user(
            {"expires_at": "2026-01-15T10:25:00Z", "expires_in": 212}
        ),
        refusals.seat_not_available({"current_status": "sold"}),
        refusals.lock_not_available(SEATS[:1]),
        refusals.not_enough_seats(10, 0),
        refusals.block_at_capacity("Balcony", 1),
        refusals.orphan_seat(["0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009"]),
        refusals.active_hold_exists("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 412),
        refusals.already_waiting("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 3412),
        refusals.event_not_available(),
        refusals.event_unavailable(),
        refusals.event_sales_closed(),
        refusals.invalid_seat(),
        refusals.invalid_block(),
        refusals.seat_not_found(),
        refusals.invalid_event_state("cancelled"),
        refusals.invalid_sale_window(),
        refusals.invalid_seats(
            [{"field": "line 17", "code": "required", "message": "number is required"}], 1
        ),
        refusals.duplicate_block(),
        refusals.block_not_found(),
        refusals.invalid_session(),
        refusals.invalid_ticket_type(),
        refusals.invalid_event(),
        refusals.invalid_pool(),
        refusals.event_not_found(),
        refusals.session_not_found(),
        refusals.ticket_type_not_found(),
        refusals.pool_not_found(),
        refusals.hold_not_found(),
        refusals.hold_expired(),
        refusals.extension_limit_reached(NOW),
        refusals.expired_before_checkout([str(HOLD)]),
        refusals.empty_cart(),
        refusals.different_holders(),
        refusals.different_currencies(),
        refusals.too_many_tickets(TICKETS_PER_ORDER_MAX),
        refusals.too_many_attendees(2),
        refusals.checkout_not_found(),
        refusals.order_not_found(),
        refusals.payment_refused("it is not the amount that is due"),
        refusals.already_paid(str(ORDER)),
        refusals.amount_changed(13_500, "EUR"),
        refusals.cart_of_another_holder(),
        refusals.cart_of_another_session(str(SESSION)),
        refusals.waiting_places_exceeded(4),
        refusals.too_many_queues(QUEUES_MAX),
        refusals.others_are_waiting(),
        refusals.idempotency_key_reused(),
        refusals.request_in_progress(),
        refusals.service_unavailable(),
        refusals.internal_error(),
    )
}


def problem_example(code: Code) -> dict[str, Any]:
    refusal = _REFUSALS.get(code)
    if refusal is not None:
        return problem_body(code, refusal.message, REQUEST_ID, refusal.details)
    errors: tuple[FieldError, ...] = ()
    if code is ProblemCode.VALIDATION_ERROR:
        errors = (FieldError("session_id", "required", "This field is required"),)
    if code is ProblemCode.INVALID_REQUEST:
        errors = (FieldError("source", "invalid_value", "Must be one of: web, scanner"),)
    return problem_body(code, KINDS[code].title, REQUEST_ID, errors=errors)
