"""The catalogue on PostgreSQL: reading it, and changing it one small transaction at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar
from uuid import UUID

from holdfast.adapters.postgres.catalog import hall_statements as hall_sql
from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.catalog.changes import change_catalogue, lock_key
from holdfast.adapters.postgres.catalog.decision_barrier import await_decisions
from holdfast.adapters.postgres.catalog.hall_changes import (
    IMPORT_SECONDS_MAX,
    block_record,
    blocks_from_rows,
)
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain import refusals
from holdfast.domain.catalog.availability import BlockCounts, Counts, seated_counts
from holdfast.domain.catalog.changes import CatalogueChange, ChangeEvent, ImportSeats
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
from holdfast.domain.values import Money
from holdfast.ports.catalog import CatalogueAnswer, CatalogueOutcome, EventFilter, SessionFilter
from holdfast.ports.paging import Cursor, Page, PageRequest

T = TypeVar("T")


class PostgresCatalogue:
    """Implements CatalogueStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def apply(
        self,
        change: CatalogueChange,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogueOutcome], bytes],
    ) -> CatalogueAnswer:
        answer = self._applied(change, idempotency, render)
        if isinstance(change, ChangeEvent) and change.alters_terms:
            # Even when nothing was left to do: the first attempt may still be waiting here.
            await_decisions(self._database, change.organization_id, change.event_id)
        return answer

    def _applied(
        self,
        change: CatalogueChange,
        idempotency: IdempotencyKey | None,
        render: Callable[[CatalogueOutcome], bytes],
    ) -> CatalogueAnswer:
        seconds = IMPORT_SECONDS_MAX if isinstance(change, ImportSeats) else None
        with self._database.transaction(change.organization_id, seconds=seconds) as connection:
            if idempotency is not None:
                if not lock_key(connection, idempotency):
                    return CatalogueAnswer(refusals.request_in_progress())
                recorded = connection.execute(
                    sql.RECORDED_ANSWER, (idempotency.organization_id, idempotency.digest)
                ).fetchone()
                if recorded is not None and recorded[0] == idempotency.fingerprint:
                    return CatalogueAnswer(None, recorded[1], is_replay=True)
                if recorded is not None:
                    return CatalogueAnswer(refusals.idempotency_key_reused())
            outcome = change_catalogue(connection, change)
            if idempotency is None:
                return CatalogueAnswer(outcome)
            body = render(outcome)
            if not (isinstance(outcome, Refusal) and outcome.code.is_retryable):
                connection.execute(
                    sql.RECORD_ANSWER,
                    (
                        idempotency.organization_id,
                        idempotency.digest,
                        idempotency.fingerprint,
                        body,
                    ),
                )
            return CatalogueAnswer(outcome, body)

    def event(self, organization_id: OrganizationId, event_id: EventId) -> Event | None:
        return self._one(organization_id, sql.EVENTS, event_id, sql.event_from_row)

    def events(
        self, organization_id: OrganizationId, only: EventFilter, page: PageRequest
    ) -> Page[Event]:
        return self._page(organization_id, sql.EVENTS, asdict(only), page, sql.event_from_row)

    def session(self, organization_id: OrganizationId, session_id: SessionId) -> Session | None:
        return self._one(organization_id, sql.SESSIONS, session_id, sql.session_from_row)

    def sessions(
        self, organization_id: OrganizationId, only: SessionFilter, page: PageRequest
    ) -> Page[Session]:
        return self._page(organization_id, sql.SESSIONS, asdict(only), page, sql.session_from_row)

    def pool(self, organization_id: OrganizationId, pool_id: PoolId) -> PoolState | None:
        return self._one(organization_id, sql.POOLS, pool_id, sql.pool_from_row)

    def pools(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[PoolState]:
        only = {"session_id": session_id}
        return self._page(organization_id, sql.POOLS, only, page, sql.pool_from_row)

    def ticket_type(
        self, organization_id: OrganizationId, ticket_type_id: TicketTypeId
    ) -> TicketType | None:
        return self._one(
            organization_id, sql.TICKET_TYPES, ticket_type_id, sql.ticket_type_from_row
        )

    def ticket_types(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[TicketType]:
        only = {"session_id": session_id}
        return self._page(organization_id, sql.TICKET_TYPES, only, page, sql.ticket_type_from_row)

    def block(self, organization_id: OrganizationId, block_id: BlockId) -> Block | None:
        with self._database.transaction(organization_id) as connection:
            return block_record(connection, organization_id, block_id)

    def blocks(
        self, organization_id: OrganizationId, session_id: SessionId | None, page: PageRequest
    ) -> Page[Block]:
        only = {"session_id": session_id}
        query, parameters = hall_sql.BLOCKS.listed(organization_id, only, page)
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(query, parameters).fetchall()
            shown = blocks_from_rows(connection, organization_id, rows[: page.size])
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
            if any(row[4] for row in rows):
                counted = connection.execute(hall_sql.BLOCK_AVAILABILITY, parameters)
                blocks = [_block_counts(row) for row in counted]
        by_type: dict[UUID, list[tuple[Any, ...]]] = {}
        for row in rows:
            by_type.setdefault(row[0], []).append(row)
        offered = tuple(_availability(pools, blocks) for pools in by_type.values())
        event_id, at, status, *window = session
        sale = SaleTerms(EventStatus(status), *window)
        return SessionAvailability(session_id, event_id, at, offered, sale)

    def _one(
        self,
        organization_id: OrganizationId,
        table: sql.Table,
        id_: UUID,
        build: Callable[[tuple[Any, ...]], T],
    ) -> T | None:
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(table.one, (organization_id, id_)).fetchone()
        return build(row) if row else None

    def _page(
        self,
        organization_id: OrganizationId,
        table: sql.Table,
        only: Mapping[str, object],
        page: PageRequest,
        build: Callable[[tuple[Any, ...]], T],
    ) -> Page[T]:
        query, parameters = table.listed(organization_id, only, page)
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(query, parameters).fetchall()
        shown = rows[: page.size]
        has_more = len(rows) > page.size
        return Page(
            tuple(map(build, shown)),
            Cursor(shown[-1][1], shown[-1][0]) if has_more else None,
        )


def _availability(
    rows: Sequence[tuple[Any, ...]], blocks: Sequence[BlockCounts]
) -> TicketTypeAvailability:
    """Of one ticket type: a row for each of its pools, or one without a pool."""
    id_, name, price_minor, currency, is_seated, *_ = rows[0]
    pools = [_pool_counts(*row[5:]) for row in rows if row[5] is not None]
    if is_seated:
        counts = seated_counts(id_, blocks, [pool.available for pool in pools])
    else:
        counts = min(pools, key=lambda pool: pool.available)
    return TicketTypeAvailability(TicketTypeId(id_), name, Money(price_minor, currency), *counts)


def _pool_counts(total: int, held: int, sold: int) -> Counts:
    return Counts(total, held, sold, total - held - sold)


def _block_counts(row: tuple[Any, ...]) -> BlockCounts:
    total, held, sold, free, room, ticket_types = row
    return BlockCounts(total, held, sold, free, room, frozenset(ticket_types or ()))
