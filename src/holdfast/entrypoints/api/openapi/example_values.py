"""The small sale in all examples of the document."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from msgspec import Struct

from holdfast.domain import ids

# Examples of answers, and of requests by what they ask for.
Answers = tuple[Struct, ...]
Requests = tuple[tuple[str, Struct], ...]

NOW = datetime(2026, 1, 15, 10, 20, tzinfo=UTC)
ORGANIZATION = ids.OrganizationId(UUID("0198f1c0-0a10-7a00-8b00-5d2c1e9f0001"))
EVENT = ids.EventId(UUID("0198f1c0-3c55-7f02-9e31-aa10c4d20002"))
SESSION = ids.SessionId(UUID("0198f1c0-6d1f-7b0a-8f4e-1b7d92e50003"))
TYPE = ids.TicketTypeId(UUID("0198f1c0-9b83-7c44-a2d6-77f03b180004"))
POOL = ids.PoolId(UUID("0198f1c0-9b84-7e19-b5c0-0d4e6fa90005"))
HOLD = ids.HoldId(UUID("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006"))
SEATED_TYPE = ids.TicketTypeId(UUID("0198f1c0-9c01-7d35-b1a7-20c9e4f70007"))
BLOCK = ids.BlockId(UUID("0198f1c0-a9f3-7a60-8e15-d3b27c940008"))
SEATS = (
    ids.SeatId(UUID("0198f1c0-aa10-7d00-9c2e-4b1f0e7a0009")),
    ids.SeatId(UUID("0198f1c0-aa10-7d00-9c2e-4b1f0e7a000a")),
    ids.SeatId(UUID("0198f1c0-aa10-7d00-9c2e-4b1f0e7a000b")),
)
CHECKOUT = ids.CheckoutId(UUID("3d1c7a52-0c7e-5b1f-8e44-7f1d2b90000c"))
ORDER = ids.OrderId(UUID("0198f1c3-1d20-7e41-8a77-91c4f05e000d"))
TICKETS = (
    ids.TicketId(UUID("b1f0e7a3-5c2e-5d11-9c6e-52b1f0e7000e")),
    ids.TicketId(UUID("c2a1f8b4-6d3f-5e22-8d7f-63c201f8000f")),
)
KEY = ids.ApiKeyId(UUID("0198f1c0-0b21-7c9e-8d03-6e4a1f2b0010"))
MEMBER = ids.MemberId(UUID("0198f1c0-0c32-7d1f-9e14-7f5b202c0011"))
MEMBER_SESSION = ids.MemberSessionId(UUID("0198f1c0-0d43-7e2a-af25-806c313d0012"))
CART = "cart-8842"
EMAIL = "user@example.com"
REQUEST_ID = "0198f1c2-9a40-7d11-8c6e-52b1f0e7a3c4"

PATH_EXAMPLES: Mapping[str, object] = {
    "block_id": BLOCK,
    "cart_token": CART,
    "checkout_id": CHECKOUT,
    "event_id": EVENT,
    "hold_id": HOLD,
    "key_id": KEY,
    "member_id": MEMBER,
    "order_id": ORDER,
    "pool_id": POOL,
    "seat_id": SEATS[0],
    "session_id": SESSION,
    "ticket_type_id": TYPE,
}
