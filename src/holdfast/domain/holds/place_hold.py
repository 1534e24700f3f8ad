"""Places a hold, all or nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, limit_of
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import (
    Footprint,
    Holding,
    Needs,
    Resource,
    ResourceKind,
    seats_to_survey,
)
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import (
    NOTHING_MORE,
    AwaitsInventory,
    Decision,
    NeedsMore,
    Outcome,
    Placed,
    Waiting,
)
from holdfast.domain.group.plan import (
    SEATS_FREED_BY_ONE_MAX,
    GroupPlan,
    key_of,
    resources_of,
    seats_of,
)
from holdfast.domain.group.transitions import Transition, demand_of
from holdfast.domain.holds.hold import Hold, Line, numbered_lines
from holdfast.domain.holds.holder_limits import refuse_above_limits
from holdfast.domain.holds.new_hold import make_lines, parts_of, placed_hold
from holdfast.domain.holds.partial_fulfilment import fulfil_partially
from holdfast.domain.holds.placement import Ask, Placement, SeatAsk, asked_for
from holdfast.domain.holds.preconditions import (
    Addition,
    fit,
    refuse_asks,
    refuse_holder,
    refuse_lines,
    refuse_status,
)
from holdfast.domain.holds.remote import place_remotely, refuse_remote
from holdfast.domain.ids import PoolId, SeatId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.assignment import claim_of, pools_of_alternatives, seat_resources
from holdfast.domain.seats.seat_choice import Picked, own_hold, pick_seats
from holdfast.domain.waitlist.entry import is_behind_queue, wait_or_refuse

_SESSION, _POOL = ResourceKind.SESSION, ResourceKind.POOL
_TAKEN_BY_OTHERS = {RefusalCode.SEAT_HELD_BY_ANOTHER_USER, RefusalCode.SEAT_NOT_AVAILABLE}


class PlaceHold(Placement, Command):
    __slots__ = ()

    can_choose_seats = True
    locks_waitlists = False  # its footprint does where necessary
    frees_places = False

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(
            sessions=frozenset({self.session_key}),
            holds=learnt.holds,
            lapsed=learnt.lapsed,
            wishes=(self.wish,),
        )

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        rivalry = self.rivalry
        has_own_locks = self.idempotency is not None or self.is_id_from_client
        if rivalry is None or has_own_locks or learnt is not NOTHING_MORE:
            return footprint_of(plan, self, learnt)
        if rivalry in plan.of_rivals:
            return replace(plan.of_rivals[rivalry], new_holds=(self.hold_key,))
        footprint = footprint_of(plan, self, learnt)
        plan.of_rivals[rivalry] = _without_holder(footprint)
        return footprint

    def decide(self, ledger: Ledger) -> Decision:
        return place(ledger, self)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        """Name the contested seat, so that support can tell a buyer why they didn't get it."""
        seat_id = contested_seat(refusal) or next(iter(self.named_seats), None)
        action = "hold.create_failed" if seat_id is None else "seat_reserve_failed"
        asked = asked_for(self.session_id, self.asks, self.holder, self.remarks.cart_token)
        # Nobody knows an id that we have just generated.
        hold_id = self.hold_id if self.is_id_from_client else None
        return FailedAction(action, hold_id, seat_id, asked)


def contested_seat(refusal: Refusal) -> SeatId | None:
    match refusal.details:
        case {"contested_seats": [{"seat_id": str(contested)}, *_]}:
            return SeatId(UUID(contested))
        case {"seat_ids": [str(locked), *_]}:
            return SeatId(UUID(locked))
    return None


