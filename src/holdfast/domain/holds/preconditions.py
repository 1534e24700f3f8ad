"""Checks a hold before it is placed or changed: first what needs no inventory (status, sale window,
ticket types and limits), then whether its new lines fit and which lapsed holds must end for it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.catalog.model import EventStatus, SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore
from holdfast.domain.group.transitions import Transition, units_by_pool
from holdfast.domain.holds.eviction import make_room
from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Ask, SeatAsk
from holdfast.domain.ids import BlockId, HoldId, PoolId, SeatId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_choice import Picked
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.fairness import (
    Taking,
    open_waitlist,
    passes,
    taking_of,
    unknown_pools,
    unread_parties,
)
from holdfast.domain.waitlist.queues import blocks_for


def refuse_status(session: SessionCatalog) -> Refusal | None:
    """Refuse sessions not on sale, at every step from hold to order. The sale window is checked
    elsewhere, for new places only: holds placed in time may be paid for after it."""
    status = session.sale.status
    if status.is_on_sale:
        return None
    if status is EventStatus.CANCELLED:
        return refusals.event_unavailable()
    return refusals.event_not_available()


def refuse_stale(hold: Hold, seen_version: int | None) -> Refusal | None:
    """Refuse a person who has seen an earlier version of the hold."""
    is_current = seen_version is None or seen_version == hold.version
    return None if is_current else refusals.hold_changed(hold.version)


def refuse_asks(
    session: SessionCatalog, asks: Sequence[Ask | SeatAsk], now: datetime
) -> Refusal | None:
    if not session.sale.is_within_window(now):
        return refusals.event_sales_closed()
    seats = 0
    for ask in asks:
        refusal = _refuse_ask(session, ask)
        if refusal is not None:
            return refusal
        if isinstance(ask, SeatAsk):
            seats += len(ask.seat_ids)
        elif session.offers[ask.ticket_type_id].is_seated:
            seats += ask.quantity
    return (
        refusals.quantity_above_maximum(SEATS_PER_HOLD_MAX) if seats > SEATS_PER_HOLD_MAX else None
    )


def _refuse_ask(session: SessionCatalog, ask: Ask | SeatAsk) -> Refusal | None:
    if ask.ticket_type_id is None:
        return None
    offer = session.offers.get(ask.ticket_type_id)
    if offer is None:
        return refusals.invalid_ticket_type()
    if isinstance(ask, SeatAsk):
        return None if offer.is_seated else refusals.not_sold_here()
    if (ask.accessible or ask.is_together) and not offer.is_seated:
        return refusals.has_no_seats()
    if ask.block_id is None:
        return None
    block = session.blocks.get(ask.block_id)
    if block is None or not offer.is_seated:
        return refusals.invalid_block()
    return None if block.sells(ask.ticket_type_id) else refusals.not_sold_here()


def refuse_lines(session: SessionCatalog, lines: Iterable[Line]) -> Refusal | None:
    """Check the limits per ticket type and hold, and per order."""
    quantities: dict[TicketTypeId, int] = {}
    for line in lines:
        type_id = line.ticket_type_id
        quantities[type_id] = quantities.get(type_id, 0) + line.quantity
    for ticket_type_id, quantity in quantities.items():
        maximum = session.offers[ticket_type_id].policy.quantity_max
        if quantity > maximum:
            return refusals.quantity_above_maximum(maximum)
    if sum(quantities.values()) > TICKETS_PER_ORDER_MAX:
        return refusals.too_many_tickets(TICKETS_PER_ORDER_MAX)
    return None


def refuse_holder(
    ledger: Ledger,
    session: SessionCatalog,
    holder: Holder,
    types: Iterable[TicketTypeId],
    besides: HoldId | None = None,
) -> Refusal | NeedsMore | None:
    """Refuse a second live hold in a session where the policy allows one."""
    if not any(session.offers[type_id].policy.one_active_hold for type_id in types):
        return None
    known = ledger.holdings_for_session(session, holder)
    if known is None:
        return NeedsMore()  # the policy has changed since the survey
    for hold in known.live_in(session.session_id, ledger.now):
        if hold.id != besides:
            refuse = refusals.already_waiting if hold.is_waiting else refusals.active_hold_exists
            return refuse(str(hold.id), hold.remaining_seconds(ledger.now))
    # One in this session may be among those that were not read.
    return None if known.is_complete else refusals.too_many_to_count("one_active_hold")


@immutable
class Addition:
    """Lines to be added, and the additional demand on each pool."""

    asks: Sequence[Ask | SeatAsk]
    lines: Sequence[Line]
    demand: Mapping[PoolId, int]
    picked: Picked


@immutable
class Fit:
    """There is room once these holds have ended and these waitlist queues were overtaken."""

    ended: tuple[Transition, ...]
    passed: tuple[UUID, ...]


def fit(
    ledger: Ledger, session: SessionCatalog, added: Addition, origin: Origin
) -> Fit | Refusal | Decision:
    """Check capacity and the waitlist. Returns a Decision if more has to be locked first."""
    is_unknown = session.has_waitlist and not ledger.knows_waitlist_of(session)
    if is_unknown or not added.demand.keys() <= ledger.pools.keys():
        return Decision(NeedsMore())
    passed: tuple[UUID, ...] = ()
    if session.has_waitlist and open_waitlist(ledger, session) is not None:
        taking = _taking(ledger, session, added)
        found = passes(ledger, session, taking)
        if found is None:
            return _refuse_taking(ledger, session, added, taking.wants)
        passed = found
    vacated = (
        *[Transition(hold, hold.expired(ledger.now), origin) for hold in added.picked.lapsed],
        *[
            Transition(hold, hold.released(ledger.now, is_given_up=False), origin)
            for hold in added.picked.taken_over
        ],
    )
    demand = added.demand
    if all(units <= ledger.pools[pool_id].free for pool_id, units in demand.items()):
        return Fit(vacated, passed)
    room = make_room(ledger, demand, vacated, origin)
    if not room.short_pools:
        return Fit((*vacated, *room.evictions), passed)
    # Lapsed holds that are not locked would make room: ask for them, and keep this round's
    # evictions as progress for the next.
    if all(ledger.available(pool_id) >= units for pool_id, units in demand.items()):
        lapsed = frozenset((session.key, pool_id) for pool_id in room.short_pools)
        return Decision(NeedsMore(lapsed=lapsed), room.evictions)
    return _refuse_shortage(ledger, session, added)


def _refuse_taking(
    ledger: Ledger, session: SessionCatalog, added: Addition, wants: frozenset[UUID]
) -> Refusal | Decision:
    """Others come first, unless they turn out to be parties that can never be served."""
    unknown = unknown_pools(ledger, session, wants)
    if unknown:
        return Decision(NeedsMore(pools=unknown))
    is_short = any(ledger.available(pool_id) < units for pool_id, units in added.demand.items())
    unread = {} if is_short else unread_parties(ledger, session, wants)
    return Decision(NeedsMore(parties=unread)) if unread else refusals.others_are_waiting()


def _taking(ledger: Ledger, session: SessionCatalog, added: Addition) -> Taking:
    """What this takes from others: the holder's own seats and units don't count."""
    own = {added.picked.own, *(hold.id for hold in added.picked.taken_over)} - {None}
    seats = frozenset(
        line.seat.id
        for line in added.lines
        if line.seat is not None and ledger.seats[line.seat.id].hold_id not in own
    )
    demand = Counter(added.demand)
    for hold in added.picked.taken_over:
        for pool, units in units_by_pool(hold).items():
            if pool in demand:
                demand[pool] -= units
    return taking_of(ledger, _wants(ledger, session, added, +demand, seats), demand, seats)


def _wants(
    ledger: Ledger,
    session: SessionCatalog,
    added: Addition,
    demand: Iterable[PoolId],
    seats: frozenset[SeatId],
) -> set[UUID]:
    """The same wants as on the waitlist: see `queues.wants_of`."""
    wants: set[UUID] = set(demand)
    for ask in added.asks:
        if isinstance(ask, SeatAsk):
            wants |= {ledger.seats[id_].place.block_id for id_ in seats.intersection(ask.seat_ids)}
        elif seats and session.offers[ask.ticket_type_id].is_seated:
            wants |= blocks_for(ask.ticket_type_id, ask.block_id, session)
    # Blocks with a capacity are covered by their seats.
    return wants - {block.capacity_pool_id for block in session.blocks.values()}


def _refuse_shortage(
    ledger: Ledger, session: SessionCatalog, added: Addition
) -> Refusal | Decision:
    demand = added.demand
    for line in added.lines:
        short = [pool for pool in line.pool_ids if demand.get(pool, 0) > ledger.available(pool)]
        if short:
            return _refuse_line(ledger, session, added.lines, line, short)
    raise AssertionError("a short pool without a short line")


def _refuse_line(
    ledger: Ledger,
    session: SessionCatalog,
    lines: Iterable[Line],
    line: Line,
    short: list[PoolId],
) -> Refusal | Decision:
    block = _full_block(session, line, short)
    if block is None:
        available = min(ledger.available(pool_id) for pool_id in line.pool_ids)
        return refusals.insufficient_inventory(available)
    capacity_pool_id = session.blocks[block].capacity_pool_id
    assert capacity_pool_id is not None
    available = ledger.available(capacity_pool_id)
    proposal = ledger.proposal
    found = {seat_id for seats in (proposal.seats if proposal else ()) for seat_id in seats}
    if any(
        each.seat.id in found
        for each in lines
        if each.seat is not None and each.seat.block_id == block
    ):
        # We proposed these seats: the next search knows what the block has left.
        return Decision(NeedsMore(block_limits={block: available}))
    return refusals.block_at_capacity(session.blocks[block].name, available)


def _full_block(session: SessionCatalog, line: Line, short: list[PoolId]) -> BlockId | None:
    if line.seat is None:
        return None
    is_full = session.blocks[line.seat.block_id].capacity_pool_id in short
    return line.seat.block_id if is_full else None
