"""Holds whose tickets an Inventory Service counts. Everything else is decided here: prices,
policies, limits per holder and the sale window."""

from dataclasses import replace

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import AwaitsInventory, Decision
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import HoldStatus, numbered_lines
from holdfast.domain.holds.holder_limits import refuse_above_limits
from holdfast.domain.holds.new_hold import parts_of, placed_hold, plain_line
from holdfast.domain.holds.placement import Ask, Placement, SeatAsk
from holdfast.domain.holds.preconditions import refuse_lines
from holdfast.domain.refusal_codes import Refusal, RefusalCode


def refuse_remote(session: SessionCatalog, placement: Placement) -> Refusal | None:
    """An Inventory Service has no seats, and takes all tickets or none."""
    for ask in placement.asks:
        if isinstance(ask, SeatAsk) or session.offers[ask.ticket_type_id].is_seated:
            return not_with_remote_inventory("Seats")
    return not_with_remote_inventory("at_least") if placement.takes_fewer else None


def not_with_remote_inventory(what: str) -> Refusal:
    message = f"{what} cannot be used with a remote inventory"
    return Refusal(RefusalCode.NOT_WITH_REMOTE_INVENTORY, message)


def place_remotely(ledger: Ledger, session: SessionCatalog, placement: Placement) -> Decision:
    """Place a pending hold, which records what the Inventory Service is about to be asked for."""
    made = [
        replace(plain_line(session, ask, item), pool_ids=())
        for _, ask, item in parts_of(placement)
        if isinstance(ask, Ask)
    ]
    lines = numbered_lines(made, 1)
    refusal = refuse_lines(session, lines)
    if refusal is not None:
        return Decision(refusal)
    placed = placed_hold(ledger, session, placement, lines)
    hold = replace(placed, status=HoldStatus.PENDING, held_at=None, warn_at=None)
    problem = refuse_above_limits(ledger, session, hold, reach=placement.reach)
    if problem is not None:
        return Decision(problem)
    transition = Transition(None, hold, placement.origin)
    return Decision(AwaitsInventory(hold, ledger.now), (transition,))
