"""Who may take places while others wait: the one rule that keeps the lines fair.

Whoever takes places leaves to the first of every earlier line what that one needs of the same, or
passes it, if that one may still be passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
    for line in _earlier(waitlist, taking):
        if not line.first or (taking.place is None and not waitlist.is_settled):
            return None  # nobody knows yet what the first of them needs, or will be given
        first = line.first[0]
        claim = units_by_pool(first)
        if any(units > ledger.pools[pool].total for pool, units in claim.items() if pool in left):
            continue  # it can never be served
        is_short = any(left[pool] < units for pool, units in claim.items() if pool in left)
        if is_short or line.id == own_line or _loses_seats(ledger, session, first, taking.seats):
            if not may_be_passed(session, line, taking.place):
                return None
            passed.append(line.id)
            continue
        for pool in claim.keys() & left.keys():
            left[pool] -= claim[pool]
    return tuple(passed)


def _earlier(waitlist: Waitlist, taking: Taking) -> list[WaitingLine]:
    """Lines that want any of the same and whose first came earlier, the earliest first."""
    lines = [
        line
        for line in waitlist.sharing(taking.wants)
        if taking.place is None or (line.first and place_of(line.first[0]) < taking.place)
    ]
    return sorted(lines, key=lambda line: place_of(line.first[0]) if line.first else _FIRST)


_FIRST = (datetime.min.replace(tzinfo=UTC), UUID(int=0))


def may_be_passed(
    session: SessionCatalogue, line: WaitingLine, by: tuple[datetime, UUID] | None = None
) -> bool:
    """Whether all who are before that place would bear it once more; without one, all in sight."""
    return all(
        _tolerates(session, line, party)
        for party in line.first
        if by is None or place_of(party) < by
    )


def _tolerates(session: SessionCatalogue, line: WaitingLine, party: Hold) -> bool:
    assert party.waiting is not None
    allowed = min(
        session.offers[each.ticket_type_id].policy.waiting_passes_max
        if each.ticket_type_id in session.offers
        else 0
        for each in party.lines
    )
    return line.passes - party.waiting.passes_seen < allowed


def first_may_be_passed(session: SessionCatalogue, line: WaitingLine) -> bool:
    return _tolerates(session, line, line.first[0])


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
        asks = seat_asks(line.first[0]) if line.first else []
        is_next = bool(asks) and not first_may_be_passed(session, line)
        if is_next and not can_seat(session, Seating(seating.plan, free), asks, {}):
            closed |= wished_blocks(line.first[0], session)
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
