"""The resources a command touches, and the order in which they are locked.

Resources sort by kind, then organization, then name. Every lock in Holdfast is taken in that
order, so transactions cannot deadlock:

    1 SESSION          shared; changes of the catalog take it exclusively
    2 IDEMPOTENCY_KEY  advisory; one key has one effect
      HOLD_ID          advisory; for ids that clients choose
      HOLDER           advisory; where holds per holder are limited
      PAYMENT          advisory; where a payment makes only one order
      CART             advisory; a cart has one live hold
    3 WAITLIST         row; the waitlist of a session
      POOL             row
    4 SEAT             row
    5 HOLD             row
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.carts.items import asks_again
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Ask, SeatAsk, Wish
from holdfast.domain.ids import (
    BlockId,
    CartKey,
    EventId,
    HoldKey,
    OrderKey,
    OrganizationId,
    PaymentKey,
    PoolId,
    SeatId,
    SessionKey,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Attendee, Order
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_plan import Seating
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import Waitlist

# Of all orders of a group together, unless a single one has more. As many as a command may write in
# the main lane.
TICKETS_SURVEYED_MAX = 250


class ResourceKind(IntEnum):
    EVENT = 5  # locked by a change of the event, and by nothing else
    SESSION = 10
    SEATING = 11  # never locked: queues commands until the seats have been read
    LARGE = 12  # never locked: queues an organization's large commands
    IDEMPOTENCY_KEY = 20
    HOLD_ID = 21
    HOLDER = 22
    PAYMENT = 23
    CART = 24
    WAITLIST = 28
    POOL = 30
    SEAT = 40
    HOLD = 50

    @property
    def is_row(self) -> bool:
        """Whether it is a row lock, which can be waited for; advisory locks are retried."""
        return self >= ResourceKind.WAITLIST


class Resource(NamedTuple):
    kind: ResourceKind
    organization_id: OrganizationId
    name: UUID


def text_resource(kind: ResourceKind, key: PaymentKey | CartKey) -> Resource:
    """The lock of a payment or a cart, named by a digest because its name is free text."""
    organization_id, name = key
    digest = sha256(name.encode()).digest()
    return Resource(kind, organization_id, UUID(bytes=digest[:16]))


def lock_order(resource: Resource) -> tuple[int, int, int]:
    """The natural order of resources, as integers because UUIDs compare slowly."""
    return (resource.kind, resource.organization_id.int, resource.name.int)


@immutable
class Proposal:
    """The seats that the survey found for each best-available ask in `asks`, in order. If it is
    short, `seats` is empty and `requested` and `available` say how short. `full_block` has enough
    seats but no capacity left; `limits` are the capacities assumed for such blocks."""

    seats: tuple[tuple[SeatId, ...], ...] = ()
    requested: int = 0
    available: int = 0
    full_block: BlockId | None = None
    kind: str = "seats"  # the kind of place that is short
    limits: Mapping[BlockId, int] = field(default_factory=dict)
    asks: tuple[Ask, ...] = ()

    @property
    def is_short(self) -> bool:
        return not self.seats


# Of an organization: the session or event, and the key of the holder. As integers, because UUIDs
# are hashed slowly.
HoldingKey = tuple[int, int, int]


class Claim(NamedTuple):
    """Seats set aside for one command; the rest of its group is planned around them."""

    session_key: SessionKey
    seat_ids: tuple[SeatId, ...]


class Holding(NamedTuple):
    """A holder whose live holds in a session are to be read. With an event, those in all its
    sessions, and what the holder bought and gave up there."""

    session_key: SessionKey
    holder: Holder
    event_id: EventId | None = None

    @property
    def key(self) -> HoldingKey:
        organization_id, session_id = self.session_key
        return (organization_id.int, (self.event_id or session_id).int, self.holder.key.int)


@immutable
class Footprint:
    """The resources one command locks. It cannot be decided without the `required` ones. `optional`
    ones (lapsed holds that might make room, proposed seats) are locked if nobody else has them."""

    required: frozenset[Resource]
    optional: frozenset[Resource] = frozenset()
    proposal: Proposal | None = None
    holding: Holding | None = None
    new_holds: tuple[HoldKey, ...] = ()  # holds it may create: each needs a reference
    claim: Claim | None = None
    payment: PaymentKey | None = None  # must not have paid for another order
    cart: CartKey | None = None  # its newest hold is to be read
    attendees: Sequence[Attendee | None] = ()  # sealed before anything is locked
    weight: int = 1  # estimated rows read or written, if many
    is_unread: bool = False  # the survey has left out what it needs: it is planned again
    awaits: Resource | None = None  # must be available before the command can be planned
    refusal: Refusal | None = None  # the command is too large to be decided

    def required_of(self, kind: ResourceKind) -> list[Resource]:
        return [resource for resource in self.required if resource.kind is kind]


@immutable
class Needs:
    """The data the unlocked survey must read. Whether new holds need the seats depends on the
    catalog: see `seats_to_survey`."""

    sessions: frozenset[SessionKey] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    lapsed: frozenset[tuple[SessionKey, PoolId]] = frozenset()
    wishes: tuple[Wish, ...] = ()
    carts: tuple[CartKey, ...] = ()  # their newest holds may be renewed or changed
    orders: tuple[OrderKey, ...] = ()  # with their tickets and holds
    # Sessions besides those of the holds where places may be freed.
    waitlists: frozenset[SessionKey] = frozenset()


@immutable
class SeatNeeds:
    """Sessions whose whole seating is needed, and seats whose block is needed."""

    seatings: frozenset[SessionKey] = frozenset()
    blocks_of: frozenset[tuple[SessionKey, SeatId]] = frozenset()


@immutable
class Survey:
    """The result of the unlocked survey. It may be stale: it only decides what to lock."""

    sessions: Mapping[SessionKey, SessionCatalog] = field(default_factory=dict)
    holds: Mapping[HoldKey, Hold] = field(default_factory=dict)
    lapsed: Mapping[PoolId, tuple[Hold, ...]] = field(default_factory=dict)
    seatings: Mapping[SessionKey, Seating] = field(default_factory=dict)
    blocks_of: Mapping[SeatId, BlockId] = field(default_factory=dict)
    carts: Mapping[CartKey, Hold] = field(default_factory=dict)  # the newest hold of each
    orders: Mapping[OrderKey, Order] = field(default_factory=dict)
    # The number of tickets of orders that were not read: they would delay other commands.
    unread_orders: Mapping[OrderKey, int] = field(default_factory=dict)
    waitlists: Mapping[SessionKey, Waitlist] = field(default_factory=dict)
    # Sessions whose waitlist was not empty after the last group.
    busy_waitlists: frozenset[SessionKey] = frozenset()
    # Sessions whose seats are not in memory yet: reading them would delay other commands.
    unread: frozenset[SessionKey] = frozenset()

    def known_holds(self) -> dict[HoldKey, Hold]:
        known = {hold.key: hold for holds in self.lapsed.values() for hold in holds}
        known |= {hold.key: hold for hold in self.carts.values()}
        return known | dict(self.holds)


def orders_to_survey(sizes: Mapping[OrderKey, int], *, is_patient: bool) -> frozenset[OrderKey]:
    """The orders to read, of those with these numbers of tickets: the first that are not too large
    together. A large order takes most of a second, so it is read alone, and only by a patient
    lane."""
    chosen: set[OrderKey] = set()
    total = 0
    for key, size in sizes.items():
        if total + size <= TICKETS_SURVEYED_MAX or (is_patient and not chosen):
            chosen.add(key)
            total += size
    return frozenset(chosen)


def waitlists_to_survey(needs: Needs, seen: Survey) -> frozenset[SessionKey]:
    """Sessions with a waitlist where places may be freed or seats are wanted. All other waitlists
    are read only under lock."""
    wanted = set(needs.waitlists)
    wanted |= {hold.session_key for hold in (*seen.holds.values(), *seen.carts.values())}
    wanted |= {wish.session_key for wish in _wishes(needs, seen) if _is_for_seats(wish, seen)}
    return frozenset(
        key for key in wanted if key in seen.sessions and seen.sessions[key].has_waitlist
    )


def seats_to_survey(needs: Needs, seen: Survey) -> SeatNeeds:
    """The seats to read. General admission and named seats need none, unless a block has a
    capacity, the policy checks for orphans, or a party on the waitlist wants seats."""
    seatings = {key for key, waitlist in seen.waitlists.items() if waitlist.has_wishes()}
    blocks_of: set[tuple[SessionKey, SeatId]] = set()
    for wish in _wishes(needs, seen):
        session = seen.sessions.get(wish.session_key)
        if session is None or not session.has_seats:
            continue
        if (
            wish.wants_alternative
            or (wish.named_seats and session.refuses_orphans)
            or any(_is_to_be_found(ask, session) for ask in wish.asks)
        ):
            seatings.add(session.key)
        if session.has_capped_blocks:
            blocks_of.update((session.key, seat_id) for seat_id in wish.named_seats)
    return SeatNeeds(frozenset(seatings), frozenset(blocks_of))


def _wishes(needs: Needs, seen: Survey) -> Iterator[Wish]:
    yield from needs.wishes
    for cart in needs.carts:
        hold = seen.carts.get(cart)
        if hold is not None:
            yield Wish(hold.session_key, [each.ask for each in asks_again(hold)])


def _is_for_seats(wish: Wish, seen: Survey) -> bool:
    session = seen.sessions.get(wish.session_key)
    return session is not None and any(
        isinstance(ask, SeatAsk) or _is_to_be_found(ask, session) for ask in wish.asks
    )


def _is_to_be_found(ask: Ask | SeatAsk, session: SessionCatalog) -> bool:
    if isinstance(ask, SeatAsk):
        return False
    offer = session.offers.get(ask.ticket_type_id)
    return offer is not None and offer.is_seated
