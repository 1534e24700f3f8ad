"""Gives the tickets of a hold back. A release that arrives before its hold is recorded, so that the
hold is refused: otherwise nobody would ever give its tickets back."""

from holdfast.domain import refusals
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Reserved
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.command import ReservationCommand
from holdfast.domain.inventory.reservation import new_reservation, refuse_other, refuse_status


@immutable
class ReleaseTickets(ReservationCommand):
    failed_name = "hold.release_failed"

    organization_id: OrganizationId
    hold_id: HoldId
    session_id: SessionId
    origin: Origin
    idempotency: IdempotencyKey | None = None

    def decide(self, ledger: Ledger) -> Decision:
        existing = ledger.holds.get(self.hold_key)
        if existing is None:
            return self._released_before(ledger)
        refusal = refuse_other(existing, self.session_id)
        if refusal is not None:
            return Decision(refusal)
        if existing.is_cancelled():
            return Decision(Reserved(existing, ledger.now, is_repeat=True))
        if existing.is_converted():
            return Decision(refuse_status(existing))
        if not ledger.knows_places_of(existing):
            return Decision(NeedsMore())
        return self._released(existing, ledger)

    def _released_before(self, ledger: Ledger) -> Decision:
        """A reservation of nothing, which ends at once. There is no other way for a hold to
        begin."""
        if self.session_key not in ledger.sessions:
            return Decision(refusals.invalid_session())
        nothing = new_reservation(ledger, *self.session_key, self.hold_id, ())
        return self._released(nothing, ledger, Transition(None, nothing, self.origin))

    def _released(self, reservation: Hold, ledger: Ledger, *before: Transition) -> Decision:
        released = reservation.released(ledger.now, is_given_up=False)
        transition = Transition(reservation, released, self.origin)
        return Decision(Reserved(released, ledger.now), (*before, transition))
