"""Releases a hold."""

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Released
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.placement import Asked
from holdfast.domain.holds.preconditions import refuse_stale
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal


@immutable
class ReleaseHold(HoldCommand):
    """Release a live hold. An operator may also end an active one as `is_expired`, as if its time
    were up: unlike a released hold, it can then be renewed or paid for late. With `seen_version`,
    the hold must not have changed since."""

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None
    is_operator: bool = False
    is_expired: bool = False
    seen_version: int | None = None

    def __post_init__(self) -> None:
        assert self.is_operator or not self.is_expired, "only operators end a hold early"

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None or ledger.hides(hold, self.reach):
            return Decision(refusals.hold_not_found())
        if hold.is_expired(ledger.now):
            return Decision(refusals.hold_expired())
        can_end = hold.is_active if self.is_expired else hold.can_release
        if not can_end(ledger.now):
            return Decision(refusals.invalid_hold_state(hold.status.value))
        stale = refuse_stale(hold, self.seen_version)
        if stale is not None:
            return Decision(stale)
        if not ledger.knows_places_of(hold):
            return Decision(NeedsMore())
        if self.is_expired:
            ended = hold.expired_early(ledger.now)
        else:
            ended = hold.released(ledger.now, is_given_up=not self.is_operator)
        transition = Transition(hold, ended, self.origin, self.is_operator)
        return Decision(Released(ended, ledger.now), (transition,))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(holder=caller(None, self.reach))
        return FailedAction("hold.release_failed", self.hold_id, asked=asked)
