"""Reading what there is. Every call blocks; what is not there, and a store that cannot serve, are
refusals."""

from collections.abc import Callable
from typing import TypeVar

import structlog

from holdfast.domain import refusals
from holdfast.domain.catalogue import Event, PoolState, Session, SessionAvailability, TicketType
from holdfast.domain.ids import EventId, HoldId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.refusals import Refusal
from holdfast.ports.catalogue import CatalogueStore
from holdfast.ports.holds import HoldFilter, HoldReader, SeenHold
from holdfast.ports.paging import Page, PageRequest
from holdfast.ports.store import StoreError

T = TypeVar("T")

_log = structlog.get_logger("holdfast.reading")


def hold(
    reader: HoldReader, organization_id: OrganizationId, hold_id: HoldId
) -> SeenHold | Refusal:
    return _found(lambda: reader.hold(organization_id, hold_id), refusals.hold_not_found)


def holds(
    reader: HoldReader, organization_id: OrganizationId, only: HoldFilter, page: PageRequest
) -> Page[SeenHold] | Refusal:
    return _read(lambda: reader.holds(organization_id, only, page))


def availability(
    catalogue: CatalogueStore, organization_id: OrganizationId, session_id: SessionId
) -> SessionAvailability | Refusal:
    return _found(
        lambda: catalogue.availability(organization_id, session_id), refusals.session_not_found
    )


def event(
    catalogue: CatalogueStore, organization_id: OrganizationId, event_id: EventId
) -> Event | Refusal:
    return _found(lambda: catalogue.event(organization_id, event_id), refusals.event_not_found)


def events(
    catalogue: CatalogueStore, organization_id: OrganizationId, page: PageRequest
) -> Page[Event] | Refusal:
    return _read(lambda: catalogue.events(organization_id, page))


def session(
    catalogue: CatalogueStore, organization_id: OrganizationId, session_id: SessionId
) -> Session | Refusal:
    return _found(
        lambda: catalogue.session(organization_id, session_id), refusals.session_not_found
    )


def sessions(
    catalogue: CatalogueStore,
    organization_id: OrganizationId,
    event_id: EventId | None,
    page: PageRequest,
) -> Page[Session] | Refusal:
    return _read(lambda: catalogue.sessions(organization_id, event_id, page))


def pool(
    catalogue: CatalogueStore, organization_id: OrganizationId, pool_id: PoolId
) -> PoolState | Refusal:
    return _found(lambda: catalogue.pool(organization_id, pool_id), refusals.pool_not_found)


def pools(
    catalogue: CatalogueStore,
    organization_id: OrganizationId,
    session_id: SessionId | None,
    page: PageRequest,
) -> Page[PoolState] | Refusal:
    return _read(lambda: catalogue.pools(organization_id, session_id, page))


def ticket_type(
    catalogue: CatalogueStore, organization_id: OrganizationId, ticket_type_id: TicketTypeId
) -> TicketType | Refusal:
    return _found(
        lambda: catalogue.ticket_type(organization_id, ticket_type_id),
        refusals.ticket_type_not_found,
    )


def ticket_types(
    catalogue: CatalogueStore,
    organization_id: OrganizationId,
    session_id: SessionId | None,
    page: PageRequest,
) -> Page[TicketType] | Refusal:
    return _read(lambda: catalogue.ticket_types(organization_id, session_id, page))


def _found(read: Callable[[], T | None], missing: Callable[[], Refusal]) -> T | Refusal:
    found = _read(read)
    return missing() if found is None else found


def _read(read: Callable[[], T]) -> T | Refusal:
    try:
        return read()
    except StoreError as error:
        _log.warning("read.failed", problem=type(error).__name__)
        return refusals.service_unavailable()
