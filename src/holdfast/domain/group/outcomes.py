"""The outcomes of commands."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from uuid import UUID

from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import (
    BlockId,
    CheckoutId,
    HoldId,
    HoldKey,
    OrderId,
    PoolId,
    SeatId,
    SessionKey,
    TicketId,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import Seat
from holdfast.domain.values import Money
from holdfast.domain.waitlist.obstacles import Explanation
from holdfast.domain.waitlist.queues import QueueKey


@immutable
class Placed:
    hold: Hold
    at: datetime
    is_repeat: bool = False


@immutable
class AwaitsInventory:
    """The hold is pending: the Inventory Service has to be asked for its places."""

    hold: Hold
    at: datetime


@immutable
class Waiting:
    """On the waitlist. `position` is set only if the hold has just joined; otherwise read it."""

    hold: Hold
    at: datetime
    position: int | None = None
    is_repeat: bool = False


@immutable
class CartChanged:
    """The cart's current hold. With `is_repeat`, nothing had to change. `acquired` tickets are new
    in it."""

    hold: Hold
    at: datetime
    is_repeat: bool = False
    acquired: int = 0


@immutable
class CartEmptied:
    """`hold` is the released hold, if there was one."""

    hold: Hold | None
    at: datetime


@immutable
class Promoted:
    """The number of parties promoted from the waitlist."""

    count: int
    at: datetime


@immutable
class HoldPromoted:
    """Promoted by an operator. `overtaken` are the queues whose first party had come earlier."""

    hold: Hold
    at: datetime
    overtaken: int = 0


@immutable
class Explained:
    """What keeps each party at the front of a waitlist from being served; None for those whose
    places are free and whose turn it is."""

    parties: Mapping[HoldId, Explanation | None]
    at: datetime


@immutable
class Released:
    hold: Hold
    at: datetime


@immutable
class Reserved:
    """A reservation of the Inventory Service, as it is now. With `is_repeat`, an earlier call had
    the same effect."""

    hold: Hold
    at: datetime
    is_repeat: bool = False


@immutable
class Extended:
    hold: Hold
    at: datetime


@immutable
class CheckoutStarted:
    """With `is_repeat`, these holds were in this checkout already."""

    checkout_id: CheckoutId
    holds: tuple[Hold, ...]
    at: datetime
    is_repeat: bool = False

    @property
    def expires_at(self) -> datetime:
        return min(hold.expires_at for hold in self.holds)


@immutable
class Converted:
    """`holds` are those the order was made from: for a late payment, the holds that replace the
    expired ones."""

    order: Order
    holds: tuple[Hold, ...]
    at: datetime


@immutable
class AlreadyConverted:
    """The holds became this order earlier. Its tickets are not locked here and have to be read."""

    order_id: OrderId
    at: datetime


@immutable
class OrderCancelled:
    """The order with these tickets void; `amount` is what they had cost."""

    order: Order
    ticket_ids: tuple[TicketId, ...]
    amount: Money
    at: datetime


@immutable
class RefundRecorded:
    """The order with the reference at these tickets; none if they had it before."""

    order: Order
    ticket_ids: tuple[TicketId, ...]
    at: datetime


@immutable
class Expired:
    hold_ids: tuple[HoldId, ...]
    at: datetime


@immutable
class Warned:
    hold_ids: tuple[HoldId, ...]
    at: datetime


@immutable
class SeatsBlocked:
    """`changed` seats were blocked (or unblocked) now, `unchanged` ones before. `ended` are the
    holds that this ended."""

    changed: tuple[Seat, ...]
    unchanged: tuple[SeatId, ...]
    ended: tuple[HoldId, ...]
    at: datetime


@immutable
class NeedsMore:
    """The footprint was too small, or others were quicker. The next plan uses what was learnt:

    lapsed          pools with lapsed holds that would make room
    holds           holds on the seats that are asked for
    locked_seats    locked or taken by others: best-available avoids them at first
    block_limits    remaining capacity of blocks
    pools           pools that parties on the waitlist need
    parties         how many parties of a waitlist queue to read
    has_to_wait     the command may join the waitlist, which is limited per holder
    was_overtaken   the survey was stale; the next one is not
    otherwise       the refusal if this goes on for too long; 503 by default
    """

    lapsed: frozenset[tuple[SessionKey, PoolId]] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    locked_seats: frozenset[SeatId] = frozenset()
    block_limits: Mapping[BlockId, int] = field(default_factory=dict)
    pools: frozenset[PoolId] = frozenset()
    parties: Mapping[QueueKey, int] = field(default_factory=dict)
    has_to_wait: bool = False
    was_overtaken: bool = False
    otherwise: Refusal | None = None

    def and_(self, other: "NeedsMore") -> "NeedsMore":
        return NeedsMore(
            lapsed=self.lapsed | other.lapsed,
            holds=self.holds | other.holds,
            locked_seats=self.locked_seats | other.locked_seats,
            block_limits={**self.block_limits, **other.block_limits},
            pools=self.pools | other.pools,
            parties={**self.parties, **other.parties},
            has_to_wait=self.has_to_wait or other.has_to_wait,
        )


NOTHING_MORE = NeedsMore()

Outcome = (
    Placed
    | AwaitsInventory
    | Released
    | Reserved
    | Extended
    | CheckoutStarted
    | Converted
    | AlreadyConverted
    | OrderCancelled
    | RefundRecorded
    | Expired
    | Warned
    | SeatsBlocked
    | Waiting
    | CartChanged
    | CartEmptied
    | Promoted
    | HoldPromoted
    | Explained
    | Refusal
)


@immutable
class Decision:
    outcome: Outcome | NeedsMore
    transitions: tuple[Transition, ...] = ()
    seat_transitions: tuple[SeatTransition, ...] = ()
    checkout: Checkout | None = None
    order: Order | None = None
    order_change: OrderChange | None = None
    passed: tuple[UUID, ...] = ()  # waitlist queues whose first party was overtaken
