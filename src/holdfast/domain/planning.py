"""Planning a group: what each command needs to see, and then what it has to lock.

Best-available is planned here, on seats read without locks: each command of the group gets seats
of its own, so that nobody waits for anybody. Whether they are really free is decided under lock.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from holdfast.domain import refusals
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import (
    SEATS_PER_HOLD_MAX,
    BlockSeats,
    Command,
    ConvertHolds,
    ExpireHolds,
    ExtendHold,
    PlaceHold,
    ReleaseHold,
    SeatAsk,
    StartCheckout,
    WarnHolds,
)
from holdfast.domain.footprint import (
    Footprint,
    Holding,
    Needs,
    Proposal,
    Resource,
    ResourceKind,
    Survey,
    payment_resource,
    seats_to_survey,
)
from holdfast.domain.hold import Hold
from holdfast.domain.ids import (
    BlockId,
    HoldKey,
    OrganizationId,
    PoolId,
    SeatId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.order import SEATS_PER_ORDER_MAX
from holdfast.domain.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.proposing import claim, propose, seated_asks
from holdfast.domain.seating import FreeSeats

# A seat takes about a tenth of a millisecond to free, and everybody waits for the group that does.
SEATS_FREED_AT_ONCE_MAX = 500
SEATS_FREED_BY_ONE_MAX = 2000

_SESSION, _POOL, _SEAT = ResourceKind.SESSION, ResourceKind.POOL, ResourceKind.SEAT


def needs_of(command: Command, learnt: NeedsMore = NOTHING_MORE) -> Needs:
    match command:
        case PlaceHold():
            session = command.session_key
            return Needs(
                sessions=frozenset({session}),
                holds=learnt.holds,
                lapsed=learnt.lapsed,
                places=(command,),
            )
        case BlockSeats():
            return Needs(sessions=frozenset({command.session_key}), holds=learnt.holds)
        case ReleaseHold() | ExtendHold():
            return Needs(holds=frozenset({command.hold_key}))
        case ConvertHolds():
            keys = {*command.hold_keys, *command.revival_keys}
            return Needs(holds=frozenset(keys | learnt.holds), lapsed=learnt.lapsed)
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
                freed = _seats_of(self._known(learnt.holds))
                if freed > SEATS_FREED_BY_ONE_MAX:
                    refusal = refusals.too_many_seats(freed)
                    return Footprint(frozenset(), refusal=refusal)
                required |= self._holds(learnt.holds)
            case ReleaseHold() | ExtendHold():
                required = self._holds((command.hold_key,))
            case StartCheckout():
                holds = self._known(command.hold_keys)
                if _seats_of(holds) > SEATS_PER_ORDER_MAX:
                    refusal = refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
                    return Footprint(frozenset(), refusal=refusal)
                required = resources_of(holds) | _key_of(command)
                return Footprint(frozenset(required), weight=1 + _seats_of(holds))
            case ConvertHolds():
                return self._footprint_of_convert(command, learnt)
            case WarnHolds():
                # Nothing of its places changes: nobody has to wait for a warning.
                required = _without_places(self._holds(command.hold_keys))
            case ExpireHolds():
                required = resources_of(_as_many_as_are_quick(self._known(command.hold_keys)))
        return Footprint(frozenset(required | _key_of(command)))

    def _footprint_of_place(self, command: PlaceHold, learnt: NeedsMore) -> Footprint:
        organization_id = command.organization_id
        if command.session_key in self.survey.unread and self._needs_seating(command):
            awaits = Resource(ResourceKind.SEATING, organization_id, command.session_id)
            return Footprint(frozenset(), awaits=awaits)
        standing = self._known(learnt.holds)
        if _seats_of(standing) > SEATS_FREED_BY_ONE_MAX:
            # Lapsed holds that stand on the seats: the reaper ends them a few at a time.
            return Footprint(frozenset(), refusal=refusals.service_unavailable())
        required = _key_of(command)
        required.add(Resource(_SESSION, organization_id, command.session_id))
        if command.is_id_from_client:
            required.add(Resource(ResourceKind.HOLD_ID, organization_id, command.hold_id))
            required.add(Resource(ResourceKind.HOLD, organization_id, command.hold_id))
        if standing:
            required |= resources_of(standing)
        optional = self._lapsed(learnt.lapsed) if learnt.lapsed else set()
        proposal = holding = None
        session = self.survey.sessions.get(command.session_key)
        if session is not None:
            required |= self._pools_of_place(command, session)
            holding = _holding(command, session)
            if holding is not None:
                key = holding.holder.key
                required.add(Resource(ResourceKind.HOLDER, organization_id, key))
        if command.named_seats:
            required |= _seats(organization_id, command.named_seats)
        # General admission, by far most of all, has nothing to do with what follows.
        if session is not None and session.has_seats:
            required |= self._neighbours(command, session)
            proposal = self._propose(command, session, learnt)
            optional |= _pools_of_alternatives(command, session)
        if proposal is not None:
            proposed = {seat_id for seats in proposal.seats for seat_id in seats}
            required |= _seats(organization_id, proposed & learnt.locked_seats)
            required |= self._block_pools(command.session_key, proposed, proposal.limits)
            optional |= _seats(organization_id, proposed)
        return Footprint(
            frozenset(required),
            frozenset(optional - required),
            proposal,
            holding,
            (command.hold_key,),
        )

    def _footprint_of_convert(self, command: ConvertHolds, learnt: NeedsMore) -> Footprint:
        paid, ending = self._known(command.hold_keys), self._known(learnt.holds)
        if _seats_of(paid) > SEATS_PER_ORDER_MAX:
            refusal = refusals.too_many_seats_in_order(SEATS_PER_ORDER_MAX)
            return Footprint(frozenset(), refusal=refusal)
        if _seats_of(ending) > SEATS_FREED_BY_ONE_MAX:
            # Lapsed holds that stand on the seats: the reaper ends them a few at a time.
            return Footprint(frozenset(), refusal=refusals.service_unavailable())
        required = resources_of((*paid, *ending)) | _key_of(command)
        required |= {Resource(ResourceKind.HOLD, *key) for key in command.revival_keys}
        payment = command.single_payment
        if payment is not None:
            required.add(payment_resource(payment))
        optional = self._lapsed(learnt.lapsed)
        return Footprint(
            frozenset(required),
            frozenset(optional - required),
            new_holds=command.revival_keys,
            payment=payment,
            weight=1 + sum(hold.quantity for hold in paid),
        )

    def _needs_seating(self, command: PlaceHold) -> bool:
        return bool(seats_to_survey(needs_of(command), self.survey.sessions).seatings)

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
        seating = self.survey.seatings.get(session.key)
        if seating is None:
            return None
        asks = [ask for _, ask in seated_asks(command, session)]
        wanted = sum(ask.quantity for ask in asks) + len(command.named_seats)
        if not 0 < wanted <= SEATS_PER_HOLD_MAX:
            return None
        free = self._free.get(session.key, seating.free).copy()
        limits = dict(learnt.block_limits)
        for seat_id in command.named_seats:
            if seat_id in seating.plan.spots:
                claim(seating, free, limits, seating.plan.spots[seat_id])
        proposal = None
        if asks:
            proposal, free = propose(
                seating, free, asks, session, limits=limits, locked=learnt.locked_seats
            )
        is_certain = session.key not in self._claimed
        if proposal is not None and proposal.is_short:
            return replace(proposal, is_certain=is_certain, limits=learnt.block_limits)
        self._free[session.key] = free
        self._claimed.add(session.key)
        return proposal

    def _block_pools(
        self, session_key: SessionKey, seat_ids: Iterable[SeatId], limited: Iterable[BlockId]
    ) -> set[Resource]:
        """Of the blocks that are proposed, and of those that were passed over for their capacity:
        whether they still lack it is decided under lock."""
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

    def _lapsed(self, pools: Iterable[tuple[SessionKey, PoolId]]) -> set[Resource]:
        lapsed = [hold for _, pool_id in pools for hold in self.survey.lapsed.get(pool_id, ())]
        return resources_of(_as_many_as_are_quick(lapsed))

    def _holds(self, keys: Iterable[HoldKey]) -> set[Resource]:
        return resources_of(self._known(keys))

    def _known(self, keys: Iterable[HoldKey]) -> list[Hold]:
        return [hold for key in keys if (hold := self.survey.holds.get(key)) is not None]


def resources_of(holds: Iterable[Hold]) -> set[Resource]:
    """A hold's session and lines never change, so what an unlocked look saw of them holds."""
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
            resources |= _seats(organization_id, (seat.id for seat in hold.seats))
    resources.update(Resource(_POOL, *pool) for pool in pools)
    resources.update(Resource(_SESSION, *session) for session in sessions)
    return resources


