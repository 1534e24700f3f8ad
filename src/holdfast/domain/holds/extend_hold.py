"""Extends a hold for its holder or an operator, and the rules of its lifetime."""

from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach, caller
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.command import FailedAction, HoldCommand
from holdfast.domain.group.footprint import Footprint
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.group.outcomes import Decision, Extended, NeedsMore
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.hold import Hold, rounded_up
from holdfast.domain.holds.placement import Asked
from holdfast.domain.holds.preconditions import refuse_stale, refuse_status
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import TTL_SECONDS_MAX, HoldPolicy, lowest_limit
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder, InvalidValue


@immutable
class ExtendHold(HoldCommand):
    """Extend an active hold by `seconds`. Only operators may exceed the policy. With `holder`, the
    hold must be theirs; with `seen_version`, it must not have changed since."""

    gives_time = True
    frees_places = False

    organization_id: OrganizationId
    hold_id: HoldId
    seconds: int
    origin: Origin
    holder: Holder | None = None
    is_operator: bool = False
    idempotency: IdempotencyKey | None = None
    reach: Reach | None = None
    seen_version: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= TTL_SECONDS_MAX:
            raise InvalidValue(
                "invalid_seconds", f"seconds must be between 1 and {TTL_SECONDS_MAX}"
            )

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        footprint = HoldCommand.footprint(self, plan, learnt)  # super() fails with slots
        holders = plan.holders_of(plan.known((self.hold_key,)))
        return replace(footprint, required=footprint.required | holders) if holders else footprint

    def decide(self, ledger: Ledger) -> Decision:
        hold = ledger.holds.get(self.hold_key)
        if hold is None or not hold.belongs_to(self.holder) or ledger.hides(hold, self.reach):
            return Decision(refusals.hold_not_found())
        if hold.is_expired(ledger.now):
            return Decision(refusals.hold_expired())
        if not hold.can_extend(ledger.now):
            return Decision(refusals.invalid_hold_state(hold.status.value))
        if not ledger.knows_places_of(hold):
            return Decision(NeedsMore())
        session = ledger.sessions[hold.session_key]
        refusal = refuse_stale(hold, self.seen_version) or refuse_status(session)
        if refusal is not None:
            return Decision(refusal)
        until = later_expiry(ledger.now, hold, self.seconds)
        if not self.is_operator:
            maximum = lowest_limit(each.extensions_max for each in policies_of(session, hold))
            if maximum and hold.extensions >= maximum:
                return Decision(refusals.extensions_used_up(maximum, hold.expires_at))
            until = min(until, end_of_life(session, hold))
        if until <= hold.expires_at:
            return Decision(refusals.extension_limit_reached(hold.expires_at))
        extended = hold.extended(
            ledger.now, until, warning_seconds(session, hold), is_counted=not self.is_operator
        )
        transition = Transition(hold, extended, self.origin, self.is_operator)
        return Decision(Extended(extended, ledger.now), (transition,))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        asked = Asked(holder=caller(self.holder, self.reach))
        return FailedAction("hold.extend_failed", self.hold_id, asked=asked)


def warning_seconds(session: SessionCatalog, hold: Hold) -> int:
    return max(policy.warning_seconds for policy in policies_of(session, hold))


def later_expiry(now: datetime, hold: Hold, seconds: int) -> datetime:
    return max(hold.expires_at, rounded_up(now)) + timedelta(seconds=seconds)


def end_of_life(session: SessionCatalog, hold: Hold) -> datetime:
    seconds = min(policy.lifetime_max_seconds for policy in policies_of(session, hold))
    return rounded_up(hold.held_at or hold.created_at) + timedelta(seconds=seconds)


def policies_of(session: SessionCatalog, hold: Hold) -> list[HoldPolicy]:
    return [session.offers[line.ticket_type_id].policy for line in hold.lines]
