"""Planning a group: what each command needs to see, and then what it has to lock.

Best-available is planned here, on seats read without locks: each command of the group gets seats
of its own, so that nobody waits for anybody. Whether they are really free is decided under lock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.domain.best_available import Search, best_available, count_available
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import (
    SEATS_PER_HOLD_MAX,
    Ask,
    BlockSeats,
    Command,
    PlaceHold,
    ReleaseHold,
    SeatAsk,
)
from holdfast.domain.footprint import (
    Footprint,
    Holding,
    Needs,
    Proposal,
    Resource,
    ResourceKind,
    Survey,
)
from holdfast.domain.hold import Hold
from holdfast.domain.ids import BlockId, HoldKey, OrganizationId, PoolId, SeatId, SessionKey
from holdfast.domain.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.seating import FreeSeats, Seating, Spot

_SESSION, _POOL, _SEAT = ResourceKind.SESSION, ResourceKind.POOL, ResourceKind.SEAT


def needs_of(command: Command, learnt: NeedsMore = NOTHING_MORE) -> Needs:
    match command:
        case PlaceHold():
            session = command.session_key
            return Needs(
                sessions=frozenset({session}),
                holds=learnt.holds,
                lapsed=frozenset((session, pool_id) for pool_id in learnt.lapsed_pools),
                types=frozenset(
                    (session, ask.ticket_type_id) for ask in command.asks if isinstance(ask, Ask)
                ),
                seats=frozenset((session, seat_id) for seat_id in command.named_seats),
                alternatives=frozenset({session} if command.wants_alternative else ()),
            )
        case BlockSeats():
            return Needs(sessions=frozenset({command.session_key}), holds=learnt.holds)
        case ReleaseHold():
            return Needs(holds=frozenset({command.hold_key}))
        case _:
            return Needs(holds=frozenset(command.hold_keys))


@dataclass(slots=True)
class GroupPlan:
    """The footprints of one group, command by command in its order."""

    survey: Survey
    # What is left of the seats that seemed free, after what this group proposes to take.
    _free: dict[SessionKey, FreeSeats] = field(default_factory=dict)
    _claimed: set[SessionKey] = field(default_factory=set)

    def footprint(self, command: Command, learnt: NeedsMore = NOTHING_MORE) -> Footprint:
        """What is to be locked before the command is decided."""
        match command:
            case PlaceHold():
                return self._footprint_of_place(command, learnt)
            case BlockSeats():
                required = {Resource(_SESSION, command.organization_id, command.session_id)}
                required |= _seats(command.organization_id, command.seat_ids)
                required |= self._holds(learnt.holds)
            case ReleaseHold():
                required = self._holds((command.hold_key,))
            case _:
                required = self._holds(command.hold_keys)
        return Footprint(frozenset(required | _key_of(command)))

    def _footprint_of_place(self, command: PlaceHold, learnt: NeedsMore) -> Footprint:
        organization_id = command.organization_id
        required = {Resource(_SESSION, organization_id, command.session_id)} | _key_of(command)
        if command.is_id_from_client:
            required.add(Resource(ResourceKind.HOLD_ID, organization_id, command.hold_id))
            required.add(Resource(ResourceKind.HOLD, organization_id, command.hold_id))
        required |= _seats(organization_id, command.named_seats) | self._holds(learnt.holds)
        optional = self._lapsed(learnt.lapsed_pools)
        proposal = holding = None
        session = self.survey.sessions.get(command.session_key)
        if session is not None:
            required |= self._pools_of_place(command, session)
            required |= self._neighbours(command, session)
            holding = _holding(command, session)
            if holding is not None:
                key = holding.holder.key
                required.add(Resource(ResourceKind.HOLDER, organization_id, key))
            proposal = self._propose(command, session, learnt)
        if proposal is not None:
            proposed = {seat_id for seats in proposal.seats for seat_id in seats}
            awaited = proposed & learnt.locked_seats
            required |= _seats(organization_id, awaited)
            required |= self._block_pools(command.session_key, proposed)
            optional |= _seats(organization_id, proposed)
        return Footprint(frozenset(required), frozenset(optional - required), proposal, holding)

    def _pools_of_place(self, command: PlaceHold, session: SessionCatalogue) -> set[Resource]:
        pools: set[PoolId] = set()
        for ask in command.asks:
            if isinstance(ask, SeatAsk):
                pools |= self._pools_of_named(ask, session)
            elif ask.ticket_type_id in session.offers:
                pools |= set(session.offers[ask.ticket_type_id].pool_ids)
        return {Resource(_POOL, command.organization_id, pool_id) for pool_id in pools}

    def _pools_of_named(self, ask: SeatAsk, session: SessionCatalogue) -> set[PoolId]:
        """Without a ticket type, the pools of every seated one: which it is, the seat tells."""
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

    def _neighbours(self, command: PlaceHold, session: SessionCatalogue) -> set[Resource]:
        """Where single seats may not be left alone, two on each side are looked at too."""
        seating = self.survey.seatings.get(session.key)
        if seating is None or not session.minds_orphans:
            return set()
        neighbours: set[SeatId] = set()
        for seat_id in command.named_seats:
            spot = seating.plan.spots.get(seat_id)
            if spot is not None:
                places = seating.plan.rows[spot.row].places
                near = (spot.bit + step for step in (-2, -1, 1, 2))
                neighbours |= {places[bit].id for bit in near if bit in places}
        return _seats(command.organization_id, neighbours)

    def _propose(
        self, command: PlaceHold, session: SessionCatalogue, learnt: NeedsMore
    ) -> Proposal | None:
        asks = [ask for _, ask in seated_asks(command, session)]
        seating = self.survey.seatings.get(session.key)
        wanted = sum(ask.quantity for ask in asks) + len(command.named_seats)
        if seating is None or not 0 < wanted <= SEATS_PER_HOLD_MAX:
            return None
        free = self._free.get(session.key, seating.free).copy()
        limits = dict(learnt.block_limits)
        for seat_id in command.named_seats:
            if seat_id in seating.plan.spots:
                _claim(seating, free, limits, seating.plan.spots[seat_id])
        is_certain = session.key not in self._claimed
        found: dict[int, tuple[SeatId, ...]] = {}
        for positions, search in _searches(asks, session, limits):
            spots = _find(seating, free, search, learnt.locked_seats)
            if spots is None:
                return _shortage(seating, free, search, is_certain)
            ids = [seating.plan.place(spot).id for spot in spots]
            for spot in spots:
                _claim(seating, free, limits, spot)
            for position in positions:
                count = asks[position].quantity
                found[position], ids = tuple(ids[:count]), ids[count:]
        self._free[session.key] = free
        self._claimed.add(session.key)
        if not asks:
            return None
        return Proposal(tuple(found[position] for position in range(len(asks))))

    def _block_pools(self, session_key: SessionKey, seat_ids: Iterable[SeatId]) -> set[Resource]:
        session = self.survey.sessions[session_key]
        plan = self.survey.seatings[session_key].plan
        blocks = {plan.place(plan.spots[seat_id]).block_id for seat_id in seat_ids}
        pools = {
            session.blocks[block_id].capacity_pool_id
            for block_id in blocks
            if block_id in session.blocks
        }
        return {
            Resource(_POOL, session_key[0], pool_id) for pool_id in pools if pool_id is not None
        }

    def _lapsed(self, pools: Iterable[PoolId]) -> set[Resource]:
        resources: set[Resource] = set()
        for pool_id in pools:
            for hold in self.survey.lapsed.get(pool_id, ()):
                resources |= resources_of_hold(hold)
        return resources

    def _holds(self, keys: Iterable[HoldKey]) -> set[Resource]:
        resources: set[Resource] = set()
        for key in keys:
            hold = self.survey.holds.get(key)
            if hold is not None:
                resources |= resources_of_hold(hold)
        return resources


def seated_asks(command: PlaceHold, session: SessionCatalogue) -> list[tuple[int, Ask]]:
    """The asks for which seats are to be found, each with its position."""
    return [
        (position, ask)
        for position, ask in enumerate(command.asks)
        if isinstance(ask, Ask)
        and ask.ticket_type_id in session.offers
        and session.offers[ask.ticket_type_id].is_seated
    ]


def blocks_for(ask: Ask, session: SessionCatalogue) -> frozenset[BlockId]:
    """The blocks in which this ask can be met."""
    return frozenset(
        block_id
        for block_id, block in session.blocks.items()
        if block.sells(ask.ticket_type_id) and ask.block_id in {None, block_id}
    )


def resources_of_hold(hold: Hold) -> set[Resource]:
    """A hold's session and lines never change, so what an unlocked look saw of them holds."""
    organization_id = hold.organization_id
    resources = {
        Resource(_SESSION, organization_id, hold.session_id),
        Resource(ResourceKind.HOLD, organization_id, hold.id),
    }
    for line in hold.lines:
        for pool_id in line.pool_ids:
            resources.add(Resource(_POOL, organization_id, pool_id))
    return resources | _seats(organization_id, (seat.id for seat in hold.seats))


