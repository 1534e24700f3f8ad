"""The availability of seated ticket types: free seats in the blocks that sell them, limited by
block capacities and quotas."""

from collections.abc import Iterable
from typing import NamedTuple

from holdfast.domain.ids import TicketTypeId


class BlockCounts(NamedTuple):
    """The seats of a block; `room` is what is left of its capacity, None without one. A block
    without ticket types sells every seated one."""

    total: int
    held: int
    sold: int
    free: int
    room: int | None
    ticket_types: frozenset[TicketTypeId]

    def sells(self, ticket_type_id: TicketTypeId) -> bool:
        return not self.ticket_types or ticket_type_id in self.ticket_types

    @property
    def available(self) -> int:
        return self.free if self.room is None else min(self.free, self.room)


class Counts(NamedTuple):
    total: int
    held: int
    sold: int
    available: int


def seated_counts(
    ticket_type_id: TicketTypeId, blocks: Iterable[BlockCounts], quotas: Iterable[int]
) -> Counts:
    """`quotas` are the units left in the ticket type's own pools."""
    selling = [block for block in blocks if block.sells(ticket_type_id)]
    available = sum(block.available for block in selling)
    return Counts(
        total=sum(block.total for block in selling),
        held=sum(block.held for block in selling),
        sold=sum(block.sold for block in selling),
        available=min((available, *quotas)),
    )
