"""The store behind the engine: lock, read, write, commit. It holds no rule."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.domain.facts import (
    AuditRecord,
    Fact,
    audit_of,
    facts_of,
    order_fact,
    seat_audit,
    seat_fact,
)
from holdfast.domain.group.footprint import Holding, Needs, Resource, Survey
from holdfast.domain.group.ledger import Ledger, RecordedAnswer
from holdfast.domain.group.origin import IdempotencyKey, Receipt
from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import (
    CartKey,
    EventId,
    HoldKey,
    OrganizationId,
    PaymentKey,
    SessionId,
    SessionKey,
)
from holdfast.domain.orders.order import Checkout, Order
from holdfast.domain.seats.seat import Seat

# StoreError
# |-- StoreUnavailable   cannot be reached or cannot serve; nothing was committed
# |-- Contended          lost against another transaction; nothing was committed, try again
# |-- Rejected           some value or row of this group was refused; nothing was committed
# '-- CommitUnknown      the connection went away in COMMIT; ask `resolve`


class StoreError(Exception):
    """The store said no. Only CommitUnknown leaves the outcome open."""


class StoreUnavailable(StoreError):
    """The store cannot be reached or cannot serve. Nothing was committed."""


class Contended(StoreError):
    """Another transaction was in the way. Nothing was committed; the group may be tried again."""


class Rejected(StoreError):
    """A value or a constraint refused the group. Nothing was committed."""


@dataclass(frozen=True, slots=True)
class CommitToken:
    """Enough to find out later whether a transaction has committed: its id, and one of the rows
    that exist only if it has."""

    transaction_id: int
    witness: "Witness | None"


class Witness(NamedTuple):
    """A hold, or a seat, that has this version or a later one."""

    organization_id: OrganizationId
    id: UUID
    version: int
    is_hold: bool


class CommitUnknown(StoreError):
    """Nobody knows yet whether the group was committed."""

    def __init__(self, token: CommitToken) -> None:
        super().__init__("the connection was lost in COMMIT")
        self.token = token


class CommitState(Enum):
    COMMITTED = auto()
    NOT_COMMITTED = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class GroupWrites:
    """All that one group leaves behind."""

    ledger: Ledger
    transitions: Sequence[Transition]
    answers: Sequence[tuple[IdempotencyKey, RecordedAnswer]]
    seat_transitions: Sequence[SeatTransition] = ()
    checkouts: Sequence[Checkout] = ()
    orders: Sequence[Order] = ()

    def witness(self) -> Witness | None:
        """A row that exists in this version only if the group has committed."""
        if self.transitions:
            hold = self.transitions[-1].after
            return Witness(hold.organization_id, hold.id, hold.version, is_hold=True)
        if self.seat_transitions:
            seat = self.seat_transitions[-1].after
            return Witness(seat.organization_id, seat.id, seat.version, is_hold=False)
        return None

    def changed_seats(self) -> list[Seat]:
        """The seats that are not as they were, each as the group leaves it."""
        ids = {seat.id for each in self.transitions for seat, _ in each.seat_moves()}
        ids |= {each.after.id for each in self.seat_transitions}
        return [self.ledger.seats[seat_id] for seat_id in sorted(ids)]

    def changed_holds(self) -> dict[HoldKey, Hold]:
        """Holds that were there before, each as the group leaves it."""
        return {each.after.key: each.after for each in self.transitions if each.before is not None}

    def waiting_places(self) -> dict[HoldKey, Hold]:
        """Holds that have joined a line, left it or moved within it, as the group leaves them."""
        moved = {}
        for each in self.transitions:
            was = None if each.before is None else each.before.waiting
            if was != each.after.waiting:
                moved[each.after.key] = each.after
        return moved

    def event_of(self, organization_id: OrganizationId, session_id: SessionId) -> EventId:
        return self.ledger.sessions[organization_id, session_id].event_id

    def facts(self) -> Iterator[Fact]:
        for transition in self.transitions:
            hold = transition.after
            yield from facts_of(transition, self.event_of(hold.organization_id, hold.session_id))
        yield from self._order_facts()
        for blocking in self.seat_transitions:
            seat = blocking.after
            event_id = self.event_of(seat.organization_id, seat.session_id)
            yield seat_fact(blocking, event_id, self.ledger.now)

    def _order_facts(self) -> Iterator[Fact]:
        if not self.orders:
            return
        versions = {
            (each.after.organization_id, each.after.id): each.after.version
            for each in self.transitions
        }
        for order in self.orders:
            yield order_fact(order, versions[order.organization_id, order.hold_ids[0]])

    def audit(self) -> Iterator[AuditRecord]:
        for transition in self.transitions:
            hold = transition.after
            yield from audit_of(transition, self.event_of(hold.organization_id, hold.session_id))
        yield from map(seat_audit, self.seat_transitions)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a group locks and reads, and for which holds it may need a new reference. Of holds that
    are `known` from the look ahead, what never changes need not be read again. Of every locked line
    `look_ahead` parties are read."""

    resources: frozenset[Resource]
    new_holds: Sequence[HoldKey] = ()
    holdings: Sequence[Holding] = ()
    receipts: Sequence[tuple[OrganizationId, Receipt]] = ()
    payments: Sequence[PaymentKey] = ()
    known: Mapping[HoldKey, Hold] = field(default_factory=dict)
    carts: Sequence[CartKey] = ()
    look_ahead: int = 1
    # Whose seats were looked at: under the lock of their lines they are looked at once more.
    seatings: frozenset[SessionKey] = frozenset()


class Group(Protocol):
    """One transaction, from the locks to the commit. Leaving it uncommitted rolls it back."""

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        """Lock in the order of the resources, then read, then read the clock. What somebody else
        has locked is left out and named in `ledger.skipped`. Only `wait_for`, when it is a row, is
        waited for, up to the lock timeout: first of all, so that nobody ever waits while holding a
        lock that others need."""
        ...

    def write_and_commit(self, writes: GroupWrites) -> None:
        """Returns only when the database has said COMMIT."""
        ...


class StoreConnection(Protocol):
    """One connection, used by one thread. It reconnects by itself."""

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """An unlocked look ahead, to learn what to lock. What takes long to read for the first
        time (the seats of a large hall) is read only by those who are patient; for the others it is
        named in `unread`."""
        ...

    def group(self) -> AbstractContextManager[Group]: ...

    def resolve(self, token: CommitToken) -> CommitState:
        """Whether a transaction that was lost in COMMIT has committed. Bounded; never a guess."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    def connect(self) -> StoreConnection:
        """A connection for one thread. It does not touch the network yet."""
        ...
