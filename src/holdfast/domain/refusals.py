"""The refusals. A refusal is a value, not an exception.

Refusal
|-- about the ask          invalid_session, invalid_ticket_type, invalid_seat, invalid_block,
|                          quantity_above_maximum, orphan_seat, invalid_seats,
|                          too_many_seats
|-- about the catalog      invalid_event_state, invalid_session_state, invalid_sale_window,
|                          invalid_policy, duplicate_block, capacity_in_use
|-- about API keys         key_not_found, key_not_valid, invalid_expiry, scope_not_held,
|                          too_many_keys
|-- about rate limits      rate_limit_exceeded                         (a retry may help)
|-- about holder tokens    anonymous_holders_off, tokens_unavailable
|-- about members          member_not_found, already_member, username_taken, last_owner,
|                          too_many_members
|-- about the sale         event_not_available, event_unavailable, event_sales_closed
|                                                                      (a retry may help)
|-- about inventory        insufficient_inventory, no_available_seats, block_at_capacity,
|                          seat_held_by_another_user, seat_not_available,
|                          lock_not_available
|                                                                      (a retry may help)
|-- about the holder       active_hold_exists, already_waiting, holder_limit_reached,
|                          holder_cooldown                             (a retry may help)
|-- about the hold         hold_not_found, hold_expired, invalid_hold_state,
|                          hold_changed, extension_limit_reached
|-- about payment          expired_before_checkout, empty_cart, different_holders,
|                          different_currencies, too_many_tickets, too_many_attendees,
|                          checkout_not_found, order_not_found, payment_refused,
|                          payment_already_used, already_paid, amount_changed
|-- about orders           in orders/refusals.py
|-- about carts            cart_of_another_holder, cart_of_another_session
|-- about the waitlist     waiting_places_exceeded, too_many_queues,
|                          others_are_waiting (a retry may help)
|-- about idempotency      idempotency_key_reused, request_in_progress (the latter: a retry helps)
'-- about the service      service_unavailable, internal_error         (a retry may help)
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from holdfast.domain.access.rates import Rate
from holdfast.domain.ids import SeatId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.refusal_codes import RefusalCode as Code
from holdfast.domain.values import JsonValue

# Refusals without details; call them like the functions below.
invalid_session = partial(Refusal, Code.INVALID_SESSION, "Session not found")
invalid_ticket_type = partial(Refusal, Code.INVALID_TICKET_TYPE, "Ticket type not found")
invalid_seat = partial(Refusal, Code.INVALID_SEAT, "Seat not found in this session")
not_in_hold = partial(Refusal, Code.INVALID_SEAT, "The hold does not have this seat")
in_hold_already = partial(Refusal, Code.INVALID_SEAT, "The hold already has this seat")
invalid_block = partial(Refusal, Code.INVALID_BLOCK, "Block not found in this session")
not_sold_here = partial(
    Refusal, Code.INVALID_TICKET_TYPE, "This ticket type is not sold for this seat"
)
not_seated_here = partial(
    Refusal, Code.INVALID_TICKET_TYPE, "Name seated ticket types of the block's session"
)
has_no_seats = partial(Refusal, Code.INVALID_TICKET_TYPE, "This ticket type has no seats")

event_not_available = partial(Refusal, Code.EVENT_NOT_AVAILABLE, "The event is not on sale")
event_unavailable = partial(Refusal, Code.EVENT_UNAVAILABLE, "The event has been cancelled")
event_sales_closed = partial(Refusal, Code.EVENT_SALES_CLOSED, "Sales for this event are not open")
session_started = partial(Refusal, Code.EVENT_SALES_CLOSED, "The session has started")
no_longer_offered = partial(
    Refusal, Code.INVALID_TICKET_TYPE, "A ticket type of this hold is no longer on sale"
)
others_are_waiting = partial(
    Refusal, Code.OTHERS_ARE_WAITING, "Others are waiting for these places"
)

invalid_sale_window = partial(
    Refusal, Code.INVALID_SALE_WINDOW, "sale_ends_at must be later than sale_starts_at"
)
invalid_event = partial(Refusal, Code.INVALID_EVENT, "Event not found")
invalid_pool = partial(Refusal, Code.INVALID_POOL, "Pool not found in this session")
duplicate_block = partial(
    Refusal, Code.DUPLICATE_BLOCK, "The session already has a block with this name"
)
event_not_found = partial(Refusal, Code.EVENT_NOT_FOUND, "Event not found")
session_not_found = partial(Refusal, Code.SESSION_NOT_FOUND, "Session not found")
ticket_type_not_found = partial(Refusal, Code.TICKET_TYPE_NOT_FOUND, "Ticket type not found")
pool_not_found = partial(Refusal, Code.POOL_NOT_FOUND, "Pool not found")
block_not_found = partial(Refusal, Code.BLOCK_NOT_FOUND, "Block not found")
seat_not_found = partial(Refusal, Code.SEAT_NOT_FOUND, "Seat not found")

hold_not_found = partial(Refusal, Code.HOLD_NOT_FOUND, "Hold not found")
cart_of_another_holder = partial(
    Refusal, Code.CART_OF_ANOTHER_HOLDER, "This cart belongs to another customer"
)
nothing_to_renew = partial(Refusal, Code.EMPTY_CART, "The cart is empty: there is nothing to renew")

checkout_not_found = partial(Refusal, Code.CHECKOUT_NOT_FOUND, "Checkout not found")
order_not_found = partial(Refusal, Code.ORDER_NOT_FOUND, "Order not found")
empty_cart = partial(Refusal, Code.EMPTY_CART, "There are no active holds to pay for")
different_holders = partial(
    Refusal,
    Code.DIFFERENT_HOLDERS,
    "The holds belong to different customers. Check out separately for each customer.",
)
different_currencies = partial(
    Refusal,
    Code.DIFFERENT_CURRENCIES,
    "The holds are in different currencies. Check out separately for each currency.",
)

key_not_found = partial(Refusal, Code.KEY_NOT_FOUND, "API key not found")
invalid_expiry = partial(Refusal, Code.INVALID_EXPIRY, "expires_at must be in the future")
expiry_beyond_issuer = partial(
    Refusal, Code.INVALID_EXPIRY, "expires_at must not be later than that of your own key"
)

member_not_found = partial(Refusal, Code.MEMBER_NOT_FOUND, "Member not found")
already_member = partial(Refusal, Code.ALREADY_MEMBER, "This person is already a member")

idempotency_key_reused = partial(
    Refusal,
    Code.IDEMPOTENCY_KEY_REUSED,
    "This key was used before with another request. Use a new key for a new request.",
)
request_in_progress = partial(
    Refusal,
    Code.REQUEST_IN_PROGRESS,
    "A request with this key is still being processed. Repeat it in a moment.",
)
service_unavailable = partial(
    Refusal, Code.SERVICE_UNAVAILABLE, "Unable to process hold request. Please try again."
)
internal_error = partial(
    Refusal,
    Code.INTERNAL_ERROR,
    "Something went wrong on our side. Nothing was changed; the request may be repeated.",
)


def quantity_above_maximum(maximum: int) -> Refusal:
    message = f"At most {maximum} ticket(s) of this type in one hold"
    return Refusal(Code.QUANTITY_ABOVE_MAXIMUM, message, {"maximum": maximum})


def insufficient_inventory(available: int) -> Refusal:
    message = f"Only {available} ticket(s) available"
    return Refusal(Code.INSUFFICIENT_INVENTORY, message, {"available_quantity": available})


def insufficient_addition(more: int) -> Refusal:
    """For a cart that already has a hold."""
    message = f"Only {more} more ticket(s) available"
    return Refusal(Code.INSUFFICIENT_INVENTORY, message, {"available_quantity": more})


def invalid_event_state(status: str) -> Refusal:
    message = f"An event that is {status} cannot change to this status"
    return Refusal(Code.INVALID_EVENT_STATE, message, {"current_status": status})


def invalid_session_state() -> Refusal:
    return Refusal(Code.INVALID_SESSION_STATE, "A cancelled session cannot go on sale again")


def ttl_above_lifetime() -> Refusal:
    code, message = Code.INVALID_POLICY, "ttl_seconds must not exceed lifetime_max_seconds"
    field = "hold_policy.ttl_seconds"
    error: dict[str, JsonValue] = {"field": field, "code": code.value, "message": message}
    return Refusal(code, message, {"errors": [error]})


def seat_held_by_another_user(details: Mapping[str, JsonValue]) -> Refusal:
    """`details` say for how long, but never by whom."""
    message = "Seat is already held by another user. Please select a different seat."
    return Refusal(Code.SEAT_HELD_BY_ANOTHER_USER, message, details)


def seat_not_available(details: Mapping[str, JsonValue]) -> Refusal:
    return Refusal(Code.SEAT_NOT_AVAILABLE, "Seat is not available", details)


def lock_not_available(seat_ids: Iterable[SeatId]) -> Refusal:
    """For seats that others are changing right now and may leave free."""
    message = "Seat unavailable, please try another"
    return Refusal(Code.LOCK_NOT_AVAILABLE, message, {"seat_ids": [str(id_) for id_ in seat_ids]})


def not_enough_seats(requested: int, available: int, kind: str = "seats") -> Refusal:
    code = Code.INSUFFICIENT_INVENTORY if available else Code.NO_AVAILABLE_SEATS
    message = f"Not enough {kind} available. Requested: {requested}, Available: {available}"
    details = {"requested_quantity": requested, "available_quantity": available}
    return Refusal(code, message, details)


def block_at_capacity(block_name: str, available: int) -> Refusal:
    message = "The block does not have enough capacity left"
    details: dict[str, JsonValue] = {"block_name": block_name, "available_quantity": available}
    return Refusal(Code.BLOCK_AT_CAPACITY, message, details)


def too_many_seats(seats: int) -> Refusal:
    message = f"This would end holds with {seats} seats in total. Name fewer seats per call."
    return Refusal(Code.TOO_MANY_SEATS, message, {"seats": seats})


def orphan_seat(seats: list[JsonValue]) -> Refusal:
    message = "This selection would leave a single empty seat. Please move it by one seat."
    return Refusal(Code.ORPHAN_SEAT, message, {"orphan_seats": seats})


def active_hold_exists(hold_id: str, expires_in: int) -> Refusal:
    message = "You already have an active hold for this session"
    return Refusal(Code.ACTIVE_HOLD_EXISTS, message, {"hold_id": hold_id, "expires_in": expires_in})


def already_waiting(hold_id: str, expires_in: int) -> Refusal:
    message = "You are already on the waitlist for this session"
    return Refusal(Code.ALREADY_WAITING, message, {"hold_id": hold_id, "expires_in": expires_in})


def holder_limit_reached(
    policy: str, limit: int, current: int, retry_after_seconds: int | None
) -> Refusal:
    """`retry_after_seconds` is given if the holder's own live holds expire in time."""
    message = _HOLDER_LIMITS[policy].format(limit=limit, current=current)
    details: dict[str, JsonValue] = {"policy": policy, "limit": limit, "current": current}
    if retry_after_seconds is not None:
        details["retry_after_seconds"] = retry_after_seconds
    return Refusal(Code.HOLDER_LIMIT_REACHED, message, details)


