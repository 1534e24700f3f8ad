"""The decisions. `decide(ledger, command)` reads locked values and returns what to change; it
touches nothing, so an error in it costs one command and leaves the rest of the group whole."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.domain import refusals
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Ask, Command, ExpireHolds, Origin, PlaceHold, ReleaseHold
from holdfast.domain.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import HoldId, PoolId, TicketTypeId
from holdfast.domain.ledger import Ledger
from holdfast.domain.refusals import Refusal
from holdfast.domain.transitions import Transition, units_by_pool

EVICTIONS_MAX = 128


@dataclass(frozen=True, slots=True)
class Placed:
    hold: Hold
    at: datetime
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Released:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class Expired:
    hold_ids: tuple[HoldId, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class NeedsMore:
    """The footprint was too small. `lapsed_pools` have lapsed holds that would make room."""

    lapsed_pools: frozenset[PoolId] = frozenset()


Outcome = Placed | Released | Expired | Refusal


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome | NeedsMore
    transitions: tuple[Transition, ...] = ()


def decide(ledger: Ledger, command: Command) -> Decision:
    match command:
        case PlaceHold():
            return _place(ledger, command)
        case ReleaseHold():
            return _release(ledger, command)
        case _:
            return _expire(ledger, command)


def _place(ledger: Ledger, command: PlaceHold) -> Decision:
    existing = ledger.holds.get(command.hold_key)
    if existing is not None:
        return Decision(_repeated(existing, command, ledger.now))
    session = ledger.sessions.get(command.session_key)
    if session is None:
        return Decision(refusals.invalid_session())
    refusal = _refuse_asks(session, command)
    if refusal is not None:
        return Decision(refusal)
    hold = _new_hold(ledger, session, command)
    demand = units_by_pool(hold)
    if any(pool_id not in ledger.pools for pool_id in demand):
        return Decision(NeedsMore())
    room = _make_room(ledger, demand, command.origin)
    if room.short_pools:
        return _short_of_stock(ledger, hold, demand, room)
    placed = Transition(None, hold, command.origin)
    return Decision(Placed(hold, ledger.now), (*room.evictions, placed))


def _repeated(existing: Hold, command: PlaceHold, now: datetime) -> Outcome:
    """The id is taken: by this very request, sent again, or by another."""
    is_same = (
        len(command.asks) == len(existing.lines)
        and all(map(_is_met_by, command.asks, existing.lines))
        and existing.session_id == command.session_id
        and existing.holder.is_same_as(command.holder)
    )
    return Placed(existing, now, is_repeat=True) if is_same else refusals.idempotency_key_reused()


def _is_met_by(ask: Ask, line: Line) -> bool:
    """A price counts only where the platform names one: the catalogue's may have changed since."""
    return (
        ask.ticket_type_id == line.ticket_type_id
        and ask.quantity == line.quantity
        and ask.unit_price_minor in {None, line.unit_price_minor}
    )


def _refuse_asks(session: SessionCatalogue, command: PlaceHold) -> Refusal | None:
    quantities: Counter[TicketTypeId] = Counter()
    for ask in command.asks:
        offer = session.offers.get(ask.ticket_type_id)
        if offer is None:
            return refusals.invalid_ticket_type()
        quantities[ask.ticket_type_id] += ask.quantity
        if quantities[ask.ticket_type_id] > offer.policy.quantity_max:
            return refusals.quantity_above_maximum(offer.policy.quantity_max)
    return None


def _new_hold(ledger: Ledger, session: SessionCatalogue, command: PlaceHold) -> Hold:
    lines = []
    for ask in command.asks:
        offer = session.offers[ask.ticket_type_id]
        given = ask.unit_price_minor
        price = offer.price.minor if given is None else given
        lines.append(Line(ask.ticket_type_id, int(ask.quantity), price, offer.pool_ids))
    # Several ticket types in one hold: the shortest time of them is the time of the hold.
    ttl_seconds = min(session.offers[ask.ticket_type_id].policy.ttl_seconds for ask in command.asks)
    return Hold(
        organization_id=command.organization_id,
        id=command.hold_id,
        session_id=command.session_id,
        reference=ledger.references[command.hold_key],
        holder=command.holder,
        lines=tuple(lines),
        currency=session.currency,
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=ledger.now,
        updated_at=ledger.now,
        held_at=ledger.now,
        expires_at=expiry(ledger.now, ttl_seconds),
    )


