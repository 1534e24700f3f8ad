"""Copies what is sold in one session to another: pools, ticket types with prices and policies,
blocks and seats. Parts that the other session already has, by name, stay as they are, so a copy
that was interrupted can be repeated. Every call blocks, for seconds with many seats."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from holdfast.domain.catalog.model import BlockPrice, PoolState, TicketType
from holdfast.domain.catalog.seat_import import (
    BLOCKS_PER_IMPORT_MAX,
    SEATS_PER_IMPORT_MAX,
    DraftBlock,
)
from holdfast.domain.ids import PoolId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import NO_METADATA, Metadata
from holdfast.ports.catalog import CatalogAnswer
from holdfast.services.catalog.changes import CatalogEditor


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)
# Names of pools and ticket types need not be unique: the second "Adult" is ("Adult", 2).
Ordinal = tuple[str, int]


@immutable
class HallPool:
    id: PoolId
    name: str
    total: int


@immutable
class HallTicketType:
    id: TicketTypeId
    name: str
    price_minor: int
    is_seated: bool
    pool_ids: tuple[PoolId, ...]
    policy: PolicyOverride
    metadata: Metadata = NO_METADATA


@immutable
class SessionHall:
    """What is sold in a session. The pools are those of ticket types: the capacity of a block is in
    the block. Blocks are in the order of their ranks, with their seats row by row."""

    pools: tuple[HallPool, ...]
    ticket_types: tuple[HallTicketType, ...]
    blocks: tuple[DraftBlock, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.pools or self.ticket_types or self.blocks)

    @property
    def seats(self) -> int:
        return sum(len(block.seats) for block in self.blocks)


def copy_hall(
    editor: CatalogEditor, session_id: SessionId, source: SessionHall, target: SessionHall
) -> Refusal | None:
    """Add to the session what `target`, its present hall, lacks of `source`."""
    pool_ids: dict[PoolId, PoolId] = {}
    known_pools = _by_ordinal(target.pools)
    for ordinal, pool in _by_ordinal(source.pools).items():
        if ordinal in known_pools:
            pool_ids[pool.id] = known_pools[ordinal].id
            continue
        new_pool = editor.create_pool(session_id, pool.name, pool.total).outcome
        if isinstance(new_pool, Refusal):
            return new_pool
        assert isinstance(new_pool, PoolState)
        pool_ids[pool.id] = new_pool.id
    type_ids: dict[TicketTypeId, TicketTypeId] = {}
    known_types = _by_ordinal(target.ticket_types)
    for ordinal, ticket_type in _by_ordinal(source.ticket_types).items():
        if ordinal in known_types:
            type_ids[ticket_type.id] = known_types[ordinal].id
            continue
        new_type = _create_type(editor, session_id, ticket_type, pool_ids).outcome
        if isinstance(new_type, Refusal):
            return new_type
        assert isinstance(new_type, TicketType)
        type_ids[ticket_type.id] = new_type.id
    for blocks in _imports(_missing(source, target, type_ids)):
        outcome = editor.import_seats(session_id, blocks).outcome
        if isinstance(outcome, Refusal):
            return outcome
    return None


def _create_type(
    editor: CatalogEditor,
    session_id: SessionId,
    ticket_type: HallTicketType,
    pool_ids: Mapping[PoolId, PoolId],
) -> CatalogAnswer:
    return editor.create_ticket_type(
        session_id=session_id,
        name=ticket_type.name,
        price_minor=ticket_type.price_minor,
        pool_ids=tuple(pool_ids[id_] for id_ in ticket_type.pool_ids if id_ in pool_ids),
        capacity=None,
        policy=ticket_type.policy,
        is_seated=ticket_type.is_seated,
        metadata=ticket_type.metadata,
    )


def _by_ordinal(parts: Iterable[N]) -> dict[Ordinal, N]:
    counts: Counter[str] = Counter()
    found: dict[Ordinal, N] = {}
    for part in parts:
        counts[part.name] += 1
        found[(part.name, counts[part.name])] = part
    return found


def _missing(
    source: SessionHall, target: SessionHall, type_ids: Mapping[TicketTypeId, TicketTypeId]
) -> Iterator[DraftBlock]:
    """The blocks that the target lacks, and the seats that it lacks in the others."""
    known = {block.name: block for block in target.blocks}
    for block in source.blocks:
        present = known.get(block.name)
        if present is None:
            prices = tuple(
                BlockPrice(type_ids[price.ticket_type_id], price.price_minor)
                for price in block.prices
            )
            yield replace(block, prices=prices)
            continue
        names = {(seat.row, seat.number) for seat in present.seats}
        seats = tuple(seat for seat in block.seats if (seat.row, seat.number) not in names)
        if seats:
            yield replace(block, seats=seats, rank=None, capacity=None, prices=())


def _imports(blocks: Iterable[DraftBlock]) -> Iterator[tuple[DraftBlock, ...]]:
    """Split the blocks into imports that are not too large."""
    batch: list[DraftBlock] = []
    seats = 0
    for block in blocks:
        if batch and (
            seats + len(block.seats) > SEATS_PER_IMPORT_MAX or len(batch) == BLOCKS_PER_IMPORT_MAX
        ):
            yield tuple(batch)
            batch, seats = [], 0
        batch.append(block)
        seats += len(block.seats)
    if batch:
        yield tuple(batch)
