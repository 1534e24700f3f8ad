"""The catalog as it is managed and, in short form, as the engine sees it."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import HoldPolicy, PolicyOverride
from holdfast.domain.values import (
    NO_METADATA,
    TIME_ZONE_RULE,
    Metadata,
    Money,
    is_time_zone,
)


class EventStatus(StrEnum):
    """draft -> published -> live -> archived; cancelled from any of the first three."""

    DRAFT = "draft"
    PUBLISHED = "published"
    LIVE = "live"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"

    @property
    def is_on_sale(self) -> bool:
        return self in {EventStatus.PUBLISHED, EventStatus.LIVE}

    def may_become(self, other: "EventStatus") -> bool:
        return other in _NEXT_STATUSES[self]


_NEXT_STATUSES: Mapping[EventStatus, frozenset[EventStatus]] = {
    EventStatus.DRAFT: frozenset(
        {EventStatus.PUBLISHED, EventStatus.CANCELLED, EventStatus.ARCHIVED}
    ),
    EventStatus.PUBLISHED: frozenset(
        {EventStatus.LIVE, EventStatus.CANCELLED, EventStatus.ARCHIVED}
    ),
    EventStatus.LIVE: frozenset({EventStatus.CANCELLED, EventStatus.ARCHIVED}),
    EventStatus.CANCELLED: frozenset({EventStatus.ARCHIVED}),
    EventStatus.ARCHIVED: frozenset(),
}


class SessionStatus(StrEnum):
    """scheduled -> cancelled. A cancelled session is not on sale, whatever its event's status."""

    SCHEDULED = "scheduled"
    CANCELLED = "cancelled"


@immutable
class SaleTerms:
    """The event's status and sale window, which decide whether tickets are on sale.
    `was_announced`: it has been published or live before."""

    status: EventStatus = EventStatus.PUBLISHED
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    was_announced: bool = False

    @property
    def is_announced(self) -> bool:
        """Whether buyers may know of the event: not if it was cancelled or archived as a draft."""
        is_draft = self.status is EventStatus.DRAFT
        return self.status.is_on_sale or (self.was_announced and not is_draft)

    def is_within_window(self, now: datetime) -> bool:
        return (self.starts_at is None or self.starts_at <= now) and (
            self.ends_at is None or now <= self.ends_at
        )

    def is_open(self, now: datetime) -> bool:
        """Whether new holds are possible."""
        return self.status.is_on_sale and self.is_within_window(now)

    def is_over(self, now: datetime) -> bool:
        """Whether the sale has ended for good."""
        is_past = self.ends_at is not None and now > self.ends_at
        return is_past or self.status in {EventStatus.CANCELLED, EventStatus.ARCHIVED}


ALWAYS_ON_SALE = SaleTerms()

VENUE_LENGTH_MAX = 200
VENUE_RULE = f"must be 1 to {VENUE_LENGTH_MAX} printable characters and must not be blank"


@immutable
class Place:
    """Where an event takes place. Without a time zone, it is in the organization's."""

    venue: str | None = None
    time_zone: str | None = None


NOWHERE = Place()


def place_errors(place: Place) -> dict[str, str]:
    """What is wrong with each field of a place."""
    errors = {}
    venue, time_zone = place.venue, place.time_zone
    if venue is not None and not (
        venue.strip() and venue.isprintable() and len(venue) <= VENUE_LENGTH_MAX
    ):
        errors["venue"] = f"venue {VENUE_RULE}"
    if time_zone is not None and not is_time_zone(time_zone):
        errors["time_zone"] = f"time_zone {TIME_ZONE_RULE}"
    return errors


@immutable
class Offer:
    """A ticket type as the engine sees it. Each unit takes one of every pool; a seated type also
    needs a seat, and may have no pool."""

    price: Money
    pool_ids: tuple[PoolId, ...]
    policy: HoldPolicy
    is_seated: bool = False


@immutable
class SeatBlock:
    """An area with seats, as the engine sees it. `prices` are those of the ticket types sold there;
    if empty, every seated type is sold at its own price."""

    name: str
    rank: int = 0
    capacity_pool_id: PoolId | None = None
    prices: Mapping[TicketTypeId, int] = field(default_factory=dict)

    def sells(self, ticket_type_id: TicketTypeId) -> bool:
        return not self.prices or ticket_type_id in self.prices


