"""Changes of the catalog in the caller's transaction: read under a lock, apply the domain's rules,
write, and record the change. A change of one session takes its lock exclusively, so no hold is
decided on terms that are being changed. An event may have too many sessions for that: the answer
waits for older groups instead (decision_barrier)."""

from collections.abc import Sequence
from typing import assert_never

import psycopg

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.catalog.hall_changes import change_block, create_block, import_seats
from holdfast.adapters.postgres.catalog.history import record_change
from holdfast.adapters.postgres.catalog.records import (
    event_record,
    found,
    insert_pool,
    lock,
    lock_sessions,
    pool_in_use,
    pool_record,
    session_record,
    ticket_type_record,
)
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.rows import metadata_json
from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    CatalogChange,
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    CreateBlock,
    CreateEvent,
    CreatePool,
    CreateSession,
    CreateTicketType,
    ImportSeats,
)
from holdfast.domain.catalog.facts import fact_of
from holdfast.domain.catalog.model import Event, TicketType
from holdfast.domain.catalog.rules import (
    changed_event,
    changed_pool,
    changed_session,
    changed_ticket_type,
    refuse_pools,
)
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.ids import OrganizationId, PoolId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogOutcome


def change_catalog(connection: Connection, change: CatalogChange, origin: Origin) -> CatalogOutcome:
    """Apply a change. It writes nothing if nothing differs."""
    connection.execute(sql.PATIENCE)
    connection.execute(sql.BESIDE_REBASE)
    match change:
        case CreateEvent():
            return _create_event(connection, change, origin)
        case ChangeEvent():
            return _change_event(connection, change, origin)
        case CreateSession():
            return _create_session(connection, change, origin)
        case ChangeSession():
            return _change_session(connection, change, origin)
        case CreatePool():
            return _create_pool(connection, change, origin)
        case ChangePool():
            return _change_pool(connection, change, origin)
        case CreateTicketType():
            return _create_ticket_type(connection, change, origin)
        case ChangeTicketType():
            return _change_ticket_type(connection, change, origin)
        case CreateBlock():
            return create_block(connection, change, origin)
        case ChangeBlock():
            return change_block(connection, change, origin)
        case ImportSeats():
            return import_seats(connection, change, origin)
        case _:
            assert_never(change)


def lock_key(connection: Connection, key: IdempotencyKey) -> bool:
    """Wait for another request with the same key, up to the lock timeout of catalog changes. This
    lock comes before the session's, against the usual order. No deadlock is possible, because the
    engine only tries these two kinds of locks and never waits for them."""
    resource = Resource(ResourceKind.IDEMPOTENCY_KEY, key.organization_id, key.digest)
    try:
        connection.execute(sql.PATIENCE)
        lock(connection, resource)
    except psycopg.errors.LockNotAvailable:
        connection.execute("ROLLBACK")
        return False
    return True


def _create_event(connection: Connection, change: CreateEvent, origin: Origin) -> CatalogOutcome:
    organization_id, event_id = change.organization_id, change.event_id
    connection.execute(
        sql.INSERT_EVENT,
        (
            organization_id,
            event_id,
            change.name,
            change.currency,
            *change.policy.in_order(),
            change.sale.status.value,
            change.sale.starts_at,
            change.sale.ends_at,
            metadata_json(change.metadata),
        ),
    )
    event = found(event_record(connection, organization_id, event_id))
    record_change(connection, fact_of(organization_id, event_id, None, event), origin)
    return event


def _change_event(connection: Connection, change: ChangeEvent, origin: Origin) -> CatalogOutcome:
    organization_id, event_id = change.organization_id, change.event_id
    # Lock before the row: a transaction that waits for a row already has its id, and facts are
    # ordered by these ids.
    lock(connection, Resource(ResourceKind.EVENT, organization_id, event_id))
    connection.execute(sql.LOCK_EVENT, (organization_id, event_id))
    event = event_record(connection, organization_id, event_id)
    if event is None:
        return refusals.event_not_found()
    changed = changed_event(event, change)
    if isinstance(changed, Refusal) or changed == event:
        return changed
    _write_event(connection, organization_id, changed)
    record_change(connection, fact_of(organization_id, event_id, event, changed), origin)
    if (changed.policy, changed.sale) != (event.policy, event.sale):
        connection.execute(sql.RAISE_VERSIONS_OF_EVENT, (organization_id, event_id))
    return found(event_record(connection, organization_id, event_id))


def _write_event(connection: Connection, organization_id: OrganizationId, event: Event) -> None:
    sale = event.sale
    terms = (*event.policy.in_order(), sale.status.value, sale.starts_at, sale.ends_at)
    values = (event.name, *terms, metadata_json(event.metadata))
    connection.execute(sql.CHANGE_EVENT, (*values, organization_id, event.id))


def _create_session(
    connection: Connection, change: CreateSession, origin: Origin
) -> CatalogOutcome:
    organization_id, session_id, event_id = (
        change.organization_id,
        change.session_id,
        change.event_id,
    )
    if event_record(connection, organization_id, event_id) is None:
        return refusals.invalid_event()
    values = (event_id, change.name, change.starts_at, metadata_json(change.metadata))
    connection.execute(sql.INSERT_SESSION, (organization_id, session_id, *values))
    session = found(session_record(connection, organization_id, session_id))
    record_change(connection, fact_of(organization_id, event_id, None, session), origin)
    return session


