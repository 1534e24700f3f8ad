"""The refusals. A refusal is a value, not an exception.

Refusal
|-- about the ask          invalid_session, invalid_ticket_type, invalid_seat, invalid_block,
|                          quantity_above_maximum, orphan_seat, invalid_seats,
|                          too_many_seats
|-- about the catalog      invalid_event_state, invalid_sale_window, invalid_policy,
|                          duplicate_block, capacity_in_use
|-- about the sale         event_not_available, event_unavailable, event_sales_closed
|                                                                      (a retry may help)
|-- about inventory        insufficient_inventory, no_available_seats, block_at_capacity,
|                          seat_held_by_another_user, seat_not_available,
|                          lock_not_available
|                                                                      (a retry may help)
|-- about the holder       active_hold_exists, already_waiting         (a retry may help)
|-- about the hold         hold_not_found, hold_expired, invalid_hold_state,
|                          extension_limit_reached
|-- about payment          expired_before_checkout, empty_cart, different_holders,
|                          different_currencies, too_many_tickets, too_many_attendees,
|                          checkout_not_found, order_not_found, payment_refused,
|                          payment_already_used, already_paid, amount_changed
|-- about carts            cart_of_another_holder, cart_of_another_session
|-- about the waitlist     waiting_places_exceeded, too_many_queues,
|                          others_are_waiting (a retry may help)
|-- about idempotency      idempotency_key_reused, request_in_progress (the latter: a retry helps)
'-- about the service      service_unavailable, internal_error         (a retry may help)
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from holdfast.domain.ids import SeatId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import JsonValue


def invalid_session() -> Refusal:
    return Refusal(RefusalCode.INVALID_SESSION, "Session not found")


def invalid_ticket_type() -> Refusal:
    return Refusal(RefusalCode.INVALID_TICKET_TYPE, "Ticket type not found")


def quantity_above_maximum(maximum: int) -> Refusal:
    return Refusal(
        RefusalCode.QUANTITY_ABOVE_MAXIMUM,
        f"At most {maximum} ticket(s) of this type in one hold",
        {"maximum": maximum},
    )


def insufficient_inventory(available: int) -> Refusal:
    return Refusal(
        RefusalCode.INSUFFICIENT_INVENTORY,
        f"Only {available} ticket(s) available",
        {"available_quantity": available},
    )


def insufficient_addition(more: int) -> Refusal:
    """For a cart that already has a hold."""
    return Refusal(
        RefusalCode.INSUFFICIENT_INVENTORY,
        f"Only {more} more ticket(s) available",
        {"available_quantity": more},
    )


def invalid_seat() -> Refusal:
    return Refusal(RefusalCode.INVALID_SEAT, "Seat not found in this session")


def invalid_block() -> Refusal:
    return Refusal(RefusalCode.INVALID_BLOCK, "Block not found in this session")


def not_sold_here() -> Refusal:
    return Refusal(RefusalCode.INVALID_TICKET_TYPE, "This ticket type is not sold for this seat")


def not_seated_here() -> Refusal:
    return Refusal(
        RefusalCode.INVALID_TICKET_TYPE, "Name seated ticket types of the block's session"
    )


def has_no_seats() -> Refusal:
    return Refusal(RefusalCode.INVALID_TICKET_TYPE, "This ticket type has no seats")


def event_not_available() -> Refusal:
    return Refusal(RefusalCode.EVENT_NOT_AVAILABLE, "The event is not on sale")


def event_unavailable() -> Refusal:
    return Refusal(RefusalCode.EVENT_UNAVAILABLE, "The event has been cancelled")


def event_sales_closed() -> Refusal:
    return Refusal(RefusalCode.EVENT_SALES_CLOSED, "Sales for this event are not open")


def invalid_event_state(status: str) -> Refusal:
    return Refusal(
        RefusalCode.INVALID_EVENT_STATE,
        f"An event that is {status} cannot change to this status",
        {"current_status": status},
    )


def invalid_sale_window() -> Refusal:
    return Refusal(
        RefusalCode.INVALID_SALE_WINDOW, "sale_ends_at must be later than sale_starts_at"
    )


def ttl_above_lifetime() -> Refusal:
    field, message = "hold_policy.ttl_seconds", "ttl_seconds must not exceed lifetime_max_seconds"
    code = RefusalCode.INVALID_POLICY
    return Refusal(
        code,
        message,
        {"errors": [{"field": field, "code": code.value, "message": message}]},
    )


def seat_held_by_another_user(details: Mapping[str, JsonValue]) -> Refusal:
    """`details` say for how long, but never by whom."""
    return Refusal(
        RefusalCode.SEAT_HELD_BY_ANOTHER_USER,
        "Seat is already held by another user. Please select a different seat.",
        details,
    )


def seat_not_available(details: Mapping[str, JsonValue]) -> Refusal:
    return Refusal(RefusalCode.SEAT_NOT_AVAILABLE, "Seat is not available", details)


def lock_not_available(seat_ids: Iterable[SeatId]) -> Refusal:
    """For seats that others are changing right now and may leave free."""
    named: list[JsonValue] = [str(seat_id) for seat_id in seat_ids]
    return Refusal(
        RefusalCode.LOCK_NOT_AVAILABLE,
        "Seat unavailable, please try another",
        {"seat_ids": named},
    )


def not_enough_seats(requested: int, available: int, kind: str = "seats") -> Refusal:
    code = RefusalCode.INSUFFICIENT_INVENTORY if available else RefusalCode.NO_AVAILABLE_SEATS
    return Refusal(
        code,
        f"Not enough {kind} available. Requested: {requested}, Available: {available}",
        {"requested_quantity": requested, "available_quantity": available},
    )


def block_at_capacity(block_name: str, available: int) -> Refusal:
    return Refusal(
        RefusalCode.BLOCK_AT_CAPACITY,
        "The block does not have enough capacity left",
        {"block_name": block_name, "available_quantity": available},
    )


def too_many_seats(seats: int) -> Refusal:
    return Refusal(
        RefusalCode.TOO_MANY_SEATS,
        f"This would end holds with {seats} seats in total. Name fewer seats per call.",
        {"seats": seats},
    )


def orphan_seat(seats: list[JsonValue]) -> Refusal:
    return Refusal(
        RefusalCode.ORPHAN_SEAT,
        "This selection would leave a single empty seat. Please move it by one seat.",
        {"orphan_seats": seats},
    )


def active_hold_exists(hold_id: str, expires_in: int) -> Refusal:
    return Refusal(
        RefusalCode.ACTIVE_HOLD_EXISTS,
        "You already have an active hold for this session",
        {"hold_id": hold_id, "expires_in": expires_in},
    )


def already_waiting(hold_id: str, expires_in: int) -> Refusal:
    return Refusal(
        RefusalCode.ALREADY_WAITING,
        "You are already on the waitlist for this session",
        {"hold_id": hold_id, "expires_in": expires_in},
    )


def seat_not_found() -> Refusal:
    return Refusal(RefusalCode.SEAT_NOT_FOUND, "Seat not found")


def block_not_found() -> Refusal:
    return Refusal(RefusalCode.BLOCK_NOT_FOUND, "Block not found")


def duplicate_block() -> Refusal:
    return Refusal(RefusalCode.DUPLICATE_BLOCK, "The session already has a block with this name")


def event_not_found() -> Refusal:
    return Refusal(RefusalCode.EVENT_NOT_FOUND, "Event not found")


def session_not_found() -> Refusal:
    return Refusal(RefusalCode.SESSION_NOT_FOUND, "Session not found")


def ticket_type_not_found() -> Refusal:
    return Refusal(RefusalCode.TICKET_TYPE_NOT_FOUND, "Ticket type not found")


def pool_not_found() -> Refusal:
    return Refusal(RefusalCode.POOL_NOT_FOUND, "Pool not found")


def invalid_event() -> Refusal:
    return Refusal(RefusalCode.INVALID_EVENT, "Event not found")


def invalid_pool() -> Refusal:
    return Refusal(RefusalCode.INVALID_POOL, "Pool not found in this session")


def capacity_in_use(in_use: int) -> Refusal:
    return Refusal(
        RefusalCode.CAPACITY_IN_USE,
        f"{in_use} place(s) are held or sold; the total cannot be lower",
        {"in_use": in_use},
    )


def seats_in_use(in_use: int) -> Refusal:
    """Existing holds would not count towards a new capacity."""
    return Refusal(
        RefusalCode.CAPACITY_IN_USE,
        f"{in_use} seat(s) of the block are held or sold; a capacity can be set only before that",
        {"in_use": in_use},
    )


def invalid_seats(errors: Sequence[Mapping[str, JsonValue]], count: int) -> Refusal:
    """`errors` are the first errors, each with its field, code and message."""
    shown = f"; here are the first {len(errors)}" if count > len(errors) else ""
    listed: list[JsonValue] = [dict(error) for error in errors]
    return Refusal(
        RefusalCode.INVALID_SEATS,
        f"Nothing was imported: {count} error(s){shown}",
        {"error_count": count, "errors": listed},
    )


def hold_not_found() -> Refusal:
    return Refusal(RefusalCode.HOLD_NOT_FOUND, "Hold not found")


def hold_expired(lapsed: Sequence[str] = ()) -> Refusal:
    """`lapsed` names the expired holds if the request was about several."""
    details: dict[str, JsonValue] = {"lapsed_hold_ids": list(lapsed)} if lapsed else {}
    return Refusal(RefusalCode.HOLD_EXPIRED, "The hold has expired", details)


def extension_limit_reached(expires_at: datetime) -> Refusal:
    return Refusal(
        RefusalCode.EXTENSION_LIMIT_REACHED,
        "The hold cannot be extended any further",
        {"expires_at": expires_at.isoformat().replace("+00:00", "Z")},
    )


def expired_before_checkout(lapsed: Sequence[str]) -> Refusal:
    return Refusal(
        RefusalCode.EXPIRED_BEFORE_CHECKOUT,
        "The hold expired before checkout. Please select again from what is still available.",
        {"lapsed_hold_ids": list(lapsed)},
    )


def empty_cart() -> Refusal:
    return Refusal(RefusalCode.EMPTY_CART, "There are no active holds to pay for")


def nothing_to_renew() -> Refusal:
    return Refusal(RefusalCode.EMPTY_CART, "The cart is empty: there is nothing to renew")


def different_holders() -> Refusal:
    return Refusal(
        RefusalCode.DIFFERENT_HOLDERS,
        "The holds belong to different customers. Check out separately for each customer.",
    )


def different_currencies() -> Refusal:
    return Refusal(
        RefusalCode.DIFFERENT_CURRENCIES,
        "The holds are in different currencies. Check out separately for each currency.",
    )


def too_many_tickets(maximum: int) -> Refusal:
    return Refusal(
        RefusalCode.TOO_MANY_TICKETS,
        f"An order can have at most {maximum} tickets. Split them into several orders.",
        {"maximum": maximum},
    )


def too_many_seats_in_order(maximum: int) -> Refusal:
    return Refusal(
        RefusalCode.TOO_MANY_TICKETS,
        f"An order can have at most {maximum} seats. Split them into several orders.",
        {"maximum": maximum},
    )


def too_many_attendees(tickets: int) -> Refusal:
    return Refusal(
        RefusalCode.TOO_MANY_ATTENDEES,
        f"There are more attendees than tickets ({tickets})",
        {"tickets": tickets},
    )


def checkout_not_found() -> Refusal:
    return Refusal(RefusalCode.CHECKOUT_NOT_FOUND, "Checkout not found")


def order_not_found() -> Refusal:
    return Refusal(RefusalCode.ORDER_NOT_FOUND, "Order not found")


def payment_refused(reason: str) -> Refusal:
    return Refusal(RefusalCode.PAYMENT_REFUSED, f"The payment was refused: {reason}")


def payment_already_used(order_id: str) -> Refusal:
    """`order_id` is the order it paid for."""
    return Refusal(
        RefusalCode.PAYMENT_ALREADY_USED,
        "This payment was already used for another order",
        {"order_id": order_id},
    )


def already_paid(order_id: str) -> Refusal:
    return Refusal(
        RefusalCode.ALREADY_PAID,
        "Already paid for with another payment reference",
        {"order_id": order_id},
    )


def invalid_hold_state(status: str) -> Refusal:
    is_waiting = status == "waiting"
    what = (
        "still waiting for its places" if is_waiting else f"{status} and cannot be changed any more"
    )
    return Refusal(
        RefusalCode.INVALID_HOLD_STATE, f"The hold is {what}", {"current_status": status}
    )


def idempotency_key_reused() -> Refusal:
    return Refusal(
        RefusalCode.IDEMPOTENCY_KEY_REUSED,
        "This key was used before with another request. Use a new key for a new request.",
    )


def request_in_progress() -> Refusal:
    return Refusal(
        RefusalCode.REQUEST_IN_PROGRESS,
        "A request with this key is still being processed. Repeat it in a moment.",
    )


def service_unavailable() -> Refusal:
    return Refusal(
        RefusalCode.SERVICE_UNAVAILABLE, "Unable to process hold request. Please try again."
    )


def internal_error() -> Refusal:
    return Refusal(
        RefusalCode.INTERNAL_ERROR,
        "Something went wrong on our side. Nothing was changed; the request may be repeated.",
    )


def amount_changed(total_minor: int, currency: str) -> Refusal:
    """The cart was changed while its payment was being checked."""
    return Refusal(
        RefusalCode.AMOUNT_CHANGED,
        "The amount due has changed",
        {"total": total_minor, "currency": currency},
    )


def cart_of_another_holder() -> Refusal:
    return Refusal(RefusalCode.CART_OF_ANOTHER_HOLDER, "This cart belongs to another customer")


def cart_of_another_session(session_id: str) -> Refusal:
    return Refusal(
        RefusalCode.CART_OF_ANOTHER_SESSION,
        "This cart holds tickets for another session; empty it first",
        {"session_id": session_id},
    )


def waiting_places_exceeded(maximum: int) -> Refusal:
    return Refusal(
        RefusalCode.WAITING_PLACES_EXCEEDED,
        f"At most {maximum} place(s) on the waitlist per customer",
        {"maximum": maximum},
    )


def too_many_queues(maximum: int) -> Refusal:
    return Refusal(
        RefusalCode.TOO_MANY_QUEUES,
        f"The waitlist for this session already has {maximum} queues, the most it can have."
        " Ask for a single ticket type, or try again later",
        {"maximum": maximum},
    )


def others_are_waiting() -> Refusal:
    return Refusal(RefusalCode.OTHERS_ARE_WAITING, "Others are waiting for these places")
