"""Changes of the catalogue, within the caller's transaction. A change of what one session sells
takes its lock exclusively, so no hold is decided on terms that are just being changed. An event may
have too many sessions for that: the answer waits for older groups instead (decision_barrier)."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import assert_never

import psycopg

from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.catalog.hall_changes import change_block, create_block, import_seats
from holdfast.adapters.postgres.catalog.records import (
    event_record,
    found,
    insert_pool,
    lock_sessions,
    pool_record,
    resize_pool,
    session_record,
    ticket_type_record,
)
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.locks import advisory_name
from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    CatalogueChange,
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
    refuse_policy,
)
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.ids import OrganizationId, PoolId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogueOutcome


def change_catalogue(connection: Connection, change: CatalogueChange) -> CatalogueOutcome:
    connection.execute(sql.PATIENCE)
    match change:
        case CreateEvent():
            return _create_event(connection, change)
        case ChangeEvent():
            return _change_event(connection, change)
        case CreateSession():
            return _create_session(connection, change)
        case ChangeSession():
            return _change_session(connection, change)
        case CreatePool():
            return _create_pool(connection, change)
        case ChangePool():
            return _change_pool(connection, change)
        case CreateTicketType():
            return _create_ticket_type(connection, change)
        case ChangeTicketType():
            return _change_ticket_type(connection, change)
        case CreateBlock():
            return create_block(connection, change)
        case ChangeBlock():
            return change_block(connection, change)
        case ImportSeats():
            return import_seats(connection, change)
        case _:
            assert_never(change)


def lock_key(connection: Connection, key: IdempotencyKey) -> bool:
    """Wait, up to the patience of a catalogue change, for another request with the same key. It
    comes before the session's lock here, against the usual order, and may: the engine only ever
    tries these two kinds of locks and never waits for them, so no circle can close."""
    resource = Resource(ResourceKind.IDEMPOTENCY_KEY, key.organization_id, key.digest)
    try:
        connection.execute(sql.PATIENCE)
        connection.execute(sql.LOCK_EXCLUSIVELY, (advisory_name(resource),))
    except psycopg.errors.LockNotAvailable:
        connection.execute("ROLLBACK")
        return False
    return True


def _create_event(connection: Connection, change: CreateEvent) -> CatalogueOutcome:
    connection.execute(
        sql.INSERT_EVENT,
        (
            change.organization_id,
            change.event_id,
            change.name,
            change.currency,
            *astuple(change.policy),
            change.sale.status.value,
            change.sale.starts_at,
            change.sale.ends_at,
        ),
    )
    return found(event_record(connection, change.organization_id, change.event_id))


def _change_event(connection: Connection, change: ChangeEvent) -> CatalogueOutcome:
    organization_id, event_id = change.organization_id, change.event_id
    connection.execute(sql.LOCK_EVENT, (organization_id, event_id))
    event = event_record(connection, organization_id, event_id)
    if event is None:
        return refusals.event_not_found()
    policy = change.policy.applied_to(event.policy) if change.policy else event.policy
    sale = change.sale.applied_to(event.sale) if change.sale else event.sale
    if isinstance(sale, Refusal):
        return sale
    refusal = refuse_policy(policy) if change.policy else None
    if refusal is not None:
        return refusal
    if (policy, sale) != (event.policy, event.sale):
        terms = (*astuple(policy), sale.status.value, sale.starts_at, sale.ends_at)
        connection.execute(sql.CHANGE_EVENT_TERMS, (*terms, organization_id, event_id))
        connection.execute(sql.RAISE_VERSIONS_OF_EVENT, (organization_id, event_id))
    connection.execute(sql.RENAME_EVENT, (change.name, organization_id, event_id))
    return found(event_record(connection, organization_id, event_id))


def _create_session(connection: Connection, change: CreateSession) -> CatalogueOutcome:
    if event_record(connection, change.organization_id, change.event_id) is None:
        return refusals.invalid_event()
    connection.execute(
        sql.INSERT_SESSION,
        (
            change.organization_id,
            change.session_id,
            change.event_id,
            change.name,
            change.starts_at,
        ),
    )
    return found(session_record(connection, change.organization_id, change.session_id))


def _change_session(connection: Connection, change: ChangeSession) -> CatalogueOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    connection.execute(
        sql.CHANGE_SESSION, (change.name, change.starts_at, organization_id, session_id)
    )
    return session_record(connection, organization_id, session_id) or refusals.session_not_found()


def _create_pool(connection: Connection, change: CreatePool) -> CatalogueOutcome:
    if session_record(connection, change.organization_id, change.session_id) is None:
        return refusals.invalid_session()
    insert_pool(connection, change)
    return found(pool_record(connection, change.organization_id, change.pool_id))


def _change_pool(connection: Connection, change: ChangePool) -> CatalogueOutcome:
    organization_id, pool_id = change.organization_id, change.pool_id
    pool = pool_record(connection, organization_id, pool_id)
    if pool is None:
        return refusals.pool_not_found()
    lock_sessions(connection, organization_id, [pool.session_id])
    refusal = resize_pool(connection, organization_id, pool_id, change.name, change.total)
    if refusal is not None:
        return refusal
    return found(pool_record(connection, organization_id, pool_id))


def _refuse_pools(
    connection: Connection,
    organization_id: OrganizationId,
    session_id: SessionId,
    pool_ids: Sequence[PoolId],
) -> Refusal | None:
    distinct = list(set(pool_ids))
    wanted = (organization_id, session_id, distinct)
    ((known,),) = connection.execute(sql.POOLS_IN_SESSION, wanted)
    return None if known == len(distinct) else refusals.invalid_pool()


def _create_ticket_type(connection: Connection, change: CreateTicketType) -> CatalogueOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    if session_record(connection, organization_id, session_id) is None:
        return refusals.invalid_session()
    refusal = _refuse_pools(connection, organization_id, session_id, change.pool_ids)
    if refusal is not None:
        return refusal
    lock_sessions(connection, organization_id, [session_id])
    pool_ids = list(dict.fromkeys(change.pool_ids))
    if change.own_pool is not None:
        insert_pool(connection, change.own_pool)
        pool_ids.append(change.own_pool.pool_id)
    connection.execute(
        sql.INSERT_TICKET_TYPE,
        (
            organization_id,
            change.ticket_type_id,
            session_id,
            change.name,
            change.price_minor,
            change.is_seated,
            *astuple(change.policy),
        ),
    )
    connection.execute(sql.DRAW_FROM_POOLS, (organization_id, change.ticket_type_id, pool_ids))
    connection.execute(sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return found(ticket_type_record(connection, organization_id, change.ticket_type_id))


def _change_ticket_type(connection: Connection, change: ChangeTicketType) -> CatalogueOutcome:
    organization_id, id_ = change.organization_id, change.ticket_type_id
    ticket_type = ticket_type_record(connection, organization_id, id_)
    if ticket_type is None:
        return refusals.ticket_type_not_found()
    session_id = ticket_type.session_id
    if change.pool_ids is not None:
        refusal = _refuse_pools(connection, organization_id, session_id, change.pool_ids)
        if refusal is not None:
            return refusal
    lock_sessions(connection, organization_id, [session_id])
    policy = None
    if change.policy is not None:
        # Read again: somebody may have changed it while we waited for the lock.
        current = ticket_type_record(connection, organization_id, id_) or ticket_type
        policy = change.policy.applied_to(current.policy)
        refusal = refuse_policy(policy)
        if refusal is not None:
            return refusal
    if change.pool_ids is not None:
        wanted = (organization_id, session_id, id_)
        ((is_waited_for,),) = connection.execute(sql.IS_WAITED_FOR, wanted)
        if is_waited_for and set(change.pool_ids) != set(ticket_type.pool_ids):
            return refusals.others_are_waiting()
        connection.execute(sql.CLEAR_POOLS, (organization_id, id_))
        pool_ids = list(dict.fromkeys(change.pool_ids))
        connection.execute(sql.DRAW_FROM_POOLS, (organization_id, id_, pool_ids))
    if policy is not None:
        connection.execute(
            sql.CHANGE_TICKET_TYPE_POLICY,
            (*astuple(policy), organization_id, id_),
        )
    connection.execute(
        sql.CHANGE_TICKET_TYPE, (change.name, change.price_minor, organization_id, id_)
    )
    connection.execute(sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return found(ticket_type_record(connection, organization_id, id_))
