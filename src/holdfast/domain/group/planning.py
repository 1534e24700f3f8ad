"""Planning a group: what each command needs to see, and then what it has to lock."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from holdfast.domain import refusals
from holdfast.domain.carts.cart import addition_of, place_of_cart, renewal_of
from holdfast.domain.carts.items import difference
from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.group.commands import (
    BlockSeats,
    Command,
    ConvertHolds,
    EmptyCart,
    ExpireHolds,
    ExtendHold,
    FillCart,
    PlaceHold,
    PromoteWaiting,
    ReleaseHold,
    RenewCart,
    StartCheckout,
    WarnHolds,
)
from holdfast.domain.group.footprint import (
    CartCommand,
    Footprint,
    Holding,
    Needs,
    Resource,
    ResourceKind,
    Survey,
    cart_resource,
    payment_resource,
    seats_to_survey,
)
from holdfast.domain.group.outcomes import NOTHING_MORE, NeedsMore
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import (
    HoldKey,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.orders.order import SEATS_PER_ORDER_MAX
from holdfast.domain.seats.assignment import SeatPlanning, pools_of_alternatives, seat_resources
from holdfast.domain.waitlist.promotion_plan import LinePlanning

# A seat takes about a tenth of a millisecond to free, and everybody waits for the group that does.
SEATS_FREED_AT_ONCE_MAX = 500
SEATS_FREED_BY_ONE_MAX = 2000

_SESSION, _POOL = ResourceKind.SESSION, ResourceKind.POOL


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
            session_key = frozenset({command.session_key})
            return Needs(sessions=session_key, holds=learnt.holds, waitlists=session_key)
        case ReleaseHold() | ExtendHold():
            return Needs(holds=frozenset({command.hold_key}))
        case ConvertHolds():
            keys = {*command.hold_keys, *command.revival_keys}
            return Needs(holds=frozenset(keys | learnt.holds), lapsed=learnt.lapsed)
        case FillCart():
            return Needs(
                sessions=frozenset({command.session_key}),
                holds=learnt.holds,
                lapsed=learnt.lapsed,
                carts=(command,),
            )
        case EmptyCart() | RenewCart():
            return Needs(holds=learnt.holds, lapsed=learnt.lapsed, carts=(command,))
        case PromoteWaiting():
            session_key = frozenset({command.session_key})
            return Needs(sessions=session_key, lapsed=learnt.lapsed, waitlists=session_key)
        case _:
            return Needs(holds=frozenset(command.hold_keys))


@dataclass(slots=True)
class GroupPlan:
    """The footprints of one group, command by command in its order."""

    survey: Survey
    _seats: SeatPlanning = field(init=False)
    _lines: LinePlanning = field(init=False)

    def __post_init__(self) -> None:
        self._seats = SeatPlanning(self.survey)
        self._lines = LinePlanning(self.survey)

    def footprint(self, command: Command, learnt: NeedsMore = NOTHING_MORE) -> Footprint:
        """What is to be locked before the command is decided, and so that those who wait can be
        given what it frees."""
        if isinstance(command, PlaceHold):
            return self._footprint_of_place(command, learnt)
        footprint = self._footprint(command, learnt)
        if isinstance(command, WarnHolds) or not footprint.required:
            return footprint
        frees_places = not isinstance(command, ExtendHold | StartCheckout | ConvertHolds)
        return self._with_lines(footprint, frees_places=frees_places)

    def _with_lines(self, footprint: Footprint, *, frees_places: bool) -> Footprint:
        required, optional = set(footprint.required), set(footprint.optional)
        freed = [SeatId(seat.name) for seat in footprint.required_of(ResourceKind.SEAT)]
        for _, organization_id, name in footprint.required_of(_SESSION):
            session = self.survey.sessions.get((organization_id, SessionId(name)))
            if session is not None and session.keeps_line:
                if frees_places and session.key in self.survey.unread:
                    # What is freed may be a seat that somebody waits for.
                    awaits = Resource(ResourceKind.SEATING, organization_id, name)
                    return Footprint(frozenset(), awaits=awaits)
                required.add(Resource(ResourceKind.WAITLIST, organization_id, name))
                if frees_places:
                    optional |= self._lines.resources(session.key, freed)
        return replace(
            footprint,
            required=frozenset(required),
            optional=frozenset(optional - required),
            frees_places=frees_places,
        )

    def _footprint(self, command: Command, learnt: NeedsMore) -> Footprint:
        weight = 1
        match command:
            case BlockSeats():
                required = {Resource(_SESSION, command.organization_id, command.session_id)}
                required |= seat_resources(command.organization_id, command.seat_ids)
                freed = _seats_of(self._known(learnt.holds))
                if freed > SEATS_FREED_BY_ONE_MAX:
                    refusal = refusals.too_many_seats(freed)
                    return Footprint(frozenset(), refusal=refusal)
                required |= self._holds(learnt.holds)
                weight = len(command.seat_ids) + freed
            case ReleaseHold() | ExtendHold():
                holds = self._known((command.hold_key,))
                required, weight = resources_of(holds), max(1, _seats_of(holds))
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
            case FillCart() | EmptyCart() | RenewCart():
                return self._footprint_of_cart(command, learnt)
            case PromoteWaiting():
                organization_id = command.organization_id
                optional = seat_resources(organization_id, learnt.locked_seats)
                optional |= {Resource(_POOL, organization_id, each) for each in learnt.pools}
                optional |= self._lapsed(learnt.lapsed)
                session = Resource(_SESSION, organization_id, command.session_id)
                return Footprint(frozenset({session}), frozenset(optional))
            case ExpireHolds():
                holds = list(_as_many_as_are_quick(self._known(command.hold_keys)))
                # The reaper leaves the large commands' turn to people.
                required, weight = resources_of(holds), max(1, _seats_of(holds) // 2)
        return Footprint(frozenset(required | _key_of(command)), weight=weight)

    def _footprint_of_cart(self, command: CartCommand, learnt: NeedsMore) -> Footprint:
        hold = self.survey.carts.get(command.cart_key)
        required = _key_of(command) | {cart_resource(command.cart_key)}
        if hold is not None:
            is_over = hold.is_over()
            required |= _without_places(resources_of([hold])) if is_over else resources_of([hold])
        base = Footprint(frozenset(), cart=command.cart_key)
        more = _placed_for(command, hold)
        if more is not None:
            base = self._footprint_of_place(more, learnt)
            if base.awaits is not None or base.refusal is not None:
                return base
        return replace(
            base,
            required=base.required | required,
            optional=base.optional - required,
            cart=command.cart_key,
        )

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
        weight = len(command.named_seats) + _seats_of(standing)
        session = self.survey.sessions.get(command.session_key)
        if session is not None:
            required |= self._seats.pools(command, session)
            if session.keeps_line:
                required.add(Resource(ResourceKind.WAITLIST, organization_id, command.session_id))
                required |= {Resource(_POOL, organization_id, each) for each in learnt.pools}
            is_waiting = learnt.has_to_wait or session.key in self.survey.lined
            holding = _holding(command, session, is_waiting=is_waiting)
            if holding is not None:
                key = holding.holder.key
                required.add(Resource(ResourceKind.HOLDER, organization_id, key))
        if command.named_seats:
            required |= seat_resources(organization_id, command.named_seats)
        # General admission, by far most of all, has nothing to do with what follows.
        if session is not None and session.has_seats:
            required |= self._seats.neighbours(command, session)
            proposal = self._seats.propose(command, session, learnt)
            optional |= pools_of_alternatives(command, session)
        if proposal is not None:
            proposed = {seat_id for seats in proposal.seats for seat_id in seats}
            required |= seat_resources(organization_id, proposed & learnt.locked_seats)
            required |= self._seats.block_pools(command.session_key, proposed, proposal.limits)
            optional |= seat_resources(organization_id, proposed)
            weight += len(proposed)
        return Footprint(
            frozenset(required),
            frozenset(optional - required),
            proposal,
            holding,
            (command.hold_key,),
            claim=self._seats.claim(command, proposal),
            weight=max(1, weight),
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
        return command.session_key in seats_to_survey(needs_of(command), self.survey).seatings

    def _lapsed(self, pools: Iterable[tuple[SessionKey, PoolId]]) -> set[Resource]:
        lapsed = [hold for _, pool_id in pools for hold in self.survey.lapsed.get(pool_id, ())]
        return resources_of(_as_many_as_are_quick(lapsed))

    def _holds(self, keys: Iterable[HoldKey]) -> set[Resource]:
        return resources_of(self._known(keys))

    def _known(self, keys: Iterable[HoldKey]) -> list[Hold]:
        return [hold for key in keys if (hold := self.survey.holds.get(key)) is not None]


def resources_of(holds: Iterable[Hold]) -> set[Resource]:
    """A hold's session never changes, and other lines are another version: then there is more to
    lock."""
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


def _key_of(command: Command) -> set[Resource]:
    key = command.idempotency
    if key is None:
        return set()
    return {Resource(ResourceKind.IDEMPOTENCY_KEY, command.organization_id, key.digest)}


def _placed_for(command: CartCommand, hold: Hold | None) -> PlaceHold | None:
    """What is to be placed for a cart, as if it were a hold of its own."""
    if isinstance(command, EmptyCart):
        return None
    if isinstance(command, RenewCart):
        is_renewed = hold is not None and hold.is_over()
        return renewal_of(command, hold) if is_renewed and hold is not None else None
    if hold is None or hold.is_over() or hold.waiting is not None:
        return place_of_cart(command)
    found = difference(hold.lines, command.asks, command.group_id)
    return addition_of(command, found) if found.parts else None


def _holding(command: PlaceHold, session: SessionCatalogue, *, is_waiting: bool) -> Holding | None:
    """Whose holds are counted: where a holder may have one only, or so many places in line."""
    is_bound = any(_is_one_only(ask.ticket_type_id, session) for ask in command.asks)
    is_waiting = is_waiting and session.keeps_line
    return Holding(session.key, command.holder) if is_bound or is_waiting else None


def _is_one_only(ticket_type_id: TicketTypeId | None, session: SessionCatalogue) -> bool:
    """Seats named without a ticket type may be of any seated one."""
    if ticket_type_id is not None:
        offer = session.offers.get(ticket_type_id)
        return offer is not None and offer.policy.one_active_hold
    return any(offer.policy.one_active_hold for offer in session.offers.values() if offer.is_seated)
