"""What comes of a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.domain.hold import Hold
from holdfast.domain.ids import BlockId, HoldId, HoldKey, PoolId, SeatId
from holdfast.domain.refusals import Refusal
from holdfast.domain.seat import Seat
from holdfast.domain.transitions import SeatTransition, Transition


@dataclass(frozen=True, slots=True)
class Placed:
    hold: Hold
    at: datetime
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Released:
    hold: Hold
    at: datetime


@dataclass(frozen=True, slots=True)
class Expired:
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

    lapsed_pools    have lapsed holds that would make room
    holds           stand on seats that are asked for
    locked_seats    somebody else has locked: best-available looks elsewhere first
    block_limits    what a block with a capacity has left
    was_overtaken   the look ahead was out of date; the next one will not be
    """

    lapsed_pools: frozenset[PoolId] = frozenset()
    holds: frozenset[HoldKey] = frozenset()
    locked_seats: frozenset[SeatId] = frozenset()
    block_limits: Mapping[BlockId, int] = field(default_factory=dict)
    was_overtaken: bool = False

    def and_(self, other: "NeedsMore") -> "NeedsMore":
        return NeedsMore(
            lapsed_pools=self.lapsed_pools | other.lapsed_pools,
            holds=self.holds | other.holds,
            locked_seats=self.locked_seats | other.locked_seats,
            block_limits={**self.block_limits, **other.block_limits},
        )


NOTHING_MORE = NeedsMore()

Outcome = Placed | Released | Expired | SeatsBlocked | Refusal


@dataclass(frozen=True, slots=True)
class Decision:
    outcome: Outcome | NeedsMore
    transitions: tuple[Transition, ...] = ()
    seat_transitions: tuple[SeatTransition, ...] = ()
