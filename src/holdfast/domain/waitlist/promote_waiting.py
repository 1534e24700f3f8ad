"""Promotes parties from the waitlist of a session."""

from dataclasses import field

from holdfast.domain.group.command import Command
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Decision, NeedsMore, Promoted
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.ids import OrganizationId, SessionId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.assignment import seat_resources


@immutable
class WaitlistCommand(Command):
    """A command about the whole waitlist of a session. Repeats are harmless."""

    is_background = True

    organization_id: OrganizationId
    session_id: SessionId
    origin: Origin
    idempotency: None = field(default=None, init=False)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        session_key = frozenset({self.session_key})
        return Needs(sessions=session_key, lapsed=learnt.lapsed, waitlists=session_key)

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        session = Resource(ResourceKind.SESSION, self.organization_id, self.session_id)
        return Footprint(frozenset({session}), places_learnt(self.organization_id, plan, learnt))


@immutable
class PromoteWaiting(WaitlistCommand):
    """Give free places to the waitlist, or end the waitlist if the sale is over."""

    @property
    def promotes(self) -> SessionKey:
        return self.session_key

    def decide(self, ledger: Ledger) -> Decision:
        """Change nothing: `settle`, which follows every command, does the work."""
        session = ledger.sessions.get(self.session_key)
        if session is not None and not ledger.knows_waitlist_of(session):
            return Decision(NeedsMore())
        return Decision(Promoted(0, ledger.now))


def places_learnt(
    organization_id: OrganizationId, plan: GroupPlan, learnt: NeedsMore
) -> frozenset[Resource]:
    """The places that earlier rounds found missing for a promotion."""
    found = seat_resources(organization_id, learnt.locked_seats)
    found |= {Resource(ResourceKind.POOL, organization_id, each) for each in learnt.pools}
    return frozenset(found | plan.lapsed(learnt.lapsed))
