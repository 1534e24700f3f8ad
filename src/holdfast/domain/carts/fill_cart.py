"""Changes a cart's hold to match the cart's items, all or nothing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach
from holdfast.domain.carts.cart import (
    CartCommand,
    footprint_of_cart,
    newest_hold,
    place_new_hold,
    unchanged_cart,
)
from holdfast.domain.carts.items import CartAsk, Difference, acquired, difference, joined_lines
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.command import FailedAction
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import CartChanged, Decision, NeedsMore, Placed, Waiting
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition, units_of
from holdfast.domain.holds.hold import NO_REMARKS, CartItem, Hold, Line, Remarks, SeatWish
from holdfast.domain.holds.holder_limits import refuse_above_limits
from holdfast.domain.holds.new_hold import make_lines, parts_of, waiting_line
from holdfast.domain.holds.partial_fulfilment import fulfil_partially
from holdfast.domain.holds.place_hold import contested_seat, place
from holdfast.domain.holds.placement import (
    LINES_MAX,
    SEATS_PER_HOLD_MAX,
    Ask,
    Placement,
    SeatAsk,
    Wish,
    asked_for,
    named_seats,
)
from holdfast.domain.holds.preconditions import (
    Addition,
    Fit,
    fit,
    refuse_asks,
    refuse_holder,
    refuse_lines,
    refuse_status,
)
from holdfast.domain.ids import HoldId, HoldKey, OrganizationId, SessionId, SessionKey, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.seat_choice import Picked, pick_seats
from holdfast.domain.values import NO_METADATA, Holder, InvalidValue, Metadata
from holdfast.domain.waitlist.entry import refuse_impossible, waiting_place
from holdfast.domain.waitlist.fairness import open_waitlist, sharing
from holdfast.domain.waitlist.queues import QUEUES_MAX, blocks_for, wants_of


@immutable
class FillCart(CartCommand):
    """Make the cart's hold match its items, or change nothing. `hold_id` and `group_id` are used
    for new holds and lines. Without `metadata`, a live hold keeps its own."""

    can_choose_seats = True

    organization_id: OrganizationId
    session_id: SessionId
    cart: str
    hold_id: HoldId
    group_id: UUID
    holder: Holder
    asks: tuple[CartAsk, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    remarks: Remarks = NO_REMARKS
    metadata: Metadata | None = None
    reach: Reach | None = None

    def __post_init__(self) -> None:
        CartCommand.__post_init__(self)  # super() fails in a dataclass with slots
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_items", f"A cart must have 1 to {LINES_MAX} items")
        item_ids = [each.item_id for each in self.asks]
        if len(set(item_ids)) != len(item_ids):
            raise InvalidValue("duplicate_item", "Name each item only once")
        named_seats(each.ask for each in self.asks)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(
            sessions=frozenset({self.session_key}),
            holds=learnt.holds,
            lapsed=learnt.lapsed,
            wishes=(Wish(self.session_key, [each.ask for each in self.asks]),),
            carts=(self.cart_key,),
        )

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        placement: Placement | None
        hold = plan.survey.carts.get(self.cart_key)
        if hold is None or hold.is_over() or hold.waiting is not None:
            placement = placement_of(self)
        else:
            found = difference(hold.lines, self.asks, self.group_id)
            placement = addition_of(self, found) if found.parts else None
        return footprint_of_cart(plan, self, placement, learnt)

    def decide(self, ledger: Ledger) -> Decision:
        hold = newest_hold(ledger, self.cart_key)
        if isinstance(hold, NeedsMore):
            return Decision(hold)
        if hold is None or not hold.is_live(ledger.now):
            return place_new_hold(ledger, hold, placement_of(self))
        if not hold.belongs_to(self.holder) or ledger.hides(hold, self.reach):
            return Decision(refusals.cart_of_another_holder())
        if hold.session_id != self.session_id:
            return Decision(refusals.cart_of_another_session(str(hold.session_id)))
        if hold.waiting is not None:
            return _change_waiting(ledger, self, hold)
        return _change(ledger, self, hold)

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asks = [each.ask for each in self.asks]
        asked = asked_for(self.session_id, asks, self.holder, self.cart)
        return FailedAction("cart.fill_failed", None, contested_seat(refusal), asked)


def placement_of(command: FillCart) -> Placement:
    """A new hold of all the cart's items."""
    items = [CartItem(each.item_id, command.group_id) for each in command.asks]
    return _place(command, [each.ask for each in command.asks], items)


def _place(
    command: FillCart, asks: Sequence[Ask | SeatAsk], items: Sequence[CartItem]
) -> Placement:
    remarks = replace(
        command.remarks, cart_token=command.cart, metadata=command.metadata or NO_METADATA
    )
    return Placement(
        organization_id=command.organization_id,
        session_id=command.session_id,
        hold_id=command.hold_id,
        holder=command.holder,
        asks=tuple(asks),
        origin=command.origin,
        remarks=remarks,
        is_cart=True,
        items=tuple(items),
        reach=command.reach,
    )