def too_many_to_count(policy: str) -> Refusal:
    message = "You have too many holds for this event. Pay for some or release some first"
    return Refusal(Code.HOLDER_LIMIT_REACHED, message, {"policy": policy})


_HOLDER_LIMITS = {
    "holder_units_max": "At most {limit} ticket(s) per customer for this event, and you have"
    " {current}, including those you wait for or have bought. Ask for fewer, or release some first",
    "holder_holds_max": "At most {limit} hold(s) per customer for this event, and you have"
    " {current}. Pay for one or release one first",
    "holder_carts_max": "At most {limit} cart(s) per customer for this event, and you have"
    " {current}. Pay for one or empty one first",
}


def holder_cooldown(retry_after_seconds: int) -> Refusal:
    message = (
        "You released a hold for this event or let it expire."
        f" You can hold tickets again in {retry_after_seconds} second(s)"
    )
    details: dict[str, JsonValue] = {"retry_after_seconds": retry_after_seconds}
    return Refusal(Code.HOLDER_COOLDOWN, message, details)


def capacity_in_use(in_use: int) -> Refusal:
    message = f"{in_use} place(s) are held or sold; the total cannot be lower"
    return Refusal(Code.CAPACITY_IN_USE, message, {"in_use": in_use})


def seats_in_use(in_use: int) -> Refusal:
    """Existing holds would not count towards a new capacity."""
    return Refusal(
        Code.CAPACITY_IN_USE,
        f"{in_use} seat(s) of the block are held or sold; a capacity can be set only before that",
        {"in_use": in_use},
    )


