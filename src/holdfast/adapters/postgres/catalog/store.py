"""The catalog on PostgreSQL: reads, and changes in small transactions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from holdfast.adapters.postgres.answers import answered_once
from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.catalog.changes import (
    IMPORT_SECONDS_MAX,
    change_catalog,
    find_block,
    with_seats,
)
from holdfast.adapters.postgres.catalog.decision_barrier import await_decisions
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.waitlist.unsettled import unsettle
from holdfast.domain.catalog.availability import BlockCounts, Counts, seated_counts
from holdfast.domain.catalog.changes import CatalogChange, ChangeEvent, ImportSeats
from holdfast.domain.catalog.model import (
    Block,
    Event,
    EventStatus,
    PoolState,
    SaleTerms,
    Session,
    SessionAvailability,
    TicketType,
    TicketTypeAvailability,
)
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.values import Money
from holdfast.ports.answers import StoredAnswer
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome, EventFilter, SessionFilter
from holdfast.ports.paging import Cursor, Page, PageRequest

T = TypeVar("T")


class PostgresCatalog:
    """Implements CatalogStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def apply(
        self,
        change: CatalogChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogOutcome], bytes],
        seen: str | None = None,
    ) -> CatalogAnswer:
        answer = self._applied(change, origin, idempotency, render, seen)
        if isinstance(change, ChangeEvent) and change.alters_terms:
            # Even if nothing was left to do: the first attempt may still be waiting here.
            await_decisions(self._database, change.organization_id, change.event_id)
        return answer

    def _applied(
        self,
        change: CatalogChange,
        origin: Origin,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogOutcome], bytes],
        seen: str | None,
    ) -> CatalogAnswer:
        seconds = IMPORT_SECONDS_MAX if isinstance(change, ImportSeats) else None
        with self._database.transaction(change.organization_id, seconds=seconds) as connection:
            unsettled: list[SessionId] = []

            def decide() -> CatalogOutcome:
                outcome = change_catalog(connection, change, origin, seen)
                unsettled.extend(unsettle(connection, change, outcome))
                return outcome

            answer: StoredAnswer[CatalogOutcome] = answered_once(
                connection, idempotency, render, decide
            )
        return CatalogAnswer(answer.outcome, answer.body, answer.is_replay, tuple(unsettled))

    def event(self, organization_id: OrganizationId, event_id: EventId) -> Event | None:
        return self._one(organization_id, sql.EVENTS, event_id)

    def events(
        self, organization_id: OrganizationId, only: EventFilter, page: PageRequest
    ) -> Page[Event]:
        return self._page(organization_id, sql.EVENTS, asdict(only), page)

    def session(self, organization_id: OrganizationId, session_id: SessionId) -> Session | None:
        return self._one(organization_id, sql.SESSIONS, session_id)

    def sessions(
        self, organization_id: OrganizationId, only: SessionFilter, page: PageRequest
    ) -> Page[Session]:
        return self._page(organization_id, sql.SESSIONS, asdict(only), page)

    def pool(self, organization_id: OrganizationId, pool_id: PoolId) -> PoolState | None:
        return self._one(organization_id, sql.POOLS, pool_id)

    def pools(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[PoolState]:
        only = {"session_id": session_id}
        return self._page(organization_id, sql.POOLS, only, page)

    def ticket_type(
        self, organization_id: OrganizationId, ticket_type_id: TicketTypeId
    ) -> TicketType | None:
        return self._one(organization_id, sql.TICKET_TYPES, ticket_type_id)

    def ticket_types(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[TicketType]:
        only = {"session_id": session_id}
        return self._page(organization_id, sql.TICKET_TYPES, only, page)

    def block(self, organization_id: OrganizationId, block_id: BlockId) -> Block | None:
        with self._database.transaction(organization_id) as connection:
            return find_block(connection, organization_id, block_id)

    def blocks(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[Block]:
        only = {"session_id": session_id}
        query, parameters = sql.BLOCKS.listed(organization_id, only, page)
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(query, parameters).fetchall()
            blocks = [sql.block_from_row(row) for row in rows[: page.size]]
            shown = with_seats(connection, organization_id, blocks)
        last = shown[-1] if len(rows) > page.size else None
        return Page(tuple(shown), Cursor(last.created_at, last.id) if last else None)

    def availability(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionAvailability | None:
        parameters = {"organization_id": organization_id, "session_id": session_id}
        with self._database.transaction(organization_id) as connection:
            session = connection.execute(sql.SESSION_EVENT, parameters).fetchone()
            if session is None:
                return None
            rows = connection.execute(sql.AVAILABILITY, parameters).fetchall()
            blocks = []
            types = [_OfferedType(*row) for row in rows]
            if any(offered.is_seated for offered in types):
                counted = connection.execute(sql.BLOCK_AVAILABILITY, parameters)
                blocks = [_block_counts(row) for row in counted]
        by_type: dict[UUID, list[_OfferedType]] = {}
        for offered in types:
            by_type.setdefault(offered.id, []).append(offered)
        event_id, at, status, *window = session
        sale = SaleTerms(EventStatus(status), *window)
        available = tuple(_availability(pools, blocks) for pools in by_type.values())
        return SessionAvailability(session_id, event_id, at, available, sale)

    def _one(self, organization_id: OrganizationId, table: sql.Table[T], id_: UUID) -> T | None:
        with self._database.transaction(organization_id) as connection:
            return table.find(connection, organization_id, id_)

    def _page(
        self,
        organization_id: OrganizationId,
        table: sql.Table[T],
        only: Mapping[str, object],
        page: PageRequest,
    ) -> Page[T]:
        with self._database.transaction(organization_id) as connection:
            return table.page(connection, organization_id, only, page)


class _OfferedType(NamedTuple):
    """A row of AVAILABILITY: a ticket type and one of its pools, or none for a seated type."""

    id: TicketTypeId
    name: str
    price_minor: int
    currency: str
    is_seated: bool
    total: int | None
    held: int
    sold: int


def _availability(
    rows: Sequence[_OfferedType], blocks: Sequence[BlockCounts]
) -> TicketTypeAvailability:
    """The availability of one ticket type. `rows` has one per pool, or one without a pool."""
    offered = rows[0]
    pools = [
        Counts(row.total, row.held, row.sold, row.total - row.held - row.sold)
        for row in rows
        if row.total is not None
    ]
    if offered.is_seated:
        counts = seated_counts(offered.id, blocks, [pool.available for pool in pools])
    else:
        counts = min(pools, key=lambda pool: pool.available)
    price = Money(offered.price_minor, offered.currency)
    return TicketTypeAvailability(offered.id, offered.name, price, *counts)


def _block_counts(row: tuple[Any, ...]) -> BlockCounts:
    total, held, sold, free, room, ticket_types = row
    return BlockCounts(total, held, sold, free, room, frozenset(ticket_types or ()))
