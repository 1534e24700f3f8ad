"""The store behind the engine: it locks, reads, writes and commits, and has no business rules."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
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
    OrderKey,
    OrganizationId,
    PaymentKey,
    SessionKey,
)
from holdfast.domain.immutable import immutable
from holdfast.domain.orders.cancellation import Cancellation
from holdfast.domain.orders.facts import cancellation_facts, order_audit, ticket_facts
from holdfast.domain.orders.order import Attendee, Checkout, Order
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.values import EmailAddress
from holdfast.domain.waitlist.queues import QueueKey

# StoreError
# |-- StoreUnavailable   unreachable or unable to serve; nothing was committed
# |-- Contended          conflict with another transaction; nothing was committed, try again
# |-- Rejected           a value or constraint refused the group; nothing was committed
# '-- CommitUnknown      the connection was lost in COMMIT; ask `resolve`


class StoreError(Exception):
    """The base of all store errors. Only CommitUnknown leaves the outcome open."""

    @property
    def problem(self) -> str:
        """The kind of error and its reason, which quotes no values and no hosts: safe to log."""
        return ": ".join(filter(None, (type(self).__name__, str(self))))


class StoreUnavailable(StoreError):
    """The store is unreachable or unable to serve. Nothing was committed."""


class Contended(StoreError):
    """Another transaction was in the way. Nothing was committed; the group may be retried."""


class Rejected(StoreError):
    """A value or a constraint refused the group. Nothing was committed."""


@immutable
class CommitToken:
    """Tells later whether a transaction has committed: its id, and a row that exists only then."""

    transaction_id: int
    witness: "Witness | None"


class WitnessKind(Enum):
    HOLD = auto()
    SEAT = auto()
    ORDER = auto()


class Witness(NamedTuple):
    """A row that has this version or a later one if the transaction has committed."""

    organization_id: OrganizationId
    id: UUID
    version: int
    kind: WitnessKind


class CommitUnknown(StoreError):
    """It is unknown whether the group was committed."""

    def __init__(self, token: CommitToken) -> None:
        super().__init__("the connection was lost in COMMIT")
        self.token = token


class CommitState(Enum):
    COMMITTED = auto()
    NOT_COMMITTED = auto()
    UNKNOWN = auto()


Change = Transition | Order | SeatTransition | OrderChange


@immutable
class GroupWrites:
    """Everything that one group writes."""

    ledger: Ledger
    transitions: Sequence[Transition]
    answers: Sequence[tuple[IdempotencyKey, RecordedAnswer]]
    seat_transitions: Sequence[SeatTransition] = ()
    checkouts: Sequence[Checkout] = ()
    orders: Sequence[Order] = ()
    order_changes: Sequence[OrderChange] = ()
    # All of these that have facts, in the order in which they were decided.
    changes: Sequence[Change] = ()
    # Entries of the audit that no change implies.
    entries: Sequence[AuditRecord] = ()

    def witness(self) -> Witness | None:
        """A row that exists in this version only if the group has committed."""
        if self.transitions:
            hold = self.transitions[-1].after
            return Witness(hold.organization_id, hold.id, hold.version, WitnessKind.HOLD)
        if self.seat_transitions:
            seat = self.seat_transitions[-1].after
            return Witness(seat.organization_id, seat.id, seat.version, WitnessKind.SEAT)
        if self.order_changes:
            order = self.order_changes[-1].after
            return Witness(order.organization_id, order.id, order.version, WitnessKind.ORDER)
        return None

    @property
    def cancellations(self) -> list[Cancellation]:
        return [each for each in self.order_changes if isinstance(each, Cancellation)]

    def changed_holds(self) -> dict[HoldKey, Hold]:
        """The changed holds, without new ones, in their final state."""
        return {each.after.key: each.after for each in self.transitions if each.before is not None}

    def waiting_places(self) -> dict[HoldKey, Hold]:
        """Holds that joined, left or moved on the waitlist, in their final state."""
        moved = {}
        for each in self.transitions:
            was = None if each.before is None else each.before.waiting
            if was != each.after.waiting:
                moved[each.after.key] = each.after
        return moved

    def event_of(self, session_key: SessionKey) -> EventId:
        return self.ledger.sessions[session_key].event_id

    def facts(self) -> Iterator[Fact]:
        """In the order of the decisions: a seat may change several times in one group."""
        versions: dict[HoldKey, int] = {}
        for change in self.changes:
            match change:
                case Transition(after=hold):
                    yield from facts_of(change, self.event_of)
                    if self.orders:
                        versions[hold.key] = hold.version
                case Order():
                    first = (change.organization_id, change.hold_ids[0])
                    yield order_fact(change, versions[first])
                case SeatTransition(after=seat):
                    event_id = self.event_of((seat.organization_id, seat.session_id))
                    yield seat_fact(change, event_id, self.ledger.now)
                case Cancellation():
                    yield from cancellation_facts(change, self.event_of)
                    yield from ticket_facts(change, self.event_of)

    def audit(self) -> Iterator[AuditRecord]:
        for change in self.changes:
            match change:
                case Transition():
                    yield from audit_of(change, self.event_of)
                case SeatTransition():
                    yield seat_audit(change)
                case OrderChange():
                    yield from order_audit(change)
                case Order():
                    pass  # its holds have entries
        yield from self.entries


@immutable
class Wanted:
    """What a group locks and reads, and the new holds that may need a reference. Immutable parts of
    holds `known` from the survey are not read again."""

    resources: frozenset[Resource]
    new_holds: Sequence[HoldKey] = ()
    holdings: Sequence[Holding] = ()
    receipts: Sequence[tuple[OrganizationId, Receipt]] = ()
    payments: Sequence[PaymentKey] = ()
    known: Mapping[HoldKey, Hold] = field(default_factory=dict)
    # Orders from the survey: those changed since are read again.
    orders: Mapping[OrderKey, Order] = field(default_factory=dict)
    carts: Sequence[CartKey] = ()
    # Addresses and attendees that it may write: they are sealed before anything is locked.
    emails: Sequence[tuple[OrganizationId, EmailAddress]] = ()
    attendees: Sequence[tuple[OrganizationId, Attendee]] = ()
    # Sessions whose seats were surveyed: they are read again under the lock of their waitlist.
    seatings: frozenset[SessionKey] = frozenset()
    # Queues of which more parties are read than usual.
    parties: Mapping[QueueKey, int] = field(default_factory=dict)


class Group(Protocol):
    """One transaction, from the locks to the commit. Leaving it uncommitted rolls it back."""

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        """Lock in resource order, then read, then read the clock. Resources that others have locked
        are skipped and listed in `ledger.skipped`. Only `wait_for`, if it is a row, is waited for,
        up to the lock timeout. That comes first, so that nobody waits while holding other locks."""
        ...

    def write_and_commit(self, writes: GroupWrites) -> None:
        """Returns only once the database has confirmed COMMIT."""
        ...


class StoreConnection(Protocol):
    """One connection for one thread. It reconnects automatically."""

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        """Read without locks to learn what to lock. Data that is slow to read (the seats of a large
        hall, the first time; the tickets of a large order) is read only if `is_patient`; otherwise
        it is listed in `unread` and `unread_orders`."""
        ...

    def group(self) -> AbstractContextManager[Group]: ...

    def resolve(self, token: CommitToken) -> CommitState:
        """Whether a transaction lost in COMMIT has committed. Bounded in time; never a guess."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    def connect(self) -> StoreConnection:
        """A connection for one thread. It does not use the network yet."""
        ...
