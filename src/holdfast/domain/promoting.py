"""What is free goes to those who wait for it, in their order."""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum, auto
from uuid import UUID

from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Origin
from holdfast.domain.hold import Hold, Line, numbered_lines, rounded_up
from holdfast.domain.ids import SessionKey
from holdfast.domain.ledger import Ledger
from holdfast.domain.line_making import SeatSale, seat_line
from holdfast.domain.overtaking import (
    Taking,
    capacity_limits,
    first_may_be_passed,
    free_for_waiters,
    passes,
    seat_asks,
)
from holdfast.domain.proposing import propose
from holdfast.domain.transitions import Transition, units_by_pool
from holdfast.domain.waiting import LOOK_AHEAD, WaitingLine, Waitlist, place_of

ACTOR = "waitlist"


class _Not(Enum):
    """Why somebody is not promoted."""

    FITTING = auto()  # too little is free, or it is somebody else's turn
    LOCKED = auto()  # what it needs is not locked here: another transaction will have to


@dataclass(frozen=True, slots=True)
class _Promotion:
    hold: Hold
    passed: tuple[UUID, ...]


def settle(ledger: Ledger, session_key: SessionKey, origin: Origin) -> list[Transition]:
    """Promote whoever can be, or end the line where the sale is over. Each step is applied to the
    ledger at once, for the next depends on it; `origin` is whose doing it follows from."""
    waitlist = ledger.waitlists.get(session_key)
    if waitlist is None:
        return []
    waitlist.is_settled = True
    if not waitlist:
        return []
    session = ledger.sessions[session_key]
    origin = replace(origin, actor=ACTOR)
    if session.sale.is_over(ledger.now):
        return _end_line(ledger, waitlist, origin)
    if not session.sale.is_within_window(ledger.now):
        return []
    made: list[Transition] = []
    stuck: set[UUID] = set()
    for hold in waitlist.in_order():
        assert hold.waiting is not None
        if hold.waiting.line_id in stuck:
            continue
        if not waitlist.promotions_left:
            waitlist.is_settled = False
            return made
        if hold.is_lapsed(ledger.now):
            made += _applied(ledger, Transition(hold, hold.expired(ledger.now), origin))
            continue
        promotion = _promotion(ledger, session, hold)
        if isinstance(promotion, _Promotion):
            waitlist.promotions_left -= 1
            transition = Transition(hold, promotion.hold, origin)
            made += _applied(ledger, transition, promotion.passed)
            continue
        if promotion is _Not.LOCKED:
            waitlist.is_settled = False
        line = waitlist.lines[hold.waiting.line_id]
        if promotion is _Not.LOCKED or not first_may_be_passed(session, line):
            stuck.add(line.id)
    if any(_is_cut_short(session, line) for line in waitlist.lines.values()):
        waitlist.is_settled = False
    return made


def _is_cut_short(session: SessionCatalogue, line: WaitingLine) -> bool:
    """There are more than anyone has looked at, and it may be their turn."""
    if not line.first:
        return True
    is_cut = not line.is_all_seen and len(line.first) < LOOK_AHEAD
    return is_cut and first_may_be_passed(session, line)


def _applied(
    ledger: Ledger, transition: Transition, passed: tuple[UUID, ...] = ()
) -> tuple[Transition]:
    ledger.apply((transition,), passed=passed)
    return (transition,)


def _end_line(ledger: Ledger, waitlist: Waitlist, origin: Origin) -> list[Transition]:
    """Nothing is sold any more, so there is nothing to wait for."""
    made: list[Transition] = []
    for hold in waitlist.in_order():
        if not waitlist.promotions_left:
            break
        waitlist.promotions_left -= 1
        ended = (
            hold.expired(ledger.now) if hold.is_lapsed(ledger.now) else hold.released(ledger.now)
        )
        made += _applied(ledger, Transition(hold, ended, origin))
    waitlist.is_settled = not waitlist.lines
    return made


def _promotion(ledger: Ledger, session: SessionCatalogue, hold: Hold) -> _Promotion | _Not:
    if any(line.ticket_type_id not in session.offers for line in hold.lines):
        return _Not.FITTING
    lines = _seated(ledger, session, hold)
    if isinstance(lines, _Not):
        return lines
    policies = [session.offers[line.ticket_type_id].policy for line in lines]
    until = rounded_up(ledger.now) + timedelta(seconds=min(each.ttl_seconds for each in policies))
    warning_seconds = max(policy.warning_seconds for policy in policies)
    promoted = hold.promoted(ledger.now, until, warning_seconds, lines)
    demand = units_by_pool(promoted)
    if not demand.keys() <= ledger.pools.keys():
        return _Not.LOCKED
    left = {pool_id: ledger.pools[pool_id].free - units for pool_id, units in demand.items()}
    if any(units < 0 for units in left.values()):
        return _Not.FITTING
    assert hold.waiting is not None
    wants = ledger.waitlists[session.key].lines[hold.waiting.line_id].wants
    seats = frozenset(seat.id for seat in promoted.seats)
    passed = passes(ledger, session, Taking(wants, left, seats, place_of(hold)))
    return _Not.FITTING if passed is None else _Promotion(promoted, passed)


def _seated(ledger: Ledger, session: SessionCatalogue, hold: Hold) -> tuple[Line, ...] | _Not:
    """Its lines with seats in the place of wishes."""
    asks = seat_asks(hold)
    if not asks:
        return hold.lines
    seating = ledger.seatings.get(session.key)
    if seating is None:
        return _Not.LOCKED
    free = free_for_waiters(ledger, seating)
    limits = capacity_limits(ledger, session)
    proposal, _ = propose(seating, free, asks, session, limits=limits)
    if proposal.is_short:
        return _Not.FITTING
    if any(seat_id not in ledger.seats for seats in proposal.seats for seat_id in seats):
        return _Not.LOCKED
    found = iter(proposal.seats)
    lines: list[Line] = []
    for line in hold.lines:
        if line.wish is None:
            lines.append(line)
            continue
        lines += (
            seat_line(
                ledger,
                session,
                SeatSale(seat_id, line.ticket_type_id, line.wish.unit_price_minor),
                line.item,
            )
            for seat_id in next(found)
        )
    return numbered_lines(lines, hold.version + 1)
