"""Reads and changes the catalog. Changes are rare; they lock the session exclusively."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from holdfast.domain.catalog.changes import CatalogChange
from holdfast.domain.catalog.model import (
    Block,
    Event,
    EventStatus,
    PoolState,
    Session,
    SessionAvailability,
    TicketType,
)
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.paging import Page, PageRequest

CatalogOutcome = Event | Session | PoolState | TicketType | Block | ImportedSeats | Refusal


@immutable
class CatalogAnswer(StoredAnswer[CatalogOutcome]):
    """`unsettled` are the sessions where the change may have freed places for the waitlist."""

    unsettled: tuple[SessionId, ...] = ()


@immutable
class SessionFilter:
    """`event_status` is the status of the session's event; `is_announced` leaves out drafts."""

    session_id: SessionId | None = None
    event_id: EventId | None = None
    event_status: EventStatus | None = None
    is_announced: bool | None = None
    starts_from: datetime | None = None
    starts_before: datetime | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


@immutable
class EventFilter:
    """The times of start find events with a session that starts then; `is_announced` leaves out
    drafts."""

    event_id: EventId | None = None
    status: EventStatus | None = None
    is_announced: bool | None = None
    starts_from: datetime | None = None
    starts_before: datetime | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


class AvailabilityReader(Protocol):
    """Blocks, and may raise a StoreError."""

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None: ...


class CatalogStore(AvailabilityReader, Protocol):
    """Every call may raise StoreUnavailable or another StoreError. It blocks, so don't call it on
    an event loop."""

    def apply(
        self,
        change: CatalogChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogOutcome], bytes],
        seen: str | None = None,
    ) -> CatalogAnswer:
        """Make the change, write its fact and its audit entry, mark the waitlists that it concerns
        and record its answer, in one transaction. Newcomers take nothing from a marked waitlist;
        promoting clears the mark. With `seen`, the record must still be in that state
        (`domain/catalog/editing.py`)."""
        ...

    def event(self, organization_id: OrganizationId, event_id: EventId) -> Event | None: ...

    def events(
        self, organization_id: OrganizationId, only: EventFilter, page: PageRequest
    ) -> Page[Event]: ...

    def session(self, organization_id: OrganizationId, session_id: SessionId) -> Session | None: ...

    def sessions(
        self, organization_id: OrganizationId, only: SessionFilter, page: PageRequest
    ) -> Page[Session]: ...

    def pool(self, organization_id: OrganizationId, pool_id: PoolId) -> PoolState | None: ...

    def pools(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[PoolState]: ...

    def ticket_type(
        self, organization_id: OrganizationId, ticket_type_id: TicketTypeId
    ) -> TicketType | None: ...

    def ticket_types(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[TicketType]: ...

    def block(self, organization_id: OrganizationId, block_id: BlockId) -> Block | None: ...

    def blocks(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[Block]: ...
