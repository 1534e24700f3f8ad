"""The view of a store that tests read, the same for every store."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from holdfast.domain.catalog.model import Pool
from holdfast.domain.holds.hold import Hold, rounded_up
from holdfast.domain.ids import CheckoutId, HoldId, OrderId, PoolId, SeatId
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.seats.seat import Seat
from holdfast.ports.store import Store
from tests.contract.managing import Manager
from tests.contract.venues import Plan, Venue


class FactSeen(NamedTuple):
    type: str
    hold_id: HoldId | None
    version: int
    seat_id: SeatId | None = None


class AuditSeen(NamedTuple):
    action: str
    hold_id: HoldId | None
    actor: str
    old_status: str | None
    new_status: str | None
    seat_id: SeatId | None = None


class SeatSeen(NamedTuple):
    status: str
    hold_id: HoldId | None = None
    version: int = 1
    blocked_reason: str | None = None


class HoldSeen(NamedTuple):
    """Times are relative to when the hold became active, or was created: stores are not asked at
    the same instant."""

    status: str
    version: int
    units: tuple[int, ...]  # of each line
    seat_ids: tuple[SeatId | None, ...]
    lasts_seconds: float
    warned_after_seconds: float | None
    checkout_id: CheckoutId | None
    order_id: OrderId | None
    revives: HoldId | None
    cart: str | None = None
    items: tuple[str | None, ...] = ()  # of each line


def seen_hold(hold: Hold) -> HoldSeen:
    made_at = rounded_up(hold.held_at or hold.created_at)
    # When an operator ends it early, it lasts as long as the store has been running.
    is_ended_early = hold.expired_at is not None and hold.expired_at < hold.expires_at
    return HoldSeen(
        hold.status.value,
        hold.version,
        tuple(line.quantity for line in hold.lines),
        tuple(line.seat.id if line.seat else None for line in hold.lines),
        0 if is_ended_early else (hold.expires_at - made_at).total_seconds(),
        None if hold.warn_at is None else (hold.warn_at - made_at).total_seconds(),
        hold.checkout_id,
        hold.order_id,
        hold.revives,
        hold.cart,
        tuple(line.item.id if line.item else None for line in hold.lines),
    )


def seen_seat(seat: Seat) -> SeatSeen:
    return SeatSeen(seat.status.value, seat.hold_id, seat.version, seat.blocked_reason)


class World(Manager, Protocol):
    @property
    def store(self) -> Store: ...

    def venue(
        self,
        pools: Mapping[str, int],
        ticket_types: Mapping[str, tuple[str, ...]],
        ttl_seconds: int = 600,
        quantity_max: int = 10_000,
    ) -> Venue: ...

    def build(self, plan: Plan, beside: Venue | None = None) -> Venue:
        """With `beside`, build it in the organization of that venue."""
        ...

    def let_pass(self, venue: Venue, seconds: int) -> None: ...

    def pool(self, pool_id: PoolId) -> Pool: ...

    def lapse(self, pool_id: PoolId) -> dict[datetime, int]:
        """The units that expire at each second."""
        ...

    def lapse_units(self, pool_id: PoolId) -> int: ...

    def seats(self, venue: Venue) -> dict[str, SeatSeen]: ...

    def held_until(self, venue: Venue) -> dict[str, datetime | None]: ...

    def hold(self, venue: Venue, hold_id: HoldId) -> Hold: ...

    def holds(self, venue: Venue) -> dict[HoldId, HoldSeen]: ...

    def position(self, hold: Hold) -> int | None:
        """The hold's queue position, None unless it is waiting."""
        ...

    def is_settled(self, venue: Venue) -> bool:
        """Whether no promotion is pending."""
        ...

    def all_holds(self, venue: Venue) -> list[Hold]: ...

    def now(self) -> datetime:
        """The time by the store's clock."""
        ...

    def checkout(self, venue: Venue, checkout_id: CheckoutId) -> Checkout | None: ...

    def orders(self, venue: Venue) -> dict[OrderId, Order]: ...

    def sell(self, hold: Hold) -> None: ...

    def facts(self, venue: Venue) -> list[FactSeen]: ...

    def payloads(self, venue: Venue) -> list[tuple[str, dict[str, Any]]]:
        """The type and payload of each fact."""
        ...

    def audit(self, venue: Venue) -> list[AuditSeen]: ...

    def audit_values(self, venue: Venue) -> list[dict[str, Any]]:
        """The new values of each entry."""
        ...

    @contextmanager
    def locked_elsewhere(self, venue: Venue, pool_id: PoolId) -> Iterator[None]: ...

    @contextmanager
    def seats_locked_elsewhere(self, venue: Venue, *names: str) -> Iterator[None]: ...

    def close(self) -> None: ...
