"""Reading holds. What is shown carries the moment of the database's clock at which it was true."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.values import EmailAddress
from holdfast.ports.paging import Page, PageRequest


@dataclass(frozen=True, slots=True)
class SeenHold:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class HoldFilter:
    """A lapsed hold counts as expired here too."""

    session_id: SessionId | None = None
    status: HoldStatus | None = None
    email: EmailAddress | None = None


@dataclass(frozen=True, slots=True)
class LapsedHold:
    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId


class HoldReader(Protocol):
    """Every call may raise StoreUnavailable; it blocks."""

    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None: ...

    def holds(
        self, organization_id: OrganizationId, only: HoldFilter, page: PageRequest
    ) -> Page[SeenHold]: ...


class Housekeeping(Protocol):
    """What the background duties ask, over all organizations."""

    def lapsed_holds(self, limit: int) -> tuple[LapsedHold, ...]:
        """Oldest first, found without a lock."""
        ...

    def prune_answers(self, kept_seconds: int, limit: int) -> int:
        """Delete recorded answers older than that; says how many."""
        ...
