"""Adds buyers who find nothing left to the waitlist, if the policy has one."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, NeedsMore, Waiting
from holdfast.domain.group.transitions import Transition, units_by_pool, units_of
from holdfast.domain.holds.hold import Hold, WaitingPlace, numbered_lines
from holdfast.domain.holds.holder_limits import refuse_above_limits
from holdfast.domain.holds.new_hold import plain_line, waiting_hold, waiting_line
from holdfast.domain.holds.placement import Ask, Placement
from holdfast.domain.holds.preconditions import refuse_lines
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.proposals import SeatScope, propose
from holdfast.domain.waitlist.fairness import (
    closed_blocks,
    first_of,
    may_be_passed,
    open_waitlist,
)
from holdfast.domain.waitlist.queues import QUEUES_MAX, Waitlist, blocks_for, queue_id_of, wants_of
from holdfast.domain.waitlist.seating import can_seat, seat_asks, waitlist_scope

# Refusals that waiting may overcome.
WORTH_WAITING = {
    RefusalCode.INSUFFICIENT_INVENTORY,
    RefusalCode.NO_AVAILABLE_SEATS,
    RefusalCode.BLOCK_AT_CAPACITY,
    RefusalCode.OTHERS_ARE_WAITING,
}


def wait_or_refuse(
    ledger: Ledger,
    session: SessionCatalog,
    command: Placement,
    refusal: Refusal,
) -> Decision:
    asks = [ask for ask in command.asks if isinstance(ask, Ask)]
    if (
        not command.may_wait
        or refusal.code not in WORTH_WAITING
        or len(asks) < len(command.asks)
        or session.has_started(ledger.now)
        or not all(session.offers[ask.ticket_type_id].policy.waitlist for ask in asks)
    ):
        return Decision(refusal)
    if not ledger.knows_waitlist_of(session):
        return Decision(NeedsMore())
    if refusal.code is not RefusalCode.OTHERS_ARE_WAITING and _is_outdated(ledger, session, asks):
        return Decision(NeedsMore(was_overtaken=True, otherwise=refusal))
    items = command.items or (None,) * len(asks)
    lines = numbered_lines(
        (waiting_line(session, ask, item) for ask, item in zip(asks, items, strict=True)), 1
    )
    wants = wants_of(lines, session)
    waitlist = ledger.waitlists[session.key]
    if not waitlist.has_room_for(wants):
        return Decision(refusals.too_many_queues(QUEUES_MAX))
    place = waiting_place(ledger, waitlist, wants)
    hold = waiting_hold(ledger, session, command, lines, place)
    problem = (
        refuse_lines(session, hold.lines)
        or refuse_impossible(ledger, session, hold, refusal)
        or _refuse_places(ledger, session, hold)
        or refuse_above_limits(ledger, session, hold, reach=command.reach)
    )
    if problem is not None:
        return Decision(problem)
    joined = Transition(None, hold, command.origin)
    return Decision(Waiting(hold, ledger.now, waitlist.position_at_end(wants)), (joined,))


def _is_outdated(ledger: Ledger, session: SessionCatalog, asks: Sequence[Ask]) -> bool:
    """Whether seats that the survey did not find are free by now."""
    seated = [ask for ask in asks if session.offers[ask.ticket_type_id].is_seated]
    seating = ledger.seatings.get(session.key)
    if not seated or seating is None:
        return False
    scope = waitlist_scope(ledger, session, seating)
    closed = closed_blocks(session, ledger.waitlists[session.key], seating, scope.free)
    proposal, _ = propose(replace(scope, closed=closed), seated)
    return not proposal.is_short and _has_pools(ledger, session, asks)


def _has_pools(ledger: Ledger, session: SessionCatalog, asks: Sequence[Ask]) -> bool:
    demand = units_of(plain_line(session, ask) for ask in asks)
    return all(
        pool_id in ledger.pools and ledger.available(pool_id) >= units
        for pool_id, units in demand.items()
    )


def is_behind_queue(ledger: Ledger, session: SessionCatalog, command: Placement) -> bool:
    """Whether others wait for exactly the same and may not be overtaken: no search is needed
    then."""
    waitlist = open_waitlist(ledger, session)
    if waitlist is None or command.named_seats:
        return False
    wants: set[UUID] = set()
    for ask in command.asks:
        assert isinstance(ask, Ask)
        offer = session.offers[ask.ticket_type_id]
        wants.update(offer.pool_ids)
        if offer.is_seated:
            wants |= blocks_for(ask.ticket_type_id, ask.block_id, session)
    queue = waitlist.queues.get(queue_id_of(wants))
    if queue is None:
        return False
    first = first_of(ledger, session, queue)
    return first is not None and not may_be_passed(session, queue, first)


def waiting_place(ledger: Ledger, waitlist: Waitlist, wants: frozenset[UUID]) -> WaitingPlace:
    """The place at the end of the queue."""
    queue_id = queue_id_of(wants)
    queue = waitlist.queues.get(queue_id)
    return WaitingPlace(queue_id, ledger.now, queue.passes if queue else 0)


def refuse_impossible(
    ledger: Ledger, session: SessionCatalog, hold: Hold, refusal: Refusal
) -> Refusal | NeedsMore | None:
    """Refuse a party that exceeds the total capacity: it would wait in vain."""
    demand = units_by_pool(hold)
    if not demand.keys() <= ledger.pools.keys():
        return NeedsMore()
    if any(units > ledger.pools[pool_id].total for pool_id, units in demand.items()):
        available = min(ledger.available(pool_id) for pool_id in demand)
        return refusals.insufficient_inventory(available)
    asks = seat_asks(hold)
    if not asks:
        return None
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return NeedsMore()
    capacities = {
        block_id: ledger.pools[block.capacity_pool_id].total
        for block_id, block in session.blocks.items()
        if block.capacity_pool_id in ledger.pools
    }
    empty_hall = SeatScope(seating, seating.plan.all_free(), session, capacities)
    return None if can_seat(empty_hall, asks) else refusal


def _refuse_places(
    ledger: Ledger, session: SessionCatalog, hold: Hold
) -> Refusal | NeedsMore | None:
    """Enforce the limit of places on the waitlist per holder."""
    known = ledger.holdings_for_session(session, hold.holder)
    if known is None:
        return NeedsMore(has_to_wait=True)
    if not known.has_all_carts:
        return refusals.too_many_to_count("waiting_places_max")
    offers = session.offers
    maximum = min([offers[line.ticket_type_id].policy.waiting_places_max for line in hold.lines])
    here = known.live_in(session.session_id, ledger.now) if known.holds else ()
    waiting = sum([each.is_waiting for each in here])
    return refusals.waiting_places_exceeded(maximum) if waiting >= maximum else None
