"""The changes of the catalog. Fields that are None stay unchanged."""

from dataclasses import replace
from datetime import datetime
from uuid import uuid5

from holdfast.domain import refusals
from holdfast.domain.catalog.model import (
    ALWAYS_ON_SALE,
    NOWHERE,
    BlockPrice,
    EventStatus,
    Place,
    SaleTerms,
    SessionStatus,
)
from holdfast.domain.catalog.seat_import import DraftBlock
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import UNCHANGED, PolicyChange, PolicyOverride, Unchanged
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import NO_METADATA, Metadata

# ISO 4217's code for no currency.
NO_CURRENCY = "XXX"


@immutable
class SaleChange:
    """A change of an event's sale. A time of None clears it."""

    status: EventStatus | None = None
    starts_at: datetime | Unchanged | None = UNCHANGED
    ends_at: datetime | Unchanged | None = UNCHANGED

    def applied_to(self, terms: SaleTerms) -> SaleTerms | Refusal:
        status = terms.status if self.status is None else self.status
        if status is not terms.status and not terms.status.may_become(status):
            return refusals.invalid_event_state(terms.status.value)
        if not isinstance(self.starts_at, Unchanged):
            terms = replace(terms, starts_at=self.starts_at)
        if not isinstance(self.ends_at, Unchanged):
            terms = replace(terms, ends_at=self.ends_at)
        if status is not terms.status:
            terms = replace(terms, status=status, was_announced=terms.is_announced)
        return refuse_window(terms) or terms


@immutable
class PlaceChange:
    """A change of where an event takes place. None clears the field."""

    venue: str | Unchanged | None = UNCHANGED
    time_zone: str | Unchanged | None = UNCHANGED

    def applied_to(self, place: Place) -> Place:
        if not isinstance(self.venue, Unchanged):
            place = replace(place, venue=self.venue)
        if not isinstance(self.time_zone, Unchanged):
            place = replace(place, time_zone=self.time_zone)
        return place


def refuse_policy(policy: PolicyOverride) -> Refusal | None:
    """Refuse contradictions within one level; `nearest_policy` resolves those between levels."""
    ttl, lifetime = (policy.values.get(name) for name in ("ttl_seconds", "lifetime_max_seconds"))
    is_above = ttl is not None and lifetime is not None and ttl > lifetime
    return refusals.ttl_above_lifetime() if is_above else None


def refuse_window(terms: SaleTerms) -> Refusal | None:
    is_empty = terms.starts_at and terms.ends_at and terms.ends_at <= terms.starts_at
    return refusals.invalid_sale_window() if is_empty else None


@immutable
class CreateEvent:
    organization_id: OrganizationId
    event_id: EventId
    name: str
    currency: str
    policy: PolicyOverride
    sale: SaleTerms = ALWAYS_ON_SALE
    metadata: Metadata = NO_METADATA
    place: Place = NOWHERE


@immutable
class ChangeEvent:
    organization_id: OrganizationId
    event_id: EventId
    name: str | None = None
    policy: PolicyChange | None = None
    sale: SaleChange | None = None
    metadata: Metadata | None = None
    place: PlaceChange | None = None

    @property
    def alters_terms(self) -> bool:
        return self.policy is not None or self.sale is not None


@immutable
class CreateSession:
    organization_id: OrganizationId
    session_id: SessionId
    event_id: EventId
    name: str
    starts_at: datetime | None
    metadata: Metadata = NO_METADATA


@immutable
class ChangeSession:
    organization_id: OrganizationId
    session_id: SessionId
    name: str | None = None
    starts_at: datetime | None = None
    metadata: Metadata | None = None
    status: SessionStatus | None = None


@immutable
class CreatePool:
    organization_id: OrganizationId
    pool_id: PoolId
    session_id: SessionId
    name: str
    total: int


@immutable
class ChangePool:
    organization_id: OrganizationId
    pool_id: PoolId
    name: str | None = None
    total: int | None = None


@immutable
class CreateTicketType:
    """`own_pool` is created with the ticket type; `pool_ids` are shared. A seated type needs
    neither: its seats limit it."""

    organization_id: OrganizationId
    ticket_type_id: TicketTypeId
    session_id: SessionId
    name: str
    price_minor: int
    pool_ids: tuple[PoolId, ...]
    own_pool: CreatePool | None
    policy: PolicyOverride
    is_seated: bool = False
    metadata: Metadata = NO_METADATA


@immutable
class ChangeTicketType:
    organization_id: OrganizationId
    ticket_type_id: TicketTypeId
    name: str | None = None
    price_minor: int | None = None
    pool_ids: tuple[PoolId, ...] | None = None
    policy: PolicyChange | None = None
    metadata: Metadata | None = None


# Of one session.
ITEMS_MAX = 500


def too_many_items() -> Refusal:
    message = f"A session has at most {ITEMS_MAX} items"
    return Refusal(RefusalCode.TOO_MANY_ITEMS, message, {"maximum": ITEMS_MAX})


@immutable
class SetStock:
    """Set the number of tickets of an item of the Inventory Service: a ticket type with a pool of
    its own. What it needs and is missing is created: an event for all items, and the session."""

    organization_id: OrganizationId
    session_id: SessionId
    ticket_type_id: TicketTypeId
    total: int

    @property
    def event_id(self) -> EventId:
        return EventId(uuid5(self.organization_id, "inventory"))

    @property
    def new_event(self) -> CreateEvent:
        ids = (self.organization_id, self.event_id)
        return CreateEvent(*ids, "Inventory", NO_CURRENCY, PolicyOverride())

    @property
    def new_session(self) -> CreateSession:
        ids = (self.organization_id, self.session_id, self.event_id)
        return CreateSession(*ids, str(self.session_id), None)

    @property
    def new_ticket_type(self) -> CreateTicketType:
        """Prices are the Hold Service's."""
        name, pool_id = str(self.ticket_type_id), PoolId(self.ticket_type_id)
        pool = CreatePool(self.organization_id, pool_id, self.session_id, name, self.total)
        ids = (self.organization_id, self.ticket_type_id, self.session_id)
        return CreateTicketType(*ids, name, 0, (), pool, PolicyOverride())


@immutable
class CreateBlock:
    """`own_pool` counts the block's capacity. Without a rank, the block comes last."""

    organization_id: OrganizationId
    block_id: BlockId
    session_id: SessionId
    name: str
    rank: int | None
    own_pool: CreatePool | None
    prices: tuple[BlockPrice, ...]


@immutable
class ChangeBlock:
    """A `capacity` of None removes the limit. `new_pool_id` is for a block that had none."""

    organization_id: OrganizationId
    block_id: BlockId
    new_pool_id: PoolId
    name: str | None = None
    rank: int | None = None
    capacity: int | Unchanged | None = UNCHANGED
    prices: tuple[BlockPrice, ...] | None = None


@immutable
class DraftedBlock:
    """A block of an import. `if_new` is created if no block has its name."""

    if_new: CreateBlock
    draft: DraftBlock


@immutable
class ImportSeats:
    """Imports all seats or none. Their ids count up from the first."""

    organization_id: OrganizationId
    session_id: SessionId
    first_seat_id: SeatId
    blocks: tuple[DraftedBlock, ...]


CatalogChange = (
    CreateEvent
    | ChangeEvent
    | CreateSession
    | ChangeSession
    | CreatePool
    | ChangePool
    | CreateTicketType
    | ChangeTicketType
    | SetStock
    | CreateBlock
    | ChangeBlock
    | ImportSeats
)