def _seats(organization_id: OrganizationId, seat_ids: Iterable[SeatId]) -> set[Resource]:
    return {Resource(_SEAT, organization_id, seat_id) for seat_id in seat_ids}


def _key_of(command: Command) -> set[Resource]:
    key = command.idempotency
    if key is None:
        return set()
    return {Resource(ResourceKind.IDEMPOTENCY_KEY, command.organization_id, key.digest)}


def _holding(command: PlaceHold, session: SessionCatalogue) -> Holding | None:
    is_one_only = any(offer.policy.one_active_hold for offer in session.offers.values())
    return Holding(session.key, command.holder) if is_one_only else None


def _claim(seating: Seating, free: FreeSeats, limits: dict[BlockId, int], spot: Spot) -> None:
    """What is claimed for a hold is neither free nor within the capacity for its other asks."""
    free.take(spot)
    block_id = seating.plan.rows[spot.row].block_id
    if block_id in limits:
        limits[block_id] = max(0, limits[block_id] - 1)


def _searches(
    asks: list[Ask], session: SessionCatalogue, limits: Mapping[BlockId, int]
) -> list[tuple[list[int], Search]]:
    """Asks that can be met in the same blocks are met together, so that two adults and two children
    sit side by side. Those with the fewest blocks come first: the others can go elsewhere."""
    together: dict[frozenset[BlockId], list[int]] = {}
    for position, ask in enumerate(asks):
        together.setdefault(blocks_for(ask, session), []).append(position)
    return [
        (
            positions,
            Search(
                quantity=sum(asks[position].quantity for position in positions),
                blocks=blocks,
                accessible=sum(asks[position].accessible for position in positions),
                limits=limits,
            ),
        )
        for blocks, positions in sorted(together.items(), key=lambda item: len(item[0]))
    ]


def _find(
    seating: Seating, free: FreeSeats, search: Search, locked: frozenset[SeatId]
) -> tuple[Spot, ...] | None:
    """Without the seats that others have locked, if there are enough; else with them, to be waited
    for."""
    unlocked = free
    if locked:
        unlocked = free.copy()
        for seat_id in locked:
            if seat_id in seating.plan.spots:
                unlocked.take(seating.plan.spots[seat_id])
    found = best_available(seating.plan, unlocked, search)
    if found is None and locked:
        found = best_available(seating.plan, free, search)
    return found


def _shortage(seating: Seating, free: FreeSeats, search: Search, is_certain: bool) -> Proposal:
    available = count_available(seating.plan, free, search)
    if available >= search.quantity:  # then it is the accessible ones that are too few
        available = count_available(seating.plan, free, search, lambda row: ~row.accessible)
        return Proposal((), search.accessible, available, is_certain)
    unlimited = count_available(seating.plan, free, replace(search, limits={}))
    # Of several blocks none is to blame: the buyer did not care which.
    is_full = len(search.blocks) == 1 and unlimited >= search.quantity
    full = next(iter(search.blocks)) if is_full else None
    return Proposal((), search.quantity, available, is_certain, full)
