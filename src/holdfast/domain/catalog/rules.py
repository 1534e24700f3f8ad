"""Decides changes of the catalog, with values read under the lock of the event or session."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.domain import refusals
from holdfast.domain.catalog.changes import (
    ChangeBlock,
    ChangeEvent,
    ChangePool,
    ChangeSession,
    ChangeTicketType,
    CreateBlock,
    ImportSeats,
    refuse_policy,
)
from holdfast.domain.catalog.model import (
    Block,
    BlockPrice,
    Event,
    PoolState,
    Session,
    SessionStatus,
    TicketType,
)
from holdfast.domain.catalog.seat_import import (
    Arrangement,
    Flaw,
    ImportedBlock,
    KnownSeat,
    refuse_flaws,
)
from holdfast.domain.ids import BlockId, PoolId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import Unchanged
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.values import Money

T = TypeVar("T")


def changed_event(event: Event, change: ChangeEvent) -> Event | Refusal:
    sale = change.sale.applied_to(event.sale) if change.sale else event.sale
    if isinstance(sale, Refusal):
        return sale
    policy = event.policy.changed(change.policy) if change.policy else event.policy
    refusal = refuse_policy(policy) if change.policy else None
    return refusal or replace(
        event,
        name=given_or(change.name, event.name),
        policy=policy,
        sale=sale,
        metadata=given_or(change.metadata, event.metadata),
        place=change.place.applied_to(event.place) if change.place else event.place,
    )


def changed_session(session: Session, change: ChangeSession) -> Session | Refusal:
    status = given_or(change.status, session.status)
    if session.status is SessionStatus.CANCELLED and status is not session.status:
        return refusals.invalid_session_state()
    return replace(
        session,
        status=status,
        name=given_or(change.name, session.name),
        starts_at=given_or(change.starts_at, session.starts_at),
        metadata=given_or(change.metadata, session.metadata),
    )


def changed_pool(pool: PoolState, change: ChangePool, in_use: int) -> PoolState | Refusal:
    total = given_or(change.total, pool.total)
    refusal = refuse_total(change.total, in_use)
    return refusal or replace(pool, name=given_or(change.name, pool.name), total=total)


def refuse_total(total: int | None, in_use: int) -> Refusal | None:
    """Lapsed holds count as in use until the reaper ends them, so a retry may succeed."""
    is_below = total is not None and total < in_use
    return refusals.capacity_in_use(in_use) if is_below else None


def refuse_pools(wanted: Sequence[PoolId], of_session: Collection[PoolId]) -> Refusal | None:
    """The pools must belong to the ticket type's session."""
    return None if set(wanted) <= set(of_session) else refusals.invalid_pool()


def changed_ticket_type(
    ticket_type: TicketType,
    change: ChangeTicketType,
    pools_of_session: Collection[PoolId],
    *,
    is_waited_for: bool,
) -> TicketType | Refusal:
    """Keep the pools while anybody waits: parties are in the queue of the pools that the type had
    when they joined."""
    pool_ids = tuple(sorted(set(given_or(change.pool_ids, ticket_type.pool_ids))))
    policy = ticket_type.policy.changed(change.policy) if change.policy else ticket_type.policy
    refusal = refuse_pools(change.pool_ids or (), pools_of_session)
    if refusal is None and change.policy is not None:
        refusal = refuse_policy(policy)
    if refusal is None and is_waited_for and pool_ids != ticket_type.pool_ids:
        refusal = refusals.others_are_waiting()
    price = ticket_type.price
    return refusal or replace(
        ticket_type,
        name=given_or(change.name, ticket_type.name),
        price=Money(given_or(change.price_minor, price.minor), price.currency),
        pool_ids=pool_ids,
        policy=policy,
        metadata=given_or(change.metadata, ticket_type.metadata),
    )


def given_or(given: T | None, current: T) -> T:
    return current if given is None else given


@immutable
class Hall:
    """The blocks of a session by name, the rank after its last one, and its seated ticket types,
    read under the session's lock."""

    block_ids: Mapping[str, BlockId]
    next_rank: int
    seated_type_ids: frozenset[TicketTypeId]

    def refuse_prices(self, prices: Iterable[BlockPrice]) -> Refusal | None:
        is_seated = all(price.ticket_type_id in self.seated_type_ids for price in prices)
        return None if is_seated else refusals.not_seated_here()


@immutable
class ImportPlan:
    """The additions of an import: new blocks, and seats in new and existing ones."""

    new_blocks: tuple[CreateBlock, ...]
    places: Sequence[SeatPlace]
    imported: tuple[ImportedBlock, ...]


def new_block(change: CreateBlock, hall: Hall) -> CreateBlock | Refusal:
    if change.name in hall.block_ids:
        return refusals.duplicate_block()
    return hall.refuse_prices(change.prices) or ranked([change], hall)[0]


def ranked(blocks: Sequence[CreateBlock], hall: Hall) -> tuple[CreateBlock, ...]:
    """Give blocks without a rank the next ranks."""
    ranked_blocks: list[CreateBlock] = []
    next_rank = hall.next_rank
    for block in blocks:
        rank = given_or(block.rank, next_rank)
        next_rank = max(next_rank, rank + 1)
        ranked_blocks.append(replace(block, rank=rank))
    return tuple(ranked_blocks)


def changed_block(block: Block, change: ChangeBlock, hall: Hall, in_use: int) -> Block | Refusal:
    """`in_use` is the held and sold part of its capacity or, without one, of its seats."""
    name = given_or(change.name, block.name)
    if hall.block_ids.get(name, block.id) != block.id:
        return refusals.duplicate_block()
    capacity = block.capacity if isinstance(change.capacity, Unchanged) else change.capacity
    refusal = hall.refuse_prices(change.prices or ())
    if refusal is None and isinstance(change.capacity, int):
        refusal = _refuse_capacity(block, change.capacity, in_use)
    return refusal or replace(
        block,
        name=name,
        rank=given_or(change.rank, block.rank),
        capacity=capacity,
        prices=given_or(change.prices, block.prices),
    )


def _refuse_capacity(block: Block, capacity: int, in_use: int) -> Refusal | None:
    if block.capacity is None:
        return refusals.seats_in_use(in_use) if in_use else None
    return refuse_total(capacity, in_use)


def planned_seats(
    change: ImportSeats, hall: Hall, known_seats: Mapping[BlockId, Sequence[KnownSeat]]
) -> ImportPlan | Refusal:
    flaws: list[Flaw] = []
    places: list[SeatPlace] = []
    imported: list[ImportedBlock] = []
    new_blocks: list[CreateBlock] = []
    for drafted in change.blocks:
        block_id = hall.block_ids.get(drafted.draft.name)
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
    refusal = refuse_flaws(flaws) or hall.refuse_prices(prices)
    return refusal or ImportPlan(ranked(new_blocks, hall), places, tuple(imported))
