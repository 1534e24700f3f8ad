"""Locks, and reads of current records, for all catalog changes."""

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.locks import advisory_name
from holdfast.domain.catalog.changes import CreatePool
from holdfast.domain.catalog.model import Event, PoolState, Session, TicketType
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.ids import OrganizationId

T = TypeVar("T")


def lock_sessions(
    connection: Connection, organization_id: OrganizationId, session_ids: Sequence[UUID]
) -> None:
    for session_id in session_ids:
        lock(connection, Resource(ResourceKind.SESSION, organization_id, session_id))


def lock(connection: Connection, resource: Resource) -> None:
    connection.execute(sql.LOCK_EXCLUSIVELY, (advisory_name(resource),))


def event_record(connection: Connection, organization_id: UUID, event_id: UUID) -> Event | None:
    row = connection.execute(sql.EVENTS.one, (organization_id, event_id)).fetchone()
    return sql.event_from_row(row) if row else None


def session_record(connection: Connection, organization_id: UUID, id_: UUID) -> Session | None:
    row = connection.execute(sql.SESSIONS.one, (organization_id, id_)).fetchone()
    return sql.session_from_row(row) if row else None


def pool_record(connection: Connection, organization_id: UUID, pool_id: UUID) -> PoolState | None:
    row = connection.execute(sql.POOLS.one, (organization_id, pool_id)).fetchone()
    return sql.pool_from_row(row) if row else None


def ticket_type_record(
    connection: Connection, organization_id: UUID, id_: UUID
) -> TicketType | None:
    row = connection.execute(sql.TICKET_TYPES.one, (organization_id, id_)).fetchone()
    return sql.ticket_type_from_row(row) if row else None


def found(record: T | None) -> T:
    assert record is not None
    return record


def insert_pool(connection: Connection, pool: CreatePool) -> None:
    values = (pool.organization_id, pool.pool_id, pool.session_id, pool.name, pool.total)
    connection.execute(sql.INSERT_POOL, values)


def pool_in_use(connection: Connection, organization_id: OrganizationId, pool_id: UUID) -> int:
    """The held and sold units. Locks the pool's row, under the lock of its session."""
    ((in_use,),) = connection.execute(sql.LOCK_POOL, (organization_id, pool_id))
    return int(in_use)