def _seats_of(holds: Iterable[Hold]) -> int:
    return sum(len(hold.seats) for hold in holds)


def _as_many_as_are_quick(holds: Iterable[Hold]) -> Iterator[Hold]:
    """Holds that may as well end later, up to so many seats at a time: others wait meanwhile."""
    seats = 0
    for hold in holds:
        seats += len(hold.seats)
        if seats > SEATS_FREED_AT_ONCE_MAX and seats > len(hold.seats):
            return
        yield hold


def _without_places(resources: Iterable[Resource]) -> set[Resource]:
    return {each for each in resources if each.kind in {ResourceKind.SESSION, ResourceKind.HOLD}}


def _seats(organization_id: OrganizationId, seat_ids: Iterable[SeatId]) -> set[Resource]:
    return {Resource(_SEAT, organization_id, seat_id) for seat_id in seat_ids}


def _key_of(command: Command) -> set[Resource]:
    key = command.idempotency
    if key is None:
        return set()
    return {Resource(ResourceKind.IDEMPOTENCY_KEY, command.organization_id, key.digest)}


def _holding(command: PlaceHold, session: SessionCatalogue) -> Holding | None:
    if not any(_is_one_only(ask.ticket_type_id, session) for ask in command.asks):
        return None
    return Holding(session.key, command.holder)


def _is_one_only(ticket_type_id: TicketTypeId | None, session: SessionCatalogue) -> bool:
    """Seats named without a ticket type may be of any seated one."""
    if ticket_type_id is not None:
        offer = session.offers.get(ticket_type_id)
        return offer is not None and offer.policy.one_active_hold
    return any(offer.policy.one_active_hold for offer in session.offers.values() if offer.is_seated)


def _pools_of_alternatives(command: PlaceHold, session: SessionCatalogue) -> set[Resource]:
    """What the blocks have left that another offer may be made of."""
    if not command.wants_alternative:
        return set()
    return {
        Resource(_POOL, command.organization_id, block.capacity_pool_id)
        for block in session.blocks.values()
        if block.capacity_pool_id is not None
    }
