"""Promotes parties from the waitlist in order as places become free."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.transitions import Transition, units_by_pool
from holdfast.domain.holds.eviction import make_room
from holdfast.domain.holds.hold import Hold, Line, numbered_lines, rounded_up
from holdfast.domain.holds.new_hold import seat_line
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import PoolId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.proposals import propose
from holdfast.domain.waitlist.claims import Claims
from holdfast.domain.waitlist.fairness import Taking, can_be_served
from holdfast.domain.waitlist.queues import Waitlist, WaitlistQueue, blocks_for
from holdfast.domain.waitlist.seating import seat_asks, waitlist_scope, wished_blocks

ACTOR = "waitlist"


@immutable
class _Promotion:
    hold: Hold
    passed: tuple[UUID, ...]
    ended: tuple[Transition, ...] = ()


def settle(
    ledger: Ledger, session_key: SessionKey, origin: Origin, *, is_last_look: bool = False
) -> list[Transition]:
    """Promote every party that can be served, or end the waitlist if the sale is over. Each step is
    applied to the ledger at once because the next depends on it. `origin` is that of the command
    that caused this. `is_last_look` is for the promoter: nobody looks further after it."""
    waitlist = ledger.waitlists.get(session_key)
    if waitlist is None:
        return []
    waitlist.is_settled = True
    if not waitlist:
        return []
    session = ledger.sessions[session_key]
    origin = replace(origin, actor=ACTOR)
    if session.sale.is_over(ledger.now):
        return _end_waitlist(ledger, waitlist, origin)
    if not session.sale.is_within_window(ledger.now):
        return []
    claims = Claims(session)
    made = _promote_in_order(ledger, waitlist, claims, origin)
    if waitlist and (
        waitlist.is_missing_something()
        or not waitlist.promotions_left
        or _is_cut_short(ledger, waitlist, claims, is_last_look=is_last_look)
    ):
        waitlist.is_settled = False
    return made


def _promote_in_order(
    ledger: Ledger, waitlist: Waitlist, claims: Claims, origin: Origin
) -> list[Transition]:
    """Look at every party once, in one pass over all queues."""
    made: list[Transition] = []
    stuck: set[UUID] = set()
    for hold in waitlist.in_order():
        assert hold.waiting is not None
        queue_id = hold.waiting.queue_id
        if queue_id in stuck:
            continue
        if not waitlist.promotions_left:
            break
        if hold.is_lapsed(ledger.now):
            made += _applied(ledger, Transition(hold, hold.expired(ledger.now), origin))
            continue
        if not can_be_served(ledger, claims.session, hold):
            continue
        waitlist.has_gaps = False
        promotion = _promotion(ledger, claims, hold, origin)
        if promotion is not None:
            waitlist.promotions_left -= 1
            for ended in promotion.ended:
                made += _applied(ledger, ended)
            made += _applied(ledger, Transition(hold, promotion.hold, origin), promotion.passed)
            claims.moved(waitlist, promotion.passed, has_freed=bool(promotion.ended))
            continue
        first = claims.first_claim(waitlist.queues[queue_id], hold)
        # Its places may be free but not locked yet: don't give them to parties behind it.
        if waitlist.has_gaps or not first.may_be_passed:
            stuck.add(queue_id)
    return made


def _is_cut_short(
    ledger: Ledger, waitlist: Waitlist, claims: Claims, *, is_last_look: bool
) -> bool:
    """Whether it may be the turn of a party that was not read."""
    for queue in waitlist.queues.values():
        if queue.is_all_seen or _is_empty(ledger, queue):
            continue
        first = claims.by_queue.get(queue.id)
        if first is None or (not is_last_look and first.may_be_passed):
            return True
    return False


def _is_empty(ledger: Ledger, queue: WaitlistQueue) -> bool:
    """Whether nothing is left of a pool that the whole queue needs."""
    return any(
        not ledger.available(pool_id)
        for pool_id in map(PoolId, queue.wants)
        if pool_id in ledger.pools
    )


def _applied(
    ledger: Ledger, transition: Transition, passed: tuple[UUID, ...] = ()
) -> tuple[Transition]:
    ledger.apply((transition,), passed=passed)
    return (transition,)


def _end_waitlist(ledger: Ledger, waitlist: Waitlist, origin: Origin) -> list[Transition]:
    """End the waitlist because the sale is over."""
    made: list[Transition] = []
    for hold in waitlist.in_order():
        if not waitlist.promotions_left:
            break
        waitlist.promotions_left -= 1
        ended = (
            hold.expired(ledger.now) if hold.is_lapsed(ledger.now) else hold.released(ledger.now)
        )
        made += _applied(ledger, Transition(hold, ended, origin))
    waitlist.is_settled = not waitlist.queues
    return made


def _promotion(ledger: Ledger, claims: Claims, hold: Hold, origin: Origin) -> _Promotion | None:
    """The promotion of this hold. None if too little is free, if it is not its turn, or if a lock
    is missing, which the waitlist then records."""
    session = claims.session
    if not _has_room(ledger, session, units_by_pool(hold)):
        return None
    lines = _seated(ledger, claims, hold)
    if lines is None:
        return None
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    until = rounded_up(ledger.now) + timedelta(seconds=min(each.ttl_seconds for each in policies))
    warning_seconds = max(policy.warning_seconds for policy in policies)
    promoted = hold.promoted(ledger.now, until, warning_seconds, lines)
    demand = units_by_pool(promoted)
    if not _has_room(ledger, session, demand):
        return None
    left = {pool_id: ledger.available(pool_id) - units for pool_id, units in demand.items()}
    assert hold.waiting is not None
    waitlist = ledger.waitlists[session.key]
    wants = waitlist.queues[hold.waiting.queue_id].wants | wished_blocks(hold, session)
    seats = frozenset(seat.id for seat in promoted.seats)
    passed = claims.passes(ledger, Taking(wants, left, seats))
    if passed is None:
        return None
    room = make_room(ledger, demand, (), origin)
    if room.short_pools:
        waitlist.lacks(lapsed=room.short_pools)
        return None
    return _Promotion(promoted, passed, room.evictions)


def _has_room(ledger: Ledger, session: SessionCatalog, demand: Mapping[PoolId, int]) -> bool:
    """Whether the demand fits. Lapsed places count as free, because promotion expires their
    holds."""
    # A set difference would iterate over all pools of the session.
    missing = {pool_id for pool_id in demand if pool_id not in ledger.pools}
    ledger.waitlists[session.key].lacks(pools=missing)
    return not missing and all(
        ledger.available(pool_id) >= units for pool_id, units in demand.items()
    )


def _seated(ledger: Ledger, claims: Claims, hold: Hold) -> tuple[Line, ...] | None:
    """The hold's lines with seats instead of wishes; None if seats or locks are missing."""
    session, asks = claims.session, seat_asks(hold)
    if not asks:
        return hold.lines
    waitlist = ledger.waitlists[session.key]
    seating = ledger.seatings.get(session.key)
    needed = _pools_of_seats(session, asks)
    missing = {pool_id for pool_id in needed if pool_id not in ledger.pools}
    if seating is None or missing:
        waitlist.lacks(pools=missing, is_blind=seating is None)
        return None
    proposal, _ = propose(waitlist_scope(ledger, session, seating), asks)
    if proposal.is_short:
        claims.unseated(hold)
        return None
    seats = {seat_id for found in proposal.seats for seat_id in found}
    if not seats <= ledger.seats.keys():
        waitlist.lacks(seats=seats)
        return None
    found = iter(proposal.seats)
    lines: list[Line] = []
    for line in hold.lines:
        if line.wish is None:
            lines.append(line)
            continue
        price = line.wish.unit_price_minor
        lines += (
            seat_line(session, ledger.seats[seat_id].place, line.ticket_type_id, price, line.item)
            for seat_id in next(found)
        )
    return numbered_lines(lines, hold.version + 1)


def _pools_of_seats(session: SessionCatalog, asks: Sequence[Ask]) -> set[PoolId]:
    """The pools of these seats: of their ticket types and of blocks with a capacity."""
    pools: set[PoolId] = set()
    for ask in asks:
        pools.update(session.offers[ask.ticket_type_id].pool_ids)
        for block_id in blocks_for(ask.ticket_type_id, ask.block_id, session):
            capacity_pool_id = session.blocks[block_id].capacity_pool_id
            if capacity_pool_id is not None:
                pools.add(capacity_pool_id)
    return pools
