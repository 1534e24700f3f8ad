"""The log of facts, and messages to and from a broker."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.immutable import immutable
from holdfast.domain.values import JsonValue
from holdfast.ports.store import StoreError

# All facts of a hold are in one partition, which one relay at a time serves. This keeps the order
# per hold, and several relays can share the work.
PARTITIONS = 8


class Position(NamedTuple):
    """The cursor of a fact in the log. Cursors sort in the order of each hold's facts."""

    xid: int
    seq: int


@immutable
class StoredFact:
    organization_id: OrganizationId
    position: Position
    event_id: UUID
    type: str
    occurred_at: datetime
    hold_id: HoldId | None
    seat_id: SeatId | None
    version: int
    payload: Mapping[str, JsonValue]
    holder_key: UUID | None  # of the hold's holder, for the relay


@immutable
class Message:
    """A fact as a message. Its type is the routing key, its id is the same on every delivery, and
    its headers are CloudEvents attributes."""

    id: UUID
    type: str
    body: bytes
    headers: Mapping[str, str]


class PublishFailed(Exception):
    """Some of the messages may not have arrived: send all of them again."""


class Unroutable(PublishFailed):
    """No queue of the broker receives messages of these types."""

    def __init__(self, types: Sequence[str]) -> None:
        super().__init__("no queue is bound for " + ", ".join(sorted(set(types))))
        self.types = tuple(sorted(set(types)))


class Publisher(Protocol):
    """One connection to a broker for one thread. It connects on first use and after a loss."""

    def publish(self, messages: Sequence[Message]) -> None:
        """Publish in order. Returns once the broker has confirmed every message; otherwise raises
        PublishFailed within a bounded time."""
        ...

    def close(self) -> None: ...


class ClaimedPartition(Protocol):
    """A partition claimed until the context ends or the connection is lost."""

    def unpublished(self, limit: int) -> tuple[StoredFact, ...]:
        """The next facts in log order, without gaps: facts that a running transaction may still
        precede are left out."""
        ...

    def published(self, up_to: Position) -> None:
        """Record that the broker has everything up to here."""
        ...


@immutable
class RelayLag:
    """The backlog of unpublished facts (counted up to a bound), and the age of the oldest."""

    waiting: int
    oldest_seconds: float


@immutable
class RelayCursor:
    """How far a partition was relayed, and when that was last updated."""

    partition: int
    position: Position
    moved_at: datetime


class LogAhead(StoreError):
    """The log's cursors are from the database that this one was restored from. Until a migration,
    they don't show what was relayed."""


class Outbox(Protocol):
    """Every call may raise StoreError; it blocks."""

    def claim(self, partition: int) -> AbstractContextManager[ClaimedPartition | None]:
        """Claim a partition; None if another relay has it."""
        ...

    def lag(self) -> RelayLag:
        """May raise LogAhead."""
        ...


@immutable
class FactPage:
    """`next` is the next cursor, even if there are no items. `is_gone` means that facts after
    `after` were pruned, or that `after` is from a database that this one was restored from."""

    items: tuple[StoredFact, ...]
    next: Position
    has_more: bool
    is_gone: bool = False


class FactLog(Protocol):
    def facts(
        self, organization_id: OrganizationId, after: Position | None, limit: int
    ) -> FactPage: ...


class Handled(Enum):
    """The result of handling a message."""

    DONE = auto()
    AGAIN = auto()  # not now: deliver it again


@immutable
class Dead:
    """The message can never be handled: dead-letter it with this reason."""

    reason: str


# Called on one thread per consumer. If it raises, the message is delivered again, and dead-lettered
# after a few attempts.
Handler = Callable[[Message], Handled | Dead]


@immutable
class DeadLetter:
    """A dead-lettered message, with its reason and original queue."""

    message: Message
    queue: str
    reason: str
