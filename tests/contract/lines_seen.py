"""A simple model of the waitlist, to check whom the engine promotes."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from holdfast.domain.group.transitions import units_by_pool
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import BlockId, HoldId, TicketTypeId
from holdfast.domain.waitlist.queues import Waitlist, WaitlistQueue, place_of
from tests.contract.seen import World
from tests.contract.venues import Hall, Venue


class QueueSeen(NamedTuple):
    """A queue by the names of what it waits for: ids differ between stores."""

    wants: frozenset[str]
    waiting: int
    passes: int
    served: int
    hold_ids: tuple[HoldId, ...]  # in queue order


def seen_queues(venue: Venue, waitlist: Waitlist | None) -> set[QueueSeen]:
    names: dict[UUID, str] = {id_: f"pool {name}" for name, id_ in venue.pools.items()}
    names.update((id_, f"block {name}") for name, id_ in venue.blocks.items())
    return {
        QueueSeen(
            frozenset(names[want] for want in queue.wants),
            queue.waiting,
            queue.passes,
            queue.served,
            tuple(hold.id for hold in queue.first),
        )
        for queue in (waitlist.queues.values() if waitlist else ())
    }


def could_be_promoted(world: World, venue: Venue, hall: Hall, waitlist: Waitlist) -> list[HoldId]:
    """Holds the engine should have promoted: first in their queue, with everything free."""
    now = world.now()
    return [
        queue.first[0].id
        for queue in waitlist.queues.values()
        if _is_first(queue, waitlist.queues.values(), now)
        and _has_enough_free(world, venue, hall, queue.first[0])
    ]


def _is_first(queue: WaitlistQueue, queues: Iterable[WaitlistQueue], now: datetime) -> bool:
    """Whether its first hold comes before all others that want any of the same, and has not
    expired."""
    place = place_of(queue.first[0])
    sharing = [each for each in queues if each.wants & queue.wants]
    return not queue.first[0].is_lapsed(now) and all(
        place_of(each.first[0]) >= place for each in sharing
    )


def _has_enough_free(world: World, venue: Venue, hall: Hall, hold: Hold) -> bool:
    """Whether a simple count finds enough. Special wishes (together, accessible, several) count as
    no."""
    units = units_by_pool(hold)
    if any(world.pool(pool_id).free < count for pool_id, count in units.items()):
        return False
    wishes = [(line, line.wish) for line in hold.lines if line.wish is not None]
    if any(wish.is_together or wish.accessible for _, wish in wishes) or len(wishes) > 1:
        return False
    return all(
        _free_seats(world, venue, hall, line.ticket_type_id, wish.block_id) >= line.quantity
        for line, wish in wishes
    )


def _free_seats(
    world: World, venue: Venue, hall: Hall, type_id: TicketTypeId, block_id: BlockId | None
) -> int:
    ticket_type = next(name for name, id_ in venue.ticket_types.items() if id_ == type_id)
    seats, count = world.seats(venue), 0
    for block, id_ in venue.blocks.items():
        if block_id not in {None, id_} or ticket_type not in hall.sold_in.get(block, hall.seated):
            continue
        free = sum(
            seat.status == "available"
            for name, seat in seats.items()
            if name.startswith(f"{block} ")
        )
        capacity = venue.pools.get(f"{block} capacity")
        count += free if capacity is None else min(free, world.pool(capacity).free)
    return count
