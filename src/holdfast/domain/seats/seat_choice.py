"""Chooses the seats of a hold under lock: those it names and those proposed for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Proposal
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import NeedsMore, Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Placement, SeatAsk
from holdfast.domain.ids import HoldId, HoldKey, SeatId, TicketTypeId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.best_available import orphans
from holdfast.domain.seats.conflicts import capacity_left, free_now, refuse_contested
from holdfast.domain.seats.proposals import seated_asks
from holdfast.domain.seats.seat import Seat
from holdfast.domain.values import JsonValue


@dataclass(slots=True)
class Picked:
    """The seats of each ask by its index, and the ticket type of each seat. `lapsed` holds still
    occupy some of them; `taken_over` holds of the same person end because a cart takes their
    seats. `own` is the existing hold that the seats are for, if any."""

    seats: dict[int, tuple[SeatId, ...]] = field(default_factory=dict)
    type_of: dict[SeatId, TicketTypeId] = field(default_factory=dict)
    lapsed: tuple[Hold, ...] = ()
    own: HoldId | None = None
    taken_over: tuple[Hold, ...] = ()


def own_hold(ledger: Ledger, command: Placement) -> Placed | NeedsMore | None:
    """The hold that already has the requested seats: asking again is no error, even after the sale
    window."""
    if command.is_id_from_client or command.is_cart:
        return None
    if not all(isinstance(ask, SeatAsk) for ask in command.asks):
        return None
    keys = {_own_hold_key(ledger, command, seat_id) for seat_id in command.named_seats}
    key = keys.pop()
    if key is None or keys:
        return None
    hold = ledger.holds.get(key)
    if hold is None:
        return NeedsMore(holds=frozenset({key}))
    return Placed(hold, ledger.now, is_repeat=True) if _matches(command, hold) else None


def _own_hold_key(ledger: Ledger, command: Placement, seat_id: SeatId) -> HoldKey | None:
    seat = ledger.seats.get(seat_id)
    if seat is None or seat.session_id != command.session_id:
        return None
    return seat.hold_key if seat.is_held_by(command.holder.key, ledger.now) else None


def _matches(command: Placement, hold: Hold) -> bool:
    """Whether the hold has the requested seats, with the types and prices that were named."""
    lines = {line.seat.id: line for line in hold.lines if line.seat is not None}
    is_complete = len(hold.lines) == len(command.named_seats)
    return (is_complete or command.is_reservation) and all(
        ask.ticket_type_id in {None, lines[seat_id].ticket_type_id}
        and ask.unit_price_minor in {None, lines[seat_id].unit_price_minor}
        for ask in command.asks
        if isinstance(ask, SeatAsk)
        for seat_id in ask.seat_ids
    )


def pick_seats(
    ledger: Ledger, session: SessionCatalog, command: Placement, own: HoldId | None = None
) -> Picked | NeedsMore | Refusal:
    """Choose the seats of all asks. Seats of the hold `own` may be picked again."""
    picked = Picked(own=own)
    problem = _take_named(ledger, session, command, picked) or _take_found(
        ledger, session, command, picked
    )
    if problem is not None:
        return problem
    return _vacate(ledger, picked) or picked


def _take_named(
    ledger: Ledger, session: SessionCatalog, command: Placement, picked: Picked
) -> NeedsMore | Refusal | None:
    named = command.named_seats
    if not named:
        return None
    seats = [ledger.seats[seat_id] for seat_id in named if seat_id in ledger.seats]
    if len(seats) < len(named) or any(seat.session_id != session.session_id for seat in seats):
        return refusals.invalid_seat()
    taken = [
        seat
        for seat in seats
        if not seat.is_free(ledger.now) and (seat.hold_id != picked.own or seat.hold_id is None)
    ]
    others = [seat for seat in taken if not seat.is_held_by(command.holder.key, ledger.now)]
    if others:
        return refuse_contested(ledger, session, command, others)
    if taken:
        problem = _take_over(ledger, command, taken, picked)
        if problem is not None:
            return problem
    for position, ask in enumerate(command.asks):
        if isinstance(ask, SeatAsk):
            refusal = _take_seats(ledger, session, ask, position, picked)
            if refusal is not None:
                return refusal
    return _refuse_orphans(ledger, session, named, picked)


def _take_over(
    ledger: Ledger, command: Placement, taken: Sequence[Seat], picked: Picked
) -> NeedsMore | Refusal | None:
    """Move seats from the holder's other holds to the cart, if it takes all that these hold."""
    first = taken[0]
    refusal = refusals.active_hold_exists(str(first.hold_id), first.remaining_seconds(ledger.now))
    if not command.is_cart:
        return refusal
    keys = {key for seat in taken if (key := seat.hold_key) is not None}
    known = [ledger.holds[key] for key in sorted(keys) if key in ledger.holds]
    if len(known) < len(keys) or not all(map(ledger.knows_places_of, known)):
        return NeedsMore(holds=frozenset(keys))
    named = set(command.named_seats)
    for hold in known:
        is_whole = len(hold.lines) == len(hold.seats) and named >= {seat.id for seat in hold.seats}
        if hold.is_cart or not is_whole:
            return refusal
    picked.taken_over = tuple(known)
    return None


