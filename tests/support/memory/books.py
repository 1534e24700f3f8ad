"""The data in dictionaries, and the queries on it."""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from holdfast.domain.catalog.model import Pool, SessionCatalog
from holdfast.domain.facts import AuditRecord, Fact
from holdfast.domain.group.footprint import Resource
from holdfast.domain.group.ledger import RecordedAnswer
from holdfast.domain.group.origin import Receipt
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import (
    CartKey,
    CheckoutId,
    EventId,
    HoldId,
    HoldKey,
    OrderId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    SessionKey,
)
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.seats.seat import Seat
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import QueueKey, Waitlist, WaitlistQueue, place_of
from holdfast.ports.holds import (
    RECENT_HOLDS_MAX,
    DueHold,
    HoldFilter,
    HoldOrder,
    SeenHold,
    SeenPlace,
    estimated_seconds,
)
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.statistics import HoldStatistics

NOWHERE: Mapping[QueueKey, int] = {}


@dataclass(slots=True)
class MemoryBooks:
    """The stored data. Implements ports.holds.HoldReader and Housekeeping."""

    clock: Callable[[], datetime]
    sessions: dict[SessionKey, SessionCatalog] = field(default_factory=dict)
    pools: dict[PoolId, Pool] = field(default_factory=dict)
    lapse: dict[PoolId, dict[datetime, int]] = field(default_factory=dict)
    seats: dict[SeatId, Seat] = field(default_factory=dict)
    stored_holds: dict[HoldKey, Hold] = field(default_factory=dict)
    answers: dict[tuple[OrganizationId, UUID], RecordedAnswer] = field(default_factory=dict)
    receipts: set[tuple[OrganizationId, Receipt]] = field(default_factory=set)
    checkouts: dict[tuple[OrganizationId, CheckoutId], Checkout] = field(default_factory=dict)
    orders: dict[tuple[OrganizationId, OrderId], Order] = field(default_factory=dict)
    # Without their parties: each hold names the queue that it waits in.
    queues: dict[SessionKey, dict[UUID, WaitlistQueue]] = field(default_factory=dict)
    unsettled: set[SessionKey] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)
    audit: list[AuditRecord] = field(default_factory=list)
    reference_count: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    locks: dict[Resource, object] = field(default_factory=dict)

    def put_on_sale(
        self, session: SessionCatalog, pools: Iterable[Pool], seats: Iterable[Seat] = ()
    ) -> None:
        """Add or replace a session's catalog; pools and seats keep their state if they exist."""
        with self.changed:
            has_waiting = bool(self.queues.get(session.key))
            self.sessions[session.key] = replace(session, has_waiting=has_waiting)
            for pool in pools:
                self.pools.setdefault(pool.id, pool)
            for seat in seats:
                self.seats.setdefault(seat.id, seat)

    def hold(self, organization_id: OrganizationId, hold_id: HoldId) -> SeenHold | None:
        with self.changed:
            hold = self.stored_holds.get((organization_id, hold_id))
            return SeenHold(hold, self.clock()) if hold else None

    def holds(
        self,
        organization_id: OrganizationId,
        only: HoldFilter,
        page: PageRequest,
        order: HoldOrder = HoldOrder.NEWEST,
    ) -> Page[SeenHold]:
        with self.changed:
            now = self.clock()
            by_expiry = order is HoldOrder.EXPIRY
            if by_expiry and not only.is_lapsed:
                only = replace(only, status=only.status or HoldStatus.ACTIVE)
            matching = [
                (Cursor(hold.expires_at if by_expiry else hold.created_at, hold.id), hold)
                for (owner, _), hold in self.stored_holds.items()
                if owner == organization_id
                and only.event_id in {None, self.sessions[hold.session_key].event_id}
                and _matches(hold, only, now)
            ]
        matching.sort(key=lambda each: each[0], reverse=not by_expiry)
        if page.after is not None:
            after = page.after
            matching = [
                each for each in matching if (each[0] > after if by_expiry else each[0] < after)
            ]
        shown = matching[: page.size]
        items = tuple(SeenHold(hold, now) for _, hold in shown)
        return Page(items, shown[-1][0] if len(matching) > page.size else None)

    def statistics(
        self, organization_id: OrganizationId, session_id: SessionId | None, soon: timedelta
    ) -> HoldStatistics:
        with self.changed:
            now = self.clock()
            holds = [
                hold
                for (owner, _), hold in self.stored_holds.items()
                if owner == organization_id and session_id in {None, hold.session_id}
            ]
        live = [hold for hold in holds if hold.is_active(now)]
        lapsed = [hold for hold in holds if hold.is_lapsed(now)]
        return HoldStatistics(
            active=len(live),
            lapsed=sum(hold.occupies_places() for hold in lapsed),
            tickets=sum(hold.quantity for hold in live),
            seats=sum(len(hold.seats) for hold in live),
            expiring_soon=sum(hold.expires_at <= now + soon for hold in live),
            waiting=sum(hold.is_waiting(now) for hold in holds),
            lapsed_waiting=sum(hold.waiting is not None for hold in lapsed),
            at=now,
        )

    def due_holds(self, limit: int, skipped: Collection[SessionId] = ()) -> tuple[DueHold, ...]:
        with self.changed:
            now = self.clock()
            due = [
                hold
                for hold in self.stored_holds.values()
                if hold.session_id not in skipped and (hold.is_lapsed(now) or hold.can_warn(now))
            ]
        due.sort(key=lambda hold: (hold.due_at, hold.id))
        return tuple(
            DueHold(
                hold.organization_id,
                hold.session_id,
                hold.id,
                hold.is_lapsed(now),
                hold.quantity if hold.occupies_places() else 0,
            )
            for hold in due[:limit]
        )

    def reaping(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def seconds_until_due(self) -> float | None:
        with self.changed:
            now = self.clock()
            due = [hold.due_at for hold in self.stored_holds.values() if not hold.is_over()]
        return min((moment - now).total_seconds() for moment in due) if due else None

    def live_holds(
        self, organization_id: OrganizationId, event_id: EventId, holder: Holder
    ) -> tuple[Hold, ...]:
        with self.changed:
            now = self.clock()
            live = [
                hold
                for (owner, _), hold in self.stored_holds.items()
                if owner == organization_id
                and self.sessions[hold.session_key].event_id == event_id
                and hold.holder.is_person(holder)
                and hold.is_active(now)
            ]
        return tuple(sorted(live, key=_by_creation))

    def recent_holds(
        self,
        organization_id: OrganizationId,
        event_id: EventId,
        holder: Holder,
        since: datetime | None,
    ) -> tuple[SeenHold, ...]:
        with self.changed:
            now = self.clock()
            after = since or now - timedelta(days=1)
            recent = [
                hold
                for (owner, _), hold in self.stored_holds.items()
                if owner == organization_id
                and self.sessions[hold.session_key].event_id == event_id
                and hold.holder.is_person(holder)
                and hold.expires_at > after
            ]
        newest = sorted(recent, key=_by_creation, reverse=True)[:RECENT_HOLDS_MAX]
        return tuple(SeenHold(hold, now) for hold in newest)

    def available(self, pool_id: PoolId) -> int:
        with self.changed:
            now = self.clock()
            lapsed = sum(
                units for second, units in self.lapse.get(pool_id, {}).items() if second <= now
            )
            return self.pools[pool_id].free + lapsed

    def cart_hold(self, organization_id: OrganizationId, cart: str) -> SeenHold | None:
        with self.changed:
            hold = self.newest_of_cart((organization_id, cart))
            return SeenHold(hold, self.clock()) if hold else None

    def live_holds_of_cart(self, organization_id: OrganizationId, cart: str) -> tuple[Hold, ...]:
        with self.changed:
            now = self.clock()
            live = [
                hold
                for (owner, _), hold in self.stored_holds.items()
                if (owner, hold.remarks.cart_token) == (organization_id, cart)
                and hold.is_active(now)
            ]
        return tuple(sorted(live, key=_by_creation))

    def newest_of_cart(self, cart: CartKey) -> Hold | None:
        holds = [
            hold for hold in self.stored_holds.values() if (hold.organization_id, hold.cart) == cart
        ]
        return max(
            holds,
            key=lambda hold: (not hold.is_over(), hold.created_at, hold.id),
            default=None,
        )

    def waitlist(
        self, key: SessionKey, look_ahead: int, further: Mapping[QueueKey, int] = NOWHERE
    ) -> Waitlist:
        """A copy that the caller may change."""
        waiting = [
            hold
            for hold in self.stored_holds.values()
            if hold.session_key == key and hold.waiting is not None
        ]
        waiting.sort(key=place_of)
        parties: defaultdict[UUID, list[Hold]] = defaultdict(list)
        for hold in waiting:
            assert hold.waiting is not None
            parties[hold.waiting.queue_id].append(hold)
        queues = {}
        known = self.queues.get(key, {})
        each = max(1, look_ahead // max(1, len(known)))  # fewer parties each with many queues
        for id_, queue in known.items():
            seen = max(each, further.get((key, id_), 0))
            queues[id_] = replace(queue, first=tuple(parties[id_][:seen]))
        return Waitlist(key, queues, key not in self.unsettled)

    def waiting_position(
        self, organization_id: OrganizationId, hold_id: HoldId
    ) -> SeenPlace | None:
        with self.changed:
            now = self.clock()
            hold = self.stored_holds.get((organization_id, hold_id))
            if hold is None or hold.waiting is None:
                return None
            waitlist = self.waitlist(hold.session_key, len(self.stored_holds) ** 2)
        own = waitlist.queues[hold.waiting.queue_id]
        sharing = list(waitlist.sharing(own.wants))
        earlier = [
            each for queue in sharing for each in queue.first if place_of(each) < place_of(hold)
        ]
        position = 1 + len(earlier)
        open_seconds = (now - own.opened_at).total_seconds()
        return SeenPlace(
            position,
            sum(queue.waiting for queue in sharing),
            estimated_seconds(position, own.served, open_seconds),
            hold.waiting.since,
            now,
        )

    def unsettled_sessions(self, limit: int) -> tuple[SessionKey, ...]:
        with self.changed:
            return tuple(sorted(self.unsettled)[:limit])

    def waiting_sessions(self, after: SessionKey | None, limit: int) -> tuple[SessionKey, ...]:
        with self.changed:
            keys = sorted(key for key, queues in self.queues.items() if queues)
        return tuple(key for key in keys if after is None or key > after)[:limit]


def _by_creation(hold: Hold) -> tuple[datetime, HoldId]:
    return (hold.created_at, hold.id)


def _matches(hold: Hold, only: HoldFilter, now: datetime) -> bool:
    if only.session_id is not None and hold.session_id != only.session_id:
        return False
    if only.status is not None and hold.status_at(now) is not only.status:
        return False
    if only.is_lapsed and not hold.is_lapsed(now):
        return False
    if only.created_from is not None and hold.created_at < only.created_from:
        return False
    if only.created_before is not None and hold.created_at >= only.created_before:
        return False
    if only.user_id is not None and hold.holder.user_id != only.user_id:
        return False
    if only.is_without_user and hold.holder.user_id is not None:
        return False
    if only.reference is not None and hold.reference != only.reference:
        return False
    if only.email is not None:
        email = hold.holder.email
        return email is not None and email.normalized == only.email.normalized
    return True
