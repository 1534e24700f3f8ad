"""Reads holds. `at` is the database's time at which a result was true."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Protocol
from uuid import UUID

from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SessionId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.paging import Page, PageRequest
from holdfast.ports.statistics import HoldStatistics


@immutable
class SeenHold:
    hold: Hold
    at: datetime


@immutable
class SeenPlace:
    """A place on the waitlist. `position` counts from 1 among all `waiting` for any of the same;
    `estimate_seconds` is the estimated wait, if known."""

    position: int
    waiting: int
    estimate_seconds: int | None
    since: datetime
    at: datetime


# Fewer promotions, or a burst, say nothing about the speed of a queue.
SERVED_MIN = 3
OPEN_SECONDS_MIN = 60.0


def estimated_seconds(position: int, served: int, open_seconds: float) -> int | None:
    """The estimated wait at the queue's average speed since it opened."""
    if served < SERVED_MIN or open_seconds < OPEN_SECONDS_MIN:
        return None
    return ceil(position * open_seconds / served)


@immutable
class HoldFilter:
    """Lapsed holds count as expired; `is_lapsed` finds those not yet recorded as expired."""

    event_id: EventId | None = None
    session_id: SessionId | None = None
    status: HoldStatus | None = None
    email: EmailAddress | None = None
    user_id: str | None = None
    # With `email`: not of a person who also has a user id.
    is_without_user: bool | None = None
    reference: str | None = None
    is_lapsed: bool = False
    created_from: datetime | None = None
    created_before: datetime | None = None


class HoldOrder(StrEnum):
    NEWEST = "newest"
    EXPIRY = "expiry"  # next to expire first, without ended holds


@immutable
class DueHold:
    """A hold to expire if it has lapsed, or else to warn. `quantity` is what expiry frees: 0 for a
    party on the waitlist."""

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    is_lapsed: bool
    quantity: int

    @property
    def is_waiting(self) -> bool:
        return not self.quantity


RECENT_HOLDS_MAX = 200


class HoldReader(Protocol):
    """Every call blocks and may raise StoreUnavailable."""

    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None: ...

    def holds(
        self,
        organization_id: OrganizationId,
        only: HoldFilter,
        page: PageRequest,
        order: HoldOrder = HoldOrder.NEWEST,
    ) -> Page[SeenHold]: ...

    def live_holds(
        self, organization_id: OrganizationId, event_id: EventId, holder: Holder
    ) -> tuple[Hold, ...]:
        """A person's live holds, oldest first."""
        ...

    def recent_holds(
        self,
        organization_id: OrganizationId,
        event_id: EventId,
        holder: Holder,
        since: datetime | None,
    ) -> tuple[SeenHold, ...]:
        """A person's holds in any state whose time was not up at `since`, or a day ago without it.
        Newest first, at most RECENT_HOLDS_MAX."""
        ...

    def cart_hold(self, organization_id: OrganizationId, cart: str) -> SeenHold | None:
        """The newest hold of the cart, ended or not."""
        ...

    def live_holds_of_cart(self, organization_id: OrganizationId, cart: str) -> tuple[Hold, ...]:
        """All holds with the cart's name that can be paid for, oldest first."""
        ...

    def waiting_position(
        self, organization_id: OrganizationId, hold_id: HoldId
    ) -> SeenPlace | None:
        """The place on the waitlist; None if the hold is not waiting."""
        ...

    def statistics(
        self, organization_id: OrganizationId, session_id: SessionId | None, soon: timedelta
    ) -> HoldStatistics: ...


class Housekeeping(Protocol):
    """Queries of the reaper and the promoter, across all organizations."""

    def due_holds(self, limit: int, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        """Due holds, oldest first, read without locks; `skipped` sessions are left out."""
        ...

    def reaping(self) -> AbstractContextManager[bool]:
        """Whether it is this reaper's turn. Several are harmless, but one at a time is enough."""
        ...

    def seconds_until_due(self) -> float | None:
        """Seconds until the next hold is due, by the database's clock; None if there is none."""
        ...


@immutable
class PromoterTurn:
    """The progress of the sweep over all waitlists (None: at its start), and whether to
    continue."""

    swept_to: SessionKey | None
    is_sweep_due: bool


# Another promoter takes over from a dead one after this long.
PROMOTER_LEASE_SECONDS = 5.0


class PromoterStore(Protocol):
    """Queries of the promoter, across all organizations."""

    def promoter_turn(self, promoter: UUID) -> PromoterTurn | None:
        """Take or renew the lease; None while another promoter has it."""
        ...

    def swept(self, promoter: UUID, swept_to: SessionKey | None, pause_seconds: float) -> None:
        """Store where the sweep continues, and when; only the promoter with the lease can."""
        ...

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        """Sessions where a party may be due for promotion."""
        ...

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        """Sessions with a waitlist that is not empty, ordered by key."""
        ...


class Pruning(Protocol):
    """Queries of the pruner, across all organizations. Each deletes rows older than `kept_seconds`,
    up to `limit`, and returns how many."""

    def prune_answers(self, kept_seconds: int, limit: int) -> int: ...

    def prune_facts(self, partition: int, kept_seconds: int, limit: int) -> int:
        """Delete only facts that were relayed, or that no relay has ever asked for."""
        ...

    def prune_receipts(self, kept_seconds: int, limit: int) -> int: ...

    def prune_revocations(self, kept_seconds: int, limit: int) -> int: ...
