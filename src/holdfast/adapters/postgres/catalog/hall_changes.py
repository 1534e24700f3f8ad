"""Changes of blocks and seats, within the caller's transaction. All of them alter what the session
sells, so each takes its lock exclusively."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.catalog import hall_statements as sql
from holdfast.adapters.postgres.catalog import statements as catalogue_sql
from holdfast.adapters.postgres.catalog.records import (
    found,
    insert_pool,
    lock_sessions,
    resize_pool,
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
from holdfast.domain.catalog.model import Block, BlockPrice
from holdfast.domain.catalog.seat_import import (
    Arrangement,
    Flaw,
    ImportedBlock,
    ImportedSeats,
    KnownSeat,
    refuse_flaws,
)
from holdfast.domain.ids import BlockId, OrganizationId, SessionId
from holdfast.domain.policy import Unchanged
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatPlace
from holdfast.ports.catalog import CatalogueOutcome

# For the whole transaction, and, a little less, for each statement of it.
IMPORT_SECONDS_MAX = 20.0
# All seats at once would be encoded without letting go of the interpreter lock.
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


def create_block(connection: Connection, change: CreateBlock) -> CatalogueOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    if session_record(connection, organization_id, session_id) is None:
        return refusals.invalid_session()
    lock_sessions(connection, organization_id, [session_id])
    if _block_of_name(connection, organization_id, session_id, change.name) is not None:
        return refusals.duplicate_block()
    refusal = _refuse_types(connection, organization_id, session_id, change.prices)
    if refusal is not None:
        return refusal
    _insert_block(connection, change)
    connection.execute(catalogue_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return found(block_record(connection, organization_id, change.block_id))


def change_block(connection: Connection, change: ChangeBlock) -> CatalogueOutcome:
    organization_id, block_id = change.organization_id, change.block_id
    block = block_record(connection, organization_id, block_id)
    if block is None:
        return refusals.block_not_found()
    session_id = block.session_id
    lock_sessions(connection, organization_id, [session_id])
    if change.name is not None:
        named = _block_of_name(connection, organization_id, session_id, change.name)
        if named not in {None, block_id}:
            return refusals.duplicate_block()
    if change.prices is not None:
        refusal = _refuse_types(connection, organization_id, session_id, change.prices)
        if refusal is not None:
            return refusal
    refusal = _change_capacity(connection, change, block)
    if refusal is not None:
        return refusal
    if change.prices is not None:
        connection.execute(sql.CLEAR_PRICES, (organization_id, block_id))
        _insert_prices(connection, organization_id, block_id, change.prices)
    values = (change.name, change.rank, organization_id, block_id)
    connection.execute(sql.CHANGE_BLOCK, values)
    connection.execute(catalogue_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return found(block_record(connection, organization_id, block_id))


def _change_capacity(connection: Connection, change: ChangeBlock, block: Block) -> Refusal | None:
    """The pool of a capacity is named like its block. Read again: somebody may have given it one
    while we waited for the lock."""
    organization_id, block_id = change.organization_id, change.block_id
    ((name, pool_id),) = connection.execute(sql.CAPACITY_OF_BLOCK, (organization_id, block_id))
    capacity = change.capacity
    if pool_id is not None and capacity is not None:
        total = None if isinstance(capacity, Unchanged) else capacity
        return resize_pool(connection, organization_id, pool_id, change.name, total)
    if pool_id is not None:
        connection.execute(sql.COUNT_BLOCK_IN, (None, organization_id, block_id))
    elif isinstance(capacity, int):
        seats = (organization_id, block.session_id, block_id)
        ((in_use,),) = connection.execute(sql.SEATS_IN_USE, seats)
        if in_use:
            return refusals.seats_in_use(in_use)
        name = change.name or name
        pool = CreatePool(organization_id, change.new_pool_id, block.session_id, name, capacity)
        insert_pool(connection, pool)
        connection.execute(sql.COUNT_BLOCK_IN, (pool.pool_id, organization_id, block_id))
    return None


def import_seats(connection: Connection, change: ImportSeats) -> CatalogueOutcome:
    organization_id, session_id = change.organization_id, change.session_id
    if session_record(connection, organization_id, session_id) is None:
        return refusals.session_not_found()
    connection.execute(sql.IMPORT_PATIENCE.format(milliseconds=int(IMPORT_SECONDS_MAX * 750)))
    lock_sessions(connection, organization_id, [session_id])
    flaws: list[Flaw] = []
    places: list[SeatPlace] = []
    imported: list[ImportedBlock] = []
    new_blocks: list[CreateBlock] = []
    known_blocks = _known_blocks(connection, change)
    known_seats = _known_seats(connection, change, known_blocks.values())
    for drafted in change.blocks:
        block_id = known_blocks.get(drafted.draft.name)
        if block_id is None:
            new_blocks.append(drafted.if_new)
            block_id = drafted.if_new.block_id
        else:
            flaws += drafted.draft.refuse_terms()
        arrangement = Arrangement(block_id, known_seats.get(block_id, ()))
        arranged = arrangement.place_all(drafted.draft.seats, change.first_seat_id, len(places))
        flaws += arrangement.flaws
        places += arranged
        imported.append(ImportedBlock(block_id, drafted.draft.name, len(arranged)))
    prices = [price for block in new_blocks for price in block.prices]
    refusal = refuse_flaws(flaws) or _refuse_types(connection, organization_id, session_id, prices)
    if refusal is not None:
        return refusal
    for block in new_blocks:
        _insert_block(connection, block)
    for start in range(0, len(places), SEATS_PER_STATEMENT):
        values = columns(map(seat_place_row, places[start : start + SEATS_PER_STATEMENT]))
        connection.execute(sql.INSERT_SEATS, (organization_id, session_id, *values))
    connection.execute(catalogue_sql.RAISE_VERSIONS, (organization_id, [session_id]))
    return ImportedSeats(session_id, tuple(imported))


def _known_blocks(connection: Connection, change: ImportSeats) -> dict[str, BlockId]:
    names = [drafted.draft.name for drafted in change.blocks]
    wanted = (change.organization_id, change.session_id, names)
    return dict(connection.execute(sql.BLOCKS_OF_NAMES, wanted).fetchall())


def _known_seats(
    connection: Connection, change: ImportSeats, block_ids: Collection[BlockId]
) -> dict[BlockId, list[KnownSeat]]:
    seats: dict[BlockId, list[KnownSeat]] = {block_id: [] for block_id in block_ids}
    if seats:
        wanted = (change.organization_id, change.session_id, list(block_ids))
        for block_id, *seat in connection.execute(sql.KNOWN_SEATS, wanted):
            seats[block_id].append(KnownSeat(*seat))
    return seats


def _block_of_name(
    connection: Connection, organization_id: OrganizationId, session_id: SessionId, name: str
) -> BlockId | None:
    wanted = (organization_id, session_id, name)
    found = connection.execute(sql.BLOCK_OF_NAME, wanted)
    return next((BlockId(block_id) for (block_id,) in found), None)


def _insert_block(connection: Connection, block: CreateBlock) -> None:
    organization_id, session_id, pool = block.organization_id, block.session_id, block.own_pool
    if pool is not None:
        insert_pool(connection, pool)
    ((next_rank,),) = connection.execute(sql.NEXT_RANK, (organization_id, session_id))
    connection.execute(
        sql.INSERT_BLOCK,
        (
            organization_id,
            block.block_id,
            session_id,
            block.name,
            next_rank if block.rank is None else block.rank,
            None if pool is None else pool.pool_id,
        ),
    )
    _insert_prices(connection, organization_id, block.block_id, block.prices)


def _refuse_types(
    connection: Connection,
    organization_id: OrganizationId,
    session_id: SessionId,
    prices: Sequence[BlockPrice],
) -> Refusal | None:
    ids = list({price.ticket_type_id for price in prices})
    wanted = (organization_id, session_id, ids)
    ((known,),) = connection.execute(sql.SEATED_TYPES_IN_SESSION, wanted)
    return None if known == len(ids) else refusals.not_seated_here()


def _insert_prices(
    connection: Connection,
    organization_id: OrganizationId,
    block_id: BlockId,
    prices: Sequence[BlockPrice],
) -> None:
    types = array([price.ticket_type_id for price in prices])
    amounts = array([price.price_minor for price in prices])
    connection.execute(sql.INSERT_PRICES, (organization_id, block_id, types, amounts))
