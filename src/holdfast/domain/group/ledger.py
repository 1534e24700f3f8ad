"""The locked rows of one group, as values. Decisions read it; only whole decisions change it."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from holdfast.domain.access.reach import Reach
from holdfast.domain.catalog.model import Pool, SessionCatalog
from holdfast.domain.group.footprint import Claim, HoldingKey, Proposal, Resource
from holdfast.domain.group.origin import Receipt
from holdfast.domain.group.transitions import (
    SeatTransition,
    Transition,
    moves_of,
    seat_after,
)
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.holdings import Holdings
from holdfast.domain.ids import (
    CartKey,
    HoldKey,
    OrderId,
    OrderKey,
    OrganizationId,
    PaymentKey,
    PoolId,
    SeatId,
    SessionKey,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.cancellation import Cancellation, SoldPlace
from holdfast.domain.orders.order import Order
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import Seat
from holdfast.domain.seats.seat_plan import Seating
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import Waitlist


@immutable
class RecordedAnswer:
    """The first answer to an idempotency key, as the entry point rendered it."""

    fingerprint: bytes
    body: bytes


@dataclass(slots=True)
class Ledger:
    """`now` was read from the database's clock after the locks were taken."""

    now: datetime
    sessions: dict[SessionKey, SessionCatalog] = field(default_factory=dict)
    pools: dict[PoolId, Pool] = field(default_factory=dict)
    # Units by second of lapse: complete up to `now` (perhaps summed in one second), partial after.
    lapse: dict[PoolId, dict[datetime, int]] = field(default_factory=dict)
    seats: dict[SeatId, Seat] = field(default_factory=dict)
    holds: dict[HoldKey, Hold] = field(default_factory=dict)
    # What holders have where it is limited, including this group's changes.
    holdings: dict[HoldingKey, Holdings] = field(default_factory=dict)
    answers: dict[tuple[OrganizationId, UUID], RecordedAnswer] = field(default_factory=dict)
    # Messages already processed.
    receipts: set[tuple[OrganizationId, Receipt | None]] = field(default_factory=set)
    # The orders already made by single-use payments.
    paid: dict[PaymentKey, OrderId] = field(default_factory=dict)
    # Orders to be changed. The locks of their holds guard them.
    orders: dict[OrderKey, Order] = field(default_factory=dict)
    # The newest hold of each cart.
    carts: dict[CartKey, HoldKey | None] = field(default_factory=dict)
    waitlists: dict[SessionKey, Waitlist] = field(default_factory=dict)
    references: dict[HoldKey, str] = field(default_factory=dict)
    # Locked by someone else: commands that need one are not decided in this group.
    skipped: frozenset[Resource] = frozenset()
    # Hints from the unlocked survey, to be checked against the locked rows.
    surveyed_pools: frozenset[PoolId] = frozenset()
    seatings: Mapping[SessionKey, Seating] = field(default_factory=dict)
    proposal: Proposal | None = None  # for the command being decided
    # Sessions where this group freed seats or left claimed ones untaken: later commands may find
    # more free than the survey did.
    freed: set[SessionKey] = field(default_factory=set)
    # Seats that this group has sold, or whose sale it has cancelled: the survey does not know these
    # either.
    sold_seats: set[SeatId] = field(default_factory=set)
    returned_seats: set[SeatId] = field(default_factory=set)
    # Refusals of seats that others have, by what rivals ask for; forgotten with the next change.
    contested: dict[tuple[int | bool, ...], Refusal] = field(default_factory=dict)
    # Whether enough seats are unsold for what parties ask; forgotten likewise.
    seatable: dict[Hashable, bool] = field(default_factory=dict)
    # What this group has changed so far: seats, pools, and units by second of lapse.
    moved_seats: dict[SeatId, Seat] = field(default_factory=dict)
    moved_pools: set[PoolId] = field(default_factory=set)
    moved_lapse: dict[tuple[PoolId, datetime], int] = field(default_factory=dict)

    def trial(self, session_key: SessionKey) -> "Ledger":
        """A copy to try changes on that concern one session and its waitlist."""
        waitlist = self.waitlists[session_key]
        return replace(
            self,
            pools=dict(self.pools),
            lapse={pool_id: dict(buckets) for pool_id, buckets in self.lapse.items()},
            seats=dict(self.seats),
            holds=dict(self.holds),
            holdings=dict(self.holdings),
            carts=dict(self.carts),
            waitlists={session_key: waitlist.copy(is_settled=waitlist.is_settled)},
            freed=set(self.freed),
            sold_seats=set(self.sold_seats),
            returned_seats=set(self.returned_seats),
            contested={},
            seatable={},
            moved_seats={},
            moved_pools=set(),
            moved_lapse={},
        )

    def lapsed_units(self, pool_id: PoolId) -> int:
        """Units of the pool that lapsed holds still occupy."""
        buckets = self.lapse.get(pool_id)
        if not buckets:
            return 0
        return sum(units for second, units in buckets.items() if second <= self.now)

    def available(self, pool_id: PoolId) -> int:
        """Units a buyer can hold, including those of lapsed holds."""
        return self.pools[pool_id].free + self.lapsed_units(pool_id)

    def knows_waitlist_of(self, session: SessionCatalog) -> bool:
        """Whether the session's waitlist is locked, if it has one."""
        return not session.has_waitlist or session.key in self.waitlists

    def hides(self, hold: Hold, reach: Reach | None) -> bool:
        """Whether this hold does not exist for the caller. A secret key, without a reach, sees
        every hold."""
        if reach is None:
            return False
        session = self.sessions.get(hold.session_key)
        return session is None or not reach.covers(hold, session.event_id)

    def knows_places_of(self, hold: Hold) -> bool:
        """Whether every pool and seat the hold would give back is locked, and the waitlist too."""
        if not self.knows_waitlist_of(self.sessions[hold.session_key]):
            return False
        if hold.waiting is not None:
            return True  # it has no places yet
        for line in hold.lines:
            for pool_id in line.pool_ids:
                if pool_id not in self.pools:
                    return False
        return all(seat.id in self.seats for seat in hold.seats) if hold.seats else True

    def knows_place(self, place: SoldPlace) -> bool:
        """Whether the pools and the seat that a ticket gives back are locked, and the waitlist."""
        session = self.sessions.get(place.hold.session_key)
        if session is None or not self.knows_waitlist_of(session):
            return False
        seat = place.line.seat
        has_pools = all(pool_id in self.pools for pool_id in place.line.pool_ids)
        return has_pools and (seat is None or seat.id in self.seats)

    def lapsed_holds(self) -> Iterator[Hold]:
        """The lapsed holds, oldest first."""
        lapsed = [
            hold
            for hold in self.holds.values()
            if hold.occupies_places() and hold.is_lapsed(self.now)
        ]
        return iter(sorted(lapsed, key=lambda hold: (hold.expires_at, hold.id)))

    def apply(
        self,
        transitions: Iterable[Transition],
        seat_transitions: Collection[SeatTransition] = (),
        order: Order | None = None,
        passed: Collection[UUID] = (),
    ) -> None:
        """Apply all changes or none: new pools and seats are built, and so validated, before any is
        stored. `passed` are the overtaken waitlist queues."""
        transitions = tuple(transitions)
        if not (transitions or seat_transitions or order or passed):
            return
        self.contested.clear()
        self.seatable.clear()
        held, sold, lapse = moves_of(transitions)
        moved = {
            pool_id: self.pools[pool_id].moved(held.get(pool_id, 0), sold.get(pool_id, 0))
            for pool_id in (held | sold if sold else held)
            if held.get(pool_id) or sold.get(pool_id)
        }
        seats = self._seats_after(transitions)
        seats |= {each.after.id: each.after for each in seat_transitions}
        self.pools.update(moved)
        self.moved_pools.update(moved)
        if seats:
            self._keep(seats)
        for transition in transitions:
            self.holds[transition.after.key] = transition.after
            if self.holdings:
                self.holdings.update(self._holdings_after(transition.after))
            if transition.before is None and transition.after.is_cart:
                cart = transition.after.cart
                assert cart is not None
                self.carts[transition.after.organization_id, cart] = transition.after.key
            if self.waitlists:
                self._update_waitlist(transition)
        if passed:
            for session_key in {each.after.session_key for each in transitions}:
                if session_key in self.waitlists:
                    self.waitlists[session_key].passed(passed)
        self._count_lapse(lapse)
        if order is not None and order.used_payment is not None:
            self.paid.setdefault(order.used_payment, order.id)

    def change_order(self, change: OrderChange) -> None:
        if isinstance(change, Cancellation):
            self._return_places(change)
        self.orders[change.after.key] = change.after

    def _return_places(self, cancellation: Cancellation) -> None:
        """Return the places of void tickets to sale: all of them, or none if one is impossible."""
        self.contested.clear()
        self.seatable.clear()
        moved = {
            pool_id: self.pools[pool_id].moved(0, -units)
            for pool_id, units in cancellation.units_by_pool().items()
        }
        seats = {seat_id: self.seats[seat_id].returned() for seat_id in cancellation.seat_ids}
        self.pools.update(moved)
        self.moved_pools.update(moved)
        self._keep(seats)
        self.returned_seats.update(seats)
        for place in cancellation.places if self.holdings else ():
            event_id = self.sessions[place.hold.session_key].event_id
            key = (place.hold.organization_id.int, event_id.int, place.hold.holder.key.int)
            if key in self.holdings:
                self.holdings[key] = self.holdings[key].without_sold(1)

    def _seats_after(self, transitions: Iterable[Transition]) -> dict[SeatId, Seat]:
        seats: dict[SeatId, Seat] = {}
        for transition in transitions:
            for seat, move in transition.seat_moves:
                before = seats.get(seat.id) or self.seats[seat.id]
                seats[seat.id] = seat_after(before, move, transition.after)
        return seats

    def _count_lapse(self, moves: Mapping[tuple[PoolId, datetime], int]) -> None:
        for bucket, units in moves.items():
            if units:
                self.moved_lapse[bucket] = self.moved_lapse.get(bucket, 0) + units
                pool_id, second = bucket
                buckets = self.lapse.setdefault(pool_id, {})
                buckets[second] = buckets.get(second, 0) + units

    def close_claim(self, claim: Claim) -> None:
        """Return claimed seats that the command did not take to the commands after it."""
        for seat_id in claim.seat_ids:
            seat = self.seats.get(seat_id)
            if seat is None or seat.is_free(self.now):
                self.freed.add(claim.session_key)

    def forget_unlocked_holdings(self) -> None:
        """Forget the holdings of holders locked by another group: they may be changing."""
        for _, organization_id, person in self.skipped:
            of_person = (organization_id.int, person.int)
            for key in [each for each in self.holdings if each[::2] == of_person]:
                del self.holdings[key]

    def holdings_in_event(self, session: SessionCatalog, holder: Holder) -> Holdings | None:
        key = (session.organization_id.int, session.event_id.int, holder.key.int)
        return self.holdings.get(key)

    def holdings_for_session(self, session: SessionCatalog, holder: Holder) -> Holdings | None:
        """The holder's holdings in this session if they were read, otherwise in the whole event."""
        key = (session.organization_id.int, session.session_id.int, holder.key.int)
        return self.holdings.get(key) or self.holdings_in_event(session, holder)

    def holdings_after(self, hold: Hold) -> dict[HoldingKey, Holdings]:
        """The holdings with this change of a hold."""
        return self.holdings | self._holdings_after(hold)

    def _holdings_after(self, hold: Hold) -> dict[HoldingKey, Holdings]:
        organization, person = hold.organization_id.int, hold.holder.key.int
        event_id = self.sessions[hold.session_key].event_id
        keys = ((organization, hold.session_id.int, person), (organization, event_id.int, person))
        known = self.holdings
        return {key: known[key].after(hold) for key in keys if key in known}

    def _update_waitlist(self, transition: Transition) -> None:
        before, after = transition.before, transition.after
        waitlist = self.waitlists.get(after.session_key)
        if waitlist is None:
            return
        was = None if before is None else before.waiting
        if was is not None and was == after.waiting:
            waitlist.kept(after)
            return
        if before is not None and was is not None:
            waitlist.left(before, is_served=after.occupies_places())
        if after.waiting is not None:
            waitlist.joined(after, self.sessions, self.now)

    def _keep(self, seats: Mapping[SeatId, Seat]) -> None:
        for seat in seats.values():
            if seat.is_sold():
                self.sold_seats.add(seat.id)
            if seat.is_free(self.now) and not self.seats[seat.id].is_free(self.now):
                self.freed.add((seat.organization_id, seat.session_id))
            self.seats[seat.id] = self.moved_seats[seat.id] = seat
