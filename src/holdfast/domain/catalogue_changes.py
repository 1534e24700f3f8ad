"""What can be asked of the catalogue. Fields that are None in a change are left as they are."""

from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.ids import EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import PolicyChange, PolicyOverride


@dataclass(frozen=True, slots=True)
class CreateEvent:
    organization_id: OrganizationId
    event_id: EventId
    name: str
    currency: str
    policy: PolicyOverride


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    organization_id: OrganizationId
    event_id: EventId
    name: str | None = None
    policy: PolicyChange | None = None


@dataclass(frozen=True, slots=True)
class CreateSession:
    organization_id: OrganizationId
    session_id: SessionId
    event_id: EventId
    name: str
    starts_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChangeSession:
    organization_id: OrganizationId
    session_id: SessionId
    name: str | None = None
    starts_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CreatePool:
    organization_id: OrganizationId
    pool_id: PoolId
    session_id: SessionId
    name: str
    total: int


@dataclass(frozen=True, slots=True)
class ChangePool:
    organization_id: OrganizationId
    pool_id: PoolId
    name: str | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class CreateTicketType:
    """`own_pool` is a pool to be made with it, of its very own capacity; `pool_ids` are shared."""

    organization_id: OrganizationId
    ticket_type_id: TicketTypeId
    session_id: SessionId
    name: str
    price_minor: int
    pool_ids: tuple[PoolId, ...]
    own_pool: CreatePool | None
    policy: PolicyOverride


@dataclass(frozen=True, slots=True)
class ChangeTicketType:
    organization_id: OrganizationId
    ticket_type_id: TicketTypeId
    name: str | None = None
    price_minor: int | None = None
    pool_ids: tuple[PoolId, ...] | None = None
    policy: PolicyChange | None = None


CatalogueChange = (
    CreateEvent
    | ChangeEvent
    | CreateSession
    | ChangeSession
    | CreatePool
    | ChangePool
    | CreateTicketType
    | ChangeTicketType
)
