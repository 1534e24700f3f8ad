"""Every expected "no". A refusal is a value, not an exception.

Refusal
|-- about the ask          invalid_session, invalid_ticket_type, quantity_above_maximum
|-- about the stock        insufficient_inventory                      (a retry may help)
|-- about the hold         hold_not_found, hold_expired, invalid_hold_state
|-- about repeating        idempotency_key_reused, request_in_progress (the latter: a retry helps)
'-- about ourselves        service_unavailable, internal_error         (a retry may help)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RefusalCode(StrEnum):
    INVALID_SESSION = "invalid_session"
    INVALID_TICKET_TYPE = "invalid_ticket_type"
    QUANTITY_ABOVE_MAXIMUM = "quantity_above_maximum"
    INSUFFICIENT_INVENTORY = "insufficient_inventory"
    EVENT_NOT_FOUND = "event_not_found"
    SESSION_NOT_FOUND = "session_not_found"
    TICKET_TYPE_NOT_FOUND = "ticket_type_not_found"
    POOL_NOT_FOUND = "pool_not_found"
    INVALID_EVENT = "invalid_event"
    INVALID_POOL = "invalid_pool"
    CAPACITY_IN_USE = "capacity_in_use"
    HOLD_NOT_FOUND = "hold_not_found"
    HOLD_EXPIRED = "hold_expired"
    INVALID_HOLD_STATE = "invalid_hold_state"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    REQUEST_IN_PROGRESS = "request_in_progress"
    SERVICE_UNAVAILABLE = "service_unavailable"
    INTERNAL_ERROR = "internal_error"

    @property
    def is_retryable(self) -> bool:
        """The same request, sent again later, may succeed: such an answer is never stored."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        RefusalCode.INSUFFICIENT_INVENTORY,
        RefusalCode.CAPACITY_IN_USE,
        RefusalCode.REQUEST_IN_PROGRESS,
        RefusalCode.SERVICE_UNAVAILABLE,
        RefusalCode.INTERNAL_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class Refusal:
    code: RefusalCode
    message: str
    details: Mapping[str, int | str] = field(default_factory=dict)


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


def hold_not_found() -> Refusal:
    return Refusal(RefusalCode.HOLD_NOT_FOUND, "Hold not found")


def hold_expired() -> Refusal:
    return Refusal(RefusalCode.HOLD_EXPIRED, "The hold has expired")


def invalid_hold_state(status: str) -> Refusal:
    return Refusal(
        RefusalCode.INVALID_HOLD_STATE,
        f"The hold is {status} and cannot be changed any more",
        {"current_status": status},
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
