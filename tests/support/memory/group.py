"""A group's transaction in memory, with one lock per resource and an injected clock."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from holdfast.domain.group.footprint import (
    Holding,
    Needs,
    Resource,
    ResourceKind,
    Survey,
    orders_to_survey,
    seats_to_survey,
    waitlists_to_survey,
)
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.eviction import EVICTIONS_MAX
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.holdings import NOTHING_HELD, Holdings
from holdfast.domain.holds.new_hold import reference_of
from holdfast.domain.ids import HoldId, PoolId, SeatId, SessionId, SessionKey
from holdfast.domain.seats.seat_plan import Seating, SeatMap, SeenSeat, make_plan
from holdfast.domain.waitlist.queues import LOOK_AHEAD, Waitlist
from holdfast.ports.store import CommitState, CommitToken, Contended, GroupWrites, Wanted
from tests.support.memory.books import MemoryBooks

LOCK_TIMEOUT_SECONDS = 0.25


def seatings_of(
    store: MemoryBooks, keys: Iterable[SessionKey], now: datetime
) -> dict[SessionKey, Seating]:
    found: dict[SessionKey, Seating] = {}
    for key in keys:
        seats = [
            seat for seat in store.seats.values() if (seat.organization_id, seat.session_id) == key
        ]
        ranks = {id_: block.rank for id_, block in store.sessions[key].blocks.items()}
        seat_map = SeatMap(make_plan((seat.place for seat in seats), ranks))
        for seat in seats:
            seat_map.saw(SeenSeat(seat.id, seat.status, seat.held_until))
        found[key] = seat_map.seating(now)
    return found


@dataclass(slots=True)
class MemoryConnection:
    store: MemoryBooks

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        store = self.store
        with store.changed:
            now = store.clock()
            holds = {
                key: store.stored_holds[key] for key in needs.holds if key in store.stored_holds
            }
            carts = {
                cart: hold
                for cart in needs.carts
                if (hold := store.newest_of_cart(cart)) is not None
            }
            sizes = {
                key: len(store.orders[key].tickets) for key in needs.orders if key in store.orders
            }
            chosen = orders_to_survey(sizes, is_patient=is_patient)
            orders = {key: store.orders[key] for key in chosen}
            for organization_id, order_id in orders:
                for hold_id in store.orders[organization_id, order_id].hold_ids:
                    holds[organization_id, hold_id] = store.stored_holds[organization_id, hold_id]
            keys = needs.sessions | needs.waitlists
            keys |= {hold.session_key for hold in (*holds.values(), *carts.values())}
            seen = Survey(
                sessions={key: store.sessions[key] for key in keys if key in store.sessions},
                holds=holds,
                carts=carts,
                orders=orders,
                unread_orders={key: size for key, size in sizes.items() if key not in chosen},
                lapsed={
                    pool_id: self._lapsed_of(session_key, pool_id, now)
                    for session_key, pool_id in needs.lapsed
                },
                busy_waitlists=frozenset(key for key in keys if store.queues.get(key)),
            )
            waitlists = {
                key: store.waitlist(key, LOOK_AHEAD) for key in waitlists_to_survey(needs, seen)
            }
            return self._with_seats(needs, replace(seen, waitlists=waitlists), now)

    def _with_seats(self, needs: Needs, seen: Survey, now: datetime) -> Survey:
        seats = seats_to_survey(needs, seen)
        blocks_of = {
            seat_id: self.store.seats[seat_id].place.block_id
            for _, seat_id in seats.blocks_of
            if seat_id in self.store.seats
        }
        seatings = seatings_of(self.store, seats.seatings, now)
        return replace(seen, seatings=seatings, blocks_of=blocks_of)

    def _lapsed_of(
        self, session_key: SessionKey, pool_id: PoolId, now: datetime
    ) -> tuple[Hold, ...]:
        lapsed = [
            hold
            for hold in self.store.stored_holds.values()
            if (hold.organization_id, hold.session_id) == session_key
            and hold.occupies_places()
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
        """Never needed: a commit in memory has no unknown outcome."""
        return CommitState.UNKNOWN

    def close(self) -> None:
        """Nothing to close."""


@dataclass(slots=True)
class MemoryGroup:
    store: MemoryBooks
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
            self._read(resource, ledger, wanted)
        for holding in wanted.holdings:
            ledger.holdings[holding.key] = self._holdings(holding)
        ledger.forget_unlocked_holdings()
        ledger.seatings = seatings_of(store, wanted.seatings & ledger.waitlists.keys(), ledger.now)
        ledger.receipts |= store.receipts.intersection(wanted.receipts)
        self._read_payments(wanted, ledger)
        ledger.orders = {key: store.orders[key] for key in wanted.orders}
        for cart in wanted.carts:
            newest = store.newest_of_cart(cart)
            ledger.carts[cart] = newest.key if newest else None
        for hold_key in wanted.new_holds:
            ledger.references[hold_key] = self._next_reference()
        return ledger

    def _holdings(self, wanted: Holding) -> Holdings:
        found = NOTHING_HELD
        for hold in self.store.stored_holds.values():
            event_id = self.store.sessions[hold.session_key].event_id
            is_there = hold.session_key == wanted.session_key or (
                hold.organization_id == wanted.session_key[0] and event_id == wanted.event_id
            )
            if is_there and hold.holder.is_person(wanted.holder):
                found = found.after(hold).without_sold(self._void_tickets(hold))
        return found

    def _void_tickets(self, hold: Hold) -> int:
        if hold.order_id is None:
            return 0
        order = self.store.orders[hold.organization_id, hold.order_id]
        return sum(ticket.is_void and ticket.hold_id == hold.id for ticket in order.tickets)

    def _read_payments(self, wanted: Wanted, ledger: Ledger) -> None:
        for payment in wanted.payments:
            for order in tuple(self.store.orders.values()):
                if order.used_payment == payment:
                    ledger.paid[payment] = order.id

    def _read(self, resource: Resource, ledger: Ledger, wanted: Wanted) -> None:
        kind, organization_id, name = resource
        store = self.store
        match kind:
            case ResourceKind.SESSION:
                session_key = (organization_id, SessionId(name))
                if session_key in store.sessions:
                    ledger.sessions[session_key] = store.sessions[session_key]
            case ResourceKind.WAITLIST:
                session_key = (organization_id, SessionId(name))
                waitlist = store.waitlist(session_key, LOOK_AHEAD, wanted.parties)
                ledger.waitlists[session_key] = waitlist
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
            case _:
                pass  # only a lock, with nothing to read

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
            for pool_id in writes.ledger.moved_pools:
                store.pools[pool_id] = writes.ledger.pools[pool_id]
            for seat in writes.ledger.moved_seats.values():
                store.seats[seat.id] = seat
            store.facts += writes.facts()
            store.audit += writes.audit()
            for (pool_id, second), units in writes.ledger.moved_lapse.items():
                buckets = store.lapse.setdefault(pool_id, {})
                buckets[second] = buckets.get(second, 0) + units
                if not buckets[second]:
                    del buckets[second]
            for checkout in writes.checkouts:
                store.checkouts.setdefault((checkout.organization_id, checkout.id), checkout)
            for order in writes.orders:
                store.orders[order.organization_id, order.id] = order
            for change in writes.order_changes:
                store.orders[change.after.key] = change.after
            for key, recorded in writes.answers:
                if key.receipt is not None:
                    store.receipts.add((key.organization_id, key.receipt))
                else:
                    store.answers[key.organization_id, key.digest] = recorded
            for waitlist in writes.ledger.waitlists.values():
                self._write_queues(waitlist)

    def _write_queues(self, waitlist: Waitlist) -> None:
        key = waitlist.session_key
        queues = self.store.queues.setdefault(key, {})
        for queue_id in waitlist.changed:
            if queue_id in waitlist.queues:
                queues[queue_id] = replace(waitlist.queues[queue_id], first=())
            else:
                queues.pop(queue_id, None)
        if waitlist.is_settled:
            self.store.unsettled.discard(key)
        else:
            self.store.unsettled.add(key)
