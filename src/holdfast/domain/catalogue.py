"""What is for sale: as people set it up, and, in short form, as the engine sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from holdfast.domain.ids import EventId, OrganizationId, PoolId, SessionId, SessionKey, TicketTypeId
from holdfast.domain.policy import HoldPolicy, PolicyOverride
from holdfast.domain.values import Money


@dataclass(frozen=True, slots=True)
class Offer:
    """A ticket type as the engine sees it. It draws from every one of its pools at once."""

    price: Money
    pool_ids: tuple[PoolId, ...]
    policy: HoldPolicy


@dataclass(frozen=True, slots=True)
class SessionCatalogue:
    """What a session sells. The version rises with every change of it."""

    organization_id: OrganizationId
    session_id: SessionId
    version: int
    currency: str
    offers: Mapping[TicketTypeId, Offer]

    @property
    def key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


@dataclass(frozen=True, slots=True)
class Event:
    """What is advertised."""

    id: EventId
    name: str
    currency: str
    policy: PolicyOverride
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """One dated occurrence of an event. Tickets are sold for a session."""

    id: SessionId
    event_id: EventId
    name: str
    starts_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PoolState:
    """A pool with its counters; `held` counts live holds only, since lapsed ones are free."""

    id: PoolId
    session_id: SessionId
    name: str
    total: int
    held: int
    sold: int

    @property
    def available(self) -> int:
        return self.total - self.held - self.sold


@dataclass(frozen=True, slots=True)
class TicketType:
    """What a buyer picks in a session."""

    id: TicketTypeId
    session_id: SessionId
    name: str
    price: Money
    pool_ids: tuple[PoolId, ...]
    policy: PolicyOverride
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TicketTypeAvailability:
    ticket_type_id: TicketTypeId
    name: str
    price: Money
    total: int
    held: int
    sold: int
    available: int


@dataclass(frozen=True, slots=True)
class SessionAvailability:
    """Counts and prices by ticket type at one moment of the database's clock."""

    session_id: SessionId
    event_id: EventId
    at: datetime
    ticket_types: tuple[TicketTypeAvailability, ...]
