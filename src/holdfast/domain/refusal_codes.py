"""The refusal codes. They are part of the API: never rename one."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from holdfast.domain.immutable import immutable
from holdfast.domain.values import JsonValue


class RefusalCode(StrEnum):
    INVALID_SESSION = "invalid_session"
    INVALID_TICKET_TYPE = "invalid_ticket_type"
    INVALID_SEAT = "invalid_seat"
    INVALID_BLOCK = "invalid_block"
    ORPHAN_SEAT = "orphan_seat"
    EVENT_NOT_AVAILABLE = "event_not_available"
    EVENT_UNAVAILABLE = "event_unavailable"
    EVENT_SALES_CLOSED = "event_sales_closed"
    INVALID_EVENT_STATE = "invalid_event_state"
    INVALID_SESSION_STATE = "invalid_session_state"
    INVALID_SALE_WINDOW = "invalid_sale_window"
    INVALID_POLICY = "invalid_policy"
    SEAT_HELD_BY_ANOTHER_USER = "seat_held_by_another_user"
    SEAT_NOT_AVAILABLE = "seat_not_available"
    LOCK_NOT_AVAILABLE = "lock_not_available"
    NO_AVAILABLE_SEATS = "no_available_seats"
    BLOCK_AT_CAPACITY = "block_at_capacity"
    ACTIVE_HOLD_EXISTS = "active_hold_exists"
    ALREADY_WAITING = "already_waiting"
    HOLDER_LIMIT_REACHED = "holder_limit_reached"
    HOLDER_COOLDOWN = "holder_cooldown"
    SEAT_NOT_FOUND = "seat_not_found"
    BLOCK_NOT_FOUND = "block_not_found"
    DUPLICATE_BLOCK = "duplicate_block"
    CATALOG_CHANGED = "catalog_changed"
    INVALID_SEATS = "invalid_seats"
    TOO_MANY_SEATS = "too_many_seats"
    QUANTITY_ABOVE_MAXIMUM = "quantity_above_maximum"
    INSUFFICIENT_INVENTORY = "insufficient_inventory"
    NOT_WITH_REMOTE_INVENTORY = "not_with_remote_inventory"
    EVENT_NOT_FOUND = "event_not_found"
    SESSION_NOT_FOUND = "session_not_found"
    TICKET_TYPE_NOT_FOUND = "ticket_type_not_found"
    POOL_NOT_FOUND = "pool_not_found"
    INVALID_EVENT = "invalid_event"
    INVALID_POOL = "invalid_pool"
    CAPACITY_IN_USE = "capacity_in_use"
    TOO_MANY_ITEMS = "too_many_items"
    HOLD_NOT_FOUND = "hold_not_found"
    HOLD_EXPIRED = "hold_expired"
    INVALID_HOLD_STATE = "invalid_hold_state"
    HOLD_CHANGED = "hold_changed"
    EXTENSION_LIMIT_REACHED = "extension_limit_reached"
    EXPIRED_BEFORE_CHECKOUT = "expired_before_checkout"
    EMPTY_CART = "empty_cart"
    ANONYMOUS_HOLDERS_OFF = "anonymous_holders_off"
    TOKENS_UNAVAILABLE = "tokens_unavailable"
    DIFFERENT_HOLDERS = "different_holders"
    DIFFERENT_CURRENCIES = "different_currencies"
    TOO_MANY_TICKETS = "too_many_tickets"
    TOO_MANY_ATTENDEES = "too_many_attendees"
    CHECKOUT_NOT_FOUND = "checkout_not_found"
    ORDER_NOT_FOUND = "order_not_found"
    ORDER_CHANGED = "order_changed"
    ORDER_ALREADY_CANCELLED = "order_already_cancelled"
    TICKET_ALREADY_VOID = "ticket_already_void"
    TICKET_NOT_VOID = "ticket_not_void"
    ALREADY_REFUNDED = "already_refunded"
    INVALID_TICKET = "invalid_ticket"
    PAYMENT_REFUSED = "payment_refused"
    PAYMENT_ALREADY_USED = "payment_already_used"
    ALREADY_PAID = "already_paid"
    AMOUNT_CHANGED = "amount_changed"
    CART_OF_ANOTHER_HOLDER = "cart_of_another_holder"
    CART_OF_ANOTHER_SESSION = "cart_of_another_session"
    WAITING_PLACES_EXCEEDED = "waiting_places_exceeded"
    TOO_MANY_QUEUES = "too_many_queues"
    OTHERS_ARE_WAITING = "others_are_waiting"
    KEY_NOT_FOUND = "key_not_found"
    KEY_NOT_VALID = "key_not_valid"
    INVALID_EXPIRY = "invalid_expiry"
    SCOPE_NOT_HELD = "scope_not_held"
    TOO_MANY_KEYS = "too_many_keys"
    HOLDS_STILL_OPEN = "holds_still_open"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    MEMBER_NOT_FOUND = "member_not_found"
    ALREADY_MEMBER = "already_member"
    USERNAME_TAKEN = "username_taken"
    LAST_OWNER = "last_owner"
    TOO_MANY_MEMBERS = "too_many_members"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    REQUEST_IN_PROGRESS = "request_in_progress"
    SERVICE_UNAVAILABLE = "service_unavailable"
    INTERNAL_ERROR = "internal_error"

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later; such an answer is never stored."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        RefusalCode.HOLDS_STILL_OPEN,
        RefusalCode.ANONYMOUS_HOLDERS_OFF,
        RefusalCode.TOKENS_UNAVAILABLE,
        RefusalCode.INSUFFICIENT_INVENTORY,
        RefusalCode.ORPHAN_SEAT,
        RefusalCode.EVENT_NOT_AVAILABLE,
        RefusalCode.EVENT_SALES_CLOSED,
        RefusalCode.SEAT_HELD_BY_ANOTHER_USER,
        RefusalCode.SEAT_NOT_AVAILABLE,
        RefusalCode.LOCK_NOT_AVAILABLE,
        RefusalCode.NO_AVAILABLE_SEATS,
        RefusalCode.BLOCK_AT_CAPACITY,
        RefusalCode.ACTIVE_HOLD_EXISTS,
        RefusalCode.ALREADY_WAITING,
        RefusalCode.HOLDER_LIMIT_REACHED,
        RefusalCode.HOLDER_COOLDOWN,
        RefusalCode.CAPACITY_IN_USE,
        RefusalCode.EMPTY_CART,
        RefusalCode.PAYMENT_REFUSED,
        RefusalCode.AMOUNT_CHANGED,
        RefusalCode.WAITING_PLACES_EXCEEDED,
        RefusalCode.TOO_MANY_QUEUES,
        RefusalCode.OTHERS_ARE_WAITING,
        RefusalCode.TOO_MANY_KEYS,
        RefusalCode.RATE_LIMIT_EXCEEDED,
        RefusalCode.LAST_OWNER,
        RefusalCode.TOO_MANY_MEMBERS,
        RefusalCode.REQUEST_IN_PROGRESS,
        RefusalCode.SERVICE_UNAVAILABLE,
        RefusalCode.INTERNAL_ERROR,
    }
)


@immutable
class Refusal:
    code: RefusalCode
    message: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)
