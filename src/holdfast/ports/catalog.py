"""Reads and changes the catalog. Changes are rare; they lock the session exclusively."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.domain.catalog.changes import CatalogueChange
from holdfast.domain.catalog.model import (
    Block,
    Event,
    PoolState,
    Session,
    SessionAvailability,
    TicketType,
)
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.ids import (
    BlockId,
    EventId,
    OrganizationId,
    PoolId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.paging import Page, PageRequest

CatalogueOutcome = Event | Session | PoolState | TicketType | Block | ImportedSeats | Refusal


@dataclass(frozen=True, slots=True)
class CatalogueAnswer:
    """`body` is the rendered answer, stored for the idempotency key. A replay has no outcome."""

    outcome: CatalogueOutcome | None
    body: bytes | None = None
    is_replay: bool = False


class CatalogueStore(Protocol):
    """Every call may raise StoreUnavailable or another StoreError. It blocks, so don't call it on
    an event loop."""

    def apply(
        self,
        change: CatalogueChange,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogueOutcome], bytes],
    ) -> CatalogueAnswer:
        """Make the change and record its answer in one transaction."""
        ...

    def event(self, organization_id: OrganizationId, event_id: EventId) -> Event | None: ...

    def events(self, organization_id: OrganizationId, page: PageRequest) -> Page[Event]: ...

    def session(self, organization_id: OrganizationId, session_id: SessionId) -> Session | None: ...

    def sessions(
        self, organization_id: OrganizationId, event_id: EventId | None, page: PageRequest
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

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None: ...


class OrganizationStore(Protocol):
    """For the operator's CLI: it creates tenants, so it connects as the owner of the tables."""

    def create(
        self, organization_id: OrganizationId, name: str, keys: Sequence["NewKey"]
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class NewKey:
    """A secret key as stored: only its hash."""

    name: str
    prefix: str
    secret_hash: bytes
    scopes: tuple[str, ...]
