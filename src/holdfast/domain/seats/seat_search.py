"""Finds seats for the asks of one command: seats its cart gives up come first, and asks with
`at_least` may get fewer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from holdfast.domain.carts.items import rest_of
from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.group.footprint import Proposal
from holdfast.domain.holds.new_hold import with_quantity
from holdfast.domain.holds.placement import Ask, Placement
from holdfast.domain.ids import SeatId
from holdfast.domain.seats.proposals import (
    ACCESSIBLE_SEATS,
    SeatScope,
    nearest_shortage,
    propose,
    seated_asks,
)
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.seats.seat_plan import FreeSeats, SeatPlan
from holdfast.domain.waitlist.queues import blocks_for

# Limits the searches for asks with `at_least`.
SEARCHES_MAX = 8

OwnSeats = Sequence[Sequence[SeatId]]  # for each ask, the cart's own seats that it may reuse


def own_seats_of(command: Placement, session: SessionCatalog, plan: SeatPlan) -> OwnSeats:
    """The seats given up by each ask's own item, and by items that ask for nothing any more."""
    named, item_ids = set(command.named_seats), [item.id for item in command.items]
    given_up = [each for each in command.given_up if each[0] in plan.spots and each[0] not in named]
    others = [seat_id for seat_id, item_id in given_up if item_id not in item_ids]
    return [
        [*(seat_id for seat_id, item_id in given_up if item_id == item_ids[position]), *others]
        if given_up
        else []
        for position, _ in seated_asks(command, session)
    ]


class SeatSearch(SeatScope):
    __slots__ = ()

    def find(self, asks: Sequence[Ask]) -> tuple[Proposal, FreeSeats]:
        """Seats for these asks, and the seats free after them. If seats are short and `at_least`
        allows it, reduce the short asks by the shortage until seats are found; finally try the
        minimum."""
        found, free = propose(self, asks)
        if not found.is_short or all(ask.at_least is None for ask in asks):
            return found, free
        counts = [int(ask.quantity) for ask in asks]
        for attempt in range(1, SEARCHES_MAX):
            is_last = attempt == SEARCHES_MAX - 1
            before = counts
            counts = _at_least(asks) if is_last else self._reduced(asks, counts)
            if counts == before:
                break  # the short asks cannot be reduced further
            fewer, left = propose(self, _wanted(asks, counts))
            if not fewer.is_short or not any(counts):
                seats = iter(fewer.seats)
                shares = tuple(next(seats) if count else () for count in counts)
                return replace(fewer, seats=shares), left
        return found, free

    def _reduced(self, asks: Sequence[Ask], counts: Sequence[int]) -> list[int]:
        """Reduce the counts by the shortage, starting with the last asks."""
        positions = [position for position, count in enumerate(counts) if count]
        shortage = nearest_shortage(self, _wanted(asks, counts))
        missing, is_accessible = 1, False
        if shortage is not None:
            positions = [positions[number] for number in shortage.positions]
            missing = shortage.requested - shortage.available
            is_accessible = shortage.kind == ACCESSIBLE_SEATS
        reduced = list(counts)
        for position in reversed(positions):
            # An ask needs fewer accessible seats only if its quantity falls below their number.
            most = counts[position]
            if is_accessible:
                most = min(most, asks[position].accessible)
            less = min(missing, max(0, most - _least(asks[position])))
            if less:
                reduced[position] = most - less
                missing -= less
        return reduced

    def place(self, seat_id: SeatId) -> SeatPlace:
        return self.seating.plan.place(self.seating.plan.spots[seat_id])

    def with_free(self, seat_ids: Iterable[SeatId]) -> "SeatSearch":
        """A copy with these seats free, too."""
        free, limits = self.free.copy(), dict(self.limits)
        for seat_id in seat_ids:
            free.give_back(self.seating.plan.spots[seat_id])
            block_id = self.place(seat_id).block_id
            if block_id in limits:
                limits[block_id] += 1
        return replace(self, free=free, limits=limits)


def _wanted(asks: Sequence[Ask], counts: Sequence[int]) -> list[Ask]:
    return [with_quantity(ask, count) for ask, count in zip(asks, counts, strict=True) if count]


def _at_least(asks: Sequence[Ask]) -> list[int]:
    return [_least(ask) for ask in asks]


def _least(ask: Ask) -> int:
    return int(ask.quantity) if ask.at_least is None else ask.at_least


def find_preferring_own(
    search: SeatSearch, asks: Sequence[Ask], own_seats: OwnSeats
) -> tuple[Proposal, FreeSeats]:
    """Seats for these asks, preferring the cart's own seats."""
    own = {seat_id for seats in own_seats for seat_id in seats}
    if not own:
        return search.find(asks)
    vacated = search.with_free(own)
    found, free = _complete(vacated, asks, _reused(vacated, asks, own_seats))
    if found.is_short:
        found, free = vacated.find(asks)
    # For others, the cart's seats become free only once it gives them up.
    for seat_id in own:
        free.take(search.seating.plan.spots[seat_id])
    return found, free


def _reused(
    search: SeatSearch, asks: Sequence[Ask], own_seats: OwnSeats
) -> list[tuple[SeatId, ...]]:
    """The own seats each ask reuses, up to its quantity and none twice. Blocks closed in favor of
    the waitlist count too: reusing an own seat takes it from nobody."""
    chosen: list[tuple[SeatId, ...]] = []
    gone: set[SeatId] = set()
    for ask, seats in zip(asks, own_seats, strict=True):
        blocks = blocks_for(ask.ticket_type_id, ask.block_id, search.session)
        own = [each for each in seats if each not in gone and search.place(each).block_id in blocks]
        accessible = [each for each in own if search.place(each).is_accessible][: ask.accessible]
        others = [each for each in own if each not in accessible]
        mine = (*accessible, *others[: ask.quantity - ask.accessible])
        if ask.is_together and not _are_side_by_side(search, mine, ask.quantity):
            mine = ()
        gone.update(mine)
        chosen.append(mine)
    return chosen


def _are_side_by_side(search: SeatSearch, seats: Sequence[SeatId], quantity: int) -> bool:
    spots = sorted(search.seating.plan.spots[seat_id] for seat_id in seats)
    return len(spots) == quantity and all(
        one.row == other.row and one.bit + 1 == other.bit for one, other in pairwise(spots)
    )


def _complete(
    search: SeatSearch, asks: Sequence[Ask], chosen: Sequence[tuple[SeatId, ...]]
) -> tuple[Proposal, FreeSeats]:
    """The chosen seats and those still missing."""
    search = search.without(seat_id for seats in chosen for seat_id in seats)
    rest = [
        rest_of(ask, len(seats), sum(search.place(seat_id).is_accessible for seat_id in seats))
        for ask, seats in zip(asks, chosen, strict=True)
    ]
    wanted = [ask for ask in rest if ask is not None]
    if not wanted:
        return Proposal(tuple(chosen)), search.free
    found, free = search.find(wanted)
    if found.is_short:
        return found, free
    more = iter(found.seats)
    seats_of = [() if ask is None else next(more) for ask in rest]
    return Proposal(
        tuple((*one, *other) for one, other in zip(chosen, seats_of, strict=True))
    ), free
