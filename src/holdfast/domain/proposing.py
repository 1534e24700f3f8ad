"""Proposing seats to a hold: which of those that seem free each of its best-available asks gets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from holdfast.domain.best_available import Search, best_available, count_available
from holdfast.domain.catalogue import SessionCatalogue
from holdfast.domain.commands import Ask, PlaceHold
from holdfast.domain.footprint import Proposal
from holdfast.domain.ids import BlockId, SeatId
from holdfast.domain.seating import FreeSeats, Seating, Spot
from holdfast.domain.waiting import blocks_for

# So many parts of a hold are tried in every order: 4 are 24 orders.
ORDERED_PARTS_MAX = 4


def seated_asks(command: PlaceHold, session: SessionCatalogue) -> list[tuple[int, Ask]]:
    """The asks for which seats are to be found, each with its position."""
    if not session.has_seats:
        return []
    return [
        (position, ask)
        for position, ask in enumerate(command.asks)
        if isinstance(ask, Ask)
        and ask.ticket_type_id in session.offers
        and session.offers[ask.ticket_type_id].is_seated
    ]


@dataclass(frozen=True, slots=True)
class _Part:
    """Asks that can be met in the same blocks are met together, so that two adults and two children
    sit side by side. `positions` are theirs among the best-available asks."""

    blocks: frozenset[BlockId]
    positions: tuple[int, ...]
    quantity: int
    accessible: int
    is_together: bool = False

    def search(self, limits: Mapping[BlockId, int]) -> Search:
        return Search(self.quantity, self.blocks, self.accessible, limits, self.is_together)


def propose(
    seating: Seating,
    free: FreeSeats,
    asks: Sequence[Ask],
    session: SessionCatalogue,
    *,
    limits: Mapping[BlockId, int],
    locked: frozenset[SeatId] = frozenset(),
    closed: frozenset[BlockId] = frozenset(),
) -> tuple[Proposal, FreeSeats]:
    """Seats for these asks, and what is free after them. In `closed` blocks others come first."""
    parts = _parts(asks, session, closed)
    for order in _orders(parts):
        left, room = free.copy(), dict(limits)
        found: dict[int, tuple[SeatId, ...]] = {}
        for part in order:
            spots = _find(seating, left, part.search(room), locked)
            if spots is None:
                break
            for spot in spots:
                claim(seating, left, room, spot)
            found |= _shares(seating, part, asks, spots)
        else:
            return Proposal(tuple(found[position] for position in range(len(asks)))), left
    return _shortage(seating, free, parts, limits), free


def claim(seating: Seating, free: FreeSeats, limits: dict[BlockId, int], spot: Spot) -> None:
    """What is claimed for a hold is neither free nor within the capacity for its other asks."""
    free.take(spot)
    block_id = seating.plan.rows[spot.row].block_id
    if block_id in limits:
        limits[block_id] = max(0, limits[block_id] - 1)


def _parts(
    asks: Sequence[Ask], session: SessionCatalogue, closed: frozenset[BlockId]
) -> list[_Part]:
    """Those with the fewest blocks come first: the others can go elsewhere."""
    together: dict[frozenset[BlockId], list[int]] = {}
    for position, ask in enumerate(asks):
        blocks = blocks_for(ask.ticket_type_id, ask.block_id, session) - closed
        together.setdefault(blocks, []).append(position)
    return [
        _Part(
            blocks,
            tuple(positions),
            sum(asks[position].quantity for position in positions),
            sum(asks[position].accessible for position in positions),
            any(asks[position].is_together for position in positions),
        )
        for blocks, positions in sorted(together.items(), key=lambda item: len(item[0]))
    ]


def _orders(parts: Sequence[_Part]) -> Iterator[Sequence[_Part]]:
    """What one part takes another may have needed: then it is tried the other way round."""
    if len(parts) > ORDERED_PARTS_MAX:
        yield parts
    else:
        yield from permutations(parts)


def _shares(
    seating: Seating, part: _Part, asks: Sequence[Ask], spots: Sequence[Spot]
) -> dict[int, tuple[SeatId, ...]]:
    """Who asked for accessible places gets those; the others get the rest in their order."""
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
    """Without the seats that others have locked, if there are enough; else with them, to be waited
    for."""
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


def _shortage(
    seating: Seating, free: FreeSeats, parts: Sequence[_Part], limits: Mapping[BlockId, int]
) -> Proposal:
    """How many were wanted and how many there are: of all parts, or, where it is not the sum that
    is missing, of the first part that cannot be met by itself."""
    everything = _Part(
        frozenset[BlockId]().union(*(part.blocks for part in parts)),
        (),
        sum(part.quantity for part in parts),
        sum(part.accessible for part in parts),
    )
    plan = seating.plan
    for part in (everything, *parts):
        search = part.search(limits)
        available = count_available(plan, free, search)
        if available < part.quantity:
            full = _full_block(seating, free, search)
            return Proposal((), part.quantity, available, full_block=full)
        accessible = count_available(plan, free, search, lambda row: ~row.accessible)
        if accessible < part.accessible:
            return Proposal((), part.accessible, accessible, kind="accessible seats")
    for part in parts:
        run = max((free.longest[number] for number in plan.rows_in(part.blocks)), default=0)
        if part.is_together and run < part.quantity:
            return Proposal((), part.quantity, run, kind="seats side by side")
    return Proposal((), everything.quantity, 0)


def _full_block(seating: Seating, free: FreeSeats, search: Search) -> BlockId | None:
    """Of several blocks none is to blame: the buyer did not care which."""
    unlimited = count_available(seating.plan, free, replace(search, limits={}))
    is_full = len(search.blocks) == 1 and unlimited >= search.quantity
    return next(iter(search.blocks)) if is_full else None
