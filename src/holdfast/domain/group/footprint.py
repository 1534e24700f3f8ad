"""What a command touches, and the one order in which it is locked.

A resource sorts by kind, then organization, then name. Every lock in Holdfast is taken in that
order, so no two transactions can wait for each other in a circle:

    1 SESSION          shared; whoever changes the catalogue takes it exclusively
    2 IDEMPOTENCY_KEY  advisory, so that one key has one effect
      HOLD_ID          advisory, for ids that clients choose
      HOLDER           advisory, where a holder may have only so much
      PAYMENT          advisory, where a payment makes one order only
      CART             advisory, so that a cart has one live hold
    3 WAITLIST         row; who waits in a session, and in which order
      POOL             row
    4 SEAT             row
    5 HOLD             row
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.carts.items import asks_again
from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.placement import Ask, SeatAsk, Wish
from holdfast.domain.ids import (
    BlockId,
    CartKey,
    HoldKey,
    OrganizationId,
    PaymentKey,
    PoolId,
    SeatId,
    SessionKey,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat_plan import Seating
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import Waitlist


class ResourceKind(IntEnum):
    EVENT = 5  # locked by a change of the event, and by nothing else
    SESSION = 10
    SEATING = 11  # never locked: the line of those who wait until the seats have been read
    LARGE = 12  # never locked: the line of an organization's large commands
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
        """A row can be waited for; advisory locks are tried again and again."""
        return self >= ResourceKind.WAITLIST


class Resource(NamedTuple):
    kind: ResourceKind
    organization_id: OrganizationId
    name: UUID


def payment_resource(payment: PaymentKey) -> Resource:
    """A reference is any text, so it goes by its digest."""
    organization_id, reference = payment
    digest = sha256(reference.encode()).digest()
    return Resource(ResourceKind.PAYMENT, organization_id, UUID(bytes=digest[:16]))


def cart_resource(cart: CartKey) -> Resource:
    organization_id, name = cart
    digest = sha256(name.encode()).digest()
    return Resource(ResourceKind.CART, organization_id, UUID(bytes=digest[:16]))


def lock_order(resource: Resource) -> tuple[int, int, int]:
    """The natural order of resources, told in numbers: ids compare slowly."""
    return (resource.kind, resource.organization_id.int, resource.name.int)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The seats that the look ahead found, for each best-available ask in its order; or none, and
    how many were looked for and are there. `full_block` has seats enough, and not the capacity;
    `limits` are what was believed of such blocks. `asks` are what it answers."""

    seats: tuple[tuple[SeatId, ...], ...] = ()
    requested: int = 0
    available: int = 0
    full_block: BlockId | None = None
    kind: str = "seats"  # of what there are too few
    limits: Mapping[BlockId, int] = field(default_factory=dict)
    asks: tuple[Ask, ...] = ()

    @property
    def is_short(self) -> bool:
        return not self.seats


class Claim(NamedTuple):
    """Seats of a session that the plan has left to one command: the others of its group are found
    seats beside them."""

    session_key: SessionKey
    seat_ids: tuple[SeatId, ...]


class Holding(NamedTuple):
    """Whose live holds are to be read, and of which session."""

    session_key: SessionKey
    holder: Holder


@dataclass(frozen=True, slots=True)
class Footprint:
    """Without what is `required` a command cannot be decided. What is `optional` (lapsed holds that
    might make room, seats that were found for it) is taken if nobody else has it."""

    required: frozenset[Resource]
    optional: frozenset[Resource] = frozenset()
    proposal: Proposal | None = None
    holding: Holding | None = None
    new_holds: tuple[HoldKey, ...] = ()  # holds that it may make: each needs a reference
    claim: Claim | None = None
    payment: PaymentKey | None = None  # that must have made no other order
    cart: CartKey | None = None  # whose newest hold is to be read
    frees_places: bool = False  # so those who wait for them are to be looked at
    weight: int = 1  # about how many rows it writes, where that may be many
    awaits: Resource | None = None  # something that has to be there before anything is planned
    refusal: Refusal | None = None  # it is too large to be decided at all

    def required_of(self, kind: ResourceKind) -> list[Resource]:
        return [resource for resource in self.required if resource.kind is kind]


