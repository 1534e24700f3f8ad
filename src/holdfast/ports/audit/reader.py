"""Reads the audit log: who did what, to which hold, seat, part of the catalog or key, from
where."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import JsonValue


@immutable
class AuditEntry:
    seq: int
    at: datetime
    action: str
    hold_id: HoldId | None
    seat_id: SeatId | None
    catalog_id: UUID | None  # of an event, session, pool, ticket type or block
    key_id: UUID | None  # of the key that was changed
    actor: str
    request_id: str
    ip: str | None
    user_agent: str | None
    old: Mapping[str, JsonValue] | None
    new: Mapping[str, JsonValue]


@immutable
class AuditFilter:
    hold_id: HoldId | None = None
    seat_id: SeatId | None = None
    catalog_id: UUID | None = None
    key_id: UUID | None = None
    action: str | None = None
    actor: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


class AuditReader(Protocol):
    """Every call blocks and may raise StoreUnavailable."""

    def entries(
        self,
        organization_id: OrganizationId,
        only: AuditFilter,
        limit: int,
        before: int | None = None,
    ) -> tuple[AuditEntry, ...]:
        """Up to `limit` entries with a `seq` below `before`, newest first."""
        ...
