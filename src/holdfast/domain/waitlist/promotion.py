"""Promotes parties from the waitlist in order as places become free."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.group.transitions import Transition, units_by_pool
from holdfast.domain.holds.eviction import make_room
from holdfast.domain.holds.hold import Hold, Line, numbered_lines, rounded_up
from holdfast.domain.holds.new_hold import seat_line
from holdfast.domain.holds.placement import Ask
from holdfast.domain.ids import PoolId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.proposals import propose
from holdfast.domain.waitlist.claims import Claims
from holdfast.domain.waitlist.fairness import (
    Taking,
    first_of,
    may_hide_others,
    out_of_reach,
    overtaken_by,
)
from holdfast.domain.waitlist.obstacles import Findings, Obstacle, closed_by
from holdfast.domain.waitlist.queues import Waitlist, WaitlistQueue, blocks_for, place_of
from holdfast.domain.waitlist.seating import seat_asks, waitlist_scope, wished_blocks

ACTOR = "waitlist"


@immutable
class Promotion:
    """A hold with its places, the queues that it overtakes, and the lapsed holds that make room."""

    hold: Hold
    passed: tuple[UUID, ...]
    ended: tuple[Transition, ...] = ()


def settle(
    ledger: Ledger,
    session_key: SessionKey,
    origin: Origin,
    *,
    is_last_look: bool = False,
    findings: Findings | None = None,
) -> list[Transition]:
    """Promote every party that can be served, or end the waitlist if the sale is over or the
    session has started. Each step is applied to the ledger at once because the next depends on it.
    `origin` is that of the command that caused this. `is_last_look` is for `PromoteWaiting`: nobody
    looks further after it. `findings` gets the obstacle of each party that is not served."""
    waitlist = ledger.waitlists.get(session_key)
    if waitlist is None:
        return []
    waitlist.is_settled = True
    if not waitlist:
        return []
    session = ledger.sessions[session_key]
    closed = closed_by(session, ledger.now)
    if closed is not None or not is_last_look or origin.reason is None:
        # A reason was given for what freed the places, not for serving the waitlist.
        origin = replace(origin, actor=ACTOR, reason=None)
    if closed is not None:
        return _end_waitlist(ledger, waitlist, origin, closed) if closed.ends_waitlist else []
    claims = Claims(session)
    made = _promote_in_order(ledger, waitlist, claims, origin, findings)
    if waitlist and (
        waitlist.is_missing_something()
        or not waitlist.promotions_left
        or _is_cut_short(ledger, waitlist, claims, is_last_look=is_last_look)
    ):
        waitlist.is_settled = False
    return made


def _promote_in_order(
    ledger: Ledger,
    waitlist: Waitlist,
    claims: Claims,
    origin: Origin,
    findings: Findings | None,
) -> list[Transition]:
    """Look at every party once, in one pass over all queues."""
    note = _ignore if findings is None else findings.note
    made: list[Transition] = []
    stuck: set[UUID] = set()
    for hold in waitlist.in_order():
        assert hold.waiting is not None
        queue_id = hold.waiting.queue_id
        if queue_id in stuck:
            note(ledger, hold, Obstacle.BEHIND_FIRST)
            continue
        if not waitlist.promotions_left:
            break
        if hold.is_lapsed(ledger.now):
            note(ledger, hold, Obstacle.TIME_IS_UP)
            waitlist.promotions_left -= 1
            made += _applied(ledger, Transition(hold, hold.expired(ledger.now), origin))
            continue
        never = out_of_reach(ledger, claims.session, hold)
        if never is not None:
            note(ledger, hold, never)
            if _hides_first(ledger, waitlist, claims, hold):
                break  # somebody behind it may come before all later parties
            continue
        waitlist.has_gaps = False
        promotion = _promotion(ledger, claims, hold, origin)
        if isinstance(promotion, Promotion):
            waitlist.promotions_left -= 1
            for ended in promotion.ended:
                made += _applied(ledger, ended)
            made += _applied(ledger, Transition(hold, promotion.hold, origin), promotion.passed)
            claims.moved(waitlist, promotion.passed, has_freed=bool(promotion.ended))
            continue
        note(ledger, hold, Obstacle.LOCKED if waitlist.has_gaps else promotion)
        first = claims.first_claim(waitlist.queues[queue_id], hold)
        # Its places may be free but not locked yet: don't give them to parties behind it.
        if waitlist.has_gaps or not first.may_be_passed:
            stuck.add(queue_id)
    return made


def _ignore(ledger: Ledger, party: Hold, obstacle: Obstacle) -> None:
    """Nobody asks for the obstacles."""


def missing_of(waitlist: Waitlist) -> NeedsMore | None:
    """What has to be locked as well, so that the parties whose turn may have come can be served."""
    if not (waitlist.is_missing_something() or waitlist.lapsed_pools):
        return None
    return NeedsMore(
        lapsed=frozenset((waitlist.session_key, pool_id) for pool_id in waitlist.lapsed_pools),
        locked_seats=frozenset(waitlist.missing_seats),
        pools=frozenset(waitlist.missing_pools),
        parties=waitlist.missing_parties,
    )


def _is_cut_short(
    ledger: Ledger, waitlist: Waitlist, claims: Claims, *, is_last_look: bool
) -> bool:
    """Whether it may be the turn of a party that was not read."""
    is_cut_short, hidden = False, []
    for queue in waitlist.queues.values():
        if not may_hide_others(ledger, queue):
            continue
        first = claims.by_queue.get(queue.id)
        if first is None and queue.first and first_of(ledger, claims.session, queue) is None:
            hidden.append(queue.id)
        elif first is None or (not is_last_look and first.may_be_passed):
            is_cut_short |= not _is_empty(ledger, queue)
    further = waitlist.further(hidden)
    waitlist.missing_parties |= further
    return is_cut_short or bool(further)


def _hides_first(ledger: Ledger, waitlist: Waitlist, claims: Claims, last: Hold) -> bool:
    """Whether no party of the queue that was read can be served, of which this is the last, but one
    behind it may be."""
    assert last.waiting is not None
    queue = waitlist.queues[last.waiting.queue_id]
    return (
        last is queue.first[-1]
        and queue.id not in claims.by_queue
        and may_hide_others(ledger, queue)
        and waitlist.can_read_more()
    )


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


def _end_waitlist(
    ledger: Ledger, waitlist: Waitlist, origin: Origin, closed: Obstacle
) -> list[Transition]:
    """End the waitlist for good."""
    # Buyers get an e-mail about what operators do, and cannot know of a cancellation otherwise.
    is_by_operator = closed is Obstacle.EVENT_CANCELLED
    made: list[Transition] = []
    for hold in waitlist.in_order():
        if not waitlist.promotions_left:
            break
        waitlist.promotions_left -= 1
        if hold.is_lapsed(ledger.now):
            ended = Transition(hold, hold.expired(ledger.now), origin)
        else:
            ended = Transition(hold, hold.released(ledger.now), origin, is_by_operator)
        made += _applied(ledger, ended)
    waitlist.is_settled = not waitlist.queues
    return made


def _promotion(ledger: Ledger, claims: Claims, hold: Hold, origin: Origin) -> Promotion | Obstacle:
    """The promotion of this hold. An obstacle if too little is free, if it is not its turn, or if a
    lock is missing, which the waitlist then records."""
    promoted = _with_places(ledger, claims, hold)
    if isinstance(promoted, Obstacle):
        return promoted
    passed = claims.passes(ledger, _taking(ledger, claims.session, hold, promoted))
    if passed is None:
        return Obstacle.NOT_ITS_TURN
    return _made_room(ledger, promoted, passed, origin)


def promotion_out_of_turn(
    ledger: Ledger, session: SessionCatalog, hold: Hold, origin: Origin
) -> Promotion | Obstacle:
    """The promotion that an operator orders: only missing places are an obstacle, not the claims of
    others."""
    never = out_of_reach(ledger, session, hold)
    if never is not None:
        return never
    promoted = _with_places(ledger, Claims(session), hold)
    if isinstance(promoted, Obstacle):
        return promoted
    taking = replace(_taking(ledger, session, hold, promoted), place=place_of(hold))
    return _made_room(ledger, promoted, overtaken_by(ledger, session, taking), origin)


def _with_places(ledger: Ledger, claims: Claims, hold: Hold) -> Hold | Obstacle:
    """The hold as it would be promoted, if its places are free."""
    session = claims.session
    if not _has_room(ledger, session, units_by_pool(hold)):
        return Obstacle.TOO_FEW_PLACES
    lines = _seated(ledger, claims, hold)
    if lines is None:
        return Obstacle.TOO_FEW_SEATS
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    until = rounded_up(ledger.now) + timedelta(seconds=min(each.ttl_seconds for each in policies))
    warning_seconds = max(policy.warning_seconds for policy in policies)
    promoted = hold.promoted(ledger.now, until, warning_seconds, lines)
    is_free = _has_room(ledger, session, units_by_pool(promoted))
    return promoted if is_free else Obstacle.TOO_FEW_PLACES


def _taking(ledger: Ledger, session: SessionCatalog, hold: Hold, promoted: Hold) -> Taking:
    demand = units_by_pool(promoted)
    left = {pool_id: ledger.available(pool_id) - units for pool_id, units in demand.items()}
    assert hold.waiting is not None
    queue = ledger.waitlists[session.key].queues[hold.waiting.queue_id]
    seats = frozenset(seat.id for seat in promoted.seats)
    return Taking(queue.wants | wished_blocks(hold, session), left, seats)


def _made_room(
    ledger: Ledger, promoted: Hold, passed: tuple[UUID, ...], origin: Origin
) -> Promotion | Obstacle:
    room = make_room(ledger, units_by_pool(promoted), (), origin)
    if room.short_pools:
        ledger.waitlists[promoted.session_key].lacks(lapsed=room.short_pools)
        return Obstacle.LOCKED
    return Promotion(promoted, passed, room.evictions)


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
