"""The base class of the three commands. Each of them may arrive again, and they may overtake each
other."""

from typing import ClassVar

from holdfast.domain.group.command import Command, FailedAction
from holdfast.domain.group.footprint import Footprint, Needs, Resource, ResourceKind
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.group.plan import GroupPlan, key_of, resources_of
from holdfast.domain.holds.placement import Asked
from holdfast.domain.ids import HoldId, HoldKey, SessionId, SessionKey
from holdfast.domain.refusal_codes import Refusal


class ReservationCommand(Command):
    __slots__ = ()

    failed_name: ClassVar[str]  # in the audit log

    hold_id: HoldId
    session_id: SessionId

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    def needs(self, learnt: NeedsMore) -> Needs:
        return Needs(sessions=frozenset({self.session_key}), holds=frozenset({self.hold_key}))

    def footprint(self, plan: GroupPlan, learnt: NeedsMore) -> Footprint:
        """The id is locked even if there is no such hold yet: a release and its hold may arrive at
        the same moment."""
        organization_id = self.organization_id
        required = resources_of(plan.known((self.hold_key,))) | key_of(self)
        required.add(Resource(ResourceKind.SESSION, organization_id, self.session_id))
        required.add(Resource(ResourceKind.HOLD_ID, organization_id, self.hold_id))
        required.add(Resource(ResourceKind.HOLD, organization_id, self.hold_id))
        return Footprint(frozenset(required), new_holds=(self.hold_key,))

    def failed_action(self, refusal: Refusal) -> FailedAction:
        return FailedAction(self.failed_name, self.hold_id, asked=Asked(self.session_id))
