"""Everything in dictionaries, one lock per resource, the clock from outside."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Receipt
from holdfast.domain.facts import AuditRecord, Fact
from holdfast.domain.footprint import (
    Needs,
    Resource,
    ResourceKind,
    SeatNeeds,
    Survey,
    seats_to_survey,
)
from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.ids import (
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
from holdfast.domain.ledger import Ledger, RecordedAnswer
from holdfast.domain.order import Checkout, Order
from holdfast.domain.placing import EVICTIONS_MAX
from holdfast.domain.pool import Pool
from holdfast.domain.reference import reference_of
from holdfast.domain.seat import Seat
from holdfast.domain.seating import Seating, SeatMap, make_plan
from holdfast.domain.transitions import lapse_moves, pool_moves
from holdfast.domain.values import Holder
from holdfast.ports.holds import DueHold, HoldFilter, HoldOrder, HoldStatistics, SeenHold
from holdfast.ports.paging import Cursor, Page, PageRequest
from holdfast.ports.store import CommitState, CommitToken, Contended, GroupWrites, Wanted

LOCK_TIMEOUT_SECONDS = 0.25


@dataclass(slots=True)
class MemoryStore:
    """Implements ports.store.Store, and ports.holds.HoldReader beside it."""

    clock: Callable[[], datetime]
    sessions: dict[SessionKey, SessionCatalogue] = field(default_factory=dict)
    pools: dict[PoolId, Pool] = field(default_factory=dict)
    lapse: dict[PoolId, dict[datetime, int]] = field(default_factory=dict)
    seats: dict[SeatId, Seat] = field(default_factory=dict)
    stored_holds: dict[HoldKey, Hold] = field(default_factory=dict)
    answers: dict[tuple[OrganizationId, UUID], RecordedAnswer] = field(default_factory=dict)
    receipts: set[tuple[OrganizationId, Receipt]] = field(default_factory=set)
    checkouts: dict[tuple[OrganizationId, CheckoutId], Checkout] = field(default_factory=dict)
    orders: dict[tuple[OrganizationId, OrderId], Order] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    audit: list[AuditRecord] = field(default_factory=list)
    reference_count: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    locks: dict[Resource, object] = field(default_factory=dict)

    def put_on_sale(
        self, session: SessionCatalogue, pools: Iterable[Pool], seats: Iterable[Seat] = ()
    ) -> None:
        """Add or replace a session's catalogue; pools and seats keep their state if they exist."""
        with self.changed:
            self.sessions[session.key] = session
            for pool in pools:
                self.pools.setdefault(pool.id, pool)
            for seat in seats:
                self.seats.setdefault(seat.id, seat)

    def connect(self) -> "MemoryConnection":
        return MemoryConnection(self)

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
                if owner == organization_id and _matches(hold, only, now)
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
        return HoldStatistics(
            active=len(live),
            lapsed=sum(hold.is_lapsed(now) for hold in holds),
            tickets=sum(hold.quantity for hold in live),
            seats=sum(len(hold.seats) for hold in live),
            expiring_soon=sum(hold.expires_at <= now + soon for hold in live),
            at=now,
        )

    def due_holds(self, limit: int) -> tuple[DueHold, ...]:
        with self.changed:
            now = self.clock()
            due = [
                hold
                for hold in self.stored_holds.values()
                if hold.is_lapsed(now) or hold.can_warn(now)
            ]
        due.sort(key=lambda hold: (hold.due_at, hold.id))
        return tuple(
            DueHold(
                hold.organization_id, hold.session_id, hold.id, hold.is_lapsed(now), hold.quantity
            )
            for hold in due[:limit]
        )

    def reaping(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def seconds_until_due(self) -> float | None:
        with self.changed:
            now = self.clock()
            due = [hold.due_at for hold in self.stored_holds.values() if hold.occupies_places()]
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
        return tuple(sorted(live, key=lambda hold: (hold.created_at, hold.id)))

    def available(self, pool_id: PoolId) -> int:
        with self.changed:
            now = self.clock()
            lapsed = sum(
                units for second, units in self.lapse.get(pool_id, {}).items() if second <= now
            )
            return self.pools[pool_id].free + lapsed


def _matches(hold: Hold, only: HoldFilter, now: datetime) -> bool:
    if only.session_id is not None and hold.session_id != only.session_id:
        return False
    if only.status is not None and hold.status_at(now) is not only.status:
        return False
    if only.is_lapsed and not hold.is_lapsed(now):
        return False
    if only.user_id is not None and hold.holder.user_id != only.user_id:
        return False
    if only.reference is not None and hold.reference != only.reference:
        return False
    if only.email is not None:
        email = hold.holder.email
        return email is not None and email.normalized == only.email.normalized
    return True


@dataclass(slots=True)
class MemoryConnection:
    store: MemoryStore

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        del is_patient  # nothing here takes long
        store = self.store
        with store.changed:
            now = store.clock()
            sessions = {key: store.sessions[key] for key in needs.sessions if key in store.sessions}
            seat_needs = seats_to_survey(needs, sessions)
            return Survey(
                sessions=sessions,
                holds={
                    key: store.stored_holds[key] for key in needs.holds if key in store.stored_holds
                },
                lapsed={
                    pool_id: self._lapsed_of(session_key, pool_id, now)
                    for session_key, pool_id in needs.lapsed
                },
                seatings=self._seatings(seat_needs, now),
                blocks_of={
                    seat_id: store.seats[seat_id].place.block_id
                    for _, seat_id in seat_needs.blocks_of
                    if seat_id in store.seats
                },
            )

    def _seatings(self, needs: SeatNeeds, now: datetime) -> dict[SessionKey, Seating]:
        found: dict[SessionKey, Seating] = {}
        for key in needs.seatings:
            seats = [
                seat
                for seat in self.store.seats.values()
                if (seat.organization_id, seat.session_id) == key
            ]
            ranks = {id_: block.rank for id_, block in self.store.sessions[key].blocks.items()}
            seat_map = SeatMap(make_plan((seat.place for seat in seats), ranks))
            for seat in seats:
                seat_map.saw(seat.id, seat.status, seat.held_until)
            found[key] = seat_map.seating(now)
        return found

    def _lapsed_of(
        self, session_key: SessionKey, pool_id: PoolId, now: datetime
    ) -> tuple[Hold, ...]:
        lapsed = [
            hold
            for hold in self.store.stored_holds.values()
            if (hold.organization_id, hold.session_id) == session_key
            and hold.is_lapsed(now)
            and any(pool_id in line.pool_ids for line in hold.lines)
        ]
        lapsed.sort(key=lambda hold: (hold.expires_at, hold.id))
        return tuple(lapsed[:EVICTIONS_MAX])

    @contextmanager
    def group(self) -> Iterator["MemoryGroup"]:
        group = MemoryGroup(self.store)
        try:
            yield group
        finally:
            group.unlock()

    def resolve(self, token: CommitToken) -> CommitState:
        """Nothing is ever lost between here and memory."""
        return CommitState.UNKNOWN

    def close(self) -> None:
        """Nothing to close."""


@dataclass(slots=True)
class MemoryGroup:
    store: MemoryStore
    locked: set[Resource] = field(default_factory=set)

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        if wait_for is not None and wait_for.kind.is_row:
            self._await(wait_for)
        skipped = {
            resource
            for resource in sorted(wanted.resources)
            if resource.kind is not ResourceKind.SESSION and not self._lock(resource)
        }
        store = self.store
        ledger = Ledger(now=store.clock(), skipped=frozenset(skipped))
        for resource in wanted.resources - skipped:
            self._read(resource, ledger)
        for session_key, holder in wanted.holdings:
            ledger.holdings[session_key, holder.key] = tuple(
                hold
                for hold in store.stored_holds.values()
                if (hold.organization_id, hold.session_id) == session_key
                and hold.holder.is_person(holder)
                and hold.is_active(ledger.now)
            )
        ledger.receipts |= store.receipts.intersection(wanted.receipts)
        self._read_payments(wanted, ledger)
        for hold_key in wanted.new_holds:
            ledger.references[hold_key] = self._next_reference()
        return ledger

    def _read_payments(self, wanted: Wanted, ledger: Ledger) -> None:
        for payment in wanted.payments:
            for order in tuple(self.store.orders.values()):
                if order.used_payment == payment:
                    ledger.paid[payment] = order.id

    def _read(self, resource: Resource, ledger: Ledger) -> None:
        kind, organization_id, name = resource
        store = self.store
        match kind:
            case ResourceKind.SESSION:
                session_key = (organization_id, SessionId(name))
                if session_key in store.sessions:
                    ledger.sessions[session_key] = store.sessions[session_key]
            case ResourceKind.POOL:
                ledger.pools[PoolId(name)] = store.pools[PoolId(name)]
                ledger.lapse[PoolId(name)] = self._lapse_until(PoolId(name), ledger.now)
            case ResourceKind.SEAT:
                seat = store.seats.get(SeatId(name))
                if seat is not None and seat.organization_id == organization_id:
                    ledger.seats[seat.id] = seat
            case ResourceKind.HOLD:
                hold_key = (organization_id, HoldId(name))
                if hold_key in store.stored_holds:
                    ledger.holds[hold_key] = store.stored_holds[hold_key]
            case ResourceKind.IDEMPOTENCY_KEY:
                recorded = store.answers.get((organization_id, name))
                if recorded is not None:
                    ledger.answers[organization_id, name] = recorded
            case ResourceKind.HOLD_ID | ResourceKind.HOLDER | ResourceKind.PAYMENT:
                pass

    def _lapse_until(self, pool_id: PoolId, now: datetime) -> dict[datetime, int]:
        until = now + timedelta(seconds=1)
        buckets = self.store.lapse.get(pool_id, {})
        return {second: units for second, units in buckets.items() if second <= until}

    def _await(self, resource: Resource) -> None:
        with self.store.changed:
            is_free = self.store.changed.wait_for(
                lambda: resource not in self.store.locks, LOCK_TIMEOUT_SECONDS
            )
            if not is_free:
                raise Contended("lock timeout")
            self._lock(resource)

    def _lock(self, resource: Resource) -> bool:
        with self.store.changed:
            if resource in self.store.locks:
                return self.store.locks[resource] is self
            self.store.locks[resource] = self
            self.locked.add(resource)
            return True

    def unlock(self) -> None:
        with self.store.changed:
            for resource in self.locked:
                del self.store.locks[resource]
            self.locked.clear()
            self.store.changed.notify_all()

    def _next_reference(self) -> str:
        with self.store.changed:
            self.store.reference_count += 1
            return reference_of(self.store.reference_count)

    def write_and_commit(self, writes: GroupWrites) -> None:
        store = self.store
        with store.changed:
            for transition in writes.transitions:
                store.stored_holds[transition.after.key] = transition.after
            for pool_id in pool_moves(writes.transitions):
                store.pools[pool_id] = writes.ledger.pools[pool_id]
            for seat in writes.changed_seats():
                store.seats[seat.id] = seat
            store.facts += writes.facts()
            store.audit += writes.audit()
            for (pool_id, second), units in lapse_moves(writes.transitions).items():
                buckets = store.lapse.setdefault(pool_id, {})
                buckets[second] = buckets.get(second, 0) + units
                if not buckets[second]:
                    del buckets[second]
            for checkout in writes.checkouts:
                store.checkouts.setdefault((checkout.organization_id, checkout.id), checkout)
            for order in writes.orders:
                store.orders[order.organization_id, order.id] = order
            for key, recorded in writes.answers:
                if key.receipt is not None:
                    store.receipts.add((key.organization_id, key.receipt))
                else:
                    store.answers[key.organization_id, key.digest] = recorded