@immutable
class SessionCatalog:
    """The offers of a session. The version rises with every change."""

    organization_id: OrganizationId
    session_id: SessionId
    version: int
    currency: str
    offers: Mapping[TicketTypeId, Offer]
    event_id: EventId
    sale: SaleTerms = ALWAYS_ON_SALE
    blocks: Mapping[BlockId, SeatBlock] = field(default_factory=dict)
    has_waiting: bool = False  # the waitlist is not empty, though perhaps closed to newcomers
    starts_at: datetime | None = None
    # Derived once, because every command needs them.
    has_seats: bool = field(init=False)
    has_capped_blocks: bool = field(init=False)
    refuses_orphans: bool = field(init=False)
    allows_one_hold: bool = field(init=False)  # of each holder, for some ticket types
    limits_holders: bool = field(init=False)
    has_waitlist: bool = field(init=False)
    allows_overtaking: bool = field(init=False)
    # How often the first party for a pool or block may be overtaken, by the strictest policy of its
    # ticket types.
    passes_max: Mapping[UUID, int] = field(init=False)

    def __post_init__(self) -> None:
        seated = [offer for offer in self.offers.values() if offer.is_seated]
        capped = (block.capacity_pool_id is not None for block in self.blocks.values())
        object.__setattr__(self, "has_seats", bool(seated))
        object.__setattr__(self, "has_capped_blocks", any(capped))
        joinable = any(offer.policy.waitlist for offer in self.offers.values())
        object.__setattr__(self, "has_waitlist", joinable or self.has_waiting)
        policies = [offer.policy for offer in self.offers.values()]
        one_hold = any(policy.one_active_hold for policy in policies)
        object.__setattr__(self, "allows_one_hold", one_hold)
        limits_holders = any(policy.limits_holders for policy in policies)
        object.__setattr__(self, "limits_holders", limits_holders)
        passes = (offer.policy.waiting_passes_max for offer in self.offers.values())
        object.__setattr__(self, "allows_overtaking", any(passes))
        object.__setattr__(self, "passes_max", self._strictest() if self.allows_overtaking else {})
        object.__setattr__(
            self, "refuses_orphans", any(offer.policy.refuse_orphans for offer in seated)
        )

    def _strictest(self) -> dict[UUID, int]:
        found: dict[UUID, int] = {}
        for ticket_type_id, offer in self.offers.items():
            wanted: list[UUID] = list(offer.pool_ids)
            if offer.is_seated:
                wanted += (id_ for id_, block in self.blocks.items() if block.sells(ticket_type_id))
            allowed = offer.policy.waiting_passes_max
            for id_ in wanted:
                found[id_] = min(allowed, found.get(id_, allowed))
        return found

    @property
    def counts_holds(self) -> bool:
        """Whether a new hold depends on what its holder has already."""
        return self.limits_holders or self.allows_one_hold

    @property
    def key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    def has_started(self, now: datetime) -> bool:
        """Whether its waitlist is over: nobody is served by e-mail once the show has begun. The
        sale itself may go on, for latecomers."""
        return self.starts_at is not None and self.starts_at <= now

    def default_type_in(self, block_id: BlockId) -> TicketTypeId | None:
        """The ticket type of a seat if none is given: the first one sold in its block."""
        prices = self.blocks[block_id].prices
        seated = prices or (id_ for id_, offer in self.offers.items() if offer.is_seated)
        return next(iter(seated), None)

    def price_in(self, block_id: BlockId, ticket_type_id: TicketTypeId) -> int:
        own = self.offers[ticket_type_id].price.minor
        return self.blocks[block_id].prices.get(ticket_type_id, own)


@immutable
class Event:
    id: EventId
    name: str
    currency: str
    policy: PolicyOverride
    created_at: datetime
    updated_at: datetime
    sale: SaleTerms = ALWAYS_ON_SALE
    metadata: Metadata = NO_METADATA
    place: Place = NOWHERE


@immutable
class Session:
    """One dated occurrence of an event. Tickets are sold for a session."""

    id: SessionId
    event_id: EventId
    name: str
    starts_at: datetime | None
    created_at: datetime
    updated_at: datetime
    metadata: Metadata = NO_METADATA
    status: SessionStatus = SessionStatus.SCHEDULED


@immutable
class PoolState:
    """A pool with its counters; `held` counts live holds only."""

    id: PoolId
    session_id: SessionId
    name: str
    total: int
    held: int
    sold: int

    @property
    def available(self) -> int:
        return self.total - self.held - self.sold


@immutable
class TicketType:
    id: TicketTypeId
    session_id: SessionId
    name: str
    price: Money
    pool_ids: tuple[PoolId, ...]
    policy: PolicyOverride
    created_at: datetime
    updated_at: datetime
    is_seated: bool = False
    metadata: Metadata = NO_METADATA


@immutable
class BlockPrice:
    ticket_type_id: TicketTypeId
    price_minor: int


@immutable
class Block:
    """An area of a session with seats."""

    id: BlockId
    session_id: SessionId
    name: str
    rank: int
    capacity: int | None
    seats: int
    prices: tuple[BlockPrice, ...]
    created_at: datetime
    updated_at: datetime
    capacity_pool_id: PoolId | None = None


@immutable
class TicketTypeAvailability:
    ticket_type_id: TicketTypeId
    name: str
    price: Money
    total: int
    held: int
    sold: int
    available: int


@immutable
class SessionAvailability:
    """Counts and prices by ticket type, at one time of the database's clock. Nothing is available
    for an event that is not on sale."""

    session_id: SessionId
    event_id: EventId
    at: datetime
    ticket_types: tuple[TicketTypeAvailability, ...]
    sale: SaleTerms = ALWAYS_ON_SALE

    def __post_init__(self) -> None:
        if not self.sale.status.is_on_sale:
            nothing = tuple(replace(each, available=0) for each in self.ticket_types)
            object.__setattr__(self, "ticket_types", nothing)


@immutable
class Pool:
    """held + sold <= total, each at least 0, always. PostgreSQL checks the same."""

    organization_id: OrganizationId
    id: PoolId
    total: int
    held: int = 0
    sold: int = 0

    def __post_init__(self) -> None:
        if self.held < 0 or self.sold < 0 or self.held + self.sold > self.total:
            raise ValueError(
                f"impossible pool: total {self.total}, held {self.held}, sold {self.sold}"
            )

    @property
    def free(self) -> int:
        """Units neither held nor sold. Lapsed holds still count as held here."""
        return self.total - self.held - self.sold

    def moved(self, held: int, sold: int) -> "Pool":
        """The pool with `held` and `sold` changed by these amounts."""
        return Pool(self.organization_id, self.id, self.total, self.held + held, self.sold + sold)
