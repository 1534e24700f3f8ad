"""A plan of the things on sale, and the venue built from it, the same for every store."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from secrets import token_bytes
from uuid import uuid4

from uuid_utils.compat import uuid7

from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.fill_cart import FillCart
from holdfast.domain.carts.items import CartAsk
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.catalog.model import SaleTerms
from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.due_holds import ExpireHolds, WarnHolds
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.hold import Hold
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import (
    BlockId,
    CheckoutId,
    EventId,
    HoldId,
    OrderId,
    OrganizationId,
    PoolId,
    SeatId,
    SessionId,
    TicketId,
    TicketTypeId,
)
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.convert_holds import ConvertHolds
from holdfast.domain.orders.order import SEED_BYTES, Attendee, Purchase
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.orders.start_checkout import StartCheckout
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.seats.block_seats import BlockSeats
from holdfast.domain.seats.move_seats import MoveSeats
from holdfast.domain.seats.seat import SeatPlace
from holdfast.domain.values import EmailAddress, Holder, Quantity
from holdfast.domain.waitlist.explain_waiting import ExplainWaiting
from holdfast.domain.waitlist.promote_hold import PromoteHold
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting

ORIGIN = Origin("test", "request-1", "127.0.0.1", "pytest")
OPERATOR = Origin("operator:ann", "request-2", reason="Ann fell ill")
BUYER = Holder(EmailAddress("buyer@example.com"))
STRANGER = Holder(EmailAddress("stranger@example.com"))


@dataclass(frozen=True)
class Hall:
    """Blocks of rows with a number of seats, and the seated ticket types with their pools. A seat
    goes by its name: `Stalls A 3`."""

    blocks: Mapping[str, Mapping[str, int]]
    seated: Mapping[str, tuple[str, ...]]
    capacities: Mapping[str, int] = field(default_factory=dict)
    sold_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aisles_after: frozenset[int] = frozenset()
    accessible: frozenset[str] = frozenset()
    companion: frozenset[str] = frozenset()
    restricted_view: frozenset[str] = frozenset()

    def places(self, block_ids: Mapping[str, BlockId]) -> dict[str, SeatPlace]:
        places: dict[str, SeatPlace] = {}
        for block, rows in self.blocks.items():
            for rank, (row, count) in enumerate(rows.items()):
                position = 0
                for number in range(1, count + 1):
                    position += 1
                    name = f"{block} {row} {number}"
                    places[name] = SeatPlace(
                        SeatId(uuid7()),
                        block_ids[block],
                        row,
                        rank,
                        str(number),
                        position,
                        is_accessible=name in self.accessible,
                        is_companion=name in self.companion,
                        is_restricted_view=name in self.restricted_view,
                    )
                    if number in self.aisles_after:
                        position += 1
        return places


NO_HALL = Hall({}, {})


@dataclass(frozen=True)
class Plan:
    """The parts of a venue, the same for every store."""

    pools: Mapping[str, int]
    ticket_types: Mapping[str, tuple[str, ...]]
    policy: HoldPolicy = field(default_factory=HoldPolicy)
    hall: Hall = NO_HALL
    sale: SaleTerms = field(default_factory=SaleTerms)
    currency: str = "EUR"
    # Other plans with the same event are further sessions of it.
    event_id: EventId = field(default_factory=lambda: EventId(uuid4()))

    @property
    def all_pools(self) -> dict[str, int]:
        capped = {f"{name} capacity": total for name, total in self.hall.capacities.items()}
        return {**self.pools, **capped}

    @property
    def all_types(self) -> dict[str, tuple[str, ...]]:
        return {**self.ticket_types, **self.hall.seated}


@dataclass(frozen=True)
class Venue:
    """A session on sale. Ticket types, pools, blocks and seats go by name."""

    organization_id: OrganizationId
    session_id: SessionId
    ticket_types: Mapping[str, TicketTypeId]
    pools: Mapping[str, PoolId]
    blocks: Mapping[str, BlockId]
    places: Mapping[str, SeatPlace]

    def seat_ids(self, *names: str) -> tuple[SeatId, ...]:
        return tuple(self.places[name].id for name in names)

    def name_of(self, seat_id: SeatId) -> str:
        return next(name for name, place in self.places.items() if place.id == seat_id)

    def names_of(self, hold: Hold) -> list[str]:
        return [self.name_of(seat.id) for seat in hold.seats]

    def these(
        self, *names: str, ticket_type: str | None = None, price: int | None = None
    ) -> SeatAsk:
        """Ask for these seats."""
        chosen = None if ticket_type is None else self.ticket_types[ticket_type]
        return SeatAsk(self.seat_ids(*names), chosen, price)

    def some(
        self,
        ticket_type: str,
        quantity: int,
        *,
        price: int | None = None,
        block: str | None = None,
        accessible: int = 0,
        together: bool = False,
        at_least: int | None = None,
    ) -> Ask:
        """Ask for a quantity of a ticket type; of a seated one, the best available seats."""
        block_id = None if block is None else self.blocks[block]
        return Ask(
            self.ticket_types[ticket_type],
            Quantity(quantity),
            price,
            block_id,
            accessible,
            together,
            at_least,
        )

    def place(
        self,
        *asks: tuple[str, int] | Ask | SeatAsk,
        hold_id: HoldId | None = None,
        key: IdempotencyKey | None = None,
        holder: Holder = BUYER,
        wants_alternative: bool = False,
    ) -> PlaceHold:
        return PlaceHold(
            self.organization_id,
            self.session_id,
            hold_id or HoldId(uuid4()),
            holder,
            tuple(self.some(*ask) if isinstance(ask, tuple) else ask for ask in asks),
            ORIGIN,
            key,
            is_id_from_client=hold_id is not None,
            wants_alternative=wants_alternative,
        )

    def fill(
        self,
        cart: str,
        items: Mapping[str, tuple[str, int] | Ask | SeatAsk],
        *,
        holder: Holder = BUYER,
        hold_id: HoldId | None = None,
        key: IdempotencyKey | None = None,
    ) -> FillCart:
        asks = {
            item_id: self.some(*ask) if isinstance(ask, tuple) else ask
            for item_id, ask in items.items()
        }
        return FillCart(
            self.organization_id,
            self.session_id,
            cart,
            hold_id or HoldId(uuid7()),
            uuid4(),
            holder,
            tuple(CartAsk(item_id, ask) for item_id, ask in asks.items()),
            ORIGIN,
            key,
        )

    def empty(
        self, cart: str, holder: Holder | None = None, key: IdempotencyKey | None = None
    ) -> EmptyCart:
        return EmptyCart(self.organization_id, cart, ORIGIN, holder, key)

    def renew(
        self,
        cart: str,
        *,
        holder: Holder | None = None,
        hold_id: HoldId | None = None,
        key: IdempotencyKey | None = None,
    ) -> RenewCart:
        new_id = hold_id or HoldId(uuid7())
        return RenewCart(self.organization_id, cart, new_id, uuid4(), ORIGIN, holder, key)

    def promote(self) -> PromoteWaiting:
        return PromoteWaiting(self.organization_id, self.session_id, Origin("promoter", "run-1"))

    def promote_hold(self, hold: Hold, seen_version: int | None = None) -> PromoteHold:
        """Promote this party by hand."""
        seen = hold.version if seen_version is None else seen_version
        return replace(self.promote_this(hold.id), seen_version=seen)

    def promote_this(self, hold_id: HoldId) -> PromoteHold:
        origin = replace(ORIGIN, actor="operator:ann", reason="She stands at the box office")
        return PromoteHold(self.organization_id, hold_id, origin)

    def explain(self) -> ExplainWaiting:
        return ExplainWaiting(self.organization_id, self.session_id, ORIGIN)

    def seats(
        self,
        *names: str,
        holder: Holder = BUYER,
        hold_id: HoldId | None = None,
        wants_alternative: bool = False,
    ) -> PlaceHold:
        """Hold specific seats."""
        return self.place(
            self.these(*names),
            holder=holder,
            hold_id=hold_id,
            wants_alternative=wants_alternative,
        )

    def block(self, *names: str, reason: str = "broken") -> BlockSeats:
        return self._block(names, reason, is_lifted=False)

    def unblock(self, *names: str, reason: str = "mended") -> BlockSeats:
        return self._block(names, reason, is_lifted=True)

    def _block(self, names: tuple[str, ...], reason: str, *, is_lifted: bool) -> BlockSeats:
        return BlockSeats(
            self.organization_id,
            self.session_id,
            self.seat_ids(*names),
            reason,
            ORIGIN,
            is_lifted=is_lifted,
        )

    def release(self, hold_id: HoldId, key: IdempotencyKey | None = None) -> ReleaseHold:
        return ReleaseHold(self.organization_id, hold_id, ORIGIN, key)

    def release_as_operator(
        self, hold_id: HoldId, *, is_expired: bool = False, seen_version: int | None = None
    ) -> ReleaseHold:
        return ReleaseHold(
            self.organization_id,
            hold_id,
            ORIGIN,
            is_operator=True,
            is_expired=is_expired,
            seen_version=seen_version,
        )

    def move(
        self, hold_id: HoldId, moves: Mapping[str, str], *, seen_version: int | None = None
    ) -> MoveSeats:
        """Exchange seats for others."""
        pairs = zip(self.seat_ids(*moves), self.seat_ids(*moves.values()), strict=True)
        return MoveSeats(
            self.organization_id,
            self.session_id,
            hold_id,
            tuple(pairs),
            ORIGIN,
            seen_version=seen_version,
        )

    def expire(self, *hold_ids: HoldId) -> ExpireHolds:
        return ExpireHolds(self.organization_id, hold_ids, Origin("reaper", "run-1"))

    def extend(
        self,
        hold_id: HoldId,
        seconds: int,
        *,
        holder: Holder | None = BUYER,
        is_operator: bool = False,
        key: IdempotencyKey | None = None,
        seen_version: int | None = None,
    ) -> ExtendHold:
        return ExtendHold(
            self.organization_id,
            hold_id,
            seconds,
            ORIGIN,
            holder,
            is_operator=is_operator,
            idempotency=key,
            seen_version=seen_version,
        )

    def warn(self, *hold_ids: HoldId) -> WarnHolds:
        return WarnHolds(self.organization_id, hold_ids, Origin("reaper", "run-1"))

    def check_out(
        self,
        *hold_ids: HoldId,
        holder: Holder | None = BUYER,
        key: IdempotencyKey | None = None,
    ) -> StartCheckout:
        return StartCheckout(self.organization_id, hold_ids, ORIGIN, holder, key)

    def convert(
        self,
        *hold_ids: HoldId,
        holder: Holder | None = None,
        purchase: Purchase | None = None,
        checkout_id: CheckoutId | None = None,
        key: IdempotencyKey | None = None,
        total_minor: int | None = None,
    ) -> ConvertHolds:
        return ConvertHolds(
            self.organization_id,
            hold_ids,
            purchase or a_purchase(),
            ORIGIN,
            checkout_id,
            holder,
            key,
            total_minor=total_minor,
        )

    def pay_once(self, *hold_ids: HoldId, reference: str = "pay-1") -> ConvertHolds:
        """Convert with a single-use payment."""
        paid = a_purchase(payment_reference=reference)
        return ConvertHolds(
            self.organization_id, hold_ids, paid, ORIGIN, is_payment_single_use=True
        )

    def cancel(
        self,
        order_id: OrderId,
        *ticket_ids: TicketId,
        refund_reference: str | None = None,
        version: int | None = None,
        key: IdempotencyKey | None = None,
    ) -> CancelOrder:
        """Cancel these tickets of the order, or all of them."""
        return CancelOrder(
            self.organization_id, order_id, ticket_ids, OPERATOR, refund_reference, version, key
        )

    def refund(
        self,
        order_id: OrderId,
        *ticket_ids: TicketId,
        reference: str = "re_1",
        key: IdempotencyKey | None = None,
        version: int | None = None,
    ) -> RecordRefund:
        """Record a refund of these tickets of the order, or of all that are void without one."""
        own = self.organization_id
        return RecordRefund(own, order_id, reference, ticket_ids, OPERATOR, key, version)

    def key(self, fingerprint: bytes = b"same") -> IdempotencyKey:
        return IdempotencyKey(self.organization_id, uuid4(), fingerprint)


def a_purchase(*attendees: Attendee | None, payment_reference: str | None = None) -> Purchase:
    return Purchase(OrderId(uuid4()), token_bytes(SEED_BYTES), payment_reference, attendees)


def empty_venue(plan: Plan, beside: Venue | None = None) -> Venue:
    blocks = {name: BlockId(uuid7()) for name in plan.hall.blocks}
    return Venue(
        OrganizationId(uuid4()) if beside is None else beside.organization_id,
        SessionId(uuid4()),
        {name: TicketTypeId(uuid4()) for name in plan.all_types},
        {name: PoolId(uuid4()) for name in plan.all_pools},
        blocks,
        plan.hall.places(blocks),
    )
