"""Reads the audit log: who did what to which hold, seat, part of the catalog or key, and from
where; who was refused, and why."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.domain.ids import (
    EventId,
    HoldId,
    OrderId,
    OrganizationId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.values import EmailAddress, JsonValue


class AuditPosition(NamedTuple):
    """Where an entry is in the log."""

    at: datetime
    seq: int


@immutable
class AuditEntry:
    seq: int
    at: datetime
    action: str
    hold_id: HoldId | None
    seat_id: SeatId | None
    catalog_id: UUID | None  # of an event, session, pool, ticket type or block
    key_id: UUID | None  # of the key that was changed
    session_id: SessionId | None
    ticket_type_ids: tuple[TicketTypeId, ...]
    cart: str | None
    holder: UUID | None  # a keyed hash
    actor: str
    acting_user: str | None
    request_id: str
    ip: str | None
    user_agent: str | None
    old: Mapping[str, JsonValue] | None
    new: Mapping[str, JsonValue]

    @property
    def position(self) -> AuditPosition:
        return AuditPosition(self.at, self.seq)


class AuditOutcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"


@immutable
class AuditFilter:
    """`email` and `user_id` find the entries of a holder's holds, and the refused attempts that
    named this holder. So do `email_keys`, the hashes of an address."""

    hold_id: HoldId | None = None
    seat_id: SeatId | None = None
    catalog_id: UUID | None = None
    key_id: UUID | None = None
    session_id: SessionId | None = None
    event_id: EventId | None = None
    ticket_type_id: TicketTypeId | None = None
    order_id: OrderId | None = None
    cart_token: str | None = None
    email: EmailAddress | None = None
    email_keys: tuple[UUID, ...] | None = None
    user_id: str | None = None
    action: str | None = None
    actor: str | None = None
    acting_user: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    request_id: str | None = None
    error: str | None = None
    outcome: AuditOutcome | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


@immutable
class AuditSlice:
    """Entries, newest first. `next` is where to go on; None at the end. There may be more even if
    there are few entries or none: a filter without an index examines a bounded number of entries
    at a time."""

    entries: tuple[AuditEntry, ...]
    next: AuditPosition | None


class AuditReader(Protocol):
    """Every call blocks and may raise StoreUnavailable."""

    def entries(
        self,
        organization_id: OrganizationId,
        only: AuditFilter,
        limit: int,
        before: AuditPosition | None = None,
    ) -> AuditSlice:
        """Up to `limit` entries older than `before`."""
        ...
