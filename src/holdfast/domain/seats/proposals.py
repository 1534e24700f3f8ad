"""Proposes seats that seem free for the best-available asks of a hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple, Self

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Proposal
from holdfast.domain.holds.placement import Ask, Placement
from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.best_available import Search, best_available, count_available
from holdfast.domain.seats.seat_plan import FreeSeats, Seating, Spot
from holdfast.domain.waitlist.queues import blocks_for

# Up to this many parts are tried in every order: 4 parts have 24 orders.
ORDERED_PARTS_MAX = 4

SEATS, ACCESSIBLE_SEATS = "seats", "accessible seats"


def seated_asks(command: Placement, session: SessionCatalog) -> list[tuple[int, Ask]]:
    """The best-available asks for seats, each with its index."""
    if not session.has_seats:
        return []
    return [
        (position, ask)
        for position, ask in enumerate(command.asks)
        if isinstance(ask, Ask)
        and ask.ticket_type_id in session.offers
        and session.offers[ask.ticket_type_id].is_seated
    ]


@immutable
class SeatScope:
    """Where to look for seats. `free` seats only seem free. `limits` are capacities of blocks.
    `locked` seats are avoided at first, and `closed` blocks, where the waitlist comes first,
    always."""

    seating: Seating
    free: FreeSeats
    session: SessionCatalog
    limits: Mapping[BlockId, int]
    locked: frozenset[SeatId] = frozenset()
    closed: frozenset[BlockId] = frozenset()

    def without(self, seat_ids: Iterable[SeatId]) -> Self:
        """A copy with these seats taken."""
        free, limits = self.free.copy(), dict(self.limits)
        claim(self.seating, free, limits, self.seating.plan.known_spots(seat_ids))
        return replace(self, free=free, limits=limits)


@immutable
class _Part:
    """Asks for the same blocks, met together so that two adults and two children sit side by side.
    `positions` are their indexes among the best-available asks."""

    blocks: frozenset[BlockId]
    positions: tuple[int, ...]
    quantity: int
    accessible: int
    is_together: bool = False

    def search(self, limits: Mapping[BlockId, int]) -> Search:
        return Search(self.quantity, self.blocks, self.accessible, limits, self.is_together)


def propose(scope: SeatScope, asks: Sequence[Ask]) -> tuple[Proposal, FreeSeats]:
    """Seats for these asks, and the seats free after them."""
    seating, parts = scope.seating, _parts(scope, asks)
    for order in _orders(asks, parts):
        left, room = scope.free.copy(), dict(scope.limits)
        found: dict[int, tuple[SeatId, ...]] = {}
        for part in order:
            spots = _find(seating, left, part.search(room), scope.locked)
            if spots is None:
                break
            claim(seating, left, room, spots)
            found |= _shares(seating, part, asks, spots)
        else:
            return Proposal(tuple(found[position] for position in range(len(asks)))), left
    return _refused(scope, asks, parts), scope.free


def claim(
    seating: Seating, free: FreeSeats, limits: dict[BlockId, int], spots: Sequence[Spot]
) -> None:
    """Remove seats from the free ones and from the capacities of their blocks."""
    free.take_all(spots)
    if limits:
        for spot in spots:
            block_id = seating.plan.rows[spot.row].block_id
            if block_id in limits:
                limits[block_id] = max(0, limits[block_id] - 1)


def _parts(scope: SeatScope, asks: Sequence[Ask]) -> list[_Part]:
    """Group the asks by their blocks, fewest blocks first: the others can go elsewhere."""
    together: dict[frozenset[BlockId], list[int]] = {}
    for position, ask in enumerate(asks):
        blocks = blocks_for(ask.ticket_type_id, ask.block_id, scope.session) - scope.closed
        together.setdefault(blocks, []).append(position)
    return [
        _part(asks, blocks, positions)
        for blocks, positions in sorted(together.items(), key=lambda item: len(item[0]))
    ]


def _part(asks: Sequence[Ask], blocks: frozenset[BlockId], positions: Iterable[int]) -> _Part:
    positions = tuple(positions)
    return _Part(
        blocks,
        positions,
        sum(asks[position].quantity for position in positions),
        sum(asks[position].accessible for position in positions),
        any(asks[position].is_together for position in positions),
    )


def _apart(asks: Sequence[Ask], parts: Sequence[_Part]) -> list[_Part]:
    """Split the parts: each `is_together` ask by itself, largest first, then the others."""
    apart: list[_Part] = []
    for part in parts:
        alone = [position for position in part.positions if asks[position].is_together]
        alone.sort(key=lambda position: -asks[position].quantity)
        others = [position for position in part.positions if not asks[position].is_together]
        groups = [[position] for position in alone] + ([others] if others else [])
        apart += [_part(asks, part.blocks, group) for group in groups]
    return apart


def _orders(asks: Sequence[Ask], parts: Sequence[_Part]) -> Iterator[Sequence[_Part]]:
    """The orders to try, because one part may take seats that another needs. If a part cannot sit
    together as a whole, only its `is_together` asks do."""
    yield from _any_order(parts)
    apart = _apart(asks, parts)
    if len(apart) > len(parts):
        yield from _any_order(apart)


def _any_order(parts: Sequence[_Part]) -> Iterator[Sequence[_Part]]:
    if len(parts) > ORDERED_PARTS_MAX:
        yield parts
    else:
        yield from permutations(parts)


def _shares(
    seating: Seating, part: _Part, asks: Sequence[Ask], spots: Sequence[Spot]
) -> dict[int, tuple[SeatId, ...]]:
    """Share out the seats: accessible ones to the asks that want them, the rest in order."""
    rows = seating.plan.rows
    accessible = [spot for spot in spots if rows[spot.row].accessible >> spot.bit & 1]
    shares: dict[int, list[Spot]] = {}
    for position in part.positions:
        count = asks[position].accessible
        shares[position], accessible = accessible[:count], accessible[count:]
    given = {spot for share in shares.values() for spot in share}
    rest = [spot for spot in spots if spot not in given]
    for position in part.positions:
        count = asks[position].quantity - len(shares[position])
        shares[position] += rest[:count]
        rest = rest[count:]
    return {
        position: tuple(seating.plan.place(spot).id for spot in sorted(share))
        for position, share in shares.items()
    }


def _find(
    seating: Seating, free: FreeSeats, search: Search, locked: frozenset[SeatId]
) -> tuple[Spot, ...] | None:
    """Find seats without those that others have locked; if too few are left, wait for locked ones
    too."""
    unlocked = free
    if locked:
        unlocked = free.copy()
        for seat_id in locked:
            if seat_id in seating.plan.spots:
                unlocked.take(seating.plan.spots[seat_id])
    found = best_available(seating.plan, unlocked, search)
    if found is None and locked:
        found = best_available(seating.plan, free, search)
    return found


class Shortage(NamedTuple):
    """Too few places of a kind for the asks at these positions."""

    positions: tuple[int, ...]
    requested: int
    available: int
    kind: str = SEATS


def nearest_shortage(scope: SeatScope, asks: Sequence[Ask]) -> Shortage | None:
    """The shortage that affects the fewest asks, so that others need not give way. None if the
    numbers suffice."""
    shortages = _shortages(scope, asks, _parts(scope, asks))
    return min((each for _, each in shortages), key=lambda each: len(each.positions), default=None)


def _refused(scope: SeatScope, asks: Sequence[Ask], parts: Sequence[_Part]) -> Proposal:
    """Report requested and available seats: in total, or of the first part that is short if the
    total suffices."""
    for part, (_, requested, available, kind) in _shortages(scope, asks, parts):
        full = _full_block(scope, part.search(scope.limits)) if kind == SEATS else None
        return Proposal((), requested, available, full_block=full, kind=kind)
    return Proposal((), sum(ask.quantity for ask in asks), 0)


def _shortages(
    scope: SeatScope, asks: Sequence[Ask], parts: Sequence[_Part]
) -> Iterator[tuple[_Part, Shortage]]:
    plan, free, limits = scope.seating.plan, scope.free, scope.limits
    blocks = frozenset[BlockId]().union(*(part.blocks for part in parts))
    everything = _part(asks, blocks, range(len(asks)))
    for part in (everything, *parts):
        search = part.search(limits)
        available = count_available(plan, free, search)
        if available < part.quantity:
            yield part, Shortage(part.positions, part.quantity, available)
        accessible = count_available(plan, free, search, lambda row: ~row.accessible)
        if accessible < part.accessible:
            yield part, Shortage(part.positions, part.accessible, accessible, ACCESSIBLE_SEATS)
    for part in _apart(asks, parts):
        longest = _longest_run(scope, part.search(limits)) if part.is_together else 0
        if part.is_together and longest < part.quantity:
            yield part, Shortage(part.positions, part.quantity, longest, "seats side by side")


def _longest_run(scope: SeatScope, search: Search) -> int:
    plan, longest = scope.seating.plan, scope.free.longest
    return max(
        (
            min(longest[number], search.limits.get(plan.rows[number].block_id, search.quantity))
            for number in plan.rows_in(search.blocks)
        ),
        default=0,
    )


def _full_block(scope: SeatScope, search: Search) -> BlockId | None:
    """The only block searched, if it has the seats but not the capacity."""
    unlimited = count_available(scope.seating.plan, scope.free, replace(search, limits={}))
    is_full = len(search.blocks) == 1 and unlimited >= search.quantity
    return next(iter(search.blocks)) if is_full else None
