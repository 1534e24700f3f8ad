"""The reaper's command that expires lapsed holds."""

from dataclasses import dataclass

from holdfast.domain.group.footprint import Footprint
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, Expired, NeedsMore
from holdfast.domain.group.plan import GroupPlan, resources_of, seats_of, within_seat_limit
from holdfast.domain.group.transitions import Transition
from holdfast.domain.holds.due_holds import DueHolds


@dataclass(frozen=True, slots=True)
class ExpireHolds(DueHolds):
    """Mark these lapsed holds as expired."""

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        del learnt
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
