"""Every code of `error`, and its HTTP status.

A problem is about
|-- the caller         unauthorized, insufficient_scope, secret_key_required,
|                      two_factor_required, origin_not_allowed,
|                      csrf_failed, permission_denied (both in a Django project),
|                      too_many_requests, rate_limit_exceeded                        401, 403, 429
|-- the HTTP message   malformed_request, request_timeout, headers_too_large         400, 408, 431
|-- the address        not_found, method_not_allowed                                 404, 405
|-- the body           body_too_large, unsupported_media_type                        413, 415
|                      malformed_json, invalid_characters                            400
|-- the cursor         cursor_expired                                                410
|-- a field            validation_error (of a reservation: invalid_request), or the
|                      one rule that was broken                                      400
'-- what was asked     the refusals of the domain
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from holdfast.domain.refusal_codes import RefusalCode


class ProblemCode(StrEnum):
    """Problems found before the domain decides."""

    UNAUTHORIZED = "unauthorized"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    SECRET_KEY_REQUIRED = "secret_key_required"  # noqa: S105
    TWO_FACTOR_REQUIRED = "two_factor_required"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    CSRF_FAILED = "csrf_failed"
    PERMISSION_DENIED = "permission_denied"
    TOO_MANY_REQUESTS = "too_many_requests"
    MALFORMED_REQUEST = "malformed_request"
    REQUEST_TIMEOUT = "request_timeout"
    HEADERS_TOO_LARGE = "headers_too_large"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    MALFORMED_JSON = "malformed_json"
    INVALID_CHARACTERS = "invalid_characters"
    INVALID_IDEMPOTENCY_KEY = "invalid_idempotency_key"
    VALIDATION_ERROR = "validation_error"
    INVALID_CART = "invalid_cart"
    INVALID_CART_ITEM_ID = "invalid_cart_item_id"
    INVALID_CURSOR = "invalid_cursor"
    CURSOR_EXPIRED = "cursor_expired"
    INVALID_CURRENCY = "invalid_currency"
    INVALID_EMAIL = "invalid_email"
    INVALID_LINES = "invalid_lines"
    INVALID_METADATA = "invalid_metadata"
    INVALID_POLICY = "invalid_policy"
    INVALID_PRICE = "invalid_price"
    INVALID_QUANTITY = "invalid_quantity"
    INVALID_REQUEST = "invalid_request"
    INVALID_USER_ID = "invalid_user_id"
    INVALID_ACTING_USER = "invalid_acting_user"
    HOLDER_REQUIRED = "holder_required"
    HOLDER_FROM_TOKEN = "holder_from_token"  # noqa: S105


Code = ProblemCode | RefusalCode


class Kind(NamedTuple):
    status: int
    title: str


KINDS: Mapping[str, Kind] = {
    ProblemCode.UNAUTHORIZED: Kind(401, "Missing or invalid credential"),
    ProblemCode.INSUFFICIENT_SCOPE: Kind(403, "Missing scope"),
    ProblemCode.SECRET_KEY_REQUIRED: Kind(403, "Secret key required"),
    ProblemCode.TWO_FACTOR_REQUIRED: Kind(403, "Two-factor authentication required"),
    ProblemCode.ORIGIN_NOT_ALLOWED: Kind(403, "Origin not allowed"),
    ProblemCode.CSRF_FAILED: Kind(403, "CSRF check failed"),
    ProblemCode.PERMISSION_DENIED: Kind(403, "Permission denied"),
    ProblemCode.TOO_MANY_REQUESTS: Kind(429, "Too many requests"),
    ProblemCode.MALFORMED_REQUEST: Kind(400, "Malformed request"),
    ProblemCode.REQUEST_TIMEOUT: Kind(408, "Request timeout"),
    ProblemCode.HEADERS_TOO_LARGE: Kind(431, "Headers too large"),
    ProblemCode.NOT_FOUND: Kind(404, "Not found"),
    ProblemCode.METHOD_NOT_ALLOWED: Kind(405, "Method not allowed"),
    ProblemCode.BODY_TOO_LARGE: Kind(413, "Body too large"),
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: Kind(415, "Unsupported media type"),
    ProblemCode.MALFORMED_JSON: Kind(400, "Malformed JSON"),
    ProblemCode.INVALID_CHARACTERS: Kind(400, "Invalid characters"),
    ProblemCode.INVALID_IDEMPOTENCY_KEY: Kind(400, "Invalid idempotency key"),
    ProblemCode.VALIDATION_ERROR: Kind(400, "Invalid request"),
    ProblemCode.INVALID_CART: Kind(400, "Invalid cart"),
    ProblemCode.INVALID_CART_ITEM_ID: Kind(400, "Invalid cart item"),
    ProblemCode.INVALID_CURSOR: Kind(400, "Invalid cursor"),
    ProblemCode.CURSOR_EXPIRED: Kind(410, "Cursor expired"),
    ProblemCode.INVALID_CURRENCY: Kind(400, "Invalid currency"),
    ProblemCode.INVALID_EMAIL: Kind(400, "Invalid email"),
    ProblemCode.INVALID_LINES: Kind(400, "Invalid lines"),
    ProblemCode.INVALID_METADATA: Kind(400, "Invalid metadata"),
    ProblemCode.INVALID_POLICY: Kind(400, "Invalid hold policy"),
    ProblemCode.INVALID_PRICE: Kind(400, "Invalid price"),
    ProblemCode.INVALID_QUANTITY: Kind(400, "Invalid quantity"),
    ProblemCode.INVALID_REQUEST: Kind(400, "Invalid request"),
    ProblemCode.INVALID_USER_ID: Kind(400, "Invalid user id"),
    ProblemCode.INVALID_ACTING_USER: Kind(400, "Invalid acting user"),
    ProblemCode.HOLDER_REQUIRED: Kind(400, "Holder required"),
    ProblemCode.HOLDER_FROM_TOKEN: Kind(400, "Holder from the token"),
    RefusalCode.INVALID_SESSION: Kind(400, "Invalid session"),
    RefusalCode.INVALID_TICKET_TYPE: Kind(400, "Invalid ticket type"),
    RefusalCode.INVALID_EVENT: Kind(400, "Invalid event"),
    RefusalCode.INVALID_POOL: Kind(400, "Invalid pool"),
    RefusalCode.INVALID_SEAT: Kind(400, "Invalid seat"),
    RefusalCode.INVALID_BLOCK: Kind(400, "Invalid block"),
    RefusalCode.INVALID_TICKET: Kind(400, "Invalid ticket"),
    RefusalCode.INVALID_SEATS: Kind(400, "Invalid seats"),
    RefusalCode.TOO_MANY_SEATS: Kind(409, "Too many seats at once"),
    RefusalCode.INVALID_SALE_WINDOW: Kind(400, "Invalid sale window"),
    RefusalCode.QUANTITY_ABOVE_MAXIMUM: Kind(400, "Quantity above the maximum"),
    RefusalCode.EMPTY_CART: Kind(400, "Nothing held"),
    RefusalCode.DIFFERENT_HOLDERS: Kind(400, "Different holders"),
    RefusalCode.DIFFERENT_CURRENCIES: Kind(400, "Different currencies"),
    RefusalCode.TOO_MANY_TICKETS: Kind(400, "Too many tickets"),
    RefusalCode.TOO_MANY_ATTENDEES: Kind(400, "Too many attendees"),
    RefusalCode.PAYMENT_REFUSED: Kind(402, "Payment refused"),
    RefusalCode.EVENT_NOT_AVAILABLE: Kind(400, "Event not on sale"),
    RefusalCode.EVENT_UNAVAILABLE: Kind(400, "Event cancelled"),
    RefusalCode.EVENT_SALES_CLOSED: Kind(400, "Sale not open"),
    RefusalCode.SEAT_NOT_FOUND: Kind(404, "Seat not found"),
    RefusalCode.EVENT_NOT_FOUND: Kind(404, "Event not found"),
    RefusalCode.SESSION_NOT_FOUND: Kind(404, "Session not found"),
    RefusalCode.TICKET_TYPE_NOT_FOUND: Kind(404, "Ticket type not found"),
    RefusalCode.POOL_NOT_FOUND: Kind(404, "Pool not found"),
    RefusalCode.BLOCK_NOT_FOUND: Kind(404, "Block not found"),
    RefusalCode.HOLD_NOT_FOUND: Kind(404, "Hold not found"),
    RefusalCode.CHECKOUT_NOT_FOUND: Kind(404, "Checkout not found"),
    RefusalCode.ORDER_NOT_FOUND: Kind(404, "Order not found"),
    RefusalCode.NOT_WITH_REMOTE_INVENTORY: Kind(400, "Not with a remote inventory"),
    RefusalCode.INSUFFICIENT_INVENTORY: Kind(409, "Insufficient inventory"),
    RefusalCode.NO_AVAILABLE_SEATS: Kind(409, "No seats available"),
    RefusalCode.BLOCK_AT_CAPACITY: Kind(409, "Block at capacity"),
    RefusalCode.SEAT_HELD_BY_ANOTHER_USER: Kind(409, "Seat held by another user"),
    RefusalCode.SEAT_NOT_AVAILABLE: Kind(409, "Seat not available"),
    RefusalCode.LOCK_NOT_AVAILABLE: Kind(409, "Seat temporarily locked"),
    RefusalCode.ORPHAN_SEAT: Kind(409, "Single seat left"),
    RefusalCode.ACTIVE_HOLD_EXISTS: Kind(409, "Active hold exists"),
    RefusalCode.ALREADY_WAITING: Kind(409, "Already on the waitlist"),
    RefusalCode.HOLDER_LIMIT_REACHED: Kind(409, "Limit per customer reached"),
    RefusalCode.HOLDER_COOLDOWN: Kind(429, "Too soon after the last hold"),
    RefusalCode.CAPACITY_IN_USE: Kind(409, "Capacity in use"),
    RefusalCode.TOO_MANY_ITEMS: Kind(409, "Too many items"),
    RefusalCode.DUPLICATE_BLOCK: Kind(409, "Duplicate block"),
    RefusalCode.CATALOG_CHANGED: Kind(409, "Catalog changed"),
    RefusalCode.INVALID_EVENT_STATE: Kind(409, "Invalid event state"),
    RefusalCode.INVALID_SESSION_STATE: Kind(409, "Invalid session state"),
    RefusalCode.HOLD_EXPIRED: Kind(409, "Hold expired"),
    RefusalCode.INVALID_HOLD_STATE: Kind(409, "Invalid hold state"),
    RefusalCode.HOLD_CHANGED: Kind(409, "Hold changed"),
    RefusalCode.EXTENSION_LIMIT_REACHED: Kind(409, "Extension limit reached"),
    RefusalCode.EXPIRED_BEFORE_CHECKOUT: Kind(409, "Hold expired before checkout"),
    RefusalCode.PAYMENT_ALREADY_USED: Kind(409, "Payment already used"),
    RefusalCode.ALREADY_PAID: Kind(409, "Already paid"),
    RefusalCode.AMOUNT_CHANGED: Kind(409, "Amount changed"),
    RefusalCode.ORDER_CHANGED: Kind(409, "Order changed"),
    RefusalCode.ORDER_ALREADY_CANCELLED: Kind(409, "Order already cancelled"),
    RefusalCode.TICKET_ALREADY_VOID: Kind(409, "Ticket already void"),
    RefusalCode.TICKET_NOT_VOID: Kind(409, "Ticket not void"),
    RefusalCode.ALREADY_REFUNDED: Kind(409, "Already refunded"),
    RefusalCode.CART_OF_ANOTHER_HOLDER: Kind(409, "Cart of another holder"),
    RefusalCode.CART_OF_ANOTHER_SESSION: Kind(409, "Cart of another session"),
    RefusalCode.WAITING_PLACES_EXCEEDED: Kind(409, "Too many waitlist places"),
    RefusalCode.TOO_MANY_QUEUES: Kind(409, "Too many waitlist queues"),
    RefusalCode.OTHERS_ARE_WAITING: Kind(409, "Others are waiting"),
    RefusalCode.ANONYMOUS_HOLDERS_OFF: Kind(400, "Holder required"),
    RefusalCode.TOKENS_UNAVAILABLE: Kind(503, "Holder tokens unavailable"),
    RefusalCode.KEY_NOT_FOUND: Kind(404, "API key not found"),
    RefusalCode.KEY_NOT_VALID: Kind(409, "API key not valid"),
    RefusalCode.INVALID_EXPIRY: Kind(400, "Invalid expiry"),
    RefusalCode.SCOPE_NOT_HELD: Kind(403, "Scope not held"),
    RefusalCode.TOO_MANY_KEYS: Kind(409, "Too many API keys"),
    RefusalCode.HOLDS_STILL_OPEN: Kind(409, "Holds still open"),
    RefusalCode.RATE_LIMIT_EXCEEDED: Kind(429, "Rate limit exceeded"),
    RefusalCode.MEMBER_NOT_FOUND: Kind(404, "Member not found"),
    RefusalCode.ALREADY_MEMBER: Kind(409, "Already a member"),
    RefusalCode.USERNAME_TAKEN: Kind(409, "Username taken"),
    RefusalCode.LAST_OWNER: Kind(409, "Last owner"),
    RefusalCode.TOO_MANY_MEMBERS: Kind(409, "Too many members"),
    RefusalCode.REQUEST_IN_PROGRESS: Kind(409, "Request in progress"),
    RefusalCode.IDEMPOTENCY_KEY_REUSED: Kind(422, "Idempotency key reused"),
    RefusalCode.INTERNAL_ERROR: Kind(500, "Internal error"),
    RefusalCode.SERVICE_UNAVAILABLE: Kind(503, "Service unavailable"),
}

# A retry may succeed after the time in `retry_after_seconds`, if that is given.
RETRY_LATER = frozenset(
    {
        RefusalCode.HOLDER_LIMIT_REACHED,
        RefusalCode.HOLDER_COOLDOWN,
        RefusalCode.RATE_LIMIT_EXCEEDED,
    }
)
# A retry may succeed.
RETRY_SOON = frozenset(
    {
        ProblemCode.TOO_MANY_REQUESTS,
        RefusalCode.SERVICE_UNAVAILABLE,
        RefusalCode.REQUEST_IN_PROGRESS,
    }
)
