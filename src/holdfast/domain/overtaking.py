"""Who may take places while others wait: the one rule that keeps the lines fair.

Whoever takes places leaves to the first of every earlier line what that one needs of the same, or
passes it, if that one may still be passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Ask
from holdfast.domain.hold import Hold
from holdfast.domain.ids import BlockId, PoolId, SeatId
from holdfast.domain.ledger import Ledger
from holdfast.domain.proposing import propose
from holdfast.domain.seat import SeatStatus
from holdfast.domain.seating import FreeSeats, Seating
from holdfast.domain.transitions import units_by_pool
from holdfast.domain.values import Quantity
from holdfast.domain.waiting import WaitingLine, Waitlist, blocks_for, line_id_of, place_of


@dataclass(frozen=True, slots=True)
class Taking:
    """What somebody is about to take: what would be left of each pool, which seats would be gone.
    `place` is theirs in the order of those who wait; None for who has only just come."""

    wants: frozenset[UUID]
    left: Mapping[PoolId, int]
    seats: frozenset[SeatId] = frozenset()
    place: tuple[datetime, UUID] | None = None


def passes(ledger: Ledger, session: SessionCatalogue, taking: Taking) -> tuple[UUID, ...] | None:
    """The lines whose first is passed by it; None where it has to wait for its turn."""
    waitlist = ledger.waitlists.get(session.key)
    if not waitlist:
        return ()
    left, passed = dict(taking.left), []
    own_line = line_id_of(taking.wants)
    earlier = _earlier(ledger, session, waitlist, taking)
    if earlier is None:
        return None
    for first, line in earlier:
        claim = units_by_pool(first)
        is_short = any(left[pool] < units for pool, units in claim.items() if pool in left)
        if is_short or line.id == own_line or _loses_seats(ledger, session, first, taking.seats):
            if not may_be_passed(session, line, first):
                return None
            passed.append(line.id)
            continue
        for pool in claim.keys() & left.keys():
            left[pool] -= claim[pool]
    return tuple(passed)


def _earlier(
    ledger: Ledger, session: SessionCatalogue, waitlist: Waitlist, taking: Taking
) -> list[tuple[Hold, WaitingLine]] | None:
    """The first of every line that wants any of the same, where they came earlier, the earliest
    first. None where it may be somebody's turn already, or nobody has looked far enough."""
    found: list[tuple[Hold, WaitingLine]] = []
    for line in waitlist.sharing(taking.wants):
        first = first_of(ledger, session, line)
        if taking.place is None and not waitlist.is_settled:
            return None
        if first is None:
            if taking.place is None and not line.is_all_seen:
                return None
        elif taking.place is None or place_of(first) < taking.place:
            found.append((first, line))
    return sorted(found, key=lambda each: place_of(each[0]))


def first_of(ledger: Ledger, session: SessionCatalogue, line: WaitingLine) -> Hold | None:
    """The first of those in sight who can be served at all: the house may have become smaller."""
    return next((party for party in line.first if can_be_served(ledger, session, party)), None)


def can_be_served(ledger: Ledger, session: SessionCatalogue, party: Hold) -> bool:
    """What is sold is gone until there is more of it, and what is not offered any more nobody
    gets."""
    for line in party.lines:
        if line.ticket_type_id not in session.offers:
            return False
        wish = line.wish
        if wish is not None and not blocks_for(line.ticket_type_id, wish.block_id, session):
            return False
    return all(
        units <= ledger.pools[pool_id].total - ledger.pools[pool_id].sold
        for pool_id, units in units_by_pool(party).items()
        if pool_id in ledger.pools
    )


def may_be_passed(session: SessionCatalogue, line: WaitingLine, first: Hold) -> bool:
    """Once more: all in the line have the same patience, that of the strictest policy among what
    is waited for there; and nobody has been there longer than the first."""
    if not session.lets_pass:
        return False
    assert first.waiting is not None
    allowed = min(
        offer.policy.waiting_passes_max
        for ticket_type_id, offer in session.offers.items()
        if not line.wants.isdisjoint(offer.pool_ids)
        or (
            offer.is_seated and not line.wants.isdisjoint(blocks_for(ticket_type_id, None, session))
        )
    )
    return line.passes - first.waiting.passes_seen < allowed


