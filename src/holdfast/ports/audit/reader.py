"""Reads the audit log: who did what, to which hold or seat, from where."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.values import JsonValue


@dataclass(frozen=True, slots=True)
class AuditEntry:
    seq: int
    at: datetime
    action: str
    hold_id: HoldId | None
    seat_id: SeatId | None
    actor: str
    request_id: str
    ip: str | None
    user_agent: str | None
    old: Mapping[str, JsonValue] | None
    new: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    hold_id: HoldId | None = None
    seat_id: SeatId | None = None
    action: str | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None


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