def _change(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """Apply the difference to the hold. If an addition does not fit, nothing changes, unless the
    hold already has the minimum."""
    found = difference(hold.lines, command.asks, command.group_id)
    added: Added | Refusal | Decision = Added([], Fit((), ()))
    if found.parts:
        added = _add(ledger, command, hold, found)
    if isinstance(added, Decision):
        return added
    if isinstance(added, Refusal):
        if not _has_minimum(found):
            return Decision(added)
        added = Added([], Fit((), ()))
    holder = hold.holder.with_email_of(command.holder)
    remarks = _changed_remarks(command, hold)
    is_same = not (found.reduced or added.lines) and len(found.kept) == len(hold.lines)
    if is_same and holder is hold.holder and remarks is hold.remarks:
        return Decision(unchanged_cart(ledger, hold))
    lines = joined_lines((*found.kept, *found.reduced, *added.lines))
    kept = [line for line in lines if any(line is each for each in found.kept)]
    new = [line for line in lines if not any(line is each for each in found.kept)]
    changed = hold.changed(ledger.now, kept, new, holder, remarks)
    transitions = (*added.fit.ended, Transition(hold, changed, command.origin))
    more = acquired(hold.lines, changed.lines)
    outcome = CartChanged(changed, ledger.now, acquired=more)
    return Decision(outcome, transitions, passed=added.fit.passed)


def _changed_remarks(command: FillCart, hold: Hold) -> Remarks:
    if command.metadata is None or command.metadata == hold.remarks.metadata:
        return hold.remarks
    return replace(hold.remarks, metadata=command.metadata)


@immutable
class Added:
    lines: list[Line]
    fit: Fit


def _add(
    ledger: Ledger, command: FillCart, hold: Hold, found: Difference
) -> Added | Refusal | Decision:
    session = ledger.sessions[hold.session_key]
    more = addition_of(command, found)
    problem = refuse_status(session) or refuse_asks(session, more.asks, ledger.now)
    if problem is not None:
        return problem
    picked: Picked | NeedsMore | Refusal = Picked()
    if session.has_seats or more.named_seats:
        picked = pick_seats(ledger, session, more, hold.id)
    if isinstance(picked, NeedsMore):
        return Decision(picked)
    if isinstance(picked, Refusal):
        return _refuse_for_waitlist(ledger, session, more) or picked
    given_up = units_of(hold.lines) - units_of((*found.kept, *found.reduced))
    parts = fulfil_partially(ledger, session, parts_of(more), picked, given_up)
    lines = make_lines(ledger, session, parts, picked)
    everything = (*found.kept, *found.reduced, *lines)
    types = {line.ticket_type_id for line in lines}
    refusal = (
        refuse_lines(session, everything)
        or _refuse_seats(everything)
        or refuse_holder(ledger, session, command.holder, types, besides=hold.id)
        or refuse_above_limits(
            ledger,
            session,
            replace(hold, lines=everything),
            hold,
            *picked.taken_over,
            reach=command.reach,
        )
    )
    if refusal is not None:
        return refusal if isinstance(refusal, Refusal) else Decision(refusal)
    demand = units_of(everything) - units_of(hold.lines)
    room = fit(
        ledger,
        session,
        Addition([part.ask for part in parts], lines, demand, picked),
        command.origin,
    )
    if isinstance(room, Fit):
        return Added(lines, room)
    return _in_addition(room) if isinstance(room, Refusal) else room


def _refuse_for_waitlist(
    ledger: Ledger, session: SessionCatalog, more: Placement
) -> Refusal | None:
    """Refuse a growing cart if parties on the waitlist want such seats."""
    waitlist = open_waitlist(ledger, session)
    if waitlist is None or more.named_seats:
        return None
    wants = frozenset[UUID]().union(
        *(
            blocks_for(ask.ticket_type_id, ask.block_id, session)
            for ask in more.asks
            if isinstance(ask, Ask)
        )
    )
    is_behind = any(True for _ in sharing(waitlist, session, wants))
    return refusals.others_are_waiting() if is_behind else None


def _in_addition(refusal: Refusal) -> Refusal:
    if refusal.code is not RefusalCode.INSUFFICIENT_INVENTORY:
        return refusal
    more = refusal.details["available_quantity"]
    assert isinstance(more, int)
    return refusals.insufficient_addition(more)


def _has_minimum(found: Difference) -> bool:
    """Whether the hold already has the minimum of all asks."""
    return all(isinstance(ask, Ask) and ask.at_least == 0 for ask, _ in found.parts)


def addition_of(command: FillCart, found: Difference) -> Placement:
    """The additional asks, as a hold of their own."""
    asks, items = [ask for ask, _ in found.parts], [item for _, item in found.parts]
    return replace(_place(command, asks, items), given_up=found.given_up)


def _refuse_seats(lines: Sequence[Line]) -> Refusal | None:
    seats = sum(line.seat is not None for line in lines)
    is_too_many = seats > SEATS_PER_HOLD_MAX
    return refusals.quantity_above_maximum(SEATS_PER_HOLD_MAX) if is_too_many else None


def _change_waiting(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """Keep the place in the queue if the cart asks for less; otherwise move to the end."""
    session = ledger.sessions[hold.session_key]
    problem = refuse_status(session) or refuse_asks(
        session, [each.ask for each in command.asks], ledger.now
    )
    if problem is not None:
        return Decision(problem)
    if not all(_may_wait(each.ask, session) for each in command.asks):
        return _place_instead(ledger, command, hold)
    kept, new = _waiting_lines(session, command, hold)
    holder = hold.holder.with_email_of(command.holder)
    remarks = _changed_remarks(command, hold)
    is_same = not new and len(kept) == len(hold.lines)
    if is_same and holder is hold.holder and remarks is hold.remarks:
        return Decision(unchanged_cart(ledger, hold))
    lines = (*kept, *new)
    wants = wants_of(lines, session)
    is_less = wants == wants_of(hold.lines, session) and _is_less(lines, hold.lines)
    waitlist = ledger.waitlists[session.key]
    if not is_less and not waitlist.has_room_for(wants):
        return Decision(refusals.too_many_queues(QUEUES_MAX))
    place = hold.waiting if is_less else waiting_place(ledger, waitlist, wants)
    changed = hold.changed(ledger.now, kept, new, holder, remarks, place=place)
    refusal = None
    if not is_less:
        refusal = (
            refuse_lines(session, lines)
            or refuse_impossible(ledger, session, changed, refusals.insufficient_inventory(0))
            or refuse_above_limits(ledger, session, changed, hold, reach=command.reach)
        )
    if refusal is not None:
        return Decision(refusal)
    transition = Transition(hold, changed, command.origin)
    return Decision(Waiting(changed, ledger.now), (transition,))


def _may_wait(ask: Ask | SeatAsk, session: SessionCatalog) -> bool:
    return isinstance(ask, Ask) and session.offers[ask.ticket_type_id].policy.waitlist


def _place_instead(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """Replace the waiting hold by an active one, because some items have no waitlist; if that
    fails, nothing changes. The cart's own place on the waitlist does not count against it."""
    if command.hold_key not in ledger.references:
        return Decision(NeedsMore(was_overtaken=True))  # the cart has changed since planning
    released = hold.released(ledger.now)
    key = hold.session_key
    after_it = replace(
        ledger,
        holds={**ledger.holds, hold.key: released},
        holdings=ledger.holdings_after(released),
        waitlists={**ledger.waitlists, key: ledger.waitlists[key].without(hold)},
    )
    command = replace(command, metadata=_changed_remarks(command, hold).metadata)
    decision = place(after_it, placement_of(command))
    if not isinstance(decision.outcome, Placed):
        return decision
    left = Transition(hold, released, command.origin)
    return replace(decision, transitions=(left, *decision.transitions))


def _waiting_lines(
    session: SessionCatalog, command: FillCart, hold: Hold
) -> tuple[list[Line], list[Line]]:
    """The unchanged lines and the new ones. Quoted prices stay."""
    kept, new = [], []
    for each in command.asks:
        assert isinstance(each.ask, Ask)
        line = waiting_line(session, each.ask, CartItem(each.item_id, command.group_id))
        had = [
            old
            for old in hold.lines
            if old.item is not None
            and (old.item.id, old.ticket_type_id) == (each.item_id, line.ticket_type_id)
        ]
        is_quoted = each.ask.unit_price_minor is None
        for part in _at_quoted_prices(line, had) if is_quoted else _as_before(line, had):
            same = (old for old in had if replace(part, item=old.item, number=old.number) == old)
            unchanged = next(same, None)
            if unchanged is None:
                new.append(part)
            else:
                kept.append(unchanged)
    return kept, new


def _as_before(line: Line, had: Sequence[Line]) -> list[Line]:
    return [replace(line, pool_ids=had[0].pool_ids)] if had else [line]


def _at_quoted_prices(line: Line, had: Sequence[Line]) -> list[Line]:
    """Tickets up to the earlier quantity keep the quoted price, because a quote is for a quantity;
    the rest cost the catalog price. Seats stay on one line, to be together, and are priced when
    they are known."""
    if line.wish is not None and had:
        first = had[0]
        return [replace(line, unit_price_minor=first.unit_price_minor, pool_ids=first.pool_ids)]
    parts: list[Line] = []
    left = line.quantity
    for old in had:
        units = min(left, old.quantity)
        if units:
            price, pools = old.unit_price_minor, old.pool_ids
            parts.append(replace(line, quantity=units, unit_price_minor=price, pool_ids=pools))
            left -= units
    if left and parts and parts[-1].unit_price_minor == line.unit_price_minor:
        parts[-1] = replace(parts[-1], quantity=parts[-1].quantity + left)
    elif left:
        parts.append(replace(line, quantity=left))
    return parts


def _is_less(lines: Sequence[Line], before: Sequence[Line]) -> bool:
    had: Counter[tuple[TicketTypeId, SeatWish | None]] = Counter()
    for line in before:
        had[line.ticket_type_id, line.wish] += line.quantity
    for line in lines:
        had[line.ticket_type_id, line.wish] -= line.quantity
    return all(left >= 0 for left in had.values())
