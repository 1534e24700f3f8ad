"""What a decision changes: transitions of holds, and of seats that an operator blocks. All else
follows from them by pure functions: the counters of the pools, the units per second of lapse, the
states of the seats and, in `facts`, what is told of them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from holdfast.domain.commands import Origin
from holdfast.domain.hold import Hold, HoldStatus
from holdfast.domain.ids import PoolId
from holdfast.domain.seat import Seat


class FactType(StrEnum):
    HOLD_CREATED = "hold.created"
    HOLD_EXTENDED = "hold.extended"
    HOLD_CHANGED = "hold.changed"
    HOLD_EXPIRING = "hold.expiring"
    HOLD_EXPIRED = "hold.expired"
    HOLD_CANCELLED = "hold.cancelled"
    HOLD_CONVERTED = "hold.converted"
    ORDER_CONFIRMED = "order.confirmed"
    SEAT_HELD = "seat.held"
    SEAT_RELEASED = "seat.released"
    SEAT_SOLD = "seat.sold"
    SEAT_BLOCKED = "seat.blocked"
    SEAT_UNBLOCKED = "seat.unblocked"


_FACT_OF_STATUS = {
    HoldStatus.ACTIVE: FactType.HOLD_CREATED,
    HoldStatus.EXPIRED: FactType.HOLD_EXPIRED,
    HoldStatus.CANCELLED: FactType.HOLD_CANCELLED,
    HoldStatus.CONVERTED: FactType.HOLD_CONVERTED,
}

_SEAT_FACT_OF_STATUS = {
    HoldStatus.ACTIVE: FactType.SEAT_HELD,
    HoldStatus.EXPIRED: FactType.SEAT_RELEASED,
    HoldStatus.CANCELLED: FactType.SEAT_RELEASED,
    HoldStatus.CONVERTED: FactType.SEAT_SOLD,
}


@dataclass(frozen=True, slots=True)
class Transition:
    """One hold, before and after, and who caused it. `before` is None for a new hold."""

    before: Hold | None
    after: Hold
    origin: Origin
    is_by_operator: bool = False  # who may go beyond the policy

    @property
    def fact_type(self) -> FactType:
        before, after = self.before, self.after
        if before is None or before.status is not after.status:
            return _FACT_OF_STATUS[after.status]
        if before.expires_at != after.expires_at:
            return FactType.HOLD_EXTENDED
        is_warning = before.warn_at is not None and after.warn_at is None
        return FactType.HOLD_EXPIRING if is_warning else FactType.HOLD_CHANGED

    @property
    def seat_fact_type(self) -> FactType | None:
        """None where its seats stay what they are."""
        if self.before is not None and self.before.status is self.after.status:
            return None
        return _SEAT_FACT_OF_STATUS[self.after.status]

    @property
    def moves_seats(self) -> bool:
        """Whether the rows of its seats change: their state, or how long they are held."""
        before, after = self.before, self.after
        return (
            before is None
            or before.status is not after.status
            or before.expires_at != after.expires_at
        )


@dataclass(frozen=True, slots=True)
class SeatTransition:
    """A seat that an operator blocked or unblocked."""

    before: Seat
    after: Seat
    reason: str
    origin: Origin

    @property
    def fact_type(self) -> FactType:
        return FactType.SEAT_BLOCKED if self.after.is_blocked() else FactType.SEAT_UNBLOCKED


@dataclass(frozen=True, slots=True)
class PoolMove:
    held: int
    sold: int


def pool_moves(transitions: Iterable[Transition]) -> dict[PoolId, PoolMove]:
    """By how much each pool's counters change."""
    held: Counter[PoolId] = Counter()
    sold: Counter[PoolId] = Counter()
    for transition in transitions:
        for hold, sign in ((transition.before, -1), (transition.after, 1)):
            if hold is None:
                continue
            counter = _counter_of(hold, held, sold)
            if counter is not None:
                _count(hold, sign, counter)
    return {
        pool_id: PoolMove(held[pool_id], sold[pool_id])
        for pool_id in held.keys() | sold.keys()
        if held[pool_id] or sold[pool_id]
    }


def lapse_moves(transitions: Iterable[Transition]) -> dict[tuple[PoolId, datetime], int]:
    """By how much the units that lapse at each second of each pool change."""
    moves: Counter[tuple[PoolId, datetime]] = Counter()
    for transition in transitions:
        for hold, sign in ((transition.before, -1), (transition.after, 1)):
            if hold is None or not hold.occupies_places():
                continue
            for line in hold.lines:
                for pool_id in line.pool_ids:
                    moves[pool_id, hold.expires_at] += sign * line.quantity
    return {key: units for key, units in moves.items() if units}


def units_by_pool(hold: Hold) -> Counter[PoolId]:
    units: Counter[PoolId] = Counter()
    _count(hold, 1, units)
    return units


def seat_after(seat: Seat, transition: Transition) -> Seat:
    """What becomes of a seat of a hold that changes."""
    hold = transition.after
    if hold.occupies_places():
        if transition.before is not None:
            return seat.extended(hold.expires_at)
        return seat.held(hold.id, hold.holder.key, hold.expires_at, hold.updated_at)
    return seat.sold() if hold.is_converted() else seat.released()


def _counter_of(hold: Hold, held: Counter[PoolId], sold: Counter[PoolId]) -> Counter[PoolId] | None:
    if hold.occupies_places():
        return held
    return sold if hold.is_converted() else None


def _count(hold: Hold, sign: int, counter: Counter[PoolId]) -> None:
    for line in hold.lines:
        for pool_id in line.pool_ids:
            counter[pool_id] += sign * line.quantity
