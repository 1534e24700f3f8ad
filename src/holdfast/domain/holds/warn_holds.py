"""The reaper's command that warns holders before their holds expire."""

from dataclasses import dataclass

from holdfast.domain.group.footprint import Footprint
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, NeedsMore, Warned
from holdfast.domain.group.plan import GroupPlan, resources_of, without_places
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.due_holds import DueHolds


@dataclass(frozen=True, slots=True)
class WarnHolds(DueHolds):
    """Publish that these holds expire soon."""

    locks_waitlists = False

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """Lock no places: a warning changes none, so nobody has to wait for it."""
        del learnt
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
