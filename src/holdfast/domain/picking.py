"""Which seats a hold gets: those it names, or those that were found for it. Under lock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.domain import refusals
from holdfast.domain.best_available import Search, best_available, orphans
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import PlaceHold, SeatAsk
from holdfast.domain.facts import iso
from holdfast.domain.hold import Hold
from holdfast.domain.ids import SeatId, TicketTypeId
from holdfast.domain.ledger import Ledger
from holdfast.domain.outcomes import NeedsMore, Placed
from holdfast.domain.planning import seated_asks
from holdfast.domain.refusals import Refusal
from holdfast.domain.seat import Seat
from holdfast.domain.seating import FreeSeats, Seating
from holdfast.domain.values import JsonValue


@dataclass(slots=True)
class Picked:
    """The seats of each ask by its position, what kind of ticket each seat is, and the lapsed holds
    that still stand on them."""

    seats: dict[int, tuple[SeatId, ...]] = field(default_factory=dict)
    type_of: dict[SeatId, TicketTypeId] = field(default_factory=dict)
    lapsed: tuple[Hold, ...] = ()


def own_hold(ledger: Ledger, command: PlaceHold) -> Placed | NeedsMore | None:
    """Asking again for what one holds is no error, and was not made one by a sale that has ended
    since: the answer is the hold that stands."""
    if not all(isinstance(ask, SeatAsk) for ask in command.asks):
        return None
    seats = [ledger.seats.get(seat_id) for seat_id in command.named_seats]
    keys = {
        seat.hold_key
        if seat is not None
        and seat.session_id == command.session_id
        and seat.is_held_by(command.holder.key, ledger.now)
        else None
        for seat in seats
    }
    key = keys.pop()
    if key is None or keys:
        return None
    hold = ledger.holds.get(key)
    if hold is None:
        return NeedsMore(holds=frozenset({key}))
    return Placed(hold, ledger.now, is_repeat=True)


def pick_seats(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold
) -> Picked | NeedsMore | Refusal:
    picked = Picked()
    problem = _take_named(ledger, session, command, picked) or _take_found(
        ledger, session, command, picked
    )
    if problem is not None:
        return problem
    return _vacate(ledger, picked) or picked


def _take_named(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> NeedsMore | Refusal | None:
    named = command.named_seats
    if not named:
        return None
    seats = [ledger.seats[seat_id] for seat_id in named if seat_id in ledger.seats]
    if len(seats) < len(named) or any(seat.session_id != session.session_id for seat in seats):
        return refusals.invalid_seat()
    contested = [seat for seat in seats if not seat.is_free(ledger.now)]
    if contested:
        return _refuse_contested(ledger, session, command, contested)
    for position, ask in enumerate(command.asks):
        if isinstance(ask, SeatAsk):
            refusal = _take_seats(ledger, session, ask, position, picked)
            if refusal is not None:
                return refusal
    return _refuse_orphans(ledger, session, named, picked)


def _take_seats(
    ledger: Ledger, session: SessionCatalogue, ask: SeatAsk, position: int, picked: Picked
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
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, picked: Picked
) -> NeedsMore | Refusal | None:
    asks = seated_asks(command, session)
    if not asks:
        return None
    proposal = ledger.proposals.get(command.hold_key)
    if proposal is None:
        return NeedsMore()  # the catalogue has changed since the look ahead
    if proposal.is_short:
        if session.key in ledger.freed or not proposal.is_certain:
            return NeedsMore(was_overtaken=True)
        if proposal.full_block is not None:
            name = session.blocks[proposal.full_block].name
            return refusals.block_at_capacity(name, proposal.available)
        return refusals.not_enough_seats(proposal.requested, proposal.available)
    found = [seat_id for seats in proposal.seats for seat_id in seats]
    locked = frozenset(seat_id for seat_id in found if seat_id not in ledger.seats)
    if locked:
        return NeedsMore(locked_seats=locked)
    if not all(ledger.seats[seat_id].is_free(ledger.now) for seat_id in found):
        return NeedsMore(was_overtaken=True)
    for (position, ask), seats in zip(asks, proposal.seats, strict=True):
        picked.seats[position] = seats
        picked.type_of.update(dict.fromkeys(seats, ask.ticket_type_id))
    return None


def _vacate(ledger: Ledger, picked: Picked) -> NeedsMore | None:
    """The lapsed holds on these seats are to be expired: they and all their places are needed."""
    keys = {
        key
        for seat_id in picked.type_of
        if ledger.seats[seat_id].is_lapsed(ledger.now)
        and (key := ledger.seats[seat_id].hold_key) is not None
    }
    known = [hold for key in keys if (hold := ledger.holds.get(key)) is not None]
    if len(known) < len(keys) or not all(map(ledger.knows_places_of, known)):
        return NeedsMore(holds=frozenset(keys))
    picked.lapsed = tuple(sorted(known, key=lambda hold: (hold.expires_at, hold.id)))
    return None


def _refuse_orphans(
    ledger: Ledger, session: SessionCatalogue, named: Sequence[SeatId], picked: Picked
) -> NeedsMore | Refusal | None:
    if not any(
        session.offers[ticket_type_id].policy.refuse_orphans
        for ticket_type_id in picked.type_of.values()
    ):
        return None
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return NeedsMore()  # the policy has changed since the look ahead
    free = _free_now(ledger, seating)
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


def _free_now(ledger: Ledger, seating: Seating) -> FreeSeats:
    """What the look ahead saw, corrected by what is locked."""
    free = seating.free.copy()
    for seat in ledger.seats.values():
        spot = seating.plan.spots.get(seat.id)
        if spot is not None and seat.is_free(ledger.now):
            free.give_back(spot)
        elif spot is not None:
            free.take(spot)
    return free


def _refuse_contested(
    ledger: Ledger, session: SessionCatalogue, command: PlaceHold, contested: Sequence[Seat]
) -> Refusal:
    """Every seat that is in the way, and how long it will be; never who has it."""
    details: dict[str, JsonValue] = {
        "contested_seats": [_contested(ledger, session, seat) for seat in contested]
    }
    if command.wants_alternative:
        details["alternative"] = _alternative(ledger, session, command)
    gone = [seat for seat in contested if seat.held_until is None]
    if gone:
        details["current_status"] = gone[0].status.value
        return refusals.seat_not_available(details)
    own = contested[0].hold_id
    if all(seat.is_held_by(command.holder.key, ledger.now) for seat in contested):
        return refusals.active_hold_exists(
            str(own), contested[0].remaining_seconds(ledger.now), details
        )
    latest = max(seat.held_until for seat in contested if seat.held_until is not None)
    details["expires_at"] = iso(latest)
    details["expires_in"] = int((latest - ledger.now).total_seconds())
    return refusals.seat_held_by_another_user(details)


def _contested(ledger: Ledger, session: SessionCatalogue, seat: Seat) -> JsonValue:
    until = seat.held_until
    return {
        "seat_id": str(seat.id),
        "block_name": session.blocks[seat.place.block_id].name,
        "row": seat.place.row,
        "seat_number": seat.place.number,
        "status": seat.status.value,
        "expires_at": None if until is None else iso(until),
        "expires_in": None if until is None else seat.remaining_seconds(ledger.now),
    }


def _alternative(ledger: Ledger, session: SessionCatalogue, command: PlaceHold) -> JsonValue:
    """The next best offer of the same size: in the same block, or else in any that sells it."""
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return None
    free, count = _free_now(ledger, seating), len(command.named_seats)
    first = next(ask for ask in command.asks if isinstance(ask, SeatAsk))
    own_block = ledger.seats[first.seat_ids[0]].place.block_id
    wanted = first.ticket_type_id or session.default_type_in(own_block)
    selling = {
        block_id
        for block_id, block in session.blocks.items()
        if wanted is not None and block.sells(wanted)
    }
    for blocks in (selling & {own_block}, selling):
        spots = best_available(seating.plan, free, Search(count, frozenset(blocks)))
        if spots:
            places = [seating.plan.place(spot) for spot in spots]
            return {
                "seat_ids": [str(place.id) for place in places],
                "seats": [
                    {
                        "seat_id": str(place.id),
                        "block_name": session.blocks[place.block_id].name,
                        "row": place.row,
                        "seat_number": place.number,
                    }
                    for place in places
                ],
                "adjacent": _are_adjacent([spot.row for spot in spots], [s.bit for s in spots]),
            }
    return None


def _are_adjacent(rows: Iterable[int], bits: Sequence[int]) -> bool:
    return len(set(rows)) == 1 and max(bits) - min(bits) == len(bits) - 1
