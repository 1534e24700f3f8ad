"""What can be asked of the engine. A command is a small immutable value."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.domain.holds.hold import (
    CART_ITEM_ID_LENGTH_MAX,
    CART_TOKEN_LENGTH_MAX,
    NO_REMARKS,
    CartItem,
    Remarks,
)
from holdfast.domain.ids import (
    BlockId,
    CartKey,
    CheckoutId,
    HoldId,
    HoldKey,
    OrganizationId,
    PaymentKey,
    SeatId,
    SessionId,
    SessionKey,
    TicketTypeId,
)
from holdfast.domain.orders.order import Purchase, checkout_id_of, revival_id
from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.domain.seats.seat import BLOCKED_REASON_LENGTH_MAX
from holdfast.domain.values import Holder, InvalidValue, Quantity

LINES_MAX = 50
SEATS_PER_HOLD_MAX = 250
SEATS_PER_BLOCKING_MAX = 1000
# A few milliseconds of work: people's commands wait no longer than that for it.
DUE_BATCH_MAX = 16
HOLDS_PER_CHECKOUT_MAX = 50


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked, and from where. It ends up in the audit log."""

    actor: str
    request_id: str
    ip: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """One effect per key. `digest` covers the principal and the key as sent; `fingerprint` the
    request, so that a key that comes back with another request is noticed."""

    organization_id: OrganizationId
    digest: UUID
    fingerprint: bytes
    # The command comes from a message: what is kept is a receipt of that, not an answer.
    receipt: "Receipt | None" = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Which of our consumers has taken in which message."""

    consumer: str
    event_id: UUID


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
    """These very seats, as tickets of this type, or of the first that their block sells."""

    seat_ids: tuple[SeatId, ...]
    ticket_type_id: TicketTypeId | None = None
    unit_price_minor: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceHold:
    """Hold all of these, or nothing."""

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
        object.__setattr__(self, "named_seats", _named_seats(self.asks))

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


@dataclass(frozen=True, slots=True)
class CartAsk:
    """An item of a cart, and what it asks for."""

    item_id: str
    ask: Ask | SeatAsk

    def __post_init__(self) -> None:
        if not (1 <= len(self.item_id) <= CART_ITEM_ID_LENGTH_MAX and self.item_id.isprintable()):
            raise InvalidValue(
                "invalid_cart_item_id",
                f"cart_item_id must be 1 to {CART_ITEM_ID_LENGTH_MAX} printable characters",
            )


@dataclass(frozen=True, slots=True)
class FillCart:
    """Make the cart's hold what the cart says: all of it, or nothing is changed. `hold_id` and
    `group_id` are for what is new. The remarks name the cart."""

    organization_id: OrganizationId
    session_id: SessionId
    cart: str
    hold_id: HoldId
    group_id: UUID
    holder: Holder
    asks: tuple[CartAsk, ...]
    origin: Origin
    idempotency: IdempotencyKey | None = None
    remarks: Remarks = NO_REMARKS

    def __post_init__(self) -> None:
        _check_cart(self.cart)
        if not 1 <= len(self.asks) <= LINES_MAX:
            raise InvalidValue("invalid_items", f"A cart has from 1 to {LINES_MAX} items")
        item_ids = [each.item_id for each in self.asks]
        if len(set(item_ids)) != len(item_ids):
            raise InvalidValue("duplicate_item", "An item is named twice")
        _named_seats(each.ask for each in self.asks)

    @property
    def cart_key(self) -> CartKey:
        return (self.organization_id, self.cart)

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)


@dataclass(frozen=True, slots=True)
class EmptyCart:
    """Let go of what the cart holds or waits for, if anything. With `holder`, only if it is
    theirs."""

    organization_id: OrganizationId
    cart: str
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        _check_cart(self.cart)

    @property
    def cart_key(self) -> CartKey:
        return (self.organization_id, self.cart)


@dataclass(frozen=True, slots=True)
class RenewCart:
    """Hold again what the cart held when its time ran out, in a new hold with fresh time. A cart
    whose hold is live keeps it as it is."""

    organization_id: OrganizationId
    cart: str
    hold_id: HoldId
    group_id: UUID
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        _check_cart(self.cart)

    @property
    def cart_key(self) -> CartKey:
        return (self.organization_id, self.cart)

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)


@dataclass(frozen=True, slots=True)
class PromoteWaiting:
    """Give what is free in a session to those who wait for it; where its sale is over, end the
    line. Doing it once more is harmless."""

    organization_id: OrganizationId
    session_id: SessionId
    origin: Origin

    @property
    def idempotency(self) -> IdempotencyKey | None:
        return None

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """Let go of a live hold."""

    organization_id: OrganizationId
    hold_id: HoldId
    origin: Origin
    idempotency: IdempotencyKey | None = None

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)


@dataclass(frozen=True, slots=True)
class ExtendHold:
    """Make a live hold last `seconds` longer. Its holder may within the policy; an operator beyond
    it. With `holder`, only if the hold is theirs."""

    organization_id: OrganizationId
    hold_id: HoldId
    seconds: int
    origin: Origin
    holder: Holder | None = None
    is_operator: bool = False
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.seconds <= TTL_SECONDS_MAX:
            raise InvalidValue(
                "invalid_seconds", f"A hold is extended by 1 to {TTL_SECONDS_MAX} seconds"
            )

    @property
    def hold_key(self) -> HoldKey:
        return (self.organization_id, self.hold_id)


@dataclass(frozen=True, slots=True)
class StartCheckout:
    """The holder goes to pay for these holds: each is extended, once, as its policy says. Without
    any it is refused, unless it repeats a request that was answered when there were some."""

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None

    def __post_init__(self) -> None:
        if self.hold_ids:
            _check_holds(self.hold_ids)

    @property
    def checkout_id(self) -> CheckoutId:
        return checkout_id_of(self.hold_ids)

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)


@dataclass(frozen=True, slots=True)
class ConvertHolds:
    """These holds are paid: make one order of all of them, or of none. A payment that is for single
    use makes no other order."""

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    purchase: Purchase
    origin: Origin
    checkout_id: CheckoutId | None = None
    holder: Holder | None = None
    idempotency: IdempotencyKey | None = None
    is_payment_single_use: bool = False
    # What the payment was checked against; a cart may have changed since. None: nobody checked.
    total_minor: int | None = None
    payment_problem: str | None = None  # why the payment does not count

    def __post_init__(self) -> None:
        _check_holds(self.hold_ids)

    @property
    def single_payment(self) -> PaymentKey | None:
        """The payment, where it is for single use."""
        reference = self.purchase.payment_reference
        if reference is None or not self.is_payment_single_use:
            return None
        return (self.organization_id, reference)

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)

    @property
    def revival_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, revival_id(hold_id)) for hold_id in self.hold_ids)


@dataclass(frozen=True, slots=True)
class _DueHolds:
    """Holds of one organization of which something is due. Where it is not, they are left alone."""

    organization_id: OrganizationId
    hold_ids: tuple[HoldId, ...]
    origin: Origin

    def __post_init__(self) -> None:
        assert 1 <= len(self.hold_ids) <= DUE_BATCH_MAX

    @property
    def idempotency(self) -> IdempotencyKey | None:
        """Doing it twice is harmless by nature."""
        return None

    @property
    def hold_keys(self) -> tuple[HoldKey, ...]:
        return tuple((self.organization_id, hold_id) for hold_id in self.hold_ids)


@dataclass(frozen=True, slots=True)
class ExpireHolds(_DueHolds):
    """Write down that these holds have lapsed."""


@dataclass(frozen=True, slots=True)
class WarnHolds(_DueHolds):
    """Tell the holders of these holds that the end is near."""


@dataclass(frozen=True, slots=True)
class BlockSeats:
    """Take seats out of the sale, or, with `is_lifted`, put them back. A held seat ends its hold; a
    seat that is blocked already (or not blocked) is left as it is."""

    organization_id: OrganizationId
    session_id: SessionId
    seat_ids: tuple[SeatId, ...]
    reason: str
    origin: Origin
    idempotency: IdempotencyKey | None = None
    is_lifted: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.seat_ids) <= SEATS_PER_BLOCKING_MAX:
            raise InvalidValue(
                "invalid_seats", f"Name from 1 to {SEATS_PER_BLOCKING_MAX} seats in one call"
            )
        if len(set(self.seat_ids)) != len(self.seat_ids):
            raise InvalidValue("duplicate_seat", "A seat is named twice")
        if not 1 <= len(self.reason) <= BLOCKED_REASON_LENGTH_MAX:
            raise InvalidValue(
                "invalid_reason", f"A reason has 1 to {BLOCKED_REASON_LENGTH_MAX} characters"
            )

    @property
    def session_key(self) -> SessionKey:
        return (self.organization_id, self.session_id)


def _check_cart(cart: str) -> None:
    if not (1 <= len(cart) <= CART_TOKEN_LENGTH_MAX and cart.isprintable()):
        raise InvalidValue(
            "invalid_cart", f"A cart's name has 1 to {CART_TOKEN_LENGTH_MAX} printable characters"
        )


def _named_seats(asks: Iterable[Ask | SeatAsk]) -> tuple[SeatId, ...]:
    named = tuple(seat_id for ask in asks if isinstance(ask, SeatAsk) for seat_id in ask.seat_ids)
    if len(set(named)) != len(named):
        raise InvalidValue("duplicate_seat", "A seat is named twice")
    if len(named) > SEATS_PER_HOLD_MAX:
        raise InvalidValue("invalid_lines", f"A hold has at most {SEATS_PER_HOLD_MAX} seats")
    return named


def _check_holds(hold_ids: tuple[HoldId, ...]) -> None:
    if not 1 <= len(hold_ids) <= HOLDS_PER_CHECKOUT_MAX:
        raise InvalidValue("invalid_holds", f"Name from 1 to {HOLDS_PER_CHECKOUT_MAX} holds")
    if len(set(hold_ids)) != len(hold_ids):
        raise InvalidValue("duplicate_hold", "A hold is named twice")


Command = (
    PlaceHold
    | ReleaseHold
    | ExtendHold
    | StartCheckout
    | ConvertHolds
    | ExpireHolds
    | WarnHolds
    | BlockSeats
    | FillCart
    | EmptyCart
    | RenewCart
    | PromoteWaiting
)
