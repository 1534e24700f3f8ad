"""The cancellation of tickets of an order, and the places that return to sale with it.

The holds stay converted, as the history of the sale. A place goes back to the pools that its line
drew from, even if the catalog has changed since.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.ids import HoldKey, PoolId, SeatId, SessionKey
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Order, Ticket, Voiding, units_of_holds
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.slices import giving_way


class SoldPlace(NamedTuple):
    """A ticket, and the hold and line that it was made from."""

    ticket: Ticket
    hold: Hold
    line: Line


def places_of(
    order: Order, holds: Mapping[HoldKey, Hold], only: Callable[[Ticket], bool]
) -> tuple[SoldPlace, ...]:
    """The places of some tickets. The holds of the order must be among `holds`. A few tickets of a
    large order are found without a pause: their pools may be locked."""
    sold = units_of_holds(holds[order.organization_id, hold_id] for hold_id in order.hold_ids)
    found = (each for each in zip(order.tickets, sold, strict=True) if only(each[0]))
    return tuple(SoldPlace(ticket, hold, line) for ticket, (hold, line) in giving_way(found))


@immutable
class Cancellation(OrderChange):
    """Tickets that became void, and the places that return."""

    voiding: Voiding
    places: tuple[SoldPlace, ...]
    # Seats that an operator blocked after the sale: they return, but stay blocked.
    blocked: frozenset[SeatId] = frozenset()

    @property
    def session_keys(self) -> set[SessionKey]:
        return {place.hold.session_key for place in self.places}

    @property
    def seat_ids(self) -> list[SeatId]:
        return [place.line.seat.id for place in self.places if place.line.seat is not None]

    def units_by_pool(self) -> Counter[PoolId]:
        return Counter(pool_id for place in self.places for pool_id in place.line.pool_ids)

    def fact_version(self, hold: Hold) -> int:
        """The version of the facts about a hold. The version of a converted hold never rises again,
        even when its buyer is forgotten, so the cancellations of its order continue it."""
        return hold.version + self.after.version - 1