def _loses_seats(
    ledger: Ledger, session: SessionCatalogue, first: Hold, taken: frozenset[SeatId]
) -> bool:
    """Who cannot be seated as it is keeps all that is free where they want to sit; who can be (and
    waits for something else) only has to be left enough."""
    asks = seat_asks(first)
    if not asks or not taken:
        return False
    scope = wished_blocks(first, session)
    if not any(ledger.seats[seat_id].place.block_id in scope for seat_id in taken):
        return False
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return True
    free = free_for_waiters(ledger, seating)
    limits = capacity_limits(ledger, session)
    if not can_seat(session, Seating(seating.plan, free), asks, limits):
        return True
    for seat_id in taken:
        free.take(seating.plan.spots[seat_id])
    return not can_seat(session, Seating(seating.plan, free), asks, limits)


def can_seat(
    session: SessionCatalogue,
    seating: Seating,
    asks: Sequence[Ask],
    limits: Mapping[BlockId, int],
) -> bool:
    blocks = frozenset[BlockId]().union(
        *(blocks_for(ask.ticket_type_id, ask.block_id, session) for ask in asks)
    )
    # Nearly always, where people wait; and then nothing needs to be looked for.
    if seating.has_fewer(sum(ask.quantity for ask in asks), blocks):
        return False
    proposal, _ = propose(seating, seating.free, asks, session, limits=limits)
    return not proposal.is_short


def free_for_waiters(ledger: Ledger, seating: Seating) -> FreeSeats:
    """What the look ahead saw, corrected by what is locked. A seat whose hold has only lapsed is
    theirs once somebody has written that down."""
    free = seating.free.copy()
    for seat in ledger.seats.values():
        spot = seating.plan.spots.get(seat.id)
        if spot is not None and seat.status is SeatStatus.AVAILABLE:
            free.give_back(spot)
        elif spot is not None:
            free.take(spot)
    return free


def capacity_limits(ledger: Ledger, session: SessionCatalogue) -> dict[BlockId, int]:
    """What blocks with a capacity have left. Of one whose pool is not locked, nothing."""
    return {
        block_id: ledger.pools[pool_id].free if pool_id in ledger.pools else 0
        for block_id, block in session.blocks.items()
        if (pool_id := block.capacity_pool_id) is not None
    }


def seat_asks(hold: Hold) -> list[Ask]:
    """What a party that waits for seats asks for."""
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


def wished_blocks(hold: Hold, session: SessionCatalogue) -> frozenset[BlockId]:
    return frozenset[BlockId]().union(
        *(
            blocks_for(line.ticket_type_id, line.wish.block_id, session)
            for line in hold.lines
            if line.wish is not None
        )
    )


def closed_blocks(
    session: SessionCatalogue, waitlist: Waitlist, seating: Seating, free: FreeSeats
) -> frozenset[BlockId]:
    """Where those who have just come need not look: the first of a line waits for seats there, and
    there are too few. A hint: the capacities of blocks are not known here."""
    closed: set[BlockId] = set()
    for line in waitlist.lines.values():
        first = line.first[0] if line.first else None
        if first is None or may_be_passed(session, line, first):
            continue
        asks = seat_asks(first)
        if asks and not can_seat(session, Seating(seating.plan, free), asks, {}):
            closed |= wished_blocks(first, session)
    return frozenset(closed)


def taking_of(
    ledger: Ledger,
    wants: Iterable[UUID],
    demand: Mapping[PoolId, int],
    seats: Iterable[SeatId] = (),
) -> Taking:
    """By somebody who has only just come: lapsed places are free."""
    left = {pool_id: ledger.available(pool_id) - units for pool_id, units in demand.items()}
    return Taking(frozenset(wants), left, frozenset(seats))
