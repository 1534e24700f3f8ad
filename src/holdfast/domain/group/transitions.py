"""The changes a decision makes: transitions of holds, and of seats that an operator blocks. Pure
functions derive the rest from them: pool counters, units per second of lapse, seat states, and
the published facts (in `facts`)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat
from holdfast.domain.ids import PoolId, SeatId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat import Seat


class FactType(StrEnum):
    HOLD_PENDING = "hold.pending"
    HOLD_FAILED = "hold.failed"
    HOLD_CREATED = "hold.created"
    HOLD_WAITING = "hold.waiting"
    HOLD_PROMOTED = "hold.promoted"
    HOLD_EXTENDED = "hold.extended"
    HOLD_CHANGED = "hold.changed"
    HOLD_EXPIRING = "hold.expiring"
    HOLD_EXPIRED = "hold.expired"
    HOLD_CANCELLED = "hold.cancelled"
    HOLD_CONVERTED = "hold.converted"
    ORDER_CONFIRMED = "order.confirmed"
    ORDER_CANCELLED = "order.cancelled"
    TICKET_VOIDED = "ticket.voided"
    SEAT_HELD = "seat.held"
    SEAT_RELEASED = "seat.released"
    SEAT_SOLD = "seat.sold"
    SEAT_BLOCKED = "seat.blocked"
    SEAT_UNBLOCKED = "seat.unblocked"
    EVENT_CREATED = "event.created"
    EVENT_CHANGED = "event.changed"
    SESSION_CREATED = "session.created"
    SESSION_CHANGED = "session.changed"
    POOL_CREATED = "pool.created"
    POOL_CHANGED = "pool.changed"
    TICKET_TYPE_CREATED = "ticket_type.created"
    TICKET_TYPE_CHANGED = "ticket_type.changed"
    BLOCK_CREATED = "block.created"
    BLOCK_CHANGED = "block.changed"
    SEATS_IMPORTED = "seats.imported"
    NOTICE_REQUESTED = "notice.requested"


_FACT_OF_STATUS = {
    HoldStatus.PENDING: FactType.HOLD_PENDING,
    HoldStatus.FAILED: FactType.HOLD_FAILED,
    HoldStatus.WAITING: FactType.HOLD_WAITING,
    HoldStatus.ACTIVE: FactType.HOLD_CREATED,
    HoldStatus.EXPIRED: FactType.HOLD_EXPIRED,
    HoldStatus.CANCELLED: FactType.HOLD_CANCELLED,
    HoldStatus.CONVERTED: FactType.HOLD_CONVERTED,
}


SeatMove = tuple[LineSeat, FactType | None]


@immutable
class Transition:
    """One hold before and after a change, and its origin. `before` is None for a new hold."""

    before: Hold | None
    after: Hold
    origin: Origin
    is_by_operator: bool = False  # may exceed the policy and end the holds of others
    overtaken: int = 0  # waitlist queues that an operator made it overtake
    is_agreed: bool = False  # the Inventory Service is known to hold nothing for it
    # Computed once, because every step reads them.
    fact_type: FactType = field(init=False)
    # The seats that change and the fact of each; None if only the expiry changes.
    seat_moves: tuple[SeatMove, ...] = field(init=False)

    def __post_init__(self) -> None:
        before, after = self.before, self.after
        has_seats = after.seats or (before is not None and before.seats)
        object.__setattr__(self, "fact_type", _fact_type(before, after))
        object.__setattr__(
            self, "seat_moves", tuple(_seat_moves(before, after)) if has_seats else ()
        )

    @property
    def changes_lines(self) -> bool:
        return self.before is not None and self.before.lines is not self.after.lines

    @property
    def frees_places(self) -> bool:
        """Whether it gives places back, or leaves or changes its place on the waitlist."""
        before = self.before
        if before is None:
            return False
        if before.waiting is not None:
            return True
        is_given_up = not (self.after.occupies_places() or self.after.is_converted())
        return before.occupies_places() and (is_given_up or self.changes_lines)

    @property
    def freed_quantity(self) -> int:
        """Tickets given back; none if the hold was still on the waitlist."""
        before, after = self.before, self.after
        if before is None or not before.occupies_places() or after.is_converted():
            return 0
        if not after.occupies_places():
            return before.quantity
        return (_contents(before) - _contents(after)).total() if self.changes_lines else 0

    @property
    def added_quantity(self) -> int:
        """Tickets that a hold with places got in addition."""
        before, after = self.before, self.after
        if before is None or not (before.occupies_places() and after.occupies_places()):
            return 0
        return (_contents(after) - _contents(before)).total() if self.changes_lines else 0

    @property
    def ends_early(self) -> bool:
        """Whether an operator made the hold expire before its time was up."""
        before, after = self.before, self.after
        if before is None or after.status is not HoldStatus.EXPIRED:
            return False
        return after.updated_at < before.expires_at

    @property
    def ends_waiting(self) -> bool:
        """Whether the hold ended on the waitlist, without ever having places."""
        return self.before is not None and self.before.waiting is not None and self.after.is_over()

    def added_lines(self) -> tuple[Line, ...]:
        if self.before is None:
            return self.after.lines
        known = {line.number for line in self.before.lines}
        return tuple(line for line in self.after.lines if line.number not in known)

    def removed_lines(self) -> tuple[Line, ...]:
        if self.before is None or self.before.lines is self.after.lines:
            return ()
        kept = {line.number for line in self.after.lines}
        return tuple(line for line in self.before.lines if line.number not in kept)


def _fact_type(before: Hold | None, after: Hold) -> FactType:
    if before is None:
        return _FACT_OF_STATUS[after.status]
    if before.status is not after.status:
        is_promoted = before.status is HoldStatus.WAITING and after.occupies_places()
        return FactType.HOLD_PROMOTED if is_promoted else _FACT_OF_STATUS[after.status]
    if before.lines is not after.lines:
        return FactType.HOLD_CHANGED
    if before.expires_at != after.expires_at:
        return FactType.HOLD_EXTENDED
    is_warning = before.warn_at is not None and after.warn_at is None
    return FactType.HOLD_EXPIRING if is_warning else FactType.HOLD_CHANGED


def _seat_moves(before: Hold | None, after: Hold) -> Iterator[SeatMove]:
    had = before.seats if before is not None and before.occupies_places() else ()
    if after.is_converted():
        yield from ((seat, FactType.SEAT_SOLD) for seat in after.seats)
        return
    has = after.seats if after.occupies_places() else ()
    if not had:
        yield from ((seat, FactType.SEAT_HELD) for seat in has)
        return
    had_ids = frozenset(seat.id for seat in had)
    has_ids = frozenset(seat.id for seat in has)
    yield from ((seat, FactType.SEAT_RELEASED) for seat in had if seat.id not in has_ids)
    yield from ((seat, FactType.SEAT_HELD) for seat in has if seat.id not in had_ids)
    if before is not None and before.expires_at != after.expires_at:
        yield from ((seat, None) for seat in has if seat.id in had_ids)


@immutable
class SeatTransition:
    """A seat that an operator blocked or unblocked."""

    before: Seat
    after: Seat
    reason: str
    origin: Origin

    @property
    def fact_type(self) -> FactType:
        return FactType.SEAT_BLOCKED if self.after.is_blocked() else FactType.SEAT_UNBLOCKED


_OCCUPYING = frozenset({HoldStatus.ACTIVE, HoldStatus.CONVERTED})


class Moves(NamedTuple):
    """Changes of the counters of pools, and of the units that lapse in each second of each pool.
    Some may be 0."""

    held: dict[PoolId, int]
    sold: dict[PoolId, int]
    lapse: dict[tuple[PoolId, datetime], int]


def moves_of(transitions: Iterable[Transition]) -> Moves:
    held, sold, lapse = moves = Moves({}, {}, {})
    for transition in transitions:
        for hold, sign in ((transition.before, -1), (transition.after, 1)):
            if hold is None or hold.status not in _OCCUPYING:
                continue
            is_held = hold.status is HoldStatus.ACTIVE
            counter = held if is_held else sold
            for line in hold.lines:
                units = sign * line.quantity
                for pool_id in line.pool_ids:
                    counter[pool_id] = counter.get(pool_id, 0) + units
                    if is_held:
                        bucket = (pool_id, hold.expires_at)
                        lapse[bucket] = lapse.get(bucket, 0) + units
    return moves


def _contents(hold: Hold) -> Counter[tuple[TicketTypeId, SeatId | None]]:
    contents: Counter[tuple[TicketTypeId, SeatId | None]] = Counter()
    for line in hold.lines:
        contents[line.ticket_type_id, line.seat.id if line.seat else None] += line.quantity
    return contents


def units_by_pool(hold: Hold) -> dict[PoolId, int]:
    return demand_of(hold.lines)


def units_of(lines: Iterable[Line]) -> Counter[PoolId]:
    """For sums and differences."""
    return Counter(demand_of(lines))


def demand_of(lines: Iterable[Line]) -> dict[PoolId, int]:
    """As `units_of`, for every hold that is placed: a counter takes longer."""
    units: dict[PoolId, int] = {}
    for line in lines:
        for pool_id in line.pool_ids:
            units[pool_id] = units.get(pool_id, 0) + line.quantity
    return units


def seat_after(seat: Seat, move: FactType | None, hold: Hold) -> Seat:
    """The seat after this move; `hold` is given as it is afterwards."""
    match move:
        case FactType.SEAT_HELD:
            return seat.held(hold.id, hold.holder.key, hold.expires_at, hold.updated_at)
        case FactType.SEAT_RELEASED:
            return seat.released()
        case FactType.SEAT_SOLD:
            return seat.sold()
        case _:
            return seat.extended(hold.expires_at)
