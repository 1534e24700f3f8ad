"""Changes of blocks and seats in the caller's transaction. All change the session's offers, so each
takes its lock exclusively."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.catalog import hall_statements as sql
from holdfast.adapters.postgres.catalog import statements as catalog_sql
from holdfast.adapters.postgres.catalog.history import record_change
from holdfast.adapters.postgres.catalog.records import (
    found,
    insert_pool,
    lock_sessions,
    pool_in_use,
    session_record,
)
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.rows import array, columns
from holdfast.adapters.postgres.seats.rows import seat_place_row
from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    ChangeBlock,
    CreateBlock,
    CreatePool,
    ImportSeats,
)
from holdfast.domain.catalog.facts import fact_of, import_fact
from holdfast.domain.catalog.hall_rules import Hall, changed_block, new_block, planned_seats
from holdfast.domain.catalog.model import Block, BlockPrice
from holdfast.domain.catalog.seat_import import ImportedSeats, KnownSeat
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import BlockId, OrganizationId, PoolId, SessionId, TicketTypeId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogOutcome

# For the whole transaction; each of its statements has a little less.
IMPORT_SECONDS_MAX = 20.0
# In slices, because encoding all seats at once would keep the interpreter lock.
SEATS_PER_STATEMENT = 1_000


def blocks_from_rows(
    connection: Connection, organization_id: UUID, rows: Sequence[sql.Row]
) -> list[Block]:
    blocks = [sql.block_from_row(row) for row in rows]
    sessions, ids = [block.session_id for block in blocks], [block.id for block in blocks]
    counted = connection.execute(sql.SEATS_OF_BLOCKS, (organization_id, sessions, ids))
    seats: dict[UUID, int] = dict(counted.fetchall())
    return [replace(block, seats=seats.get(block.id, 0)) for block in blocks]


def block_record(connection: Connection, organization_id: UUID, id_: UUID) -> Block | None:
    row = connection.execute(sql.BLOCKS.one, (organization_id, id_)).fetchone()
    found = blocks_from_rows(connection, organization_id, [row] if row else [])
    return next(iter(found), None)


def create_block(connection: Connection, change: CreateBlock, origin: Origin) -> CatalogOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    session = session_record(connection, organization_id, session_id)
    if session is None:
        return refusals.invalid_session()
    lock_sessions(connection, organization_id, [session_id])
    new = new_block(change, _hall(connection, organization_id, session_id))
    if isinstance(new, Refusal):
        return new
    _insert_block(connection, new)
    connection.execute(catalog_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    block = found(block_record(connection, organization_id, change.block_id))
    record_change(connection, fact_of(organization_id, session.event_id, None, block), origin)
    return block


def change_block(connection: Connection, change: ChangeBlock, origin: Origin) -> CatalogOutcome:
    organization_id, block_id = change.organization_id, change.block_id
    block = block_record(connection, organization_id, block_id)
    if block is None:
        return refusals.block_not_found()
    session_id = block.session_id
    lock_sessions(connection, organization_id, [session_id])
    # Read again: it may have changed while we waited for the lock.
    block = found(block_record(connection, organization_id, block_id))
    hall = _hall(connection, organization_id, session_id)
    changed = changed_block(block, change, hall, _in_use(connection, organization_id, block))
    if isinstance(changed, Refusal) or changed == block:
        return changed
    pool_id = _change_capacity(connection, change, block, changed)
    values = (changed.name, changed.rank, pool_id, organization_id, block_id)
    connection.execute(sql.CHANGE_BLOCK, values)
    connection.execute(sql.CLEAR_PRICES, (organization_id, block_id))
    _insert_prices(connection, organization_id, block_id, changed.prices)
    connection.execute(catalog_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    event_id = found(session_record(connection, organization_id, session_id)).event_id
    record_change(connection, fact_of(organization_id, event_id, block, changed), origin)
    return found(block_record(connection, organization_id, block_id))


def _in_use(connection: Connection, organization_id: OrganizationId, block: Block) -> int:
    if block.capacity_pool_id is not None:
        return pool_in_use(connection, organization_id, block.capacity_pool_id)
    seats = (organization_id, block.session_id, block.id)
    ((in_use,),) = connection.execute(sql.SEATS_IN_USE, seats)
    return int(in_use)


def _change_capacity(
    connection: Connection, change: ChangeBlock, before: Block, after: Block
) -> PoolId | None:
    """The pool that counts its capacity, named like the block."""
    organization_id, pool_id = change.organization_id, before.capacity_pool_id
    if after.capacity is None:
        return None
    if pool_id is None:
        ids = (organization_id, change.new_pool_id, before.session_id)
        insert_pool(connection, CreatePool(*ids, after.name, after.capacity))
        return change.new_pool_id
    values = (change.name, after.capacity, organization_id, pool_id)
    connection.execute(catalog_sql.CHANGE_POOL, values)
    return pool_id


def import_seats(connection: Connection, change: ImportSeats, origin: Origin) -> CatalogOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    session = session_record(connection, organization_id, session_id)
    if session is None:
        return refusals.session_not_found()
    connection.execute(sql.IMPORT_PATIENCE.format(milliseconds=int(IMPORT_SECONDS_MAX * 750)))
    lock_sessions(connection, organization_id, [session_id])
    hall = _hall(connection, organization_id, session_id)
    plan = planned_seats(change, hall, _known_seats(connection, change, hall))
    if isinstance(plan, Refusal):
        return plan
    for block in plan.new_blocks:
        _insert_block(connection, block)
    for start in range(0, len(plan.places), SEATS_PER_STATEMENT):
        values = columns(map(seat_place_row, plan.places[start : start + SEATS_PER_STATEMENT]))
        connection.execute(sql.INSERT_SEATS, (organization_id, session_id, *values))
    connection.execute(catalog_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    fact = import_fact(organization_id, session.event_id, session_id, plan)
    record_change(connection, fact, origin)
    return ImportedSeats(session_id, plan.imported)


def _hall(connection: Connection, organization_id: OrganizationId, session_id: SessionId) -> Hall:
    key = (organization_id, session_id)
    blocks = connection.execute(sql.BLOCKS_OF_SESSION, key).fetchall()
    types = connection.execute(sql.SEATED_TYPES_OF_SESSION, key)
    return Hall(
        {name: BlockId(id_) for name, id_, _ in blocks},
        max((rank + 1 for *_, rank in blocks), default=0),
        frozenset(TicketTypeId(id_) for (id_,) in types),
    )


def _known_seats(
    connection: Connection, change: ImportSeats, hall: Hall
) -> dict[BlockId, list[KnownSeat]]:
    named = (hall.block_ids.get(drafted.draft.name) for drafted in change.blocks)
    seats: dict[BlockId, list[KnownSeat]] = {id_: [] for id_ in named if id_ is not None}
    if seats:
        wanted = (change.organization_id, change.session_id, list(seats))
        for block_id, *seat in connection.execute(sql.KNOWN_SEATS, wanted):
            seats[block_id].append(KnownSeat(*seat))
    return seats


def _insert_block(connection: Connection, block: CreateBlock) -> None:
    organization_id, pool = block.organization_id, block.own_pool
    if pool is not None:
        insert_pool(connection, pool)
    key = (organization_id, block.block_id, block.session_id)
    pool_id = None if pool is None else pool.pool_id
    connection.execute(sql.INSERT_BLOCK, (*key, block.name, block.rank, pool_id))
    _insert_prices(connection, organization_id, block.block_id, block.prices)


def _insert_prices(
    connection: Connection,
    organization_id: OrganizationId,
    block_id: BlockId,
    prices: Sequence[BlockPrice],
) -> None:
    types = array([price.ticket_type_id for price in prices])
    amounts = array([price.price_minor for price in prices])
    connection.execute(sql.INSERT_PRICES, (organization_id, block_id, types, amounts))
