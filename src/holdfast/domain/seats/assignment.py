"""Assigns seats that seem free to the commands of a group.

Each command gets different seats, so none waits for another. Whether they are really free is
decided under lock.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Claim, Proposal, Resource, ResourceKind, Survey
from holdfast.domain.group.outcomes import NeedsMore
from holdfast.domain.holds.placement import SEATS_PER_HOLD_MAX, Placement, SeatAsk
from holdfast.domain.ids import BlockId, OrganizationId, PoolId, SeatId, SessionKey
from holdfast.domain.seats.proposals import claim, seated_asks
from holdfast.domain.seats.seat_plan import FreeSeats
from holdfast.domain.seats.seat_search import SeatSearch, find_preferring_own, own_seats_of
from holdfast.domain.waitlist.fairness import closed_blocks

_POOL, _SEAT = ResourceKind.POOL, ResourceKind.SEAT


def seat_resources(organization_id: OrganizationId, seat_ids: Iterable[SeatId]) -> set[Resource]:
    return {Resource(_SEAT, organization_id, seat_id) for seat_id in seat_ids}


@dataclass(slots=True)
class SeatPlanning:
    survey: Survey
    # Seats that seem free and that this group has not proposed yet.
    _free: dict[SessionKey, FreeSeats] = field(default_factory=dict)

    def pools_of_named(self, ask: SeatAsk, session: SessionCatalog) -> set[PoolId]:
        """The pools of the ask's ticket type, or of every seated type if it depends on the seat."""
        pools: set[PoolId] = set()
        for ticket_type_id, offer in session.offers.items():
            if offer.is_seated and ask.ticket_type_id in {None, ticket_type_id}:
                pools |= set(offer.pool_ids)
        for seat_id in ask.seat_ids:
            block_id = self.survey.blocks_of.get(seat_id)
            block = None if block_id is None else session.blocks.get(block_id)
            if block is not None and block.capacity_pool_id is not None:
                pools.add(block.capacity_pool_id)
        return pools

    def neighbours(self, command: Placement, session: SessionCatalog) -> set[Resource]:
        """Two seats on each side of the named ones, if the policy refuses orphans."""
        seating = self.survey.seatings.get(session.key)
        if seating is None or not session.refuses_orphans:
            return set()
        neighbours: set[SeatId] = set()
        for seat_id in command.named_seats:
            spot = seating.plan.spots.get(seat_id)
            if spot is not None:
                places = seating.plan.rows[spot.row].places
                near = (spot.bit + step for step in (-2, -1, 1, 2))
                neighbours |= {places[bit].id for bit in near if bit in places}
        return seat_resources(command.organization_id, neighbours)

    def propose(
        self, command: Placement, session: SessionCatalog, learnt: NeedsMore
    ) -> Proposal | None:
        seating = self.survey.seatings.get(session.key)
        if seating is None:
            return None
        asks = [ask for _, ask in seated_asks(command, session)]
        wanted = sum(ask.quantity for ask in asks) + len(command.named_seats)
        if not 0 < wanted <= SEATS_PER_HOLD_MAX:
            return None
        free = self._free.get(session.key, seating.free).copy()
        limits = dict(learnt.block_limits)
        claim(seating, free, limits, seating.plan.known_spots(command.named_seats))
        proposal = None
        if asks:
            waitlist = self.survey.waitlists.get(session.key)
            closed = closed_blocks(session, waitlist, seating, free) if waitlist else frozenset()
            search = SeatSearch(seating, free, session, limits, learnt.locked_seats, closed)
            own_seats = own_seats_of(command, session, seating.plan)
            proposal, free = find_preferring_own(search, asks, own_seats)
            proposal = replace(proposal, asks=tuple(asks))
        if proposal is not None and proposal.is_short:
            return replace(proposal, limits=learnt.block_limits)
        self._free[session.key] = free
        return proposal

    def block_pools(
        self, session_key: SessionKey, seat_ids: Iterable[SeatId], limited: Iterable[BlockId]
    ) -> set[Resource]:
        """Capacity pools of the proposed blocks, and of those skipped as full: under lock, they are
        checked again."""
        session = self.survey.sessions[session_key]
        plan = self.survey.seatings[session_key].plan
        blocks = {plan.place(plan.spots[seat_id]).block_id for seat_id in seat_ids} | set(limited)
        pools = {
            session.blocks[block_id].capacity_pool_id
            for block_id in blocks
            if block_id in session.blocks
        }
        return {
            Resource(_POOL, session_key[0], pool_id) for pool_id in pools if pool_id is not None
        }


def claim_of(command: Placement, proposal: Proposal | None) -> Claim:
    found = () if proposal is None else proposal.seats
    return Claim(command.session_key, (*command.named_seats, *chain.from_iterable(found)))


def pools_of_alternatives(command: Placement, session: SessionCatalog) -> set[Resource]:
    """Capacity pools of the blocks that an alternative may come from."""
    if not command.wants_alternative:
        return set()
    return {
        Resource(_POOL, command.organization_id, block.capacity_pool_id)
        for block in session.blocks.values()
        if block.capacity_pool_id is not None
    }
