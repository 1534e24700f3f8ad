"""Plans the locks that the waitlist needs to take the places a group frees."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Resource, ResourceKind, Survey
from holdfast.domain.holds.hold import Line
from holdfast.domain.ids import HoldKey, PoolId, SeatId, SessionKey
from holdfast.domain.seats.assignment import seat_resources
from holdfast.domain.seats.proposals import SeatScope, propose
from holdfast.domain.seats.seat_plan import FreeSeats, Seating
from holdfast.domain.waitlist.fairness import may_be_passed
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX, Waitlist
from holdfast.domain.waitlist.seating import seat_asks, wished_blocks


@dataclass(slots=True)
class WaitlistPlanning:
    survey: Survey
    _pools: dict[SessionKey, frozenset[Resource]] = field(default_factory=dict)
    # Seats that seem free: with those this group frees, without those planned for the waitlist.
    _free: dict[SessionKey, FreeSeats] = field(default_factory=dict)
    _seated: set[HoldKey] = field(default_factory=set)

    def resources(self, session_key: SessionKey, freed: Iterable[SeatId]) -> set[Resource]:
        waitlist = self.survey.waitlists.get(session_key)
        if not waitlist:
            return set()
        session = self.survey.sessions[session_key]
        found = set(self._pools_of(session, waitlist))
        seating = self.survey.seatings.get(session_key)
        if seating is not None and waitlist.has_wishes():
            seats = self._seats(session, seating, waitlist, freed)
            found |= seat_resources(session.organization_id, seats)
        return found

    def _pools_of(self, session: SessionCatalog, waitlist: Waitlist) -> frozenset[Resource]:
        """The pools the waitlist needs, cached: they are the same for all commands of a group."""
        known = self._pools.get(session.key)
        if known is not None:
            return known
        pools = {
            pool_id
            for queue in waitlist.queues.values()
            for hold in queue.first[:PROMOTIONS_MAX]
            for each in hold.lines
            for pool_id in (*each.pool_ids, *_pools_now(session, each))
        }
        pools |= {
            pool_id
            for queue in waitlist.queues.values()
            for hold in queue.first[:1]
            for block_id in wished_blocks(hold, session)
            if (pool_id := session.blocks[block_id].capacity_pool_id) is not None
        }
        found = frozenset(
            Resource(ResourceKind.POOL, session.organization_id, pool_id) for pool_id in pools
        )
        self._pools[session.key] = found
        return found

    def _seats(
        self,
        session: SessionCatalog,
        seating: Seating,
        waitlist: Waitlist,
        freed: Iterable[SeatId],
    ) -> set[SeatId]:
        """The seats that promotion will probably choose."""
        free = self._free.get(session.key) or seating.free.copy()
        for seat_id in freed:
            if seat_id in seating.plan.spots:
                free.give_back(seating.plan.spots[seat_id])
        seats: set[SeatId] = set()
        stuck: set[UUID] = set()
        for hold in waitlist.in_order():
            asks = seat_asks(hold)
            assert hold.waiting is not None
            if not asks or hold.key in self._seated or hold.waiting.queue_id in stuck:
                continue
            proposal, left = propose(SeatScope(seating, free, session, {}), asks)
            if not proposal.is_short:
                free = left
                self._seated.add(hold.key)
                seats.update(seat_id for found in proposal.seats for seat_id in found)
            elif not may_be_passed(session, waitlist.queues[hold.waiting.queue_id], hold):
                stuck.add(hold.waiting.queue_id)
            if len(self._seated) >= PROMOTIONS_MAX:
                break
        self._free[session.key] = free
        return seats


def _pools_now(session: SessionCatalog, line: Line) -> tuple[PoolId, ...]:
    """The current pools of a seated type, in which the seats found are counted."""
    offer = session.offers.get(line.ticket_type_id)
    return offer.pool_ids if offer is not None and line.wish is not None else ()
