"""Seats for the waitlist: whether parties can be seated now or ever, and what takers leave them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.seats.best_available import Search, count_available
from holdfast.domain.seats.proposals import claim, propose
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.seats.seat_plan import FreeSeats, Seating
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


def seats_for(
    session: SessionCatalog,
    seating: Seating,
    asks: Sequence[Ask],
    limits: Mapping[BlockId, int],
) -> tuple[SeatId, ...] | None:
    blocks = frozenset[BlockId]().union(
        *(blocks_for(ask.ticket_type_id, ask.block_id, session) for ask in asks)
    )
    # Seats are nearly always short where people wait: skip the search then.
    if seating.has_fewer(sum(ask.quantity for ask in asks), blocks):
        return None
    proposal, _ = propose(seating, seating.free, asks, session, limits=limits)
    return None if proposal.is_short else tuple(id_ for seats in proposal.seats for id_ in seats)


def can_seat(
    session: SessionCatalog,
    seating: Seating,
    asks: Sequence[Ask],
    limits: Mapping[BlockId, int],
) -> bool:
    return seats_for(session, seating, asks, limits) is not None


def has_seats_for(ledger: Ledger, session: SessionCatalog, seating: Seating, party: Hold) -> bool:
    """Whether enough seats for the party are unsold. Nearly always true, so it searches only for
    seats that must be together or accessible."""
    asks = seat_asks(party)
    if not asks:
        return True
    unsold = seating.unsold
    sold = [spot for id_ in ledger.sold_seats if (spot := seating.plan.spots.get(id_)) is not None]
    if sold:
        unsold = unsold.copy()
        for spot in sold:
            unsold.take(spot)
    limits = {
        block_id: ledger.pools[pool_id].total - ledger.pools[pool_id].sold
        for block_id, block in session.blocks.items()
        if (pool_id := block.capacity_pool_id) in ledger.pools and pool_id is not None
    }
    if any(ask.is_together or ask.accessible for ask in asks):
        return can_seat(session, replace(seating, free=unsold), asks, limits)
    return all(
        count_available(seating.plan, unsold, Search(ask.quantity, blocks, limits=limits))
        >= ask.quantity
        for ask in asks
        for blocks in (blocks_for(ask.ticket_type_id, ask.block_id, session),)
    )


def free_for_waitlist(ledger: Ledger, seating: Seating) -> FreeSeats:
    """The free seats from the survey, corrected by the locked rows. Seats of lapsed holds count
    only once these are expired."""
    free = seating.free.copy()
    for seat in ledger.seats.values():
        spot = seating.plan.spots.get(seat.id)
        if spot is not None and seat.status is SeatStatus.AVAILABLE:
            free.give_back(spot)
        elif spot is not None:
            free.take(spot)
    return free


def capacity_limits(ledger: Ledger, session: SessionCatalog) -> dict[BlockId, int]:
    """The remaining capacity of blocks that have one; 0 if the pool is not locked."""
    return {
        block_id: ledger.pools[pool_id].free if pool_id in ledger.pools else 0
        for block_id, block in session.blocks.items()
        if (pool_id := block.capacity_pool_id) is not None
    }


@dataclass(frozen=True, slots=True)
class FreePlaces:
    """Free seats, and the remaining capacity of blocks that have one."""

    seating: Seating
    limits: Mapping[BlockId, int]

    def claimed(self, session: SessionCatalog, asks: Sequence[Ask]) -> "FreePlaces | None":
        """The places left after these asks are seated; None if they cannot be."""
        seats = seats_for(session, self.seating, asks, self.limits)
        return None if seats is None else self.without(seats)

    def without(self, seats: Iterable[SeatId]) -> "FreePlaces":
        free, limits = self.seating.free.copy(), dict(self.limits)
        spots = self.seating.plan.spots
        for seat_id in seats:
            if seat_id in spots:  # a new block may be missing from the cached plan
                claim(self.seating, free, limits, spots[seat_id])
        return FreePlaces(replace(self.seating, free=free), limits)


@dataclass(slots=True)
class SeatLoss:
    """The free seats as waiting parties would get them one after another, with and without the
    seats that somebody is about to take."""

    ledger: Ledger
    session: SessionCatalog
    taken: frozenset[SeatId]
    _before: FreePlaces | None = None
    _after: FreePlaces | None = None

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
        before = self._before.claimed(self.session, asks)
        if before is None:
            return is_in_scope
        after = self._after.claimed(self.session, asks)
        if after is None:
            return True
        self._before, self._after = before, after
        return False

    def _taken_blocks(self) -> Iterator[BlockId]:
        return (self.ledger.seats[seat_id].place.block_id for seat_id in self.taken)

    def _look(self) -> None:
        seating = self.ledger.seatings.get(self.session.key)
        if seating is None:
            return
        free = free_for_waitlist(self.ledger, seating)
        limits = capacity_limits(self.ledger, self.session)
        self._before = FreePlaces(replace(seating, free=free), limits)
        self._after = self._before.without(self.taken)
