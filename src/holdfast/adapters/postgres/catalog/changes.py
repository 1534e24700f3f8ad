"""Changes of the catalog in the caller's transaction: read under a lock, apply the domain's rules,
write, and record the change. A change of one session takes its lock exclusively, so no hold is
decided on terms that are being changed. An event may have too many sessions for that: the answer
waits for older groups instead (decision_barrier)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never
from uuid import UUID

from holdfast.adapters.postgres.answers import PATIENCE
from holdfast.adapters.postgres.catalog import statements as sql
from holdfast.adapters.postgres.catalog.transaction import CatalogTransaction
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.rows import array, columns, metadata_json
from holdfast.adapters.postgres.seats.rows import seat_place_row
from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    ITEMS_MAX,
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
    SetStock,
    too_many_items,
)
from holdfast.domain.catalog.facts import import_fact
from holdfast.domain.catalog.model import Block, BlockPrice, SaleTerms, TicketType
from holdfast.domain.catalog.rules import (
    Hall,
    changed_block,
    changed_event,
    changed_pool,
    changed_session,
    changed_ticket_type,
    new_block,
    planned_seats,
    refuse_pools,
)
from holdfast.domain.catalog.seat_import import ImportedSeats, KnownSeat
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.origin import Origin
from holdfast.domain.ids import BlockId, PoolId, SessionId, TicketTypeId
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.slices import Rests
from holdfast.ports.catalog import CatalogOutcome

# For the whole transaction; each of its statements has a little less.
IMPORT_SECONDS_MAX = 20.0
# PostgreSQL inserts them in two or three milliseconds, during which it keeps one processor busy.
SEATS_PER_STATEMENT = 125


def change_catalog(
    connection: Connection, change: CatalogChange, origin: Origin, seen: str | None = None
) -> CatalogOutcome:
    """Apply a change. It writes nothing if nothing differs, or if the person saw another state of
    the record."""
    connection.execute(PATIENCE)
    connection.execute(sql.BESIDE_REBASE)
    transaction = CatalogTransaction(connection, change.organization_id, origin, seen)
    match change:
        case CreateEvent():
            return _create_event(transaction, change)
        case ChangeEvent():
            return _change_event(transaction, change)
        case CreateSession():
            return _create_session(transaction, change)
        case ChangeSession():
            return _change_session(transaction, change)
        case CreatePool():
            return _create_pool(transaction, change)
        case ChangePool():
            return _change_pool(transaction, change)
        case CreateTicketType():
            return _create_ticket_type(transaction, change)
        case ChangeTicketType():
            return _change_ticket_type(transaction, change)
        case SetStock():
            return _set_stock(transaction, change)
        case CreateBlock() | ChangeBlock() | ImportSeats():
            return _change_hall(transaction, change)
        case _:
            assert_never(change)


def _change_hall(
    transaction: CatalogTransaction, change: CreateBlock | ChangeBlock | ImportSeats
) -> CatalogOutcome:
    match change:
        case CreateBlock():
            return _create_block(transaction, change)
        case ChangeBlock():
            return _change_block(transaction, change)
        case ImportSeats():
            return _import_seats(transaction, change)


def _create_event(transaction: CatalogTransaction, change: CreateEvent) -> CatalogOutcome:
    event_id, metadata = change.event_id, metadata_json(change.metadata)
    terms = _terms(change.policy, change.sale)
    place = (change.place.venue, change.place.time_zone)
    values = (event_id, change.name, change.currency, *terms, metadata, *place)
    transaction.execute(sql.INSERT_EVENT, *values)
    event = transaction.get(sql.EVENTS, event_id)
    transaction.record(event_id, None, event)
    return event


def _terms(policy: PolicyOverride, sale: SaleTerms) -> tuple[Any, ...]:
    window = (sale.starts_at, sale.ends_at)
    return (*policy.in_order(), sale.status.value, *window, sale.is_announced)


def _change_event(transaction: CatalogTransaction, change: ChangeEvent) -> CatalogOutcome:
    event_id = change.event_id
    # Lock before the row: a transaction that waits for a row already has its id, and facts are
    # ordered by these ids.
    transaction.lock(ResourceKind.EVENT, event_id)
    transaction.execute(sql.LOCK_EVENT, event_id)
    event = transaction.find(sql.EVENTS, event_id)
    if event is None:
        return refusals.event_not_found()
    changed = transaction.refuse_stale(event) or changed_event(event, change)
    if isinstance(changed, Refusal) or changed == event:
        return changed
    terms, metadata = _terms(changed.policy, changed.sale), metadata_json(changed.metadata)
    place = (changed.place.venue, changed.place.time_zone)
    transaction.update(sql.CHANGE_EVENT, event_id, (changed.name, *terms, metadata, *place))
    transaction.record(event_id, event, changed)
    if (changed.policy, changed.sale) != (event.policy, event.sale):
        transaction.execute(sql.RAISE_VERSIONS_OF_EVENT, event_id)
    return transaction.get(sql.EVENTS, event_id)


def _create_session(transaction: CatalogTransaction, change: CreateSession) -> CatalogOutcome:
    event_id, session_id = change.event_id, change.session_id
    if transaction.find(sql.EVENTS, event_id) is None:
        return refusals.invalid_event()
    values = (event_id, change.name, change.starts_at, metadata_json(change.metadata))
    transaction.execute(sql.INSERT_SESSION, session_id, *values)
    session = transaction.get(sql.SESSIONS, session_id)
    transaction.record(event_id, None, session)
    return session


def _change_session(transaction: CatalogTransaction, change: ChangeSession) -> CatalogOutcome:
    session_id = change.session_id
    transaction.lock(ResourceKind.SESSION, session_id)
    session = transaction.find(sql.SESSIONS, session_id)
    if session is None:
        return refusals.session_not_found()
    changed = transaction.refuse_stale(session) or changed_session(session, change)
    if isinstance(changed, Refusal) or changed == session:
        return changed
    metadata, status = metadata_json(changed.metadata), changed.status.value
    values = (changed.name, changed.starts_at, metadata, status)
    transaction.update(sql.CHANGE_SESSION, session_id, values)
    if changed.starts_at != session.starts_at:
        transaction.execute(sql.RAISE_VERSIONS, [session_id])  # the waitlist ends then
    transaction.record(session.event_id, session, changed)
    return transaction.get(sql.SESSIONS, session_id)


def _create_pool(transaction: CatalogTransaction, change: CreatePool) -> CatalogOutcome:
    session = transaction.find(sql.SESSIONS, change.session_id)
    if session is None:
        return refusals.invalid_session()
    transaction.insert_pool(change)
    pool = transaction.get(sql.POOLS, change.pool_id)
    transaction.record(session.event_id, None, pool)
    return pool


def _change_pool(transaction: CatalogTransaction, change: ChangePool) -> CatalogOutcome:
    pool_id = change.pool_id
    pool = transaction.find(sql.POOLS, pool_id)
    if pool is None:
        return refusals.pool_not_found()
    transaction.lock(ResourceKind.SESSION, pool.session_id)
    in_use = transaction.pool_in_use(pool_id)
    pool = transaction.get(sql.POOLS, pool_id)
    changed = transaction.refuse_stale(pool) or changed_pool(pool, change, in_use)
    if isinstance(changed, Refusal) or changed == pool:
        return changed
    transaction.update(sql.CHANGE_POOL, pool_id, (changed.name, changed.total))
    transaction.record(transaction.event_of(pool.session_id), pool, changed)
    return transaction.get(sql.POOLS, pool_id)


def _pools_of_session(
    transaction: CatalogTransaction, session_id: SessionId, wanted: Sequence[PoolId]
) -> set[PoolId]:
    """The wanted pools that belong to the session."""
    rows = transaction.execute(sql.POOLS_IN_SESSION, session_id, list(wanted))
    return {PoolId(pool_id) for (pool_id,) in rows}


def _create_ticket_type(
    transaction: CatalogTransaction, change: CreateTicketType
) -> CatalogOutcome:
    session_id = change.session_id
    session = transaction.find(sql.SESSIONS, session_id)
    if session is None:
        return refusals.invalid_session()
    pools = _pools_of_session(transaction, session_id, change.pool_ids)
    refusal = refuse_pools(change.pool_ids, pools)
    if refusal is not None:
        return refusal
    transaction.lock(ResourceKind.SESSION, session_id)
    _insert_ticket_type(transaction, change)
    transaction.execute(sql.RAISE_VERSIONS, [session_id])
    made = transaction.get(sql.TICKET_TYPES, change.ticket_type_id)
    capacity = {} if change.own_pool is None else {"capacity": change.own_pool.total}
    transaction.record(session.event_id, None, made, **capacity)
    return made


def _insert_ticket_type(transaction: CatalogTransaction, change: CreateTicketType) -> None:
    id_, pool_ids = change.ticket_type_id, list(dict.fromkeys(change.pool_ids))
    if change.own_pool is not None:
        transaction.insert_pool(change.own_pool)
        pool_ids.append(change.own_pool.pool_id)
    values = (change.session_id, change.name, change.price_minor, change.is_seated)
    terms = (*change.policy.in_order(), metadata_json(change.metadata))
    transaction.execute(sql.INSERT_TICKET_TYPE, id_, *values, *terms)
    transaction.execute(sql.DRAW_FROM_POOLS, id_, pool_ids)


def _change_ticket_type(
    transaction: CatalogTransaction, change: ChangeTicketType
) -> CatalogOutcome:
    id_ = change.ticket_type_id
    ticket_type = transaction.find(sql.TICKET_TYPES, id_)
    if ticket_type is None:
        return refusals.ticket_type_not_found()
    session_id = ticket_type.session_id
    transaction.lock(ResourceKind.SESSION, session_id)
    # Read again: it may have changed while we waited for the lock.
    ticket_type = transaction.get(sql.TICKET_TYPES, id_)
    pools = _pools_of_session(transaction, session_id, change.pool_ids or ())
    ((is_waited_for,),) = transaction.execute(sql.IS_WAITED_FOR, session_id, id_)
    changed = transaction.refuse_stale(ticket_type) or changed_ticket_type(
        ticket_type, change, pools, is_waited_for=is_waited_for
    )
    if isinstance(changed, Refusal) or changed == ticket_type:
        return changed
    _write_ticket_type(transaction, changed)
    transaction.record(transaction.event_of(session_id), ticket_type, changed)
    transaction.execute(sql.RAISE_VERSIONS, [session_id])
    return transaction.get(sql.TICKET_TYPES, id_)


def _write_ticket_type(transaction: CatalogTransaction, ticket_type: TicketType) -> None:
    id_, metadata = ticket_type.id, metadata_json(ticket_type.metadata)
    terms = (ticket_type.name, ticket_type.price.minor, *ticket_type.policy.in_order(), metadata)
    transaction.update(sql.CHANGE_TICKET_TYPE, id_, terms)
    transaction.execute(sql.CLEAR_POOLS, id_)
    transaction.execute(sql.DRAW_FROM_POOLS, id_, list(ticket_type.pool_ids))


def _set_stock(transaction: CatalogTransaction, change: SetStock) -> CatalogOutcome:
    item = transaction.find(sql.TICKET_TYPES, change.ticket_type_id)
    if item is None:
        # Under this lock, nobody else creates an item of the organization.
        transaction.lock(ResourceKind.EVENT, change.event_id)
        item = transaction.find(sql.TICKET_TYPES, change.ticket_type_id)
    if item is None:
        refusal = _create_item(transaction, change)
        return refusal or transaction.get(sql.POOLS, PoolId(change.ticket_type_id))
    if item.session_id != change.session_id or len(item.pool_ids) != 1:
        return refusals.ticket_type_not_found()
    ids = (change.organization_id, item.pool_ids[0])
    return _change_pool(transaction, ChangePool(*ids, total=change.total))


def _create_item(transaction: CatalogTransaction, change: SetStock) -> Refusal | None:
    if transaction.find(sql.EVENTS, change.event_id) is None:
        _create_event(transaction, change.new_event)
    if transaction.find(sql.SESSIONS, change.session_id) is None:
        _create_session(transaction, change.new_session)
    ((items,),) = transaction.execute(sql.TYPES_IN_SESSION, change.session_id)
    if items >= ITEMS_MAX:
        return too_many_items()
    _create_ticket_type(transaction, change.new_ticket_type)
    return None


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


def _create_block(transaction: CatalogTransaction, change: CreateBlock) -> CatalogOutcome:
    session_id = change.session_id
    session = transaction.find(sql.SESSIONS, session_id)
    if session is None:
        return refusals.invalid_session()
    transaction.lock(ResourceKind.SESSION, session_id)
    new = new_block(change, _hall(transaction, session_id))
    if isinstance(new, Refusal):
        return new
    _insert_block(transaction, new)
    transaction.execute(sql.RAISE_VERSIONS, [session_id])
    block = _block(transaction, change.block_id)
    transaction.record(session.event_id, None, block)
    return block


def _change_block(transaction: CatalogTransaction, change: ChangeBlock) -> CatalogOutcome:
    block_id = change.block_id
    known = transaction.find(sql.BLOCKS, block_id)
    if known is None:
        return refusals.block_not_found()
    session_id = known.session_id
    transaction.lock(ResourceKind.SESSION, session_id)
    # Read again: it may have changed while we waited for the lock.
    block = _block(transaction, block_id)
    hall = _hall(transaction, session_id)
    in_use = _in_use(transaction, block)
    changed = transaction.refuse_stale(block) or changed_block(block, change, hall, in_use)
    if isinstance(changed, Refusal) or changed == block:
        return changed
    pool_id = _change_capacity(transaction, change, block, changed)
    transaction.update(sql.CHANGE_BLOCK, block_id, (changed.name, changed.rank, pool_id))
    transaction.execute(sql.CLEAR_PRICES, block_id)
    _insert_prices(transaction, block_id, changed.prices)
    transaction.execute(sql.RAISE_VERSIONS, [session_id])
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
    transaction.update(sql.CHANGE_POOL, pool_id, (change.name, after.capacity))
    return pool_id


def _import_seats(transaction: CatalogTransaction, change: ImportSeats) -> CatalogOutcome:
    session_id, connection = change.session_id, transaction.connection
    session = transaction.find(sql.SESSIONS, session_id)
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
    starts = range(0, len(plan.places), SEATS_PER_STATEMENT)
    rests = Rests(len(starts))
    for start in starts:
        values = columns(map(seat_place_row, plan.places[start : start + SEATS_PER_STATEMENT]))
        with rests.after_step():
            transaction.execute(sql.INSERT_SEATS, session_id, *values)
    transaction.execute(sql.RAISE_VERSIONS, [session_id])
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
