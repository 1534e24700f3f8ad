"""Changes of blocks and seats in the caller's transaction. All change the session's offers, so each
takes its lock exclusively."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.catalog import hall_statements as sql
from holdfast.adapters.postgres.catalog import statements as catalog_sql
from holdfast.adapters.postgres.catalog.transaction import CatalogTransaction
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.rows import array, columns
from holdfast.adapters.postgres.seats.rows import seat_place_row
from holdfast.domain import refusals
from holdfast.domain.catalog.changes import ChangeBlock, CreateBlock, CreatePool, ImportSeats
from holdfast.domain.catalog.facts import import_fact
from holdfast.domain.catalog.hall_rules import Hall, changed_block, new_block, planned_seats
from holdfast.domain.catalog.model import Block, BlockPrice
from holdfast.domain.catalog.seat_import import ImportedSeats, KnownSeat
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.ids import BlockId, PoolId, SessionId, TicketTypeId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.catalog import CatalogOutcome

# For the whole transaction; each of its statements has a little less.
IMPORT_SECONDS_MAX = 20.0
# In slices, because encoding all seats at once would keep the interpreter lock.
SEATS_PER_STATEMENT = 1_000


def with_seats(
    connection: Connection, organization_id: UUID, blocks: Sequence[Block]
) -> list[Block]:
    """The blocks with their numbers of seats."""
    sessions, ids = [block.session_id for block in blocks], [block.id for block in blocks]
    counted = connection.execute(sql.SEATS_OF_BLOCKS, (organization_id, sessions, ids))
    seats: dict[UUID, int] = dict(counted.fetchall())
    return [replace(block, seats=seats.get(block.id, 0)) for block in blocks]


def find_block(connection: Connection, organization_id: UUID, id_: UUID) -> Block | None:
    block = sql.BLOCKS.find(connection, organization_id, id_)
    return with_seats(connection, organization_id, [block])[0] if block else None


def _block(transaction: CatalogTransaction, block_id: BlockId) -> Block:
    block = find_block(transaction.connection, transaction.organization_id, block_id)
    assert block is not None
    return block


def create_block(transaction: CatalogTransaction, change: CreateBlock) -> CatalogOutcome:
    session_id = change.session_id
    session = transaction.find(catalog_sql.SESSIONS, session_id)
    if session is None:
        return refusals.invalid_session()
    transaction.lock(ResourceKind.SESSION, session_id)
    new = new_block(change, _hall(transaction, session_id))
    if isinstance(new, Refusal):
        return new
    _insert_block(transaction, new)
    transaction.execute(catalog_sql.RAISE_VERSIONS, [session_id])
    block = _block(transaction, change.block_id)
    transaction.record(session.event_id, None, block)
    return block


def change_block(transaction: CatalogTransaction, change: ChangeBlock) -> CatalogOutcome:
    block_id = change.block_id
    known = transaction.find(sql.BLOCKS, block_id)
    if known is None:
        return refusals.block_not_found()
    session_id = known.session_id
    transaction.lock(ResourceKind.SESSION, session_id)
    # Read again: it may have changed while we waited for the lock.
    block = _block(transaction, block_id)
    hall = _hall(transaction, session_id)
    changed = changed_block(block, change, hall, _in_use(transaction, block))
    if isinstance(changed, Refusal) or changed == block:
        return changed
    pool_id = _change_capacity(transaction, change, block, changed)
    transaction.update(sql.CHANGE_BLOCK, block_id, (changed.name, changed.rank, pool_id))
    transaction.execute(sql.CLEAR_PRICES, block_id)
    _insert_prices(transaction, block_id, changed.prices)
    transaction.execute(catalog_sql.RAISE_VERSIONS, [session_id])
    transaction.record(transaction.event_of(session_id), block, changed)
    return _block(transaction, block_id)


def _in_use(transaction: CatalogTransaction, block: Block) -> int:
    if block.capacity_pool_id is not None:
        return transaction.pool_in_use(block.capacity_pool_id)
    ((in_use,),) = transaction.execute(sql.SEATS_IN_USE, block.session_id, block.id)
    return int(in_use)


def _change_capacity(
    transaction: CatalogTransaction, change: ChangeBlock, before: Block, after: Block
) -> PoolId | None:
    """The pool that counts its capacity, named like the block."""
    pool_id = before.capacity_pool_id
    if after.capacity is None:
        return None
    if pool_id is None:
        ids = (change.organization_id, change.new_pool_id, before.session_id)
        transaction.insert_pool(CreatePool(*ids, after.name, after.capacity))
        return change.new_pool_id
    transaction.update(catalog_sql.CHANGE_POOL, pool_id, (change.name, after.capacity))
    return pool_id


def import_seats(transaction: CatalogTransaction, change: ImportSeats) -> CatalogOutcome:
    session_id, connection = change.session_id, transaction.connection
    session = transaction.find(catalog_sql.SESSIONS, session_id)
    if session is None:
        return refusals.session_not_found()
    connection.execute(sql.IMPORT_PATIENCE.format(milliseconds=int(IMPORT_SECONDS_MAX * 750)))
    transaction.lock(ResourceKind.SESSION, session_id)
    hall = _hall(transaction, session_id)
    plan = planned_seats(change, hall, _known_seats(transaction, change, hall))
    if isinstance(plan, Refusal):
        return plan
    for block in plan.new_blocks:
        _insert_block(transaction, block)
    for start in range(0, len(plan.places), SEATS_PER_STATEMENT):
        values = columns(map(seat_place_row, plan.places[start : start + SEATS_PER_STATEMENT]))
        transaction.execute(sql.INSERT_SEATS, session_id, *values)
    transaction.execute(catalog_sql.RAISE_VERSIONS, [session_id])
    ids = (change.organization_id, session.event_id, session_id)
    transaction.record_fact(import_fact(*ids, plan))
    return ImportedSeats(session_id, plan.imported)


def _hall(transaction: CatalogTransaction, session_id: SessionId) -> Hall:
    blocks = transaction.execute(sql.BLOCKS_OF_SESSION, session_id).fetchall()
    types = transaction.execute(sql.SEATED_TYPES_OF_SESSION, session_id)
    return Hall(
        {name: BlockId(id_) for name, id_, _ in blocks},
        max((rank + 1 for *_, rank in blocks), default=0),
        frozenset(TicketTypeId(id_) for (id_,) in types),
    )


def _known_seats(
    transaction: CatalogTransaction, change: ImportSeats, hall: Hall
) -> dict[BlockId, list[KnownSeat]]:
    named = (hall.block_ids.get(drafted.draft.name) for drafted in change.blocks)
    seats: dict[BlockId, list[KnownSeat]] = {id_: [] for id_ in named if id_ is not None}
    if seats:
        rows = transaction.execute(sql.KNOWN_SEATS, change.session_id, list(seats))
        for block_id, *seat in rows:
            seats[block_id].append(KnownSeat(*seat))
    return seats


def _insert_block(transaction: CatalogTransaction, block: CreateBlock) -> None:
    pool_id = None
    if block.own_pool is not None:
        transaction.insert_pool(block.own_pool)
        pool_id = block.own_pool.pool_id
    values = (block.block_id, block.session_id, block.name, block.rank, pool_id)
    transaction.execute(sql.INSERT_BLOCK, *values)
    _insert_prices(transaction, block.block_id, block.prices)


def _insert_prices(
    transaction: CatalogTransaction, block_id: BlockId, prices: Sequence[BlockPrice]
) -> None:
    types = array([price.ticket_type_id for price in prices])
    amounts = array([price.price_minor for price in prices])
    transaction.execute(sql.INSERT_PRICES, block_id, types, amounts)
