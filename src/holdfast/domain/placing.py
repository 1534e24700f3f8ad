"""Placing a hold: everything, or nothing."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast.domain import refusals
from holdfast.domain.catalogue import EventStatus, SessionCatalogue
from holdfast.domain.commands import SEATS_PER_HOLD_MAX, Ask, Origin, PlaceHold, SeatAsk
from holdfast.domain.hold import Hold, HoldStatus, Line, LineSeat, warning_time
from holdfast.domain.ids import BlockId, PoolId, SeatId, TicketTypeId
from holdfast.domain.ledger import Ledger
from holdfast.domain.order import TICKETS_PER_ORDER_MAX
from holdfast.domain.outcomes import Decision, NeedsMore, Outcome, Placed
from holdfast.domain.picking import Picked, own_hold, pick_seats
from holdfast.domain.proposing import seated_asks
from holdfast.domain.refusals import Refusal
from holdfast.domain.transitions import Transition, units_by_pool

EVICTIONS_MAX = 128


def place(ledger: Ledger, command: PlaceHold) -> Decision:
    existing = ledger.holds.get(command.hold_key)
    if existing is not None:
        return Decision(_repeated(existing, command, ledger.now))
    session = ledger.sessions.get(command.session_key)
    if session is None:
        return Decision(refusals.invalid_session())
    outcome = (
        _refuse_status(session)
        or own_hold(ledger, command)
        or _refuse_asks(session, command, ledger.now)
    )
    if outcome is not None:
        return Decision(outcome)
    picked: Picked | NeedsMore | Refusal = Picked()
    if session.has_seats or command.named_seats:
        picked = pick_seats(ledger, session, command)
    if not isinstance(picked, Picked):
        return Decision(picked)
    problem = _refuse_quantities(session, command, picked) or _refuse_holder(
        ledger, session, command, picked
    )
    if problem is not None:
        return Decision(problem)
    return _place(ledger, session, command, picked)


def _place(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> Decision:
    hold = _new_hold(ledger, session, command, picked)
    demand = units_by_pool(hold)
    if any(pool_id not in ledger.pools for pool_id in demand):
        return Decision(NeedsMore())
    vacated = tuple(
        Transition(lapsed, lapsed.expired(ledger.now), command.origin) for lapsed in picked.lapsed
    )
    room = make_room(ledger, demand, vacated, command.origin)
    if room.short_pools:
        return _short_of_stock(ledger, session, hold, demand, room)
    placed = Transition(None, hold, command.origin)
    return Decision(Placed(hold, ledger.now), (*vacated, *room.evictions, placed))


def _repeated(existing: Hold, command: PlaceHold, now: datetime) -> Outcome:
    """The id is taken: by this very request, sent again, or by another."""
    is_same = (
        _are_met_by(command, existing)
        and existing.session_id == command.session_id
        and existing.holder.is_same_as(command.holder)
    )
    return Placed(existing, now, is_repeat=True) if is_same else refusals.idempotency_key_reused()


def _are_met_by(command: PlaceHold, hold: Hold) -> bool:
    """A price counts only where the platform names one: the catalogue's may have changed since."""
    lines = list(hold.lines)
    for ask in command.asks:
        if isinstance(ask, Ask) and lines and lines[0].seat is None:
            met, lines = lines[:1], lines[1:]
            is_met = met[0].quantity == ask.quantity
        else:
            count = ask.quantity if isinstance(ask, Ask) else len(ask.seat_ids)
            met, lines = lines[:count], lines[count:]
            seats = tuple(line.seat.id for line in met if line.seat is not None)
            is_met = seats == ask.seat_ids if isinstance(ask, SeatAsk) else len(seats) == count
        is_met &= all(
            ask.ticket_type_id in {None, line.ticket_type_id}
            and ask.unit_price_minor in {None, line.unit_price_minor}
            for line in met
        )
        if not is_met:
            return False
    return not lines


def _refuse_status(session: SessionCatalogue) -> Refusal | None:
    match session.sale.status:
        case EventStatus.DRAFT | EventStatus.ARCHIVED:
            return refusals.event_not_available()
        case EventStatus.CANCELLED:
            return refusals.event_unavailable()
        case _:
            return None