def footprint_of(plan: GroupPlan, placement: Placement, learnt: NeedsMore) -> Footprint:
    organization_id = placement.organization_id
    if placement.session_key in plan.survey.unread and _needs_seating(plan, placement):
        awaits = Resource(ResourceKind.SEATING, organization_id, placement.session_id)
        return Footprint(frozenset(), awaits=awaits)
    required = key_of(placement)
    weight = len(placement.named_seats)
    if learnt.holds:
        standing = plan.known(learnt.holds)
        weight += seats_of(standing)
        if seats_of(standing) > SEATS_FREED_BY_ONE_MAX:
            # The reaper ends the expired holds on these seats a few at a time.
            return Footprint(frozenset(), refusal=refusals.service_unavailable())
        required |= resources_of(standing)
    required.add(Resource(_SESSION, organization_id, placement.session_id))
    if placement.is_id_from_client:
        required.add(Resource(ResourceKind.HOLD_ID, organization_id, placement.hold_id))
        required.add(Resource(ResourceKind.HOLD, organization_id, placement.hold_id))
    optional = plan.lapsed(learnt.lapsed) if learnt.lapsed else set()
    proposal = holding = None
    session = plan.survey.sessions.get(placement.session_key)
    if session is not None:
        if not placement.is_remote:
            required |= _pools(plan, placement, session)
        if session.has_waitlist:
            required.add(Resource(ResourceKind.WAITLIST, organization_id, placement.session_id))
            required |= {Resource(_POOL, organization_id, each) for each in learnt.pools}
        is_waiting = learnt.has_to_wait or placement.session_key in plan.survey.busy_waitlists
        holding = _holding(placement, session, is_waiting=is_waiting)
        if holding is not None:
            key = holding.holder.key
            required.add(Resource(ResourceKind.HOLDER, organization_id, key))
    if placement.named_seats:
        required |= seat_resources(organization_id, placement.named_seats)
    # Skipped for general admission, by far the most common case.
    if session is not None and session.has_seats:
        required |= plan.seats.neighbours(placement, session)
        proposal = plan.seats.propose(placement, session, learnt)
        optional |= pools_of_alternatives(placement, session)
    if proposal is not None:
        proposed = {seat_id for seats in proposal.seats for seat_id in seats}
        required |= seat_resources(organization_id, proposed & learnt.locked_seats)
        required |= plan.seats.block_pools(placement.session_key, proposed, proposal.limits)
        optional |= seat_resources(organization_id, proposed)
        weight += len(proposed)
    is_seating_known = placement.session_key in plan.survey.seatings
    return Footprint(
        frozenset(required),
        frozenset(optional - required),
        proposal,
        holding,
        (placement.hold_key,),
        claim=claim_of(placement, proposal) if is_seating_known else None,
        weight=max(1, weight),
    )


def _without_holder(footprint: Footprint) -> Footprint:
    """The footprint that rivals share. Most are refused before their holdings are counted; the
    others are planned again, alone."""
    if footprint.holding is None:
        return footprint
    holder = frozenset(footprint.required_of(ResourceKind.HOLDER))
    return replace(footprint, required=footprint.required - holder, holding=None)


def _pools(plan: GroupPlan, placement: Placement, session: SessionCatalog) -> set[Resource]:
    pools: set[PoolId] = set()
    for ask in placement.asks:
        if isinstance(ask, SeatAsk):
            pools |= plan.seats.pools_of_named(ask, session)
        elif ask.ticket_type_id in session.offers:
            pools.update(session.offers[ask.ticket_type_id].pool_ids)
    return {Resource(_POOL, placement.organization_id, pool_id) for pool_id in pools}


def _needs_seating(plan: GroupPlan, placement: Placement) -> bool:
    needs = Needs(wishes=(placement.wish,))
    return placement.session_key in seats_to_survey(needs, plan.survey).seatings


def _holding(placement: Placement, session: SessionCatalog, *, is_waiting: bool) -> Holding | None:
    """The holder whose holds are counted, if holds or places on the waitlist are limited."""
    if session.limits_holders or limit_of(placement.reach) is not None:
        return Holding(placement.session_key, placement.holder, session.event_id)
    if session.allows_one_hold or (is_waiting and session.has_waitlist):
        return Holding(placement.session_key, placement.holder)
    return None


def place(ledger: Ledger, placement: Placement) -> Decision:
    session = ledger.sessions.get(placement.session_key)
    if placement.reach is not None and (session is None or _is_hidden(session, placement.reach)):
        return Decision(refusals.invalid_session())
    existing = ledger.holds.get(placement.hold_key)
    if existing is not None:
        return Decision(_repeated(existing, placement, ledger.now))
    if session is None:
        return Decision(refusals.invalid_session())
    outcome = (
        (_refused_like_rivals(ledger, placement) if ledger.contested else None)
        or refuse_status(session)
        or (own_hold(ledger, placement) if placement.named_seats else None)
        or placement.over_rate
        or refuse_asks(session, placement.asks, ledger.now)
        or (refuse_remote(session, placement) if placement.is_remote else None)
    )
    if outcome is not None:
        return Decision(outcome)
    picked: Picked | NeedsMore | Refusal = Picked()
    if session.has_seats or placement.named_seats:
        picked = pick_seats(ledger, session, placement)
    if isinstance(picked, NeedsMore):
        return Decision(picked)
    types = {ask.ticket_type_id for ask in placement.asks if ask.ticket_type_id is not None}
    types |= set(picked.type_of.values()) if isinstance(picked, Picked) else set()
    problem = refuse_holder(ledger, session, placement.holder, types)
    if problem is not None:
        return Decision(problem)
    if isinstance(picked, Refusal):
        if placement.rivalry is not None and picked.code in _TAKEN_BY_OTHERS:
            ledger.contested[placement.rivalry] = picked
        return wait_or_refuse(ledger, session, placement, picked)
    return _place(ledger, session, placement, picked)


