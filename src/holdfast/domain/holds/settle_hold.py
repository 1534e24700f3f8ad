"""Settles a pending hold, once the Inventory Service has answered or cannot be asked."""

from holdfast.domain import refusals
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Placed
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.extend_hold import warning_seconds
from holdfast.domain.holds.preconditions import refuse_status
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal


@immutable
class SettleHold(HoldCommand):
    """Make a pending hold active or, with a `refusal`, end it. `is_agreed` says that the Inventory
    Service holds nothing for it. A repeated request may have settled it before: a hold that is
    active by then is its answer, too."""

    frees_places = False
    locks_waitlists = False

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    refusal: Refusal | None = None
    idempotency: IdempotencyKey | None = None
    is_agreed: bool = False

    def __post_init__(self) -> None:
        assert self.refusal is not None or not self.is_agreed

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None:
            return Decision(refusals.hold_not_found())
        if hold.is_active(ledger.now):
            return Decision(Placed(hold, ledger.now, is_repeat=True))
        if not hold.is_pending():
            return Decision(self.refusal or refusals.service_unavailable())
        session = ledger.sessions.get(hold.session_key)
        if session is None:
            return Decision(NeedsMore())
        refusal = self.refusal or refuse_status(session)
        if refusal is None and ledger.now >= hold.expires_at:
            refusal = refusals.service_unavailable()
        if refusal is not None:
            failed = hold.failed(ledger.now)
            transition = Transition(hold, failed, self.origin, is_agreed=self.is_agreed)
            return Decision(refusal, (transition,))
        active = hold.activated(ledger.now, warning_seconds(session, hold))
        transition = Transition(hold, active, self.origin)
        return Decision(Placed(active, ledger.now), (transition,))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        return FailedAction("hold.create_failed", self.hold_id)
