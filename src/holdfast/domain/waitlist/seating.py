"""Seats for the waitlist: whether parties can be seated now or ever, and what takers leave them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.seats.best_available import Search, count_available
from holdfast.domain.seats.proposals import SeatScope, propose
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.seats.seat_plan import Seating
from holdfast.domain.values import Quantity
from holdfast.domain.waitlist.queues import blocks_for


def seat_asks(hold: Hold) -> list[Ask]:
    """The seats a waiting party asks for."""
    return [
        Ask(
            line.ticket_type_id,
            Quantity(line.quantity),
            line.wish.unit_price_minor,
            line.wish.block_id,
            line.wish.accessible,
            line.wish.is_together,
        )
        for line in hold.lines
        if line.wish is not None
    ]


def wished_blocks(hold: Hold, session: SessionCatalog) -> frozenset[BlockId]:
    return frozenset[BlockId]().union(
        *(
            blocks_for(line.ticket_type_id, line.wish.block_id, session)
            for line in hold.lines
            if line.wish is not None
        )
    )


def seats_for(scope: SeatScope, asks: Sequence[Ask]) -> tuple[SeatId, ...] | None:
    blocks = frozenset[BlockId]().union(
        *(blocks_for(ask.ticket_type_id, ask.block_id, scope.session) for ask in asks)
    )
    # Seats are nearly always short where people wait: skip the search then.
    if scope.seating.plan.has_fewer(scope.free, sum(ask.quantity for ask in asks), blocks):
        return None
    proposal, _ = propose(scope, asks)
    return None if proposal.is_short else tuple(id_ for seats in proposal.seats for id_ in seats)


def can_seat(scope: SeatScope, asks: Sequence[Ask]) -> bool:
    return seats_for(scope, asks) is not None


def has_seats_for(ledger: Ledger, session: SessionCatalog, seating: Seating, party: Hold) -> bool:
    """Whether enough seats for the party are unsold. Searched once for all parties that ask for the
    same, until something changes."""
    asks = tuple(seat_asks(party))
    if not asks:
        return True
    key = (session.key, asks)
    if key not in ledger.seatable:
        ledger.seatable[key] = _has_unsold(ledger, session, seating, asks)
    return ledger.seatable[key]


def _has_unsold(
    ledger: Ledger, session: SessionCatalog, seating: Seating, asks: Sequence[Ask]
) -> bool:
    """Nearly always true, so it searches only for seats that must be together or accessible."""
    unsold = seating.unsold
    changed = ledger.sold_seats | ledger.returned_seats
    spots = [(id_, spot) for id_ in changed if (spot := seating.plan.spots.get(id_)) is not None]
    if spots:
        unsold = unsold.copy()
        for id_, spot in spots:
            unsold.put(spot, not ledger.seats[id_].is_sold())
    limits = {
        block_id: ledger.pools[pool_id].total - ledger.pools[pool_id].sold
        for block_id, block in session.blocks.items()
        if (pool_id := block.capacity_pool_id) in ledger.pools and pool_id is not None
    }
    if any(ask.is_together or ask.accessible for ask in asks):
        return can_seat(SeatScope(seating, unsold, session, limits), asks)
    return all(
        count_available(seating.plan, unsold, Search(ask.quantity, blocks, limits=limits))
        >= ask.quantity
        for ask in asks
        for blocks in (blocks_for(ask.ticket_type_id, ask.block_id, session),)
    )


def waitlist_scope(ledger: Ledger, session: SessionCatalog, seating: Seating) -> SeatScope:
    """The free seats from the survey, corrected by the locked rows: seats of lapsed holds count
    only once these are expired. Blocks with a capacity have what is left of it, or nothing if its
    pool is not locked."""
    free = seating.free.copy()
    for seat in ledger.seats.values():
        spot = seating.plan.spots.get(seat.id)
        if spot is not None:
            free.put(spot, seat.status is SeatStatus.AVAILABLE)
    limits = {
        block_id: ledger.pools[pool_id].free if pool_id in ledger.pools else 0
        for block_id, block in session.blocks.items()
        if (pool_id := block.capacity_pool_id) is not None
    }
    return SeatScope(seating, free, session, limits)


def _claimed(scope: SeatScope, asks: Sequence[Ask]) -> SeatScope | None:
    """The scope after these asks are seated; None if they cannot be."""
    seats = seats_for(scope, asks)
    return None if seats is None else scope.without(seats)


@dataclass(slots=True)
class SeatLoss:
    """The free seats as waiting parties would get them one after another, with and without the
    seats that somebody is about to take."""

    ledger: Ledger
    session: SessionCatalog
    taken: frozenset[SeatId]
    _before: SeatScope | None = None
    _after: SeatScope | None = None

    def affects(self, first: Hold) -> bool:
        """Whether the taken seats were this party's. A party that cannot be seated now keeps all
        free seats in its blocks; one that can (and waits for something else) needs only enough."""
        asks = seat_asks(first)
        if not asks or not self.taken:
            return False
        scope = wished_blocks(first, self.session)
        is_in_scope = any(block in scope for block in self._taken_blocks())
        if self._before is None:
            self._look()
        if self._before is None or self._after is None:
            return is_in_scope  # the seating was not read
        before = _claimed(self._before, asks)
        if before is None:
            return is_in_scope
        after = _claimed(self._after, asks)
        if after is None:
            return True
        self._before, self._after = before, after
        return False

    def _taken_blocks(self) -> Iterator[BlockId]:
        return (self.ledger.seats[seat_id].place.block_id for seat_id in self.taken)

    def _look(self) -> None:
        seating = self.ledger.seatings.get(self.session.key)
        if seating is not None:
            self._before = waitlist_scope(self.ledger, self.session, seating)
            self._after = self._before.without(self.taken)
