"""Promotes one party from the waitlist on an operator's order."""

from dataclasses import field, replace

from holdfast.domain import refusals
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Decision, HoldPromoted, NeedsMore
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.preconditions import refuse_stale
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.obstacles import Obstacle, closed_by, explanation_of
from holdfast.domain.waitlist.promote_waiting import places_learnt
from holdfast.domain.waitlist.promotion import missing_of, promotion_out_of_turn


@immutable
class PromoteHold(HoldCommand):
    """Give a waiting hold its places now, even out of turn. The queues that it overtakes count that
    like any other overtake. With `seen_version`, the hold must not have changed since."""

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    seen_version: int | None = None
    idempotency: None = field(default=None, init=False)

    def needs(self, learnt: NeedsMore) -> Needs:
        return replace(HoldCommand.needs(self, learnt), lapsed=learnt.lapsed)

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        footprint = HoldCommand.footprint(self, plan, learnt)  # super() fails with slots
        optional = places_learnt(self.organization_id, plan, learnt)
        return replace(footprint, optional=optional - footprint.required)

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None:
            return Decision(refusals.hold_not_found())
        if hold.is_expired(ledger.now):
            return Decision(refusals.hold_expired())
        stale = refuse_stale(hold, self.seen_version)
        if stale is not None:
            return Decision(stale)
        if not hold.is_waiting(ledger.now):
            return Decision(refusals.not_on_waitlist(hold.status.value))
        session = ledger.sessions[hold.session_key]
        closed = closed_by(session, ledger.now)
        if closed is not None:
            return Decision(_refusal(ledger, session, hold, closed))
        if not ledger.knows_waitlist_of(session):
            return Decision(NeedsMore())
        return self._decide_places(ledger.trial(session.key), session, hold)

    def _decide_places(self, trial: Ledger, session: SessionCatalog, hold: Hold) -> Decision:
        """On a copy of the ledger, because the search for places records what it lacks there."""
        promotion = promotion_out_of_turn(trial, session, hold, self.origin)
        missing = missing_of(trial.waitlists[session.key])
        if missing is not None:
            return Decision(missing)
        if isinstance(promotion, Obstacle):
            return Decision(_refusal(trial, session, hold, promotion))
        overtaken = len(promotion.passed)
        promoted = Transition(hold, promotion.hold, self.origin, True, overtaken)
        return Decision(
            HoldPromoted(promotion.hold, trial.now, overtaken),
            (*promotion.ended, promoted),
            passed=promotion.passed,
        )

    def failed_action(self, refusal: Refusal) -> FailedAction:
        return FailedAction("hold.promote_failed", self.hold_id)


def _refusal(ledger: Ledger, session: SessionCatalog, hold: Hold, obstacle: Obstacle) -> Refusal:
    found = explanation_of(ledger, session, hold, obstacle)
    match obstacle:
        case Obstacle.EVENT_CANCELLED:
            return refusals.event_unavailable()
        case Obstacle.EVENT_ARCHIVED | Obstacle.EVENT_NOT_ON_SALE:
            return refusals.event_not_available()
        case Obstacle.SALE_ENDED | Obstacle.SALE_NOT_OPEN:
            return refusals.event_sales_closed()
        case Obstacle.SESSION_STARTED:
            return refusals.session_started()
        case Obstacle.NOT_OFFERED:
            return refusals.no_longer_offered()
        case Obstacle.TOO_FEW_SEATS if found.seats is not None:
            seats = found.seats
            return refusals.not_enough_seats(seats.requested, seats.available, seats.kind)
        case _:
            left = min((each.available for each in found.shortages), default=0)
            return refusals.insufficient_inventory(left)
