"""The reaper's commands: they expire lapsed holds, and warn holders before their holds expire."""

from dataclasses import field

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Footprint, Needs
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Decision, Expired, NeedsMore, Warned
from holdfast.domain.group.plan import (
    GroupPlan,
    resources_of,
    seats_of,
    within_seat_limit,
    without_places,
)
from holdfast.domain.group.transitions import Transition
from holdfast.domain.ids import HoldId, HoldKey, OrganizationId
from holdfast.domain.immutable import immutable

# A few milliseconds of work, the longest that people's commands wait for it.
DUE_BATCH_MAX = 16


@immutable
class DueHolds(Command):
    """Holds of one organization that are due. Those that are not are left alone."""

    is_background = True

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin
    idempotency: None = field(default=None, init=False)  # repeats are harmless

    def __post_init__(self) -> None:
        assert 1 <= len(self.hold_ids) <= DUE_BATCH_MAX

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(holds=frozenset(self.hold_keys))


@immutable
class ExpireHolds(DueHolds):
    """Mark these lapsed holds as expired."""

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        holds = list(within_seat_limit(plan.known(self.hold_keys)))
        # Half the weight, so the reaper doesn't use the large commands' turn that people need.
        weight = max(1, seats_of(holds) // 2)
        return Footprint(frozenset(resources_of(holds)), weight=weight)

    def decide(self, ledger: Ledger) -> Decision:
        transitions = []
        for key in dict.fromkeys(self.hold_keys):
            hold = ledger.holds.get(key)
            if hold is not None and hold.can_expire(ledger.now):
                if not ledger.knows_places_of(hold):
                    return Decision(NeedsMore())
                transitions.append(Transition(hold, hold.expired(ledger.now), self.origin))
        expired = tuple(transition.after.id for transition in transitions)
        return Decision(Expired(expired, ledger.now), tuple(transitions))


@immutable
class WarnHolds(DueHolds):
    """Publish that these holds expire soon."""

    locks_waitlists = False

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """Lock no places: a warning changes none, so nobody has to wait for it."""
        required = without_places(resources_of(plan.known(self.hold_keys)))
        return Footprint(frozenset(required))

    def decide(self, ledger: Ledger) -> Decision:
        known = (ledger.holds.get(key) for key in dict.fromkeys(self.hold_keys))
        transitions = tuple(
            Transition(hold, hold.warned(ledger.now), self.origin)
            for hold in known
            if hold is not None and hold.can_warn(ledger.now)
        )
        warned = tuple(transition.after.id for transition in transitions)
        return Decision(Warned(warned, ledger.now), transitions)
