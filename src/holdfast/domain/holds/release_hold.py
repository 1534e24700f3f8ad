"""Releases a hold."""

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Released
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.placement import Asked
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal


@immutable
class ReleaseHold(HoldCommand):
    """Release a live hold."""

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None or ledger.hides(hold, self.reach):
            return Decision(refusals.hold_not_found())
        if hold.is_expired(ledger.now):
            return Decision(refusals.hold_expired())
        if not hold.can_release(ledger.now):
            return Decision(refusals.invalid_hold_state(hold.status.value))
        if not ledger.knows_places_of(hold):
            return Decision(NeedsMore())
        released = hold.released(ledger.now)
        return Decision(Released(released, ledger.now), (Transition(hold, released, self.origin),))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(holder=caller(None, self.reach))
        return FailedAction("hold.release_failed", self.hold_id, asked=asked)
