"""What comes of a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
)
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import Seat


@dataclass(frozen=True, slots=True)
class Placed:
    hold: Hold
    at: datetime
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """In the line: behind `position` - 1 others. None where only a reader can tell: it has waited
    for a while."""

    hold: Hold
    at: datetime
    position: int | None = None
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class CartChanged:
    """The cart's hold as it is now; `is_repeat`: it was so already."""

    hold: Hold
    at: datetime
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class CartEmptied:
    """`hold` is what was let go, if there was anything."""

    hold: Hold | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Promoted:
    """What was free has been given to so many of those who wait."""

    count: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Released:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class Extended:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class CheckoutStarted:
    """`is_repeat`: these very holds are in this checkout already."""

    checkout_id: CheckoutId
    holds: tuple[Hold, ...]
    at: datetime
    is_repeat: bool = False

    @property
    def expires_at(self) -> datetime:
        return min(hold.expires_at for hold in self.holds)


@dataclass(frozen=True, slots=True)
class Converted:
    """`holds` are those that the order was made of: for a late payment, the ones that stand for
    the lapsed ones."""

    order: Order
    holds: tuple[Hold, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class AlreadyConverted:
    """They were made this order before. Its tickets are not locked here: who needs them reads
    them."""

    order_id: OrderId
    at: datetime


@dataclass(frozen=True, slots=True)
class Expired:
    hold_ids: tuple[HoldId, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Warned:
    hold_ids: tuple[HoldId, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class SeatsBlocked:
    """`changed` were blocked (or unblocked) now; the others were so already. `ended` are the holds
    that this ended."""

    changed: tuple[Seat, ...]
    unchanged: tuple[SeatId, ...]
    ended: tuple[HoldId, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class NeedsMore:
    """The footprint was too small, or others were quicker. What is learnt goes into the next plan:

    lapsed          pools that have lapsed holds which would make room
    holds           stand on seats that are asked for
    locked_seats    somebody else has locked or taken: best-available looks elsewhere first
    block_limits    what a block with a capacity has left
    pools           that somebody who waits needs
    has_to_wait     may have to wait in line, which is bound by what its holder has
    was_overtaken   the look ahead was out of date; the next one will not be
    otherwise       what to answer should this go on for too long; without it, 503
    """

    lapsed: frozenset[tuple[SessionKey, PoolId]] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    locked_seats: frozenset[SeatId] = frozenset()
    block_limits: Mapping[BlockId, int] = field(default_factory=dict)
    pools: frozenset[PoolId] = frozenset()
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
            has_to_wait=self.has_to_wait or other.has_to_wait,
        )


NOTHING_MORE = NeedsMore()

Outcome = (
    Placed
    | Released
    | Extended
    | CheckoutStarted
    | Converted
    | AlreadyConverted
    | Expired
    | Warned
    | SeatsBlocked
    | Waiting
    | CartChanged
    | CartEmptied
    | Promoted
    | Refusal
)


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome | NeedsMore
    transitions: tuple[Transition, ...] = ()
    seat_transitions: tuple[SeatTransition, ...] = ()
    checkout: Checkout | None = None
    order: Order | None = None
    passed: tuple[UUID, ...] = ()  # lines whose first in line was passed by this