def _refuse_asks(session: SessionCatalogue, command: PlaceHold, now: datetime) -> Refusal | None:
    if not session.sale.is_within_window(now):
        return refusals.event_sales_closed()
    for ask in command.asks:
        refusal = _refuse_ask(session, ask)
        if refusal is not None:
            return refusal
    found = sum(ask.quantity for _, ask in seated_asks(command, session))
    if found + len(command.named_seats) > SEATS_PER_HOLD_MAX:
        return refusals.quantity_above_maximum(SEATS_PER_HOLD_MAX)
    return None


def _refuse_ask(session: SessionCatalogue, ask: Ask | SeatAsk) -> Refusal | None:
    if ask.ticket_type_id is None:
        return None
    offer = session.offers.get(ask.ticket_type_id)
    if offer is None:
        return refusals.invalid_ticket_type()
    if isinstance(ask, SeatAsk):
        return None if offer.is_seated else refusals.not_sold_here()
    if ask.accessible and not offer.is_seated:
        return refusals.has_no_seats()
    if ask.block_id is None:
        return None
    block = session.blocks.get(ask.block_id)
    if block is None or not offer.is_seated:
        return refusals.invalid_block()
    return None if block.sells(ask.ticket_type_id) else refusals.not_sold_here()


def _refuse_quantities(
    session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> Refusal | None:
    quantities: Counter[TicketTypeId] = Counter(picked.type_of.values())
    for position, ask in enumerate(command.asks):
        if isinstance(ask, Ask) and position not in picked.seats:
            quantities[ask.ticket_type_id] += ask.quantity
    for ticket_type_id, quantity in quantities.items():
        maximum = session.offers[ticket_type_id].policy.quantity_max
        if quantity > maximum:
            return refusals.quantity_above_maximum(maximum)
    if sum(quantities.values()) > TICKETS_PER_ORDER_MAX:
        return refusals.too_many_tickets(TICKETS_PER_ORDER_MAX)  # nobody could pay for it
    return None


def _refuse_holder(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> Refusal | NeedsMore | None:
    """Where a holder may have one live hold of a session, tell them of the one they have."""
    asked = {ask.ticket_type_id for ask in command.asks} | set(picked.type_of.values())
    if not any(
        session.offers[ticket_type_id].policy.one_active_hold
        for ticket_type_id in asked
        if ticket_type_id is not None
    ):
        return None
    known = ledger.holdings.get((session.key, command.holder.key))
    if known is None:
        return NeedsMore()  # the policy has changed since the look ahead
    here = (
        hold
        for hold in ledger.holds.values()
        if (hold.organization_id, hold.session_id) == session.key
        and hold.holder.is_person(command.holder)
    )
    latest = {hold.key: hold for hold in (*known, *here)}
    for hold in latest.values():
        if hold.is_active(ledger.now):
            return refusals.active_hold_exists(str(hold.id), hold.remaining_seconds(ledger.now))
    return None


def _new_hold(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> Hold:
    lines = _lines(ledger, session, command, picked)
    # Several ticket types in one hold: the shortest time of them is the time of the hold.
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    ttl_seconds = min(policy.ttl_seconds for policy in policies)
    expires_at = rounded_up(ledger.now) + timedelta(seconds=ttl_seconds)
    warning_seconds = max(policy.warning_seconds for policy in policies)
    return Hold(
        organization_id=command.organization_id,
        id=command.hold_id,
        session_id=command.session_id,
        reference=ledger.references[command.hold_key],
        holder=command.holder,
        lines=lines,
        currency=session.currency,
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now,
        expires_at=expires_at,
        remarks=command.remarks,
        warn_at=warning_time(ledger.now, expires_at, warning_seconds),
    )


def _lines(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> tuple[Line, ...]:
    lines: list[Line] = []
    for position, ask in enumerate(command.asks):
        seats = picked.seats.get(position)
        if seats is not None:
            lines += [
                _seat_line(ledger, session, seat_id, picked.type_of[seat_id], ask.unit_price_minor)
                for seat_id in seats
            ]
        elif isinstance(ask, Ask):
            offer = session.offers[ask.ticket_type_id]
            given = ask.unit_price_minor
            price = offer.price.minor if given is None else given
            lines.append(Line(ask.ticket_type_id, int(ask.quantity), price, offer.pool_ids))
    return tuple(lines)


def _seat_line(
    ledger: Ledger,
    session: SessionCatalogue,
    seat_id: SeatId,
    ticket_type_id: TicketTypeId,
    given_price: int | None,
) -> Line:
    place = ledger.seats[seat_id].place
    block = session.blocks[place.block_id]
    pools = session.offers[ticket_type_id].pool_ids
    if block.capacity_pool_id is not None and block.capacity_pool_id not in pools:
        pools = (*pools, block.capacity_pool_id)
    price = session.price_in(place.block_id, ticket_type_id) if given_price is None else given_price
    seat = LineSeat(seat_id, place.block_id, block.name, place.row, place.number, place.position)
    return Line(ticket_type_id, 1, price, pools, seat)


def rounded_up(moment: datetime) -> datetime:
    """Times are whole seconds: the buyer never gets less than what was promised."""
    return datetime.fromtimestamp(math.ceil(moment.timestamp()), UTC)


@dataclass(frozen=True, slots=True)
class Room:
    evictions: tuple[Transition, ...]
    short_pools: frozenset[PoolId]


def make_room(
    ledger: Ledger,
    demand: Mapping[PoolId, int],
    vacated: tuple[Transition, ...],
    origin: Origin,
) -> Room:
    """Expire lapsed holds, oldest first and only as many as needed, until the demand fits. What was
    vacated already counts. All of a pool's lapsed holds have to be known, or the oldest might be
    passed over."""
    missing = {
        pool_id: units - ledger.pools[pool_id].free
        for pool_id, units in demand.items()
        if units > ledger.pools[pool_id].free
    }
    for transition in vacated:
        _give_back(missing, transition)
    if not missing or not ledger.surveyed_pools.issuperset(missing):
        return Room((), frozenset(missing))
    evictions: list[Transition] = []
    gone = {transition.after.key for transition in vacated}
    for lapsed in ledger.lapsed_holds():
        if lapsed.key in gone or not ledger.knows_places_of(lapsed):
            continue
        if missing.keys().isdisjoint(units_by_pool(lapsed)):
            continue
        evictions.append(Transition(lapsed, lapsed.expired(ledger.now), origin))
        _give_back(missing, evictions[-1])
        if not missing or len(evictions) == EVICTIONS_MAX:
            break
    return Room(tuple(evictions), frozenset(missing))


def _give_back(missing: dict[PoolId, int], transition: Transition) -> None:
    for pool_id, units in units_by_pool(transition.after).items():
        if pool_id in missing:
            missing[pool_id] -= units
            if missing[pool_id] <= 0:
                del missing[pool_id]


def _short_of_stock(
    ledger: Ledger,
    session: SessionCatalogue,
    hold: Hold,
    demand: Mapping[PoolId, int],
    room: Room,
) -> Decision:
    """Too little is free. If lapsed holds that this group has not locked would make up for it,
    ask for them and keep what was evicted meanwhile: it is progress for the next round."""
    if all(ledger.available(pool_id) >= units for pool_id, units in demand.items()):
        lapsed = frozenset((session.key, pool_id) for pool_id in room.short_pools)
        return Decision(NeedsMore(lapsed=lapsed), room.evictions)
    for line in hold.lines:
        short = [pool for pool in line.pool_ids if demand[pool] > ledger.available(pool)]
        if short:
            return _refuse_line(ledger, session, hold, line, short)
    raise AssertionError("a hold that is short has a line that is short")


def _refuse_line(
    ledger: Ledger, session: SessionCatalogue, hold: Hold, line: Line, short: list[PoolId]
) -> Decision:
    block = _full_block(session, line, short)
    if block is None:
        available = min(ledger.available(pool_id) for pool_id in line.pool_ids)
        return Decision(refusals.insufficient_inventory(available))
    capacity_pool_id = session.blocks[block].capacity_pool_id
    assert capacity_pool_id is not None
    available = ledger.available(capacity_pool_id)
    proposal = ledger.proposal
    found = {seat_id for seats in (proposal.seats if proposal else ()) for seat_id in seats}
    if any(seat.id in found for seat in hold.seats if seat.block_id == block):
        # They were found for the buyer: the next search knows what the block has left.
        return Decision(NeedsMore(block_limits={block: available}))
    return Decision(refusals.block_at_capacity(session.blocks[block].name, available))


def _full_block(session: SessionCatalogue, line: Line, short: list[PoolId]) -> BlockId | None:
    if line.seat is None:
        return None
    is_full = session.blocks[line.seat.block_id].capacity_pool_id in short
    return line.seat.block_id if is_full else None
