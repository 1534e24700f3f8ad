"""An operator takes seats out of the sale, or puts them back."""

from holdfast.domain import refusals
from holdfast.domain.group.commands import BlockSeats
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, NeedsMore, SeatsBlocked
from holdfast.domain.holds.transitions import SeatTransition, Transition
from holdfast.domain.ids import HoldKey
from holdfast.domain.seats.seat import Seat, SeatStatus


def block_seats(ledger: Ledger, command: BlockSeats) -> Decision:
    if command.session_key not in ledger.sessions:
        return Decision(refusals.session_not_found())
    seats = [ledger.seats[id_] for id_ in command.seat_ids if id_ in ledger.seats]
    if len(seats) < len(command.seat_ids) or any(
        seat.session_id != command.session_id for seat in seats
    ):
        return Decision(refusals.invalid_seat())
    changing = [seat for seat in seats if seat.is_blocked() is command.is_lifted]
    unchanged = tuple(seat.id for seat in seats if seat.is_blocked() is not command.is_lifted)
    ended = [] if command.is_lifted else _holds_on(changing)
    holds = [ledger.holds[key] for key in ended if key in ledger.holds]
    if len(holds) < len(ended) or not all(map(ledger.knows_places_of, holds)):
        return Decision(NeedsMore(holds=frozenset(ended)))
    transitions = tuple(
        Transition(
            hold,
            hold.expired(ledger.now) if hold.is_lapsed(ledger.now) else hold.released(ledger.now),
            command.origin,
            is_by_operator=True,
        )
        for hold in holds
    )
    seat_transitions = tuple(_changed(seat, command) for seat in changing)
    blocked = SeatsBlocked(
        tuple(each.after for each in seat_transitions),
        unchanged,
        tuple(transition.after.id for transition in transitions),
        ledger.now,
    )
    return Decision(blocked, transitions, seat_transitions)


def _holds_on(seats: list[Seat]) -> list[HoldKey]:
    keys = [seat.hold_key for seat in seats if seat.status is SeatStatus.HELD]
    return list(dict.fromkeys(key for key in keys if key is not None))


def _changed(seat: Seat, command: BlockSeats) -> SeatTransition:
    if command.is_lifted:
        return SeatTransition(seat, seat.unblocked(), command.reason, command.origin)
    # Its hold has ended by now.
    free = seat.released() if seat.status is SeatStatus.HELD else seat
    return SeatTransition(seat, free.blocked(command.reason), command.reason, command.origin)
