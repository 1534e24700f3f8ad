"""Decides who may take places while others wait.

The taker must leave what the first party of every earlier queue needs of the same places, or
overtake that party if it may still be overtaken.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.transitions import units_by_pool
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import BlockId, PoolId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.proposals import SeatScope
from holdfast.domain.seats.seat_plan import FreeSeats, Seating
from holdfast.domain.waitlist.obstacles import Obstacle, has_ended, withdrawn_type
from holdfast.domain.waitlist.queues import (
    QueueKey,
    Waitlist,
    WaitlistQueue,
    place_of,
    queue_id_of,
)
from holdfast.domain.waitlist.seating import (
    SeatLoss,
    can_seat,
    has_seats_for,
    seat_asks,
    wished_blocks,
)


@immutable
class Taking:
    """What a party is about to take: the units left of each pool and the seats taken. `place` is
    its place on the waitlist; None for a newcomer."""

    wants: frozenset[UUID]
    left: Mapping[PoolId, int]
    seats: frozenset[SeatId] = frozenset()
    place: tuple[datetime, UUID] | None = None


@immutable
class Claim:
    """The needs of a queue's first party, which others leave to it unless they may overtake it."""

    first: Hold
    queue_id: UUID
    wants: frozenset[UUID]
    units: Mapping[PoolId, int]
    may_be_passed: bool


def open_waitlist(ledger: Ledger, session: SessionCatalog) -> Waitlist | None:
    """The waitlist that newcomers must not overtake: none if it is empty, or over for good."""
    waitlist = ledger.waitlists.get(session.key)
    return waitlist if waitlist and not has_ended(session, ledger.now) else None


def claim_of(session: SessionCatalog, queue: WaitlistQueue, first: Hold) -> Claim:
    return Claim(
        first,
        queue.id,
        queue.wants | wished_blocks(first, session),
        units_by_pool(first),
        may_be_passed(session, queue, first),
    )


def passes(ledger: Ledger, session: SessionCatalog, taking: Taking) -> tuple[UUID, ...] | None:
    """The queues it overtakes; None if it has to wait for its turn."""
    waitlist = open_waitlist(ledger, session)
    if waitlist is None:
        return ()
    earlier = _earlier(ledger, session, waitlist, taking)
    return None if earlier is None else passed_by(ledger, session, taking, earlier)


def overtaken_by(ledger: Ledger, session: SessionCatalog, taking: Taking) -> tuple[UUID, ...]:
    """The queues that an operator makes this party overtake, whether or not they may be."""
    earlier = _earlier(ledger, session, ledger.waitlists[session.key], taking)
    assert earlier is not None, "only newcomers may have to wait for an answer"
    claims = [replace(claim, may_be_passed=True) for claim in earlier]
    passed = passed_by(ledger, session, taking, claims)
    assert passed is not None
    return passed


def passed_by(
    ledger: Ledger, session: SessionCatalog, taking: Taking, claims: Iterable[Claim]
) -> tuple[UUID, ...] | None:
    """The queues it overtakes among those with these claims; None if too little is left for parties
    that must not be overtaken."""
    left, passed = dict(taking.left), []
    loss = SeatLoss(ledger, session, taking.seats)
    own_queue = queue_id_of(taking.wants)
    for claim in sorted(claims, key=_rank):
        shared = {pool: units for pool, units in claim.units.items() if pool in left}
        is_short = any(left[pool] < units for pool, units in shared.items())
        if is_short or claim.queue_id == own_queue or loss.affects(claim.first):
            if not claim.may_be_passed:
                return None
            passed.append(claim.queue_id)
            continue
        for pool, units in shared.items():
            left[pool] -= units
    return tuple(passed)


def _rank(claim: Claim) -> tuple[bool, tuple[datetime, UUID]]:
    return (claim.may_be_passed, place_of(claim.first))


def _earlier(
    ledger: Ledger, session: SessionCatalog, waitlist: Waitlist, taking: Taking
) -> list[Claim] | None:
    """The claims of earlier first parties in all overlapping queues. None if somebody may be due
    for promotion already, or too little of a queue was read."""
    found: list[Claim] = []
    for queue in sharing(waitlist, session, taking.wants):
        if taking.place is None and not waitlist.is_settled:
            return None
        first = first_of(ledger, session, queue)
        if first is None:
            if taking.place is None and may_hide_others(ledger, queue):
                return None
        elif taking.place is None or place_of(first) < taking.place:
            found.append(claim_of(session, queue, first))
    return found


