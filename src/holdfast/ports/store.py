"""The store behind the engine: lock, read, write, commit. It holds no rule."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from holdfast.domain.commands import IdempotencyKey
from holdfast.domain.footprint import Needs, Resource, Survey
from holdfast.domain.ids import HoldKey
from holdfast.domain.ledger import Ledger, RecordedAnswer
from holdfast.domain.transitions import Transition

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
    witness: tuple[HoldKey, int] | None


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


class Group(Protocol):
    """One transaction, from the locks to the commit. Leaving it uncommitted rolls it back."""

    def lock_and_read(
        self,
        resources: frozenset[Resource],
        new_holds: Sequence[HoldKey],
        wait_for: Resource | None = None,
    ) -> Ledger:
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

    def survey(self, needs: Needs) -> Survey:
        """An unlocked look ahead, to learn what to lock."""
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
