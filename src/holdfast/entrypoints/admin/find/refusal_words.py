"""What each refusal means, in a sentence for the person at the front desk."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from holdfast.domain.refusal_codes import RefusalCode as Code
from holdfast.entrypoints.admin.find.names import Names, seat_written
from holdfast.entrypoints.api.http.codes import KINDS, ProblemCode
from holdfast.ports.audit.reader import AuditEntry


class Refused:
    """A refused attempt, as the sentences need it."""

    def __init__(self, entry: AuditEntry, names: Names) -> None:
        self.entry = entry
        self.names = names
        self.new: Mapping[str, Any] = entry.new

    def number(self, name: str) -> int | None:
        value = self.new.get(name)
        return value if isinstance(value, int) else None

    @property
    def wanted(self) -> str:
        """`4 \N{MULTIPLICATION SIGN} Balcony`, `Parterre B 12, Parterre B 13`, or the like."""
        seats, types = self.names.seats_of(self.entry), self.entry.ticket_type_ids
        named = [self.names.types[each] for each in types if each in self.names.types]
        quantity = self.number("quantity") or self.number("requested_quantity")
        if seats:
            more = (quantity or 0) - len(seats)
            return ", ".join(seats) + (f" and {more} more" if more > 0 else "")
        if quantity is None:
            return ", ".join(named) or "tickets"
        if len(named) == 1:
            return f"{quantity} \N{MULTIPLICATION SIGN} {named[0]}"
        return _counted(quantity, "ticket") + (f" ({', '.join(named)})" if named else "")

    def moment(self, name: str) -> str | None:
        return self.written(self.new.get(name))

    def written(self, value: object) -> str | None:
        """The time alone if it is on the day of the attempt."""
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                return None
        if not isinstance(value, datetime):
            return None
        at, own = value.astimezone(UTC), self.entry.at.astimezone(UTC)
        return f"{at:%H:%M}" if at.date() == own.date() else f"{at:%Y-%m-%d %H:%M}"


def reason(entry: AuditEntry, names: Names) -> str:
    """Why the attempt was refused."""
    code = str(entry.new.get("error"))
    refused = Refused(entry, names)
    words = WORDS.get(code)
    if words is not None:
        said = words if isinstance(words, str) else words(refused)
    else:
        said = f"{KINDS[code].title if code in KINDS else code}."
    fields = _invalid_fields(entry.new.get("errors"))
    return f"{said} Invalid: {fields}." if fields else said


def _counted(number: int | None, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{_or_unknown(number)} {noun}s"


def _or_unknown(value: object) -> str:
    """Entries of older versions lack some details."""
    return "?" if value is None else str(value)


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def _invalid_fields(errors: object) -> str:
    if not isinstance(errors, list):
        return ""
    return ", ".join(f"{each['field']} ({each['code']})" for each in errors)


def _too_few(refused: Refused) -> str:
    left = refused.number("available_quantity")
    if not left:
        return f"Asked for {refused.wanted}, but it was sold out."
    return f"Asked for {refused.wanted}, {left} {'was' if left == 1 else 'were'} left."


def _block_full(refused: Refused) -> str:
    left = refused.number("available_quantity") or 0
    block = refused.new.get("block_name", "the block")
    return f"Asked for {refused.wanted}, but {block} had room for only {left}."


def _contested(refused: Refused) -> str:
    """Each seat with its state at that time."""
    said = []
    for seat in refused.new.get("contested_seats") or ():
        name = seat_written(seat.get("block_name"), seat.get("row"), seat.get("seat_number"))
        until = refused.written(seat.get("expires_at"))
        if until is not None:
            said.append(f"Seat {name} was held by somebody else until {until}.")
        else:
            said.append(f"Seat {name} was {seat.get('status', 'taken')}.")
    if said:
        return " ".join(said)
    until = refused.moment("expires_at")
    if until is not None:
        return f"A seat of {refused.wanted} was held by somebody else until {until}."
    return f"A seat of {refused.wanted} was {refused.new.get('current_status', 'taken')}."


def _sale_closed(refused: Refused) -> str:
    """By the current sale window: earlier ones are not known here."""
    session_id, at = refused.entry.session_id, refused.entry.at
    session = None if session_id is None else refused.names.sessions.get(session_id)
    event = None if session is None else session.event
    if event is not None and event.sale_starts_at is not None and at < event.sale_starts_at:
        starts = refused.written(event.sale_starts_at)
        return f"The sale had not started. It starts at {starts}."
    if event is not None and event.sale_ends_at is not None and at >= event.sale_ends_at:
        return f"The sale had ended at {refused.written(event.sale_ends_at)}."
    return "The sale was not open at that time."


_LIMITS = {
    "holder_units_max": "ticket",
    "holder_holds_max": "hold",
    "holder_carts_max": "cart",
}


def _customer_limit(refused: Refused) -> str:
    limit, had = refused.number("limit"), refused.number("current")
    noun = _LIMITS.get(str(refused.new.get("policy")), "ticket")
    if limit is None:
        return f"Limit of {noun}s per customer reached: there were too many to count."
    asked = refused.number("quantity")
    more = f" and asked for {asked} more" if asked and noun == "ticket" else ""
    reached = f"Limit of {_counted(limit, noun)} per customer reached"
    return f"{reached}: the customer had {_or_unknown(had)}{more}."


def _cooldown(refused: Refused) -> str:
    wait = _counted(refused.number("retry_after_seconds"), "second")
    return f"The customer gave up tickets shortly before, and had to wait another {wait}."


def _above_maximum(refused: Refused) -> str:
    most = refused.number("maximum")
    return f"Asked for {refused.wanted}, but one hold may have at most {_or_unknown(most)}."


def _hold_state(refused: Refused) -> str:
    status = refused.new.get("current_status", "over")
    name = _begin(refused.names.hold_of(refused.entry))
    if status == "waiting":
        return f"{name} was still on the waitlist."
    return f"{name} was already {status}."


def _expired(refused: Refused) -> str:
    return f"{_begin(refused.names.hold_of(refused.entry))} had expired."


def _extension_limit(refused: Refused) -> str:
    until = refused.moment("expires_at") or "its end"
    times = refused.number("limit")
    said = f"The hold had been extended {_counted(times, 'time')}" if times else "The hold"
    joined = ", and" if times else ""
    return f"{said}{joined} could not be extended beyond {until}."


def _rate(refused: Refused) -> str:
    most, window = refused.number("maximum"), refused.number("window_seconds")
    what = "seats" if refused.new.get("limit") == "seats_per_holder" else "requests"
    limit = f"at most {_or_unknown(most)} in {_or_unknown(window)} seconds"
    return f"Too many {what} in a short time: {limit}."


def _locked(refused: Refused) -> str:
    return f"Somebody else was taking {refused.wanted} at the same moment."


def _single_seat(refused: Refused) -> str:
    return f"Taking {refused.wanted} would have left a single empty seat next to them."


def _waiting_places(refused: Refused) -> str:
    most = _counted(refused.number("maximum"), "place")
    return f"Limit of {most} on the waitlist per customer reached."


def _in_use(refused: Refused) -> str:
    used = refused.number("in_use")
    return f"{_counted(used, 'place')} {'was' if used == 1 else 'were'} held or sold."


def _sentence(text: str, *names: str) -> Callable[[Refused], str]:
    """A text with values from the refusal."""
    return lambda refused: text.format(*(refused.new.get(name, "?") for name in names))


_UNKNOWN_SESSION = "The session does not exist."
_UNKNOWN_TYPE = "The ticket type is not sold in this session, or not for these seats."
_UNKNOWN_SEAT = "The seat does not exist in this session."
_UNKNOWN_BLOCK = "The block does not exist in this session."
_UNKNOWN_EVENT = "The event does not exist."
_UNKNOWN_POOL = "The pool does not exist in this session."
_OUR_FAULT = "Holdfast could not process the request. Nothing was changed."

WORDS: Mapping[str, str | Callable[[Refused], str]] = {
    Code.INVALID_SESSION: _UNKNOWN_SESSION,
    Code.SESSION_NOT_FOUND: _UNKNOWN_SESSION,
    Code.INVALID_TICKET_TYPE: _UNKNOWN_TYPE,
    Code.TICKET_TYPE_NOT_FOUND: _UNKNOWN_TYPE,
    Code.INVALID_SEAT: _UNKNOWN_SEAT,
    Code.SEAT_NOT_FOUND: _UNKNOWN_SEAT,
    Code.INVALID_BLOCK: _UNKNOWN_BLOCK,
    Code.BLOCK_NOT_FOUND: _UNKNOWN_BLOCK,
    Code.INVALID_EVENT: _UNKNOWN_EVENT,
    Code.EVENT_NOT_FOUND: _UNKNOWN_EVENT,
    Code.INVALID_POOL: _UNKNOWN_POOL,
    Code.POOL_NOT_FOUND: _UNKNOWN_POOL,
    Code.ORPHAN_SEAT: _single_seat,
    Code.EVENT_NOT_AVAILABLE: "The event was not on sale.",
    Code.EVENT_UNAVAILABLE: "The event or the session had been cancelled.",
    Code.EVENT_SALES_CLOSED: _sale_closed,
    Code.INVALID_EVENT_STATE: _sentence(
        "An event that is {} cannot change to that status.", "current_status"
    ),
    Code.INVALID_SESSION_STATE: "A cancelled session cannot go on sale again.",
    Code.INVALID_SALE_WINDOW: "The sale would have ended before it started.",
    Code.INVALID_POLICY: "The hold policy was not valid.",
    Code.SEAT_HELD_BY_ANOTHER_USER: _contested,
    Code.SEAT_NOT_AVAILABLE: _contested,
    Code.LOCK_NOT_AVAILABLE: _locked,
    Code.NO_AVAILABLE_SEATS: _too_few,
    Code.INSUFFICIENT_INVENTORY: _too_few,
    Code.NOT_WITH_REMOTE_INVENTORY: "Seats and carts cannot be sold with a remote inventory.",
    Code.TOO_MANY_ITEMS: _sentence("The session already had {} ticket types.", "maximum"),
    Code.BLOCK_AT_CAPACITY: _block_full,
    Code.ACTIVE_HOLD_EXISTS: "The customer already had a hold for this session.",
    Code.ALREADY_WAITING: "The customer was already on the waitlist for this session.",
    Code.HOLDER_LIMIT_REACHED: _customer_limit,
    Code.HOLDER_COOLDOWN: _cooldown,
    Code.DUPLICATE_BLOCK: "The session already had a block with this name.",
    Code.CATALOG_CHANGED: "Somebody else had changed it in the meantime.",
    Code.INVALID_SEATS: _sentence("The seats had {} errors; nothing was imported.", "error_count"),
    Code.TOO_MANY_SEATS: _sentence("This would have ended holds with {} seats at once.", "seats"),
    Code.QUANTITY_ABOVE_MAXIMUM: _above_maximum,
    Code.CAPACITY_IN_USE: _in_use,
    Code.HOLD_NOT_FOUND: "The hold does not exist, or belongs to somebody else.",
    Code.HOLD_CHANGED: "Somebody else had changed the hold in the meantime.",
    Code.HOLD_EXPIRED: _expired,
    Code.INVALID_HOLD_STATE: _hold_state,
    Code.EXTENSION_LIMIT_REACHED: _extension_limit,
    Code.EXPIRED_BEFORE_CHECKOUT: "The hold expired before the customer went to the checkout.",
    Code.EMPTY_CART: "There was nothing in the cart to pay for or to renew.",
    Code.ANONYMOUS_HOLDERS_OFF: "The request named no customer, and the organization requires one.",
    Code.TOKENS_UNAVAILABLE: "The installation cannot issue holder tokens: it has no secret key.",
    Code.DIFFERENT_HOLDERS: "The holds belong to different customers and cannot be paid together.",
    Code.DIFFERENT_CURRENCIES: "The holds have different currencies and cannot be paid together.",
    Code.TOO_MANY_TICKETS: _sentence("One order may have at most {}.", "maximum"),
    Code.TOO_MANY_ATTENDEES: _sentence("There were more attendees than tickets ({}).", "tickets"),
    Code.CHECKOUT_NOT_FOUND: "The checkout does not exist, or belongs to somebody else.",
    Code.ORDER_NOT_FOUND: "The order does not exist, or belongs to somebody else.",
    Code.ORDER_CHANGED: "Somebody else had changed the order in the meantime.",
    Code.ORDER_ALREADY_CANCELLED: "The order had already been cancelled.",
    Code.TICKET_ALREADY_VOID: "Some of the tickets had already been cancelled.",
    Code.TICKET_NOT_VOID: "The tickets had not been cancelled.",
    Code.ALREADY_REFUNDED: "The tickets already had another refund reference.",
    Code.INVALID_TICKET: "The ticket does not belong to this order.",
    Code.PAYMENT_REFUSED: "The payment provider refused the payment.",
    Code.PAYMENT_ALREADY_USED: "The payment had already paid for another order.",
    Code.ALREADY_PAID: "It had already been paid for, with another payment.",
    Code.AMOUNT_CHANGED: "The cart changed while the customer was paying, so the amount differed.",
    Code.CART_OF_ANOTHER_HOLDER: "The cart belongs to another customer.",
    Code.CART_OF_ANOTHER_SESSION: "The cart held tickets for another session.",
    Code.WAITING_PLACES_EXCEEDED: _waiting_places,
    Code.TOO_MANY_QUEUES: "The waitlist of the session had too many queues to open another one.",
    Code.OTHERS_ARE_WAITING: "Others on the waitlist came first for these places.",
    Code.KEY_NOT_FOUND: "The API key does not exist.",
    Code.KEY_NOT_VALID: _sentence("The API key was {}.", "current_status"),
    Code.INVALID_EXPIRY: "The expiry of the API key was not valid.",
    Code.SCOPE_NOT_HELD: _sentence("The caller lacked the scope {}.", "scope"),
    Code.TOO_MANY_KEYS: _sentence("The organization already had {} valid keys.", "maximum"),
    Code.HOLDS_STILL_OPEN: "The person still had open holds and could not be forgotten.",
    Code.RATE_LIMIT_EXCEEDED: _rate,
    Code.MEMBER_NOT_FOUND: "The member does not exist.",
    Code.ALREADY_MEMBER: "The person was already a member.",
    Code.USERNAME_TAKEN: "The username belongs to somebody else.",
    Code.LAST_OWNER: "The organization would have been left without an owner.",
    Code.TOO_MANY_MEMBERS: _sentence("The organization already had {} members.", "maximum"),
    Code.IDEMPOTENCY_KEY_REUSED: "The shop reused an idempotency key for a different request.",
    Code.REQUEST_IN_PROGRESS: "The same request was still being processed.",
    Code.SERVICE_UNAVAILABLE: _OUR_FAULT,
    Code.INTERNAL_ERROR: _OUR_FAULT,
    # Refused before the request was decided.
    ProblemCode.UNAUTHORIZED: "The key or token of the request was no longer valid.",
    ProblemCode.INSUFFICIENT_SCOPE: "The key of the request lacked the scope for it.",
    ProblemCode.TOO_MANY_REQUESTS: "Holdfast was too busy to take the request.",
    ProblemCode.HOLDER_REQUIRED: "The request named no customer.",
    ProblemCode.INVALID_QUANTITY: "The quantity was not valid.",
    ProblemCode.INVALID_EMAIL: "The e-mail address was not valid.",
    ProblemCode.VALIDATION_ERROR: "The shop sent a request that was not valid.",
    ProblemCode.INVALID_REQUEST: "The shop sent a request that was not valid.",
}