def invalid_seats(errors: Sequence[Mapping[str, JsonValue]], count: int) -> Refusal:
    """`errors` are the first errors, each with its field, code and message."""
    shown = f"; here are the first {len(errors)}" if count > len(errors) else ""
    message = f"Nothing was imported: {count} error(s){shown}"
    listed: list[JsonValue] = [dict(error) for error in errors]
    return Refusal(Code.INVALID_SEATS, message, {"error_count": count, "errors": listed})


def hold_expired(lapsed: Sequence[str] = ()) -> Refusal:
    """`lapsed` names the expired holds if the request was about several."""
    details: dict[str, JsonValue] = {"lapsed_hold_ids": list(lapsed)} if lapsed else {}
    return Refusal(Code.HOLD_EXPIRED, "The hold has expired", details)


def invalid_hold_state(status: str) -> Refusal:
    unfinished = {"waiting": "still waiting for its places", "pending": "still being placed"}
    what = unfinished.get(status, f"{status} and cannot be changed any more")
    return Refusal(Code.INVALID_HOLD_STATE, f"The hold is {what}", {"current_status": status})


def hold_changed(version: int) -> Refusal:
    """For a person who decided on an earlier version of the hold."""
    message = "The hold has changed since you looked at it. Look again before you change it"
    return Refusal(Code.HOLD_CHANGED, message, {"current_version": version})


