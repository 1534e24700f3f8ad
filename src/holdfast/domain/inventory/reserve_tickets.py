"""Reserves tickets for a hold: all lines or none. Only the capacity counts: the Hold Service has
checked its policies, its sale window and its waitlist."""

from dataclasses import replace

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Reserved
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.ids import HoldId, OrganizationId, PoolId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.command import ReservationCommand
from holdfast.domain.inventory.reservation import (
    ReservedLine,
    check_lines,
    first_quantities,
    new_reservation,
    quantities_of,
    refuse_other,
    refuse_status,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue


@immutable
class ReserveTickets(ReservationCommand):
    failed_name = "hold.create_failed"
    frees_places = False

    organization_id: OrganizationId
    hold_id: HoldId
    session_id: SessionId
    lines: tuple[ReservedLine, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        check_lines(self.lines)
        if not self.lines:
            raise InvalidValue("invalid_lines", "Give at least one line")

    def needs(self, learnt: NeedsMore) -> Needs:
        """Hardly any hold exists already."""
        return Needs(sessions=frozenset({self.session_key}))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        # Not super(): a dataclass with slots is created twice.
        footprint = ReservationCommand.footprint(self, plan, learnt)
        session = plan.survey.sessions.get(self.session_key)
        offers = {} if session is None else session.offers
        pools = {
            Resource(ResourceKind.POOL, self.organization_id, pool_id)
            for line in self.lines
            if line.ticket_type_id in offers
            for pool_id in offers[line.ticket_type_id].pool_ids
        }
        return replace(footprint, required=footprint.required | pools)

    def decide(self, ledger: Ledger) -> Decision:
        existing = ledger.holds.get(self.hold_key)
        if existing is not None:
            return Decision(self._repeated(existing, ledger))
        session = ledger.sessions.get(self.session_key)
        if session is None:
            return Decision(refusals.invalid_session())
        lines = self._lines(session)
        if isinstance(lines, Refusal):
            return Decision(lines)
        if any(pool_id not in ledger.pools for line in lines for pool_id in line.pool_ids):
            return Decision(NeedsMore())
        refusal = _refuse_shortage(ledger, lines)
        if refusal is not None:
            return Decision(refusal)
        hold = new_reservation(ledger, *self.session_key, self.hold_id, lines)
        return Decision(Reserved(hold, ledger.now), (Transition(None, hold, self.origin),))

    def _repeated(self, existing: Hold, ledger: Ledger) -> Reserved | Refusal:
        refusal = refuse_other(existing, self.session_id)
        if refusal is not None:
            return refusal
        if existing.is_cancelled():
            return refuse_status(existing)
        if first_quantities(existing) != quantities_of(self.lines):
            return refusals.idempotency_key_reused()
        return Reserved(existing, ledger.now, is_repeat=True)

    def _lines(self, session: SessionCatalog) -> list[Line] | Refusal:
        lines = []
        for ticket_type_id, quantity in quantities_of(self.lines).items():
            offer = session.offers.get(ticket_type_id)
            if offer is None or offer.is_seated:
                return refusals.invalid_ticket_type()
            # Prices are the Hold Service's.
            lines.append(Line(ticket_type_id, quantity, 0, offer.pool_ids))
        return lines


def _refuse_shortage(ledger: Ledger, lines: list[Line]) -> Refusal | None:
    """The first ticket type that is short, after those before it have got theirs."""
    left: dict[PoolId, int] = {}
    for line in lines:
        for pool_id in line.pool_ids:
            left.setdefault(pool_id, ledger.pools[pool_id].free)
        available = min(left[pool_id] for pool_id in line.pool_ids)
        if line.quantity > available:
            return refusals.insufficient_inventory(available)
        for pool_id in line.pool_ids:
            left[pool_id] -= line.quantity
    return None
