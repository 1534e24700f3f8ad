"""The request for a hold and its asks: quantities of ticket types, or specific seats."""

from collections.abc import Iterable, Sequence
from dataclasses import field

from holdfast.domain.access.reach import Reach
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
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder, InvalidValue, Quantity

LINES_MAX = 50
SEATS_PER_HOLD_MAX = 250


@immutable
class Ask:
    """A quantity of a ticket type, at the catalog's price unless the platform names one. For a
    seated type, the best available seats: in `block_id` if given, with `accessible` accessible
    ones, and only side by side if `is_together`. With `at_least`, fewer are accepted."""

    ticket_type_id: TicketTypeId
    quantity: Quantity
    unit_price_minor: int | None = None
    block_id: BlockId | None = None
    accessible: int = 0
    is_together: bool = False
    at_least: int | None = None

    def __post_init__(self) -> None:
        if self.at_least is not None and not 0 <= self.at_least <= self.quantity:
            raise InvalidValue("invalid_at_least", "at_least must not exceed quantity")


@immutable
class SeatAsk:
    """Specific seats, sold as this ticket type or as the first type their block sells."""

    seat_ids: tuple[SeatId, ...]
    ticket_type_id: TicketTypeId | None = None
    unit_price_minor: int | None = None


@immutable
class Wish:
    """What a command may hold, as far as known before the survey."""

    session_key: SessionKey
    asks: Sequence[Ask | SeatAsk]
    wants_alternative: bool = False

    @property
    def named_seats(self) -> tuple[SeatId, ...]:
        return tuple(
            seat_id for ask in self.asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids
        )


@immutable
class Asked:
    """What a refused attempt asked for, for the audit log."""

    session_id: SessionId | None = None
    ticket_type_ids: tuple[TicketTypeId, ...] = ()
    seat_ids: tuple[SeatId, ...] = ()
    quantity: int | None = None
    cart: str | None = None
    holder: Holder | None = None


NOTHING_ASKED = Asked()


def asked_for(
    session_id: SessionId, asks: Iterable[Ask | SeatAsk], holder: Holder, cart: str | None
) -> Asked:
    types: dict[TicketTypeId, None] = {}
    seats: list[SeatId] = []
    quantity = 0
    for ask in asks:
        if ask.ticket_type_id is not None:
            types[ask.ticket_type_id] = None
        if isinstance(ask, SeatAsk):
            seats += ask.seat_ids
            quantity += len(ask.seat_ids)
        else:
            quantity += ask.quantity
    return Asked(session_id, tuple(types), tuple(seats), quantity, cart, holder)


@immutable
class Placement:
    """A hold to be placed, all or nothing. Cart commands build one, too."""

    organization_id: OrganizationId
    session_id: SessionId
    hold_id: HoldId
    holder: Holder
    asks: tuple[Ask | SeatAsk, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_id_from_client: bool = False
    remarks: Remarks = NO_REMARKS
    wants_alternative: bool = False  # if seats are taken, offer the next best ones
    may_wait: bool = True  # join the waitlist if nothing is left and the policy has one
    # One seat; a larger hold of the same holder that includes it is a valid answer.
    is_reservation: bool = False
    # For a cart: the item of each ask.
    is_cart: bool = False
    items: tuple[CartItem, ...] = ()
    # Seats that the cart gives up in the same command, with the item each belonged to.
    given_up: tuple[tuple[SeatId, str], ...] = ()
    # Set beyond a rate limit: only a hold that exists already may be the answer.
    over_rate: Refusal | None = None
    reach: Reach | None = None  # of the caller's token
    renews: HoldId | None = None  # the cart's expired hold that this one replaces
    is_remote: bool = False  # its places are those of an Inventory Service

    # Computed once, because every step asks for them.
    hold_key: HoldKey = field(init=False)
    session_key: SessionKey = field(init=False)
    named_seats: tuple[SeatId, ...] = field(init=False)
    takes_fewer: bool = field(init=False)  # as many as there are
    # Equal for rivals: new holds for the same seats, which differ only in who asks. None if the
    # placement has more to it: a cart, or a ticket type, whose policy may limit the holder.
    rivalry: tuple[int | bool, ...] | None = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_lines", f"A hold must have 1 to {LINES_MAX} lines")
        assert not self.items or len(self.items) == len(self.asks)
        has_seats = takes_fewer = False
        is_plain = not self.is_cart
        for ask in self.asks:
            if isinstance(ask, SeatAsk):
                has_seats = True
                is_plain = is_plain and ask.ticket_type_id is None
            else:
                is_plain = False
                takes_fewer = takes_fewer or ask.at_least is not None
        compute = object.__setattr__
        compute(self, "hold_key", (self.organization_id, self.hold_id))
        compute(self, "session_key", (self.organization_id, self.session_id))
        compute(self, "named_seats", named_seats(self.asks) if has_seats else ())
        compute(self, "takes_fewer", takes_fewer)
        compute(self, "rivalry", self._rivalry() if is_plain else None)

    def _rivalry(self) -> tuple[int | bool, ...]:
        """As numbers, because ids are slow to compare."""
        ids = (self.organization_id, self.session_id, *self.named_seats)
        return (self.wants_alternative, *[each.int for each in ids])

    @property
    def wish(self) -> Wish:
        return Wish(self.session_key, self.asks, wants_alternative=self.wants_alternative)


def named_seats(asks: Iterable[Ask | SeatAsk]) -> tuple[SeatId, ...]:
    named = tuple(seat_id for ask in asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids)
    if len(set(named)) != len(named):
        raise InvalidValue("duplicate_seat", "Name each seat only once")
    if len(named) > SEATS_PER_HOLD_MAX:
        raise InvalidValue("invalid_lines", f"A hold has at most {SEATS_PER_HOLD_MAX} seats")
    return named