def _is_hidden(session: SessionCatalog, reach: Reach) -> bool:
    """Whether the session does not exist for the token, which includes those of drafts."""
    is_announced = session.sale.is_announced
    return not (is_announced and reach.includes(session.session_id, session.event_id))


def _refused_like_rivals(ledger: Ledger, placement: Placement) -> Refusal | None:
    """The refusal that an earlier command of the group got for the same seats. It is the same for
    everyone who has none of these seats, as in a stampede."""
    refusal = None if placement.rivalry is None else ledger.contested.get(placement.rivalry)
    if refusal is None:
        return None
    holder_key = placement.holder.key
    for seat_id in placement.named_seats:
        if ledger.seats[seat_id].holder_key == holder_key:
            return None
    return refusal


def _place(
    ledger: Ledger,
    session: SessionCatalog,
    placement: Placement,
    picked: Picked,
) -> Decision:
    if placement.is_remote:
        return place_remotely(ledger, session, placement)
    if session.has_waitlist and is_behind_queue(ledger, session, placement):
        return wait_or_refuse(ledger, session, placement, refusals.others_are_waiting())
    parts = parts_of(placement)
    if placement.takes_fewer:
        parts = fulfil_partially(ledger, session, parts, picked)
    lines = numbered_lines(make_lines(ledger, session, parts, picked), 1)
    if not lines:
        return wait_or_refuse(ledger, session, placement, refusals.insufficient_inventory(0))
    refusal = refuse_lines(session, lines)
    if refusal is not None:
        return Decision(refusal)
    hold = placed_hold(ledger, session, placement, lines)
    reach = placement.reach
    problem = refuse_above_limits(ledger, session, hold, *picked.taken_over, reach=reach)
    if problem is not None:
        return Decision(problem)
    found = fit(
        ledger,
        session,
        Addition([part.ask for part in parts], lines, demand_of(lines), picked),
        placement.origin,
    )
    if isinstance(found, Decision):
        return found
    if isinstance(found, Refusal):
        return wait_or_refuse(ledger, session, placement, found)
    placed = Transition(None, hold, placement.origin)
    transitions = (*found.ended, placed)
    return Decision(Placed(hold, ledger.now), transitions, passed=found.passed)


def _repeated(existing: Hold, placement: Placement, now: datetime) -> Outcome:
    """The answer if the id is taken: by the same request sent earlier, or by another one."""
    is_same = (
        _are_met_by(placement, existing)
        and existing.session_id == placement.session_id
        and existing.holder.is_same_as(placement.holder)
    )
    if not is_same:
        return refusals.idempotency_key_reused()
    if existing.is_pending() and placement.is_remote:
        return AwaitsInventory(existing, now)
    if existing.is_pending() or existing.has_failed():
        return refusals.invalid_hold_state(existing.status.value)
    again = Waiting if existing.is_waiting(now) else Placed
    return again(existing, at=now, is_repeat=True)


def _are_met_by(placement: Placement, hold: Hold) -> bool:
    """Whether the hold's lines can be the result of the asks, in order. The share of each ask with
    `at_least` is not stored, so any way to split the lines will do."""
    reached = {0}  # possible numbers of lines used by the asks so far
    for ask in placement.asks:
        reached = _reached_with(ask, hold.lines, reached)
    return len(hold.lines) in reached


def _reached_with(ask: Ask | SeatAsk, lines: Sequence[Line], starts: Iterable[int]) -> set[int]:
    """Where the lines of this ask may end, given where they may start."""
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
    """For each line, the length of the run of seat lines from there that suit the ask."""
    runs = [0] * (len(lines) + 1)
    for number in reversed(range(len(lines))):
        line = lines[number]
        if line.seat is not None and _is_for(ask, line):
            runs[number] = runs[number + 1] + 1
    return runs


def _is_for(ask: Ask | SeatAsk, line: Line) -> bool:
    """Whether the line suits the ask. Compares only prices that the platform named: those of the
    catalog may have changed."""
    return ask.ticket_type_id in {None, line.ticket_type_id} and ask.unit_price_minor in {
        None,
        line.unit_price_minor,
    }
