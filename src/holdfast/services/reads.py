"""Read operations. Every call blocks; a missing object or an unavailable store is a refusal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from holdfast.domain import refusals
from holdfast.domain.catalog.model import (
    Block,
    Event,
    PoolState,
    Session,
    SessionAvailability,
    TicketType,
)
from holdfast.domain.ids import (
    BlockId,
    EventId,
    HoldId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogStore, EventFilter, SessionFilter
from holdfast.ports.holds import HoldFilter, HoldOrder, HoldReader, SeenHold, SeenPlace
from holdfast.ports.paging import Page, PageRequest
from holdfast.ports.seats import MapState, SeatChanges, SeatReader, SeenSeat, SessionMap
from holdfast.ports.store import StoreError

T = TypeVar("T")

_log = structlog.get_logger("holdfast.reading")


@dataclass(frozen=True, slots=True)
class HoldWithPosition:
    """A hold, with its queue position while it waits."""

    seen: SeenHold
    place: SeenPlace | None = None


def hold(
    reader: HoldReader, organization_id: OrganizationId, hold_id: HoldId
) -> SeenHold | Refusal:
    return found(lambda: reader.hold(organization_id, hold_id), refusals.hold_not_found)


def hold_with_position(
    reader: HoldReader, organization_id: OrganizationId, hold_id: HoldId
) -> HoldWithPosition | Refusal:
    seen = hold(reader, organization_id, hold_id)
    return seen if isinstance(seen, Refusal) else with_position(reader, seen)


def cart_hold(
    reader: HoldReader, organization_id: OrganizationId, cart: str
) -> HoldWithPosition | Refusal:
    """The cart's active or waiting hold, or else its last one."""
    seen = found(lambda: reader.cart_hold(organization_id, cart), refusals.hold_not_found)
    return seen if isinstance(seen, Refusal) else with_position(reader, seen)


def with_position(reader: HoldReader, seen: SeenHold) -> HoldWithPosition | Refusal:
    """The hold with its current queue position. It may have been promoted since it was read."""
    if not seen.hold.is_waiting(seen.at):
        return HoldWithPosition(seen)
    organization_id, hold_id = seen.hold.key
    place = read(lambda: reader.waiting_position(organization_id, hold_id))
    return place if isinstance(place, Refusal) else HoldWithPosition(seen, place)


def holds(
    reader: HoldReader,
    organization_id: OrganizationId,
    only: HoldFilter,
    page: PageRequest,
    order: HoldOrder,
) -> Page[SeenHold] | Refusal:
    return read(lambda: reader.holds(organization_id, only, page, order))


def seat(
    reader: SeatReader, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
) -> SeenSeat | Refusal:
    """Refuses a seat of another event as not found, and an unknown event as such."""

    def missing() -> Refusal:
        known = read(lambda: reader.has_event(organization_id, event_id))
        if isinstance(known, Refusal):
            return known
        return refusals.seat_not_found() if known else refusals.event_not_found()

    return found(lambda: reader.seat(organization_id, event_id, seat_id), missing)


def session_map(
    reader: SeatReader, organization_id: OrganizationId, session_id: SessionId
) -> SessionMap | Refusal:
    return found(
        lambda: reader.session_map(organization_id, session_id), refusals.session_not_found
    )


def map_state(
    reader: SeatReader, organization_id: OrganizationId, session_id: SessionId
) -> MapState | Refusal:
    return found(lambda: reader.map_state(organization_id, session_id), refusals.session_not_found)


def seat_changes(
    reader: SeatReader, organization_id: OrganizationId, session_id: SessionId, since: int
) -> SeatChanges | Refusal:
    return found(
        lambda: reader.seat_changes(organization_id, session_id, since), refusals.session_not_found
    )


def availability(
    catalog: CatalogStore, organization_id: OrganizationId, session_id: SessionId
) -> SessionAvailability | Refusal:
    return found(
        lambda: catalog.availability(organization_id, session_id), refusals.session_not_found
    )


def event(
    catalog: CatalogStore, organization_id: OrganizationId, event_id: EventId
) -> Event | Refusal:
    return found(lambda: catalog.event(organization_id, event_id), refusals.event_not_found)


def events(
    catalog: CatalogStore,
    organization_id: OrganizationId,
    only: EventFilter,
    page: PageRequest,
) -> Page[Event] | Refusal:
    return read(lambda: catalog.events(organization_id, only, page))


def session(
    catalog: CatalogStore, organization_id: OrganizationId, session_id: SessionId
) -> Session | Refusal:
    return found(lambda: catalog.session(organization_id, session_id), refusals.session_not_found)


def sessions(
    catalog: CatalogStore,
    organization_id: OrganizationId,
    only: SessionFilter,
    page: PageRequest,
) -> Page[Session] | Refusal:
    return read(lambda: catalog.sessions(organization_id, only, page))


def pool(
    catalog: CatalogStore, organization_id: OrganizationId, pool_id: PoolId
) -> PoolState | Refusal:
    return found(lambda: catalog.pool(organization_id, pool_id), refusals.pool_not_found)


def pools(
    catalog: CatalogStore,
    organization_id: OrganizationId,
    session_id: SessionId | None,
    page: PageRequest,
) -> Page[PoolState] | Refusal:
    return read(lambda: catalog.pools(organization_id, session_id, page))


def ticket_type(
    catalog: CatalogStore, organization_id: OrganizationId, ticket_type_id: TicketTypeId
) -> TicketType | Refusal:
    return found(
        lambda: catalog.ticket_type(organization_id, ticket_type_id),
        refusals.ticket_type_not_found,
    )


def ticket_types(
    catalog: CatalogStore,
    organization_id: OrganizationId,
    session_id: SessionId | None,
    page: PageRequest,
) -> Page[TicketType] | Refusal:
    return read(lambda: catalog.ticket_types(organization_id, session_id, page))


def block(
    catalog: CatalogStore, organization_id: OrganizationId, block_id: BlockId
) -> Block | Refusal:
    return found(lambda: catalog.block(organization_id, block_id), refusals.block_not_found)


def blocks(
    catalog: CatalogStore,
    organization_id: OrganizationId,
    session_id: SessionId | None,
    page: PageRequest,
) -> Page[Block] | Refusal:
    return read(lambda: catalog.blocks(organization_id, session_id, page))


def found(look_up: Callable[[], T | None], missing: Callable[[], Refusal]) -> T | Refusal:
    what = read(look_up)
    return missing() if what is None else what


def read(look_up: Callable[[], T]) -> T | Refusal:
    try:
        return look_up()
    except StoreError as error:
        _log.warning("read.failed", problem=type(error).__name__)
        return refusals.service_unavailable()
