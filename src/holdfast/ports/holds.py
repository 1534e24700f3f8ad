"""Reading holds. What is shown carries the moment of the database's clock at which it was true."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Protocol
from uuid import UUID

from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SessionId, SessionKey
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.paging import Page, PageRequest


@dataclass(frozen=True, slots=True)
class SeenHold:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class SeenPlace:
    """A place in a line: the first has position 1, out of all who wait for any of the same. About
    how long it takes from here, if that can be told."""

    position: int
    waiting: int
    estimate_seconds: int | None
    since: datetime
    at: datetime


# Fewer, or a burst, say nothing about how fast a line goes.
SERVED_MIN = 3
OPEN_SECONDS_MIN = 60.0


def estimated_seconds(position: int, served: int, open_seconds: float) -> int | None:
    """As fast as the line went since it opened."""
    if served < SERVED_MIN or open_seconds < OPEN_SECONDS_MIN:
        return None
    return ceil(position * open_seconds / served)


@dataclass(frozen=True, slots=True)
class HoldFilter:
    """A lapsed hold counts as expired here too; `is_lapsed` finds those that only the clock has
    ended so far."""

    event_id: EventId | None = None
    session_id: SessionId | None = None
    status: HoldStatus | None = None
    email: EmailAddress | None = None
    user_id: str | None = None
    reference: str | None = None
    is_lapsed: bool = False
    created_from: datetime | None = None
    created_before: datetime | None = None


class HoldOrder(StrEnum):
    NEWEST = "newest"
    EXPIRY = "expiry"  # what ends next comes first; holds that have ended are left out


@dataclass(frozen=True, slots=True)
class HoldStatistics:
    """`active` holds are live, some of them `expiring_soon`; they have `tickets` among them, of
    which `seats` are assigned seats. The end of `lapsed` ones is yet to be written down. Parties on
    the waitlist have no places: `waiting` are live, `lapsed_waiting` ran out of time."""

    active: int
    lapsed: int
    tickets: int
    seats: int
    expiring_soon: int
    waiting: int
    lapsed_waiting: int
    at: datetime


@dataclass(frozen=True, slots=True)
class DueHold:
    """Its end is to be written down, or else its holder is to be warned. `quantity` is what the end
    frees: 0 for a party on the waitlist."""

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
    """Every call may raise StoreUnavailable; it blocks."""

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
        """Of a person, oldest first."""
        ...

    def recent_holds(
        self,
        organization_id: OrganizationId,
        event_id: EventId,
        holder: Holder,
        since: datetime | None,
    ) -> tuple[SeenHold, ...]:
        """Of a person, whatever became of them: those whose time was not up at `since`, or a day
        ago. The newest first, RECENT_HOLDS_MAX at most."""
        ...

    def cart_hold(self, organization_id: OrganizationId, cart: str) -> SeenHold | None:
        """The newest hold of the cart, ended or not."""
        ...

    def live_holds_of_cart(self, organization_id: OrganizationId, cart: str) -> tuple[Hold, ...]:
        """Whatever carries the name of the cart and could be paid for, oldest first."""
        ...

    def waiting_position(
        self, organization_id: OrganizationId, hold_id: HoldId
    ) -> SeenPlace | None:
        """None when it does not wait."""
        ...

    def statistics(
        self, organization_id: OrganizationId, session_id: SessionId | None, soon: timedelta
    ) -> HoldStatistics: ...


class Housekeeping(Protocol):
    """What the reaper and the promoter ask, over all organizations."""

    def due_holds(self, limit: int, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        """Oldest first, found without a lock; none of the sessions that are skipped."""
        ...

    def reaping(self) -> AbstractContextManager[bool]:
        """Whether it is this reaper's turn. Several do no harm, but one at a time is enough."""
        ...

    def seconds_until_due(self) -> float | None:
        """Until the next hold is due, by the database's clock; None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class PromoterTurn:
    """How far the look at all waitlists has got (None: it starts), and whether it is to go on."""

    swept_to: SessionKey | None
    is_sweep_due: bool


# A promoter that is gone is followed by another after this long.
PROMOTER_LEASE_SECONDS = 5.0


class LineKeeping(Protocol):
    """What the promoter asks, over all organizations."""

    def promoter_turn(self, promoter: UUID) -> PromoterTurn | None:
        """None while the lease is another promoter's. Asking renews it."""
        ...

    def swept(self, promoter: UUID, swept_to: SessionKey | None, pause_seconds: float) -> None:
        """Remember where the look at all waitlists goes on, and when; by whoever has the lease."""
        ...

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        """Where somebody's turn may have come."""
        ...

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        """Where anybody waits, in the order of their keys."""
        ...


class Pruning(Protocol):
    """What the pruner asks, over all organizations: delete what is older than that, up to a limit;
    says how many were deleted."""

    def prune_answers(self, kept_seconds: int, limit: int) -> int: ...

    def prune_facts(self, partition: int, kept_seconds: int, limit: int) -> int:
        """Only those that were relayed, or that no relay has ever asked for."""
        ...

    def prune_receipts(self, kept_seconds: int, limit: int) -> int: ...
