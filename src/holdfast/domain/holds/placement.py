"""Placing a hold: everything, or nothing."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.commands import Ask, PlaceHold, SeatAsk
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, NeedsMore, Outcome, Placed, Waiting
from holdfast.domain.holds.capacity import Addition, fit
from holdfast.domain.holds.hold import Hold, Line, numbered_lines
from holdfast.domain.holds.lines import make_lines, parts_of
from holdfast.domain.holds.new_hold import placed_hold
from holdfast.domain.holds.partial_fulfilment import as_many_as_there_are
from holdfast.domain.holds.preconditions import (
    refuse_asks,
    refuse_holder,
    refuse_lines,
    refuse_status,
)
from holdfast.domain.holds.transitions import Transition, units_by_pool
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_choice import Picked, own_hold, pick_seats
from holdfast.domain.waitlist.joining import is_behind_a_line, wait_or_refuse


def place(ledger: Ledger, command: PlaceHold) -> Decision:
    existing = ledger.holds.get(command.hold_key)
    if existing is not None:
        return Decision(_repeated(existing, command, ledger.now))
    session = ledger.sessions.get(command.session_key)
    if session is None:
        return Decision(refusals.invalid_session())
    outcome = (
        refuse_status(session)
        or own_hold(ledger, command)
        or refuse_asks(session, command.asks, ledger.now)
    )
    if outcome is not None:
        return Decision(outcome)
    picked: Picked | NeedsMore | Refusal = Picked()
    if session.has_seats or command.named_seats:
        picked = pick_seats(ledger, session, command)
    if isinstance(picked, NeedsMore):
        return Decision(picked)
    types = {ask.ticket_type_id for ask in command.asks if ask.ticket_type_id is not None}
    types |= set(picked.type_of.values()) if isinstance(picked, Picked) else set()
    problem = refuse_holder(ledger, session, command.holder, types)
    if problem is not None:
        return Decision(problem)
    if isinstance(picked, Refusal):
        return wait_or_refuse(ledger, session, command, picked)
    return _place(ledger, session, command, picked)


def _place(
    ledger: Ledger,
    session: SessionCatalogue,
    command: PlaceHold,
    picked: Picked,
) -> Decision:
    if session.keeps_line and is_behind_a_line(ledger, session, command):
        return wait_or_refuse(ledger, session, command, refusals.others_are_waiting())
    parts = as_many_as_there_are(ledger, session, parts_of(command), picked)
    lines = numbered_lines(make_lines(ledger, session, parts, picked), 1)
    if not lines:
        return wait_or_refuse(ledger, session, command, refusals.insufficient_inventory(0))
    refusal = refuse_lines(session, lines)
    if refusal is not None:
        return Decision(refusal)
    hold = placed_hold(ledger, session, command, lines)
    found = fit(
        ledger,
        session,
        Addition([part.ask for part in parts], lines, units_by_pool(hold), picked),
        command.origin,
    )
    if isinstance(found, Decision):
        return found
    if isinstance(found, Refusal):
        return wait_or_refuse(ledger, session, command, found)
    placed = Transition(None, hold, command.origin)
    transitions = (*found.ended, placed)
    return Decision(Placed(hold, ledger.now), transitions, passed=found.passed)


def _repeated(existing: Hold, command: PlaceHold, now: datetime) -> Outcome:
    """The id is taken: by this very request, sent again, or by another."""
    is_same = (
        _are_met_by(command, existing)
        and existing.session_id == command.session_id
        and existing.holder.is_same_as(command.holder)
    )
    if not is_same:
        return refusals.idempotency_key_reused()
    again = Waiting if existing.is_waiting(now) else Placed
    return again(existing, at=now, is_repeat=True)


def _are_met_by(command: PlaceHold, hold: Hold) -> bool:
    """Whether its lines are what the asks have got, in their order. Where fewer would do nobody
    remembers how many each has got: any way to share them out will do."""
    reached = {0}  # how many of the lines the asks so far may have got
    for ask in command.asks:
        reached = _reached_with(ask, hold.lines, reached)
    return len(hold.lines) in reached


def _reached_with(ask: Ask | SeatAsk, lines: Sequence[Line], starts: Iterable[int]) -> set[int]:
    """Where the lines of this ask may end that begin there."""
    if isinstance(ask, SeatAsk):
        count = len(ask.seat_ids)
        return {start + count for start in starts if _are_named(ask, lines[start : start + count])}
    least = int(ask.quantity) if ask.at_least is None else ask.at_least
    runs = _runs_for(ask, lines)
    ends = set() if least else set(starts)
    for start in starts:
        ends.update(range(start + least, start + min(ask.quantity, runs[start]) + 1))
        line = lines[start] if start < len(lines) else None
        if line is not None and line.seat is None and _is_for(ask, line):
            ends |= {start + 1} if least <= line.quantity <= ask.quantity else set()
    return ends


def _are_named(ask: SeatAsk, lines: Sequence[Line]) -> bool:
    seats = tuple(line.seat.id for line in lines if line.seat is not None)
    return seats == ask.seat_ids and all(_is_for(ask, line) for line in lines)


def _runs_for(ask: Ask, lines: Sequence[Line]) -> list[int]:
    """From each line on, how many follow each other that are seats for it."""
    runs = [0] * (len(lines) + 1)
    for number in reversed(range(len(lines))):
        line = lines[number]
        if line.seat is not None and _is_for(ask, line):
            runs[number] = runs[number + 1] + 1
    return runs


def _is_for(ask: Ask | SeatAsk, line: Line) -> bool:
    """A price counts only where the platform names one: the catalogue's may have changed since."""
    return ask.ticket_type_id in {None, line.ticket_type_id} and ask.unit_price_minor in {
        None,
        line.unit_price_minor,
    }
