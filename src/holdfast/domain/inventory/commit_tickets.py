"""Sells the tickets of a reservation, or takes some of them back after they were cancelled. Such
calls may overtake each other: of each ticket type, the smallest quantity ever sent counts."""

from holdfast.domain import refusals
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Reserved
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.command import ReservationCommand
from holdfast.domain.inventory.reservation import (
    ReservedLine,
    check_lines,
    committed,
    first_quantities,
    quantities_of,
    refuse_other,
    refuse_status,
)
from holdfast.domain.refusal_codes import Refusal


@immutable
class CommitTickets(ReservationCommand):
    failed_name = "hold.convert_failed"

    organization_id: OrganizationId
    hold_id: HoldId
    session_id: SessionId
    lines: tuple[ReservedLine, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        check_lines(self.lines)

    def decide(self, ledger: Ledger) -> Decision:
        existing = ledger.holds.get(self.hold_key)
        if existing is None:
            is_known = self.session_key in ledger.sessions
            return Decision(refusals.hold_not_found() if is_known else refusals.invalid_session())
        refusal = self._refuse(existing, ledger)
        if refusal is not None:
            return Decision(refusal)
        asked, has = quantities_of(self.lines), quantities_of(existing.lines)
        sold = {
            type_id: min(quantity, asked[type_id])
            for type_id, quantity in has.items()
            if type_id in asked
        }
        if existing.is_converted() and sold == has:
            return Decision(Reserved(existing, ledger.now, is_repeat=True))
        if not ledger.knows_places_of(existing):
            return Decision(NeedsMore())
        hold = committed(existing, ledger.now, sold)
        return Decision(Reserved(hold, ledger.now), (Transition(existing, hold, self.origin),))

    def _refuse(self, existing: Hold, ledger: Ledger) -> Refusal | None:
        refusal = refuse_other(existing, self.session_id)
        if refusal is not None:
            return refusal
        if existing.is_cancelled():
            return refuse_status(existing)
        offers = ledger.sessions[self.session_key].offers
        if any(line.ticket_type_id not in offers for line in self.lines):
            return refusals.invalid_ticket_type()
        first = first_quantities(existing)
        if any(line.quantity > first.get(line.ticket_type_id, 0) for line in self.lines):
            return refusals.idempotency_key_reused()
        return None
