"""One example of each problem, built from real refusals to stay correct."""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter, isfunction, signature
from typing import Any

from holdfast.domain import refusals
from holdfast.domain.access.keys import KEYS_MAX
from holdfast.domain.access.members import MEMBERS_MAX
from holdfast.domain.access.rates import Rate
from holdfast.domain.catalog.changes import too_many_items
from holdfast.domain.holds.remote import not_with_remote_inventory
from holdfast.domain.orders import refusals as of_orders
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.queues import QUEUES_MAX
from holdfast.entrypoints.api.http.codes import KINDS, Code, ProblemCode
from holdfast.entrypoints.api.http.problems import FieldError, problem_body
from holdfast.entrypoints.api.openapi import example_values as sale

_WITH_VALUES = (
    refusals.quantity_above_maximum(8),
    refusals.insufficient_inventory(1),
    not_with_remote_inventory("Seats"),
    refusals.capacity_in_use(120),
    refusals.invalid_hold_state("cancelled"),
    refusals.seat_held_by_another_user({"expires_at": "2026-01-15T10:25:00Z", "expires_in": 212}),
    refusals.seat_not_available({"current_status": "sold"}),
    refusals.lock_not_available(sale.SEATS[:1]),
    refusals.not_enough_seats(10, 0),
    refusals.block_at_capacity("Balcony", 1),
    refusals.orphan_seat(["0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009"]),
    refusals.active_hold_exists("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 412),
    refusals.already_waiting("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006", 3412),
    refusals.holder_limit_reached("holder_units_max", 8, 6, 412),
    refusals.holder_cooldown(45),
    refusals.invalid_event_state("cancelled"),
    refusals.invalid_seats(
        [{"field": "line 17", "code": "required", "message": "number is required"}], 1
    ),
    refusals.extension_limit_reached(sale.NOW),
    refusals.expired_before_checkout([str(sale.HOLD)]),
    refusals.too_many_tickets(TICKETS_PER_ORDER_MAX),
    refusals.too_many_attendees(2),
    refusals.payment_refused("it is not the amount that is due"),
    refusals.already_paid(str(sale.ORDER)),
    refusals.amount_changed(13_500, "EUR"),
    of_orders.order_changed(str(sale.ORDER), 2),
    of_orders.order_already_cancelled(str(sale.ORDER)),
    of_orders.ticket_already_void(str(sale.ORDER), [str(sale.TICKETS[0])]),
    of_orders.invalid_ticket(str(sale.ORDER), [1]),
    refusals.cart_of_another_session(str(sale.SESSION)),
    refusals.waiting_places_exceeded(4),
    refusals.too_many_queues(QUEUES_MAX),
    refusals.key_not_valid("revoked"),
    refusals.scope_not_held("holds:write"),
    too_many_items(),
    refusals.too_many_keys(KEYS_MAX),
    refusals.rate_limit_exceeded("seats_per_holder", Rate(10, 300), 120),
    refusals.too_many_members(MEMBERS_MAX),
)


def _refusals() -> Iterator[Refusal]:
    """Of several refusals with one code, the first is the example."""
    for make in vars(refusals).values():
        if (isfunction(make) or isinstance(make, partial)) and not _needed(make):
            yield make()
    yield from _WITH_VALUES


def _needed(make: Callable[..., Refusal]) -> list[Parameter]:
    parameters = signature(make).parameters.values()
    return [each for each in parameters if each.default is Parameter.empty]


_REFUSALS: dict[Code, Refusal] = {}
for _refusal in _refusals():
    _REFUSALS.setdefault(_refusal.code, _refusal)


def problem_example(code: Code) -> dict[str, Any]:
    refusal = _REFUSALS.get(code)
    if refusal is not None:
        return problem_body(code, refusal.message, sale.REQUEST_ID, refusal.details)
    errors: tuple[FieldError, ...] = ()
    if code is ProblemCode.VALIDATION_ERROR:
        errors = (FieldError("session_id", "required", "This field is required"),)
    if code is ProblemCode.INVALID_REQUEST:
        errors = (FieldError("source", "invalid_value", "Must be one of: web, scanner, desk"),)
    return problem_body(code, KINDS[code].title, sale.REQUEST_ID, errors=errors)
