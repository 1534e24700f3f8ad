"""Facts: the log that they are kept in, their way out to a broker, and their way in from one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.domain.values import JsonValue
from holdfast.ports.store import StoreError

# The facts of one hold are all in one partition, and one relay at a time serves a partition: so
# the order per hold is kept, and several relays can share the work.
PARTITIONS = 8


class Position(NamedTuple):
    """Where a fact is in the log. The order of positions is the order of each hold's facts."""

    xid: int
    seq: int


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Message:
    """A fact as it travels: its type is the routing key, its id stays the same however often it is
    sent, and the headers are its CloudEvents attributes."""

    id: UUID
    type: str
    body: bytes
    headers: Mapping[str, str]


class PublishFailed(Exception):
    """Some of the messages may have arrived and some not: all of them are to be sent again."""


class Unroutable(PublishFailed):
    """The broker has nobody who listens to messages of these types."""

    def __init__(self, types: Sequence[str]) -> None:
        super().__init__("nobody listens to " + ", ".join(sorted(set(types))))
        self.types = tuple(sorted(set(types)))


class Publisher(Protocol):
    """One connection to a broker, used by one thread. It connects when it is first needed, and anew
    after a loss."""

    def publish(self, messages: Sequence[Message]) -> None:
        """In their order. Returns when the broker has made itself answerable for every one of them;
        raises PublishFailed otherwise, within a bounded time."""
        ...

    def close(self) -> None: ...


class ClaimedPartition(Protocol):
    """A partition that is ours until the claim ends or its connection is lost."""

    def unpublished(self, limit: int) -> tuple[StoredFact, ...]:
        """The next facts in the order of the log, none left out: what may still be joined by a
        transaction that is under way is not shown yet."""
        ...

    def published(self, up_to: Position) -> None:
        """Everything up to here is with the broker."""
        ...


@dataclass(frozen=True, slots=True)
class RelayLag:
    """How many facts wait (counted up to a bound), and since when the oldest does."""

    waiting: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class RelayCursor:
    """How far a partition has been relayed, and when that was last said."""

    partition: int
    position: Position
    moved_at: datetime


class LogAhead(StoreError):
    """The positions of the log were given by another database, out of which this one was restored:
    until it is migrated, nobody can tell from them what was relayed."""


class Outbox(Protocol):
    """Every call may raise StoreError; it blocks."""

    def claim(self, partition: int) -> AbstractContextManager[ClaimedPartition | None]:
        """None when another relay has it."""
        ...

    def lag(self) -> RelayLag:
        """May raise LogAhead."""
        ...


@dataclass(frozen=True, slots=True)
class FactPage:
    """`next` is where to go on, also when there is nothing yet. `is_gone`: what followed `after`
    was pruned, or `after` is of another database, out of which this one was restored."""

    items: tuple[StoredFact, ...]
    next: Position
    has_more: bool
    is_gone: bool = False


class FactLog(Protocol):
    def facts(
        self, organization_id: OrganizationId, after: Position | None, limit: int
    ) -> FactPage: ...


class Handled(Enum):
    """What became of a message that came in."""

    DONE = auto()
    AGAIN = auto()  # not now: deliver it once more


@dataclass(frozen=True, slots=True)
class Dead:
    """Never: put it aside for people to look at. They are shown the reason."""

    reason: str


# Called on one thread per consumer. It may raise: then the message is delivered again, and put
# aside after a few times.
Handler = Callable[[Message], Handled | Dead]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was put aside, why, and where it came from."""

    message: Message
    queue: str
    reason: str