def expiry(now: datetime, ttl_seconds: int) -> datetime:
    """A whole second, rounded up: the buyer never gets less than what was promised."""
    return datetime.fromtimestamp(math.ceil(now.timestamp()) + ttl_seconds, UTC)


@dataclass(frozen=True, slots=True)
class _Room:
    evictions: tuple[Transition, ...]
    short_pools: frozenset[PoolId]


def _make_room(ledger: Ledger, demand: Mapping[PoolId, int], origin: Origin) -> _Room:
    """Expire lapsed holds, oldest first and only as many as needed, until the demand fits."""
    missing = {
        pool_id: units - ledger.pools[pool_id].free
        for pool_id, units in demand.items()
        if units > ledger.pools[pool_id].free
    }
    evictions: list[Transition] = []
    if not missing:
        return _Room((), frozenset())
    for lapsed in ledger.lapsed_holds():
        units = units_by_pool(lapsed)
        if not any(pool_id in missing for pool_id in units):
            continue
        if not ledger.knows_pools_of(lapsed):
            continue
        evictions.append(Transition(lapsed, lapsed.expired(ledger.now), origin))
        for pool_id in units.keys() & missing.keys():
            missing[pool_id] -= units[pool_id]
            if missing[pool_id] <= 0:
                del missing[pool_id]
        if not missing or len(evictions) == EVICTIONS_MAX:
            break
    return _Room(tuple(evictions), frozenset(missing))


def _short_of_stock(
    ledger: Ledger, hold: Hold, demand: Mapping[PoolId, int], room: _Room
) -> Decision:
    """Too little is free. If lapsed holds that this group has not locked would make up for it,
    ask for them and keep what was evicted meanwhile: it is progress for the next round."""
    if all(ledger.available(pool_id) >= units for pool_id, units in demand.items()):
        return Decision(NeedsMore(room.short_pools), room.evictions)
    return Decision(refusals.insufficient_inventory(_available_for(ledger, hold, demand)))


def _available_for(ledger: Ledger, hold: Hold, demand: Mapping[PoolId, int]) -> int:
    """How many of the first line that cannot be met there are."""
    for line in hold.lines:
        short = [pool for pool in line.pool_ids if demand[pool] > ledger.available(pool)]
        if short:
            return min(ledger.available(pool_id) for pool_id in line.pool_ids)
    raise AssertionError("a hold that is short has a line that is short")


def _release(ledger: Ledger, command: ReleaseHold) -> Decision:
    hold = ledger.holds.get(command.hold_key)
    if hold is None:
        return Decision(refusals.hold_not_found())
    if hold.is_expired(ledger.now):
        return Decision(refusals.hold_expired())
    if not hold.can_release(ledger.now):
        return Decision(refusals.invalid_hold_state(hold.status.value))
    if not ledger.knows_pools_of(hold):
        return Decision(NeedsMore())
    released = hold.released(ledger.now)
    return Decision(Released(released, ledger.now), (Transition(hold, released, command.origin),))


def _expire(ledger: Ledger, command: ExpireHolds) -> Decision:
    transitions = []
    for key in dict.fromkeys(command.hold_keys):
        hold = ledger.holds.get(key)
        if hold is not None and hold.can_expire(ledger.now):
            if not ledger.knows_pools_of(hold):
                return Decision(NeedsMore())
            transitions.append(Transition(hold, hold.expired(ledger.now), command.origin))
    holds = tuple(transition.after for transition in transitions)
    expired = tuple(hold.id for hold in holds)
    return Decision(Expired(expired, ledger.now), tuple(transitions))
