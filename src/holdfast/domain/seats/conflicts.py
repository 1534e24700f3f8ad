"""Refuses seats that others have, with their expiry and an alternative."""

from collections.abc import Iterable, Sequence

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.facts import iso
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Placement, SeatAsk
from holdfast.domain.ids import BlockId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.best_available import Search, best_available
from holdfast.domain.seats.seat import Seat
from holdfast.domain.seats.seat_plan import FreeSeats, Seating, Spot
from holdfast.domain.values import JsonValue


def free_now(ledger: Ledger, seating: Seating) -> FreeSeats:
    """The free seats from the survey, corrected by the locked rows."""
    free = seating.free.copy()
    for seat in ledger.seats.values():
        spot = seating.plan.spots.get(seat.id)
        if spot is not None:
            free.put(spot, seat.is_free(ledger.now))
    return free


def capacity_left(ledger: Ledger, session: SessionCatalog, block_id: BlockId) -> int:
    """The capacity left in a block; 0 if its pool is not locked."""
    pool_id = session.blocks[block_id].capacity_pool_id
    if pool_id is None:
        return SEATS_PER_HOLD_MAX
    return ledger.available(pool_id) if pool_id in ledger.pools else 0


def refuse_contested(
    ledger: Ledger, session: SessionCatalog, command: Placement, contested: Sequence[Seat]
) -> Refusal:
    """List every contested seat and its expiry, but never who has it."""
    details: dict[str, JsonValue] = {
        "contested_seats": [_contested(ledger, session, seat) for seat in contested]
    }
    alternative = _alternative(ledger, session, command) if command.wants_alternative else None
    if alternative is not None:
        details["alternative"] = alternative
    gone = [seat for seat in contested if seat.held_until is None]
    if gone:
        details["current_status"] = gone[0].status.value
        return refusals.seat_not_available(details)
    latest = max(seat.held_until for seat in contested if seat.held_until is not None)
    details["expires_at"] = iso(latest)
    details["expires_in"] = int((latest - ledger.now).total_seconds())
    return refusals.seat_held_by_another_user(details)


def _contested(ledger: Ledger, session: SessionCatalog, seat: Seat) -> JsonValue:
    told: dict[str, JsonValue] = {
        "seat_id": str(seat.id),
        "block_name": session.blocks[seat.place.block_id].name,
        "row": seat.place.row,
        "seat_number": seat.place.number,
        "status": seat.status.value,
    }
    if seat.held_until is not None:
        told["expires_at"] = iso(seat.held_until)
        told["expires_in"] = seat.remaining_seconds(ledger.now)
    return told


def _alternative(ledger: Ledger, session: SessionCatalog, command: Placement) -> JsonValue:
    """The best available seats instead: in the same block, or else in any that sells the ticket
    types and has the capacity."""
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return None
    blocks = [ledger.seats[seat_id].place.block_id for seat_id in command.named_seats]
    types = {
        ask.ticket_type_id or session.default_type_in(ledger.seats[seat_id].place.block_id)
        for ask in command.asks
        if isinstance(ask, SeatAsk)
        for seat_id in ask.seat_ids
    }
    selling = {
        block_id
        for block_id, block in session.blocks.items()
        if all(each is not None and block.sells(each) for each in types)
    }
    limits = {
        block_id: capacity_left(ledger, session, block_id)
        for block_id in selling
        if session.blocks[block_id].capacity_pool_id is not None
    }
    free = free_now(ledger, seating)
    for where in (selling & {blocks[0]}, selling):
        search = Search(len(blocks), frozenset(where), limits=limits)
        spots = best_available(seating.plan, free, search)
        if spots:
            return _offer(session, seating, spots)
    return None


def _offer(session: SessionCatalog, seating: Seating, spots: Sequence[Spot]) -> JsonValue:
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
        "adjacent": _are_adjacent([spot.row for spot in spots], [spot.bit for spot in spots]),
    }


def _are_adjacent(rows: Iterable[int], bits: Sequence[int]) -> bool:
    return len(set(rows)) == 1 and max(bits) - min(bits) == len(bits) - 1
