"""The tables as Django sees them: rows for the admin pages, not entities.

The schema is written in SQL (migrations/*.sql) and Django never alters it, so every
model is unmanaged. The answers of idempotency keys have no model: operators may not read them.

The tables are keyed by (organization_id, id), which the admin cannot address, so the models that
it shows name `id` (or `seq`) alone as their key. For reading that is safe enough: ids are UUIDv7
and the numbers of `seq` come from one sequence per table, so neither repeats between
organizations. For writing it would not be, and the role of the admin has no right to write.
"""

from holdfast.adapters.postgres.models.base import Organization
from holdfast.adapters.postgres.models.catalog import (
    ApiKey,
    Event,
    Pool,
    PoolLapse,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.adapters.postgres.models.holds import AuditEntry, Fact, Hold, HoldLine, RelayCursor
from holdfast.adapters.postgres.models.orders import Checkout, Order, Ticket
from holdfast.adapters.postgres.models.seats import Block, BlockPrice, Seat
from holdfast.adapters.postgres.models.waiting import WaitingLine, WaitingPlace, Waitlist

__all__ = [
    "ApiKey",
    "AuditEntry",
    "Block",
    "BlockPrice",
    "Checkout",
    "Event",
    "Fact",
    "Hold",
    "HoldLine",
    "Order",
    "Organization",
    "Pool",
    "PoolLapse",
    "RelayCursor",
    "Seat",
    "Session",
    "Ticket",
    "TicketType",
    "TicketTypePool",
    "WaitingLine",
    "WaitingPlace",
    "Waitlist",
]