def not_on_waitlist(status: str) -> Refusal:
    message = f"The hold is {status}, and no longer on the waitlist"
    return Refusal(Code.INVALID_HOLD_STATE, message, {"current_status": status})


def extension_limit_reached(expires_at: datetime) -> Refusal:
    message = "The hold cannot be extended any further"
    shown = expires_at.isoformat().replace("+00:00", "Z")
    return Refusal(Code.EXTENSION_LIMIT_REACHED, message, {"expires_at": shown})


def extensions_used_up(limit: int, expires_at: datetime) -> Refusal:
    reached = extension_limit_reached(expires_at)
    message = f"The hold has been extended {limit} time(s), which is the most its policy allows"
    return Refusal(reached.code, message, {**reached.details, "limit": limit})


def expired_before_checkout(lapsed: Sequence[str]) -> Refusal:
    return Refusal(
        Code.EXPIRED_BEFORE_CHECKOUT,
        "The hold expired before checkout. Please select again from what is still available.",
        {"lapsed_hold_ids": list(lapsed)},
    )


def too_many_tickets(maximum: int) -> Refusal:
    message = f"An order can have at most {maximum} tickets. Split them into several orders."
    return Refusal(Code.TOO_MANY_TICKETS, message, {"maximum": maximum})


def too_many_seats_in_order(maximum: int) -> Refusal:
    message = f"An order can have at most {maximum} seats. Split them into several orders."
    return Refusal(Code.TOO_MANY_TICKETS, message, {"maximum": maximum})


def too_many_attendees(tickets: int) -> Refusal:
    message = f"There are more attendees than tickets ({tickets})"
    return Refusal(Code.TOO_MANY_ATTENDEES, message, {"tickets": tickets})


def payment_refused(reason: str) -> Refusal:
    return Refusal(Code.PAYMENT_REFUSED, f"The payment was refused: {reason}")


def payment_already_used(order_id: str) -> Refusal:
    """`order_id` is the order it paid for."""
    message = "This payment was already used for another order"
    return Refusal(Code.PAYMENT_ALREADY_USED, message, {"order_id": order_id})


def already_paid(order_id: str) -> Refusal:
    message = "Already paid for with another payment reference"
    return Refusal(Code.ALREADY_PAID, message, {"order_id": order_id})


def amount_changed(total_minor: int, currency: str) -> Refusal:
    """The cart was changed while its payment was being checked."""
    details: dict[str, JsonValue] = {"total": total_minor, "currency": currency}
    return Refusal(Code.AMOUNT_CHANGED, "The amount due has changed", details)