@dataclass(frozen=True, slots=True)
class Needs:
    """What the unlocked look ahead has to find. Whether the holds that are to be placed need a look
    at seats depends on the catalogue: see `seats_to_survey`."""

    sessions: frozenset[SessionKey] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    lapsed: frozenset[tuple[SessionKey, PoolId]] = frozenset()
    wishes: tuple[Wish, ...] = ()
    carts: tuple[CartKey, ...] = ()  # whose newest holds may be held again or changed
    # Sessions, beside those of the holds, where places may be freed.
    waitlists: frozenset[SessionKey] = frozenset()


@dataclass(frozen=True, slots=True)
class SeatNeeds:
    """Sessions whose whole seating is needed, and seats whose blocks are."""

    seatings: frozenset[SessionKey] = frozenset()
    blocks_of: frozenset[tuple[SessionKey, SeatId]] = frozenset()


@dataclass(frozen=True, slots=True)
class Survey:
    """What that look found. It may be stale: it only says what to lock."""

    sessions: Mapping[SessionKey, SessionCatalogue] = field(default_factory=dict)
    holds: Mapping[HoldKey, Hold] = field(default_factory=dict)
    lapsed: Mapping[PoolId, tuple[Hold, ...]] = field(default_factory=dict)
    seatings: Mapping[SessionKey, Seating] = field(default_factory=dict)
    blocks_of: Mapping[SeatId, BlockId] = field(default_factory=dict)
    carts: Mapping[CartKey, Hold] = field(default_factory=dict)  # the newest hold of each
    waitlists: Mapping[SessionKey, Waitlist] = field(default_factory=dict)
    # Sessions in which somebody waited when a group was there last.
    lined: frozenset[SessionKey] = frozenset()
    # Sessions whose seats are not in memory yet: reading them takes longer than others should wait.
    unread: frozenset[SessionKey] = frozenset()

    def known_holds(self) -> dict[HoldKey, Hold]:
        known = {hold.key: hold for holds in self.lapsed.values() for hold in holds}
        known |= {hold.key: hold for hold in self.carts.values()}
        return known | dict(self.holds)


def waitlists_to_survey(needs: Needs, seen: Survey) -> frozenset[SessionKey]:
    """Sessions that keep a line and where places are freed, or seats are looked for: the lines of
    all others are read under lock only."""
    wanted = set(needs.waitlists)
    wanted |= {hold.session_key for hold in (*seen.holds.values(), *seen.carts.values())}
    wanted |= {wish.session_key for wish in _wishes(needs, seen) if _is_for_seats(wish, seen)}
    return frozenset(
        key for key in wanted if key in seen.sessions and seen.sessions[key].keeps_line
    )


def seats_to_survey(needs: Needs, seen: Survey) -> SeatNeeds:
    """General admission and seats picked by hand cost no look at the seats, unless a block has a
    capacity, the policy wants to see the neighbours, or somebody waits for seats."""
    seatings = {key for key, waitlist in seen.waitlists.items() if waitlist.has_wishes()}
    blocks_of: set[tuple[SessionKey, SeatId]] = set()
    for wish in _wishes(needs, seen):
        session = seen.sessions.get(wish.session_key)
        if session is None or not session.has_seats:
            continue
        if (
            wish.wants_alternative
            or (wish.named_seats and session.minds_orphans)
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


def _is_to_be_found(ask: Ask | SeatAsk, session: SessionCatalogue) -> bool:
    if isinstance(ask, SeatAsk):
        return False
    offer = session.offers.get(ask.ticket_type_id)
    return offer is not None and offer.is_seated
