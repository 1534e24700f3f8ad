"""Django models of the tables, for the admin pages only.

The schema is written in SQL (migrations/*.sql) and Django never alters it, so every model is
unmanaged. Idempotent answers have no model: operators may not read them.

The primary keys are (organization_id, id), which the admin cannot address, so the models that it
shows use `id` (or `seq`) alone. That is safe for reading, because ids are UUIDv7 and each table has
one sequence: neither repeats between organizations. The admin's role has no right to write.
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
from holdfast.adapters.postgres.models.mails import MailTemplate
from holdfast.adapters.postgres.models.orders import Checkout, Order, Ticket
from holdfast.adapters.postgres.models.people import LoginSession, Member, MemberSession, Person
from holdfast.adapters.postgres.models.seats import Block, BlockPrice, Seat
from holdfast.adapters.postgres.models.waitlist import WaitingLine, WaitingPlace, Waitlist

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
    "LoginSession",
    "MailTemplate",
    "Member",
    "MemberSession",
    "Order",
    "Organization",
    "Person",
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