def _change_session(
    connection: Connection, change: ChangeSession, origin: Origin
) -> CatalogOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    lock_sessions(connection, organization_id, [session_id])
    session = session_record(connection, organization_id, session_id)
    if session is None:
        return refusals.session_not_found()
    changed = changed_session(session, change)
    if changed == session:
        return session
    values = (changed.name, changed.starts_at, metadata_json(changed.metadata))
    connection.execute(sql.CHANGE_SESSION, (*values, organization_id, session_id))
    fact = fact_of(organization_id, session.event_id, session, changed)
    record_change(connection, fact, origin)
    return found(session_record(connection, organization_id, session_id))


def _create_pool(connection: Connection, change: CreatePool, origin: Origin) -> CatalogOutcome:
    organization_id = change.organization_id
    session = session_record(connection, organization_id, change.session_id)
    if session is None:
        return refusals.invalid_session()
    insert_pool(connection, change)
    pool = found(pool_record(connection, organization_id, change.pool_id))
    record_change(connection, fact_of(organization_id, session.event_id, None, pool), origin)
    return pool


def _change_pool(connection: Connection, change: ChangePool, origin: Origin) -> CatalogOutcome:
    organization_id, pool_id = change.organization_id, change.pool_id
    pool = pool_record(connection, organization_id, pool_id)
    if pool is None:
        return refusals.pool_not_found()
    session_id = pool.session_id
    lock_sessions(connection, organization_id, [session_id])
    in_use = pool_in_use(connection, organization_id, pool_id)
    pool = found(pool_record(connection, organization_id, pool_id))
    changed = changed_pool(pool, change, in_use)
    if isinstance(changed, Refusal) or changed == pool:
        return changed
    connection.execute(sql.CHANGE_POOL, (changed.name, changed.total, organization_id, pool_id))
    event_id = found(session_record(connection, organization_id, session_id)).event_id
    record_change(connection, fact_of(organization_id, event_id, pool, changed), origin)
    return found(pool_record(connection, organization_id, pool_id))


def _pools_of_session(
    connection: Connection,
    organization_id: OrganizationId,
    session_id: SessionId,
    wanted: Sequence[PoolId],
) -> set[PoolId]:
    """The wanted pools that belong to the session."""
    rows = connection.execute(sql.POOLS_IN_SESSION, (organization_id, session_id, list(wanted)))
    return {PoolId(pool_id) for (pool_id,) in rows}


def _create_ticket_type(
    connection: Connection, change: CreateTicketType, origin: Origin
) -> CatalogOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    session = session_record(connection, organization_id, session_id)
    if session is None:
        return refusals.invalid_session()
    pools = _pools_of_session(connection, organization_id, session_id, change.pool_ids)
    refusal = refuse_pools(change.pool_ids, pools)
    if refusal is not None:
        return refusal
    lock_sessions(connection, organization_id, [session_id])
    _insert_ticket_type(connection, change)
    connection.execute(sql.RAISE_VERSIONS, (organization_id, [session_id]))
    made = found(ticket_type_record(connection, organization_id, change.ticket_type_id))
    capacity = {} if change.own_pool is None else {"capacity": change.own_pool.total}
    fact = fact_of(organization_id, session.event_id, None, made, **capacity)
    record_change(connection, fact, origin)
    return made


def _insert_ticket_type(connection: Connection, change: CreateTicketType) -> None:
    organization_id, id_ = change.organization_id, change.ticket_type_id
    pool_ids = list(dict.fromkeys(change.pool_ids))
    if change.own_pool is not None:
        insert_pool(connection, change.own_pool)
        pool_ids.append(change.own_pool.pool_id)
    connection.execute(
        sql.INSERT_TICKET_TYPE,
        (
            organization_id,
            id_,
            change.session_id,
            change.name,
            change.price_minor,
            change.is_seated,
            *change.policy.in_order(),
            metadata_json(change.metadata),
        ),
    )
    connection.execute(sql.DRAW_FROM_POOLS, (organization_id, id_, pool_ids))


def _change_ticket_type(
    connection: Connection, change: ChangeTicketType, origin: Origin
) -> CatalogOutcome:
    organization_id, id_ = change.organization_id, change.ticket_type_id
    ticket_type = ticket_type_record(connection, organization_id, id_)
    if ticket_type is None:
        return refusals.ticket_type_not_found()
    session_id = ticket_type.session_id
    lock_sessions(connection, organization_id, [session_id])
    # Read again: it may have changed while we waited for the lock.
    ticket_type = found(ticket_type_record(connection, organization_id, id_))
    pools = _pools_of_session(connection, organization_id, session_id, change.pool_ids or ())
    wanted = (organization_id, session_id, id_)
    ((is_waited_for,),) = connection.execute(sql.IS_WAITED_FOR, wanted)
    changed = changed_ticket_type(ticket_type, change, pools, is_waited_for=is_waited_for)
    if isinstance(changed, Refusal) or changed == ticket_type:
        return changed
    _write_ticket_type(connection, organization_id, changed)
    event_id = found(session_record(connection, organization_id, session_id)).event_id
    record_change(connection, fact_of(organization_id, event_id, ticket_type, changed), origin)
    connection.execute(sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return found(ticket_type_record(connection, organization_id, id_))


def _write_ticket_type(
    connection: Connection, organization_id: OrganizationId, ticket_type: TicketType
) -> None:
    key = (organization_id, ticket_type.id)
    terms = (ticket_type.name, ticket_type.price.minor, *ticket_type.policy.in_order())
    values = (*terms, metadata_json(ticket_type.metadata), *key)
    connection.execute(sql.CHANGE_TICKET_TYPE, values)
    connection.execute(sql.CLEAR_POOLS, key)
    connection.execute(sql.DRAW_FROM_POOLS, (*key, list(ticket_type.pool_ids)))
