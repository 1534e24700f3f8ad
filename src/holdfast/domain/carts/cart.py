"""Carts: a cart has at most one live hold, and it is always what the cart says."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from holdfast.domain import refusals
from holdfast.domain.carts.items import Difference, asks_again, difference, joined_lines
from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.commands import (
    SEATS_PER_HOLD_MAX,
    Ask,
    EmptyCart,
    FillCart,
    PlaceHold,
    RenewCart,
    SeatAsk,
)
from holdfast.domain.group.footprint import CartCommand
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import (
    CartChanged,
    CartEmptied,
    Decision,
    NeedsMore,
    Placed,
    Waiting,
)
from holdfast.domain.holds.capacity import Addition, Fit, fit
from holdfast.domain.holds.extension import is_of
from holdfast.domain.holds.hold import CartItem, Hold, Line, SeatWish
from holdfast.domain.holds.lines import make_lines, parts_of, waiting_line
from holdfast.domain.holds.partial_fulfilment import as_many_as_there_are
from holdfast.domain.holds.placement import place
from holdfast.domain.holds.preconditions import (
    refuse_asks,
    refuse_holder,
    refuse_lines,
    refuse_status,
)
from holdfast.domain.holds.transitions import Transition, units_by_pool, units_of
from holdfast.domain.ids import TicketTypeId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.seat_choice import Picked, pick_seats
from holdfast.domain.waitlist.fairness import sharing
from holdfast.domain.waitlist.joining import refuse_for_ever, waiting_place
from holdfast.domain.waitlist.queues import QUEUES_MAX, blocks_for, wants_of


def fill_cart(ledger: Ledger, command: FillCart) -> Decision:
    hold = _newest(ledger, command)
    if isinstance(hold, NeedsMore):
        return Decision(hold)
    if hold is None or not hold.is_live(ledger.now):
        return _place_anew(ledger, hold, place_of_cart(command))
    if not is_of(hold, command.holder):
        return Decision(refusals.cart_of_another_holder())
    if hold.session_id != command.session_id:
        return Decision(refusals.cart_of_another_session(str(hold.session_id)))
    if hold.waiting is not None:
        return _change_waiting(ledger, command, hold)
    return _change(ledger, command, hold)


def empty_cart(ledger: Ledger, command: EmptyCart) -> Decision:
    hold = _newest(ledger, command)
    if isinstance(hold, NeedsMore):
        return Decision(hold)
    if hold is None or not hold.is_live(ledger.now):
        return Decision(CartEmptied(None, ledger.now))
    if not is_of(hold, command.holder):
        return Decision(refusals.cart_of_another_holder())
    released = hold.released(ledger.now)
    return Decision(
        CartEmptied(released, ledger.now), (Transition(hold, released, command.origin),)
    )


def renew_cart(ledger: Ledger, command: RenewCart) -> Decision:
    hold = _newest(ledger, command)
    if isinstance(hold, NeedsMore):
        return Decision(hold)
    if hold is not None and not is_of(hold, command.holder):
        return Decision(refusals.cart_of_another_holder())
    if hold is None or not (hold.is_live(ledger.now) or hold.is_expired(ledger.now)):
        return Decision(refusals.nothing_to_renew())
    if hold.is_live(ledger.now):
        return Decision(_as_it_is(ledger, hold))
    return _place_anew(ledger, hold, renewal_of(command, hold))


def place_of_cart(command: FillCart) -> PlaceHold:
    """A new hold of all that the cart says."""
    items = [CartItem(each.item_id, command.group_id) for each in command.asks]
    return _place(command, [each.ask for each in command.asks], items)


def _place(
    command: FillCart, asks: Sequence[Ask | SeatAsk], items: Sequence[CartItem]
) -> PlaceHold:
    return PlaceHold(
        organization_id=command.organization_id,
        session_id=command.session_id,
        hold_id=command.hold_id,
        holder=command.holder,
        asks=tuple(asks),
        origin=command.origin,
        remarks=replace(command.remarks, cart_token=command.cart),
        is_cart=True,
        items=tuple(items),
    )


def renewal_of(command: RenewCart, hold: Hold) -> PlaceHold:
    asks = asks_again(hold)
    holder = hold.holder if command.holder is None else hold.holder.retold(command.holder)
    return PlaceHold(
        organization_id=command.organization_id,
        session_id=hold.session_id,
        hold_id=command.hold_id,
        holder=holder,
        asks=tuple(each.ask for each in asks),
        origin=command.origin,
        remarks=hold.remarks,
        is_cart=True,
        items=tuple(CartItem(each.item_id, command.group_id) for each in asks),
    )


def _newest(ledger: Ledger, command: CartCommand) -> Hold | NeedsMore | None:
    """The newest hold of the cart, with its places, where they are needed."""
    key = ledger.carts.get(command.cart_key)
    if key is None:
        return None
    hold = ledger.holds.get(key)
    if hold is None or not (hold.is_over() or ledger.knows_places_of(hold)):
        return NeedsMore(holds=frozenset({key}), was_overtaken=True)
    return hold


def _place_anew(ledger: Ledger, ended: Hold | None, command: PlaceHold) -> Decision:
    """What has only lapsed so far is written down first: its places may be asked for again."""
    if ended is not None and ended.is_lapsed(ledger.now):
        expiry = Transition(ended, ended.expired(ledger.now), command.origin)
        return Decision(NeedsMore(was_overtaken=True), (expiry,))
    if command.hold_key not in ledger.references:
        return Decision(NeedsMore(was_overtaken=True))  # it was live when this was planned
    return place(ledger, command)


def _as_it_is(ledger: Ledger, hold: Hold) -> CartChanged | Waiting:
    if hold.waiting is not None:
        return Waiting(hold, ledger.now, is_repeat=True)
    return CartChanged(hold, ledger.now, is_repeat=True)


def _change(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """By the difference. What is given up always is; what comes in addition has to fit, or all
    stays as it was."""
    found = difference(hold.lines, command.asks, command.group_id)
    added: Added | Refusal | Decision = Added([], Fit((), ()))
    if found.parts:
        added = _add(ledger, command, hold, found)
    if isinstance(added, Decision):
        return added
    if isinstance(added, Refusal):
        if not _can_do_without(found):
            return Decision(added)
        added = Added([], Fit((), ()))
    holder = hold.holder.retold(command.holder)
    is_same = not (found.reduced or added.lines) and len(found.kept) == len(hold.lines)
    if is_same and holder is hold.holder:
        return Decision(_as_it_is(ledger, hold))
    lines = joined_lines((*found.kept, *found.reduced, *added.lines))
    kept = [line for line in lines if any(line is each for each in found.kept)]
    new = [line for line in lines if not any(line is each for each in found.kept)]
    changed = hold.changed(ledger.now, kept, new, holder)
    transitions = (*added.fit.ended, Transition(hold, changed, command.origin))
    return Decision(CartChanged(changed, ledger.now), transitions, passed=added.fit.passed)


@dataclass(frozen=True, slots=True)
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
        return _refused_for_others(ledger, session, more) or picked
    given_up = units_by_pool(hold) - units_of((*found.kept, *found.reduced))
    parts = as_many_as_there_are(ledger, session, parts_of(more), picked, given_up)
    lines = make_lines(ledger, session, parts, picked)
    everything = (*found.kept, *found.reduced, *lines)
    types = {line.ticket_type_id for line in lines}
    refusal = (
        refuse_lines(session, everything)
        or _refuse_seats(everything)
        or refuse_holder(ledger, session, command.holder, types, besides=hold.key)
    )
    if refusal is not None:
        return refusal if isinstance(refusal, Refusal) else Decision(refusal)
    demand = units_of(everything) - units_by_pool(hold)
    room = fit(
        ledger,
        session,
        Addition([part.ask for part in parts], lines, demand, picked),
        command.origin,
    )
    if isinstance(room, Fit):
        return Added(lines, room)
    return _in_addition(room) if isinstance(room, Refusal) else room


def _refused_for_others(
    ledger: Ledger, session: SessionCatalogue, more: PlaceHold
) -> Refusal | None:
    """Where people wait for such seats, those that are free are not for a cart that grows."""
    waitlist = ledger.waitlists.get(session.key)
    if not waitlist or more.named_seats:
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


def _can_do_without(found: Difference) -> bool:
    """Whether what is held already is as much as the cart needs at least."""
    return all(isinstance(ask, Ask) and ask.at_least == 0 for ask, _ in found.parts)


def addition_of(command: FillCart, found: Difference) -> PlaceHold:
    """What comes in addition, as if it were a hold of its own."""
    asks, items = [ask for ask, _ in found.parts], [item for _, item in found.parts]
    return replace(_place(command, asks, items), given_up=found.given_up)


def _refuse_seats(lines: Sequence[Line]) -> Refusal | None:
    seats = sum(line.seat is not None for line in lines)
    is_too_many = seats > SEATS_PER_HOLD_MAX
    return refusals.quantity_above_maximum(SEATS_PER_HOLD_MAX) if is_too_many else None


def _change_waiting(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """Who asks for less keeps the place in the line; who asks for more or for other things goes to
    its end."""
    session = ledger.sessions[hold.session_key]
    problem = refuse_status(session) or refuse_asks(
        session, [each.ask for each in command.asks], ledger.now
    )
    if problem is not None:
        return Decision(problem)
    if not all(_may_wait(each.ask, session) for each in command.asks):
        return _place_instead(ledger, command, hold)
    kept, new = _waiting_lines(session, command, hold)
    holder = hold.holder.retold(command.holder)
    if not new and len(kept) == len(hold.lines) and holder is hold.holder:
        return Decision(_as_it_is(ledger, hold))
    lines = (*kept, *new)
    wants = wants_of(lines, session)
    is_less = wants == wants_of(hold.lines, session) and _is_less(lines, hold.lines)
    if not is_less and not ledger.waitlists[session.key].has_room_for(wants):
        return Decision(refusals.too_many_queues(QUEUES_MAX))
    place = hold.waiting if is_less else waiting_place(ledger, session, wants)
    changed = hold.changed(ledger.now, kept, new, holder, place)
    refusal = None
    if not is_less:
        refusal = refuse_lines(session, lines) or refuse_for_ever(
            ledger, session, changed, refusals.insufficient_inventory(0)
        )
    if refusal is not None:
        return Decision(refusal)
    transition = Transition(hold, changed, command.origin)
    return Decision(Waiting(changed, ledger.now), (transition,))


def _may_wait(ask: Ask | SeatAsk, session: SessionCatalogue) -> bool:
    return isinstance(ask, Ask) and session.offers[ask.ticket_type_id].policy.waitlist


def _place_instead(ledger: Ledger, command: FillCart, hold: Hold) -> Decision:
    """For some of it nobody can wait: it is held at once, and the place in the line given up, or
    all stays as it was. What the cart waits for does not stand in its own way."""
    if command.hold_key not in ledger.references:
        return Decision(NeedsMore(was_overtaken=True))  # it was not planned so
    released = hold.released(ledger.now)
    key = hold.session_key
    after_it = replace(
        ledger,
        holds={**ledger.holds, hold.key: released},
        holdings={
            whose: tuple(released if each.key == hold.key else each for each in holds)
            for whose, holds in ledger.holdings.items()
        },
        waitlists={**ledger.waitlists, key: ledger.waitlists[key].without(hold)},
    )
    decision = place(after_it, place_of_cart(command))
    if not isinstance(decision.outcome, Placed):
        return decision
    left = Transition(hold, released, command.origin)
    return replace(decision, transitions=(left, *decision.transitions))


def _waiting_lines(
    session: SessionCatalogue, command: FillCart, hold: Hold
) -> tuple[list[Line], list[Line]]:
    """Those that stay as they are, and those that are new. A price that was told stays."""
    by_item = {line.item.id: line for line in hold.lines if line.item is not None}
    kept, new = [], []
    for each in command.asks:
        assert isinstance(each.ask, Ask)
        line = waiting_line(session, each.ask, CartItem(each.item_id, command.group_id))
        had = by_item.get(each.item_id)
        if had is not None and had.ticket_type_id == line.ticket_type_id:
            price = each.ask.unit_price_minor
            told = had.unit_price_minor if price is None else price
            line = replace(line, unit_price_minor=told, pool_ids=had.pool_ids)
            same = replace(line, item=had.item, number=had.number)
            if same == had:
                kept.append(had)
                continue
        new.append(line)
    return kept, new


def _is_less(lines: Sequence[Line], before: Sequence[Line]) -> bool:
    had: Counter[tuple[TicketTypeId, SeatWish | None]] = Counter()
    for line in before:
        had[line.ticket_type_id, line.wish] += line.quantity
    for line in lines:
        had[line.ticket_type_id, line.wish] -= line.quantity
    return all(left >= 0 for left in had.values())