def cart_of_another_session(session_id: str) -> Refusal:
    message = "This cart holds tickets for another session; empty it first"
    return Refusal(Code.CART_OF_ANOTHER_SESSION, message, {"session_id": session_id})


def waiting_places_exceeded(maximum: int) -> Refusal:
    message = f"At most {maximum} place(s) on the waitlist per customer"
    return Refusal(Code.WAITING_PLACES_EXCEEDED, message, {"maximum": maximum})


def too_many_queues(maximum: int) -> Refusal:
    message = (
        f"The waitlist for this session already has {maximum} queues, the most it can have."
        " Ask for a single ticket type, or try again later"
    )
    return Refusal(Code.TOO_MANY_QUEUES, message, {"maximum": maximum})


def key_not_valid(status: str) -> Refusal:
    message = f"This key is {status}. Create a new one instead"
    return Refusal(Code.KEY_NOT_VALID, message, {"current_status": status})


def scope_not_held(scope: str) -> Refusal:
    message = f"Your key lacks the scope {scope}, so it cannot create or rotate a key that has it"
    return Refusal(Code.SCOPE_NOT_HELD, message, {"scope": scope})


def too_many_keys(maximum: int) -> Refusal:
    message = f"At most {maximum} keys can be valid at once. Revoke one first"
    return Refusal(Code.TOO_MANY_KEYS, message, {"maximum": maximum})


def rate_limit_exceeded(name: str, rate: Rate, retry_after_seconds: int | None) -> Refusal:
    """`retry_after_seconds` is None if the request alone asks for more than the limit."""
    what = "seats reserved" if name == "seats_per_holder" else "requests"
    details: dict[str, JsonValue] = {"limit": name, "maximum": rate.count}
    details["window_seconds"] = rate.seconds
    if retry_after_seconds is not None:
        details["retry_after_seconds"] = retry_after_seconds
    message = f"Rate limit exceeded: max {rate.count} {what} per {rate.period}"
    return Refusal(Code.RATE_LIMIT_EXCEEDED, message, details)


def anonymous_holders_off() -> Refusal:
    message = "Give customer_email or user_id, or turn on anonymous_holders in the settings"
    return Refusal(Code.ANONYMOUS_HOLDERS_OFF, message)


def tokens_unavailable() -> Refusal:
    message = (
        "This installation cannot sign holder tokens. Set HOLDFAST_SECRET_KEY to the same value"
        " on every server, and restart them"
    )
    return Refusal(Code.TOKENS_UNAVAILABLE, message)


def role_above_own(role: str, scope: str) -> Refusal:
    message = f"You lack the scope {scope}, which the role {role} has"
    return Refusal(Code.SCOPE_NOT_HELD, message, {"scope": scope})


def last_owner() -> Refusal:
    message = "This is the only owner of the organization. Make somebody else an owner first"
    return Refusal(Code.LAST_OWNER, message)


def username_taken() -> Refusal:
    message = (
        "This username belongs to somebody outside your organization, or to somebody who has not"
        " accepted an invitation to its other side yet. Choose another one. The operator of this"
        " installation can add the account if it is known to belong to the person whom you mean"
    )
    return Refusal(Code.USERNAME_TAKEN, message)


def account_exists(organizations: Sequence[str]) -> Refusal:
    """For operators, who may add anybody: any organization can have created the account, and chosen
    its password."""
    message = (
        "This account exists already. It is a member of"
        f" {', '.join(organizations) or 'no organization'}. Its password is not reset: whoever"
        " knows it gets the role. Add the account only if you know whose it is"
    )
    return Refusal(Code.USERNAME_TAKEN, message)


def too_many_members(maximum: int) -> Refusal:
    message = f"An organization can have at most {maximum} members. Remove one first"
    return Refusal(Code.TOO_MANY_MEMBERS, message, {"maximum": maximum})


def holds_still_open(hold_ids: list[str]) -> Refusal:
    message = "This person has open holds. Release them, or wait until they have expired"
    return Refusal(Code.HOLDS_STILL_OPEN, message, {"hold_ids": list[JsonValue](hold_ids)})
