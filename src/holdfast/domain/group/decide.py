"""The decisions. `decide(ledger, command)` reads locked values and returns what to change; it
touches nothing, so an error in it costs one command and leaves the rest of the group whole."""

from holdfast.domain import refusals
from holdfast.domain.carts.cart import empty_cart, fill_cart, renew_cart
from holdfast.domain.group.commands import (
    BlockSeats,
    Command,
    ConvertHolds,
    EmptyCart,
    ExpireHolds,
    ExtendHold,
    FillCart,
    PlaceHold,
    PromoteWaiting,
    ReleaseHold,
    RenewCart,
    StartCheckout,
    WarnHolds,
)
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, Expired, NeedsMore, Promoted, Released, Warned
from holdfast.domain.holds.extension import extend, start_checkout
from holdfast.domain.holds.placement import place
from holdfast.domain.holds.transitions import Transition
from holdfast.domain.orders.conversion import convert
from holdfast.domain.seats.blocking import block_seats


def decide(ledger: Ledger, command: Command) -> Decision:
    match command:
        case PlaceHold():
            return place(ledger, command)
        case ReleaseHold():
            return _release(ledger, command)
        case ExtendHold():
            return extend(ledger, command)
        case StartCheckout():
            return start_checkout(ledger, command)
        case ConvertHolds():
            return convert(ledger, command)
        case BlockSeats():
            return block_seats(ledger, command)
        case WarnHolds():
            return _warn(ledger, command)
        case ExpireHolds():
            return _expire(ledger, command)
        case FillCart():
            return fill_cart(ledger, command)
        case EmptyCart():
            return empty_cart(ledger, command)
        case RenewCart():
            return renew_cart(ledger, command)
        case PromoteWaiting():
            return _promote(ledger, command)


def _release(ledger: Ledger, command: ReleaseHold) -> Decision:
    hold = ledger.holds.get(command.hold_key)
    if hold is None:
        return Decision(refusals.hold_not_found())
    if hold.is_expired(ledger.now):
        return Decision(refusals.hold_expired())
    if not hold.can_release(ledger.now):
        return Decision(refusals.invalid_hold_state(hold.status.value))
    if not ledger.knows_places_of(hold):
        return Decision(NeedsMore())
    released = hold.released(ledger.now)
    return Decision(Released(released, ledger.now), (Transition(hold, released, command.origin),))


def _expire(ledger: Ledger, command: ExpireHolds) -> Decision:
    transitions = []
    for key in dict.fromkeys(command.hold_keys):
        hold = ledger.holds.get(key)
        if hold is not None and hold.can_expire(ledger.now):
            if not ledger.knows_places_of(hold):
                return Decision(NeedsMore())
            transitions.append(Transition(hold, hold.expired(ledger.now), command.origin))
    expired = tuple(transition.after.id for transition in transitions)
    return Decision(Expired(expired, ledger.now), tuple(transitions))


def _promote(ledger: Ledger, command: PromoteWaiting) -> Decision:
    """Nothing of its own: see `settle`, which follows every command."""
    session = ledger.sessions.get(command.session_key)
    if session is not None and not ledger.knows_line_of(session):
        return Decision(NeedsMore())
    return Decision(Promoted(0, ledger.now))


def _warn(ledger: Ledger, command: WarnHolds) -> Decision:
    known = (ledger.holds.get(key) for key in dict.fromkeys(command.hold_keys))
    transitions = tuple(
        Transition(hold, hold.warned(ledger.now), command.origin)
        for hold in known
        if hold is not None and hold.can_warn(ledger.now)
    )
    warned = tuple(transition.after.id for transition in transitions)
    return Decision(Warned(warned, ledger.now), transitions)