def sharing(
    waitlist: Waitlist, session: SessionCatalog, wants: frozenset[UUID]
) -> Iterator[WaitlistQueue]:
    """The queues that want any of the same, including blocks added after they were opened."""
    if not any(want in session.blocks for want in wants):
        yield from waitlist.sharing(wants)
        return
    for queue in waitlist.queues.values():
        blocks = wished_blocks(queue.first[0], session) if queue.first else frozenset()
        if not (wants.isdisjoint(queue.wants) and wants.isdisjoint(blocks)):
            yield queue


def unknown_pools(
    ledger: Ledger, session: SessionCatalog, wants: frozenset[UUID]
) -> frozenset[PoolId]:
    """The unlocked pools that overlapping queues also need: parties that can never get enough of
    them hold nobody up."""
    waitlist = ledger.waitlists[session.key]
    needed = {
        pool_id
        for queue in sharing(waitlist, session, wants)
        for party in queue.first
        for pool_id in units_by_pool(party)
    }
    return frozenset(needed - ledger.pools.keys())


def unread_parties(
    ledger: Ledger, session: SessionCatalog, wants: frozenset[UUID]
) -> dict[QueueKey, int]:
    """How many parties to read of the overlapping queues of which none that was read can be served.
    While the waitlist is unsettled, the promoter reads them."""
    waitlist = ledger.waitlists[session.key]
    if not waitlist.is_settled:
        return {}
    return waitlist.further(
        [
            queue.id
            for queue in sharing(waitlist, session, wants)
            if may_hide_others(ledger, queue) and first_of(ledger, session, queue) is None
        ]
    )


def may_hide_others(ledger: Ledger, queue: WaitlistQueue) -> bool:
    """Whether parties that can be served may be behind those that were read."""
    return not queue.is_all_seen and not _is_sold_out(ledger, queue)


def _is_sold_out(ledger: Ledger, queue: WaitlistQueue) -> bool:
    """Whether all of a pool is sold that the whole queue needs."""
    pools = (ledger.pools.get(PoolId(want)) for want in queue.wants)
    return any(pool is not None and pool.sold >= pool.total for pool in pools)


def first_of(ledger: Ledger, session: SessionCatalog, queue: WaitlistQueue) -> Hold | None:
    """The first party read that can be served at all: capacity may have shrunk."""
    for party in queue.first:
        if can_be_served(ledger, session, party):
            return party
    return None


def can_be_served(ledger: Ledger, session: SessionCatalog, party: Hold) -> bool:
    return out_of_reach(ledger, session, party) is None


def out_of_reach(ledger: Ledger, session: SessionCatalog, party: Hold) -> Obstacle | None:
    """Why the party cannot be served at all: its tickets are no longer offered, or too few of them
    unsold."""
    if withdrawn_type(session, party) is not None:
        return Obstacle.NOT_OFFERED
    for pool_id, units in units_by_pool(party).items():
        pool = ledger.pools.get(pool_id)
        if pool is not None and units > pool.total - pool.sold:
            return Obstacle.TOO_MUCH_SOLD
    seating = ledger.seatings.get(session.key) if ledger.seatings else None
    if seating is None or has_seats_for(ledger, session, seating, party):
        return None
    return Obstacle.SEATS_SOLD


def may_be_passed(session: SessionCatalog, queue: WaitlistQueue, first: Hold) -> bool:
    """Whether the queue's first party may be overtaken once more, by the strictest policy among
    the queue's wants."""
    if not session.allows_overtaking:
        return False
    assert first.waiting is not None
    known = (session.passes_max[id_] for id_ in queue.wants if id_ in session.passes_max)
    allowed = min(known, default=0)
    return queue.passes - first.waiting.passes_seen < allowed


def closed_blocks(
    session: SessionCatalog, waitlist: Waitlist, seating: Seating, free: FreeSeats
) -> frozenset[BlockId]:
    """The blocks where newcomers need not look: the first party of a queue waits for seats there
    and too few are free. A hint, because block capacities are not known here."""
    closed: set[BlockId] = set()
    if has_ended(session, seating.at):
        return frozenset()
    for queue in waitlist.queues.values():
        offered = (party for party in queue.first if withdrawn_type(session, party) is None)
        first = next(offered, None)
        if first is None or may_be_passed(session, queue, first):
            continue
        asks = seat_asks(first)
        if (
            asks
            and not can_seat(SeatScope(seating, free, session, {}), asks)
            and can_seat(SeatScope(seating, seating.unsold, session, {}), asks)
        ):
            closed |= wished_blocks(first, session)
    return frozenset(closed)


def taking_of(
    ledger: Ledger,
    wants: Iterable[UUID],
    demand: Mapping[PoolId, int],
    seats: Iterable[SeatId] = (),
) -> Taking:
    """The taking of a newcomer. Lapsed places count as free."""
    left = {pool_id: ledger.available(pool_id) - units for pool_id, units in demand.items()}
    return Taking(frozenset(wants), left, frozenset(seats))
