"""A hold to be placed, as a value."""

from dataclasses import dataclass, field

from holdfast.domain.group.footprint import Wish
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.asks import LINES_MAX, Ask, SeatAsk, named_seats
from holdfast.domain.holds.hold import NO_REMARKS, CartItem, Remarks
from holdfast.domain.ids import HoldId, HoldKey, OrganizationId, SeatId, SessionId, SessionKey
from holdfast.domain.values import Holder, InvalidValue


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
