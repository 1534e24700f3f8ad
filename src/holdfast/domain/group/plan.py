"""Plans the locks of a group's commands from the unlocked survey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from holdfast.domain.group.footprint import Footprint, Resource, ResourceKind, Survey
from holdfast.domain.group.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldKey, OrganizationId, PoolId, SeatId, SessionId, SessionKey
from holdfast.domain.seats.assignment import SeatPlanning, seat_resources
from holdfast.domain.waitlist.promotion_plan import WaitlistPlanning

if TYPE_CHECKING:
    from holdfast.domain.group.command import Command
    from holdfast.domain.holds.placement import Placement

# Freeing a seat takes about 0.1 ms, and every other command waits for that group.
SEATS_FREED_AT_ONCE_MAX = 500
SEATS_FREED_BY_ONE_MAX = 2000

_SESSION, _POOL = ResourceKind.SESSION, ResourceKind.POOL


@dataclass(slots=True)
class GroupPlan:
    """Plans the footprints of one group, one command after another in its order."""

    survey: Survey
    seats: SeatPlanning = field(init=False)
    # The footprint that rivals share, apart from the hold that each may create.
    of_rivals: dict[tuple[int | bool, ...], Footprint] = field(default_factory=dict)
    _waitlists: WaitlistPlanning = field(init=False)

    def __post_init__(self) -> None:
        self.seats = SeatPlanning(self.survey)
        self._waitlists = WaitlistPlanning(self.survey)

    def footprint(self, command: Command, learnt: NeedsMore = NOTHING_MORE) -> Footprint:
        """Everything the command locks, including what the waitlist needs to take freed places."""
        footprint = command.footprint(self, learnt)
        if learnt.parties:
            weight = footprint.weight + sum(learnt.parties.values())
            footprint = replace(footprint, weight=weight)
        if not command.locks_waitlists or not footprint.required:
            return footprint
        return self._with_waitlists(footprint, frees_places=command.frees_places)

    def _with_waitlists(self, footprint: Footprint, *, frees_places: bool) -> Footprint:
        required, optional = set(footprint.required), set(footprint.optional)
        freed = [SeatId(seat.name) for seat in footprint.required_of(ResourceKind.SEAT)]
        for _, organization_id, name in footprint.required_of(_SESSION):
            session = self.survey.sessions.get((organization_id, SessionId(name)))
            if session is not None and session.has_waitlist:
                if frees_places and session.key in self.survey.unread:
                    # A party on the waitlist may want a seat that this frees.
                    awaits = Resource(ResourceKind.SEATING, organization_id, name)
                    return Footprint(frozenset(), awaits=awaits)
                required.add(Resource(ResourceKind.WAITLIST, organization_id, name))
                if frees_places:
                    optional |= self._waitlists.resources(session.key, freed)
        return replace(
            footprint, required=frozenset(required), optional=frozenset(optional - required)
        )

    def known(self, keys: Iterable[HoldKey]) -> list[Hold]:
        return [hold for key in keys if (hold := self.survey.holds.get(key)) is not None]

    def holders_of(self, holds: Iterable[Hold]) -> set[Resource]:
        """The holders of these holds, where a limit applies. A command that extends or converts a
        hold at the last moment locks its holder, so that a count finds it either live or sold."""
        return {
            Resource(ResourceKind.HOLDER, hold.organization_id, hold.holder.key)
            for hold in holds
            if (session := self.survey.sessions.get(hold.session_key)) is not None
            and session.counts_holds
        }

    def lapsed(self, pools: Iterable[tuple[SessionKey, PoolId]]) -> set[Resource]:
        """The resources of lapsed holds that might make room in these pools."""
        lapsed = [hold for _, pool_id in pools for hold in self.survey.lapsed.get(pool_id, ())]
        return resources_of(within_seat_limit(lapsed))


def resources_of(holds: Iterable[Hold]) -> set[Resource]:
    """The resources of these holds. They may be stale: the decision then asks for more."""
    resources: set[Resource] = set()
    pools: set[tuple[OrganizationId, PoolId]] = set()
    sessions: set[SessionKey] = set()
    for hold in holds:
        organization_id = hold.organization_id
        sessions.add((organization_id, hold.session_id))
        resources.add(Resource(ResourceKind.HOLD, organization_id, hold.id))
        for line in hold.lines:
            for pool_id in line.pool_ids:
                pools.add((organization_id, pool_id))
        if hold.seats:
            resources |= seat_resources(organization_id, (seat.id for seat in hold.seats))
    resources.update(Resource(_POOL, *pool) for pool in pools)
    resources.update(Resource(_SESSION, *session) for session in sessions)
    return resources


def seats_of(holds: Iterable[Hold]) -> int:
    return sum(len(hold.seats) for hold in holds)


def within_seat_limit(holds: Iterable[Hold]) -> Iterator[Hold]:
    """The first of these holds, up to a limit of seats: the rest can end later."""
    seats = 0
    for hold in holds:
        seats += len(hold.seats)
        if seats > SEATS_FREED_AT_ONCE_MAX and seats > len(hold.seats):
            return
        yield hold


def without_places(resources: Iterable[Resource]) -> set[Resource]:
    return {each for each in resources if each.kind in {ResourceKind.SESSION, ResourceKind.HOLD}}


def key_of(command: Command | Placement) -> set[Resource]:
    key = command.idempotency
    if key is None:
        return set()
    return {Resource(ResourceKind.IDEMPOTENCY_KEY, command.organization_id, key.digest)}
