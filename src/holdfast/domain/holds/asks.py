"""What a hold is asked for: so many of a ticket type, or seats by name."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.domain.ids import BlockId, SeatId, TicketTypeId
from holdfast.domain.values import InvalidValue, Quantity

LINES_MAX = 50
SEATS_PER_HOLD_MAX = 250


@dataclass(frozen=True, slots=True)
class Ask:
    """So many of a ticket type, at the catalogue's price unless the platform names one. Of a seated
    type: the best that are available, in one block if it is named, so many of them accessible, and
    side by side or not at all if that is asked for. With `at_least`, as many as there are."""

    ticket_type_id: TicketTypeId
    quantity: Quantity
    unit_price_minor: int | None = None
    block_id: BlockId | None = None
    accessible: int = 0
    is_together: bool = False
    at_least: int | None = None

    def __post_init__(self) -> None:
        if self.at_least is not None and not 0 <= self.at_least <= self.quantity:
            raise InvalidValue("invalid_at_least", "at_least must not be above quantity")


@dataclass(frozen=True, slots=True)
class SeatAsk:
    """Specific seats, as tickets of this type, or of the first type that their block sells."""

    seat_ids: tuple[SeatId, ...]
    ticket_type_id: TicketTypeId | None = None
    unit_price_minor: int | None = None


def named_seats(asks: Iterable[Ask | SeatAsk]) -> tuple[SeatId, ...]:
    named = tuple(seat_id for ask in asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids)
    if len(set(named)) != len(named):
        raise InvalidValue("duplicate_seat", "A seat is named twice")
    if len(named) > SEATS_PER_HOLD_MAX:
        raise InvalidValue("invalid_lines", f"A hold has at most {SEATS_PER_HOLD_MAX} seats")
    return named