def _take_seats(
    ledger: Ledger, session: SessionCatalog, ask: SeatAsk, position: int, picked: Picked
) -> Refusal | None:
    for seat_id in ask.seat_ids:
        block_id = ledger.seats[seat_id].place.block_id
        ticket_type_id = ask.ticket_type_id or session.default_type_in(block_id)
        if ticket_type_id is None or not session.blocks[block_id].sells(ticket_type_id):
            return refusals.not_sold_here()
        picked.type_of[seat_id] = ticket_type_id
    picked.seats[position] = ask.seat_ids
    return None


def _take_found(
    ledger: Ledger, session: SessionCatalog, command: Placement, picked: Picked
) -> NeedsMore | Refusal | None:
    asks = seated_asks(command, session)
    if not asks:
        return None
    proposal = ledger.proposal
    if proposal is None:
        return NeedsMore()  # the catalog has changed since the survey
    if proposal.asks != tuple(ask for _, ask in asks):
        return NeedsMore(was_overtaken=True)  # the cart has changed since the survey
    if proposal.is_short:
        return _refuse_shortage(ledger, session, proposal)
    found = [seat_id for seats in proposal.seats for seat_id in seats]
    locked = frozenset(seat_id for seat_id in found if seat_id not in ledger.seats)
    if locked:
        return NeedsMore(locked_seats=locked, otherwise=refusals.lock_not_available(sorted(locked)))
    again = {seat_id for seat_id, _ in command.given_up}
    taken = [
        seat_id
        for seat_id in found
        if seat_id not in again and not ledger.seats[seat_id].is_free(ledger.now)
    ]
    if taken:
        return NeedsMore(
            locked_seats=frozenset(taken),
            was_overtaken=True,
            otherwise=refusals.lock_not_available(taken),
        )
    for (position, ask), seats in zip(asks, proposal.seats, strict=True):
        picked.seats[position] = seats
        picked.type_of.update(dict.fromkeys(seats, ask.ticket_type_id))
    return None


def _refuse_shortage(
    ledger: Ledger, session: SessionCatalog, proposal: Proposal
) -> NeedsMore | Refusal:
    """Refuse only if nothing can have changed since the survey: no seats freed by this group, and
    no more capacity in the blocks skipped as full."""
    shortage = _shortage(session, proposal)
    if session.key in ledger.freed:
        return NeedsMore(was_overtaken=True, otherwise=shortage)
    grown = {
        block_id: left
        for block_id, limit in proposal.limits.items()
        if (left := capacity_left(ledger, session, block_id)) > limit
    }
    return NeedsMore(block_limits=grown, otherwise=shortage) if grown else shortage


def _shortage(session: SessionCatalog, proposal: Proposal) -> Refusal:
    if proposal.full_block is not None:
        name = session.blocks[proposal.full_block].name
        return refusals.block_at_capacity(name, proposal.available)
    return refusals.not_enough_seats(proposal.requested, proposal.available, proposal.kind)


def _vacate(ledger: Ledger, picked: Picked) -> NeedsMore | None:
    lapsed = lapsed_on(ledger, picked.type_of)
    if isinstance(lapsed, NeedsMore):
        return lapsed
    picked.lapsed = lapsed
    return None


def lapsed_on(ledger: Ledger, seat_ids: Iterable[SeatId]) -> tuple[Hold, ...] | NeedsMore:
    """The lapsed holds on these seats, to be expired; their places have to be locked, too."""
    keys = {
        key
        for seat_id in seat_ids
        if ledger.seats[seat_id].is_lapsed(ledger.now)
        and (key := ledger.seats[seat_id].hold_key) is not None
    }
    known = [hold for key in keys if (hold := ledger.holds.get(key)) is not None]
    if len(known) < len(keys) or not all(map(ledger.knows_places_of, known)):
        return NeedsMore(holds=frozenset(keys))
    return tuple(sorted(known, key=lambda hold: (hold.expires_at, hold.id)))


def _refuse_orphans(
    ledger: Ledger, session: SessionCatalog, named: Sequence[SeatId], picked: Picked
) -> NeedsMore | Refusal | None:
    if not any(
        session.offers[ticket_type_id].policy.refuse_orphans
        for ticket_type_id in picked.type_of.values()
    ):
        return None
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return NeedsMore()  # the policy has changed since the survey
    free = free_now(ledger, seating)
    chosen: dict[int, int] = {}
    for seat_id in named:
        spot = seating.plan.spots.get(seat_id)
        if spot is None:
            return NeedsMore()
        chosen[spot.row] = chosen.get(spot.row, 0) | 1 << spot.bit
    left: list[JsonValue] = []
    for number, mask in chosen.items():
        row = seating.plan.rows[number]
        left += [str(row.places[bit].id) for bit in orphans(free.masks[number], mask)]
    return refusals.orphan_seat(left) if left else None
