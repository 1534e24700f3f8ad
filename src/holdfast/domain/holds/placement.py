"""What a hold is asked for: so many of a ticket type, or specific seats; and a whole hold to be
placed, as a value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import NO_REMARKS, CartItem, Remarks
from holdfast.domain.ids import (
    BlockId,
    HoldId,
    HoldKey,
    OrganizationId,
    SeatId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.values import Holder, InvalidValue, Quantity

LINES_MAX = 50
SEATS_PER_HOLD_MAX = 250


@dataclass(frozen=True, slots=True)
class Ask:
    """So many of a ticket type, at the catalog's price unless the platform names one. Of a seated
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


@dataclass(frozen=True, slots=True)
class Wish:
    """What a command may hold, as far as it is known before anything was looked at."""

    session_key: SessionKey
    asks: Sequence[Ask | SeatAsk]
    wants_alternative: bool = False

    @property
    def named_seats(self) -> tuple[SeatId, ...]:
        return tuple(
            seat_id for ask in self.asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """A hold to be placed: all of it, or nothing. A cart is translated into one, too."""

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    holder: Holder
    asks: tuple[Ask | SeatAsk, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_id_from_client: bool = False
    remarks: Remarks = NO_REMARKS
    wants_alternative: bool = False  # where seats are taken: offer the next best ones
    # One seat, whatever else its holder has: a larger hold that has it is the answer too.
    is_reservation: bool = False
    # What a cart holds, and which of its items each ask is for.
    is_cart: bool = False
    items: tuple[CartItem, ...] = ()
    # The seats that the cart gives up meanwhile, and which of its items had each.
    given_up: tuple[tuple[SeatId, str], ...] = ()

    named_seats: tuple[SeatId, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_lines", f"A hold has from 1 to {LINES_MAX} lines")
        assert len(self.items) in {0, len(self.asks)}
        object.__setattr__(self, "named_seats", named_seats(self.asks))

    @property
    def wish(self) -> Wish:
        return Wish(self.session_key, self.asks, wants_alternative=self.wants_alternative)

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


def named_seats(asks: Iterable[Ask | SeatAsk]) -> tuple[SeatId, ...]:
    named = tuple(seat_id for ask in asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids)
    if len(set(named)) != len(named):
        raise InvalidValue("duplicate_seat", "A seat is named twice")
    if len(named) > SEATS_PER_HOLD_MAX:
        raise InvalidValue("invalid_lines", f"A hold has at most {SEATS_PER_HOLD_MAX} seats")
    return named
