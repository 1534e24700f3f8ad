"""A store that fails on purpose, in ways a real one cannot be made to on demand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from holdfast.domain.group.footprint import Needs, Resource, Survey
from holdfast.domain.group.ledger import Ledger
from holdfast.ports.store import (
    CommitState,
    CommitToken,
    CommitUnknown,
    GroupWrites,
    Wanted,
)
from tests.support.memory import MemoryStore
from tests.support.memory.group import MemoryConnection, MemoryGroup

Fault = Callable[[GroupWrites], None]


@dataclass
class FaultyStore:
    """`before_commit` and `after_commit` get the writes and may raise, as may `on_read`, called
    before anything is locked. `resolution` is the result of an unknown commit."""

    inner: MemoryStore
    before_commit: Fault = lambda _: None
    after_commit: Fault = lambda _: None
    on_read: Callable[[], None] = lambda: None
    resolution: CommitState = CommitState.UNKNOWN
    group_sizes: list[int] = field(default_factory=list)

    def connect(self) -> "FaultyConnection":
        return FaultyConnection(self, self.inner.connect())


@dataclass
class FaultyConnection:
    store: FaultyStore
    inner: MemoryConnection

    def survey(self, needs: Needs, *, is_patient: bool = False) -> Survey:
        return self.inner.survey(needs, is_patient=is_patient)

    @contextmanager
    def group(self) -> Iterator["FaultyGroup"]:
        with self.inner.group() as group:
            yield FaultyGroup(self.store, group)

    def resolve(self, token: CommitToken) -> CommitState:
        del token
        return self.store.resolution

    def close(self) -> None:
        self.inner.close()


@dataclass
class FaultyGroup:
    store: FaultyStore
    inner: MemoryGroup

    def lock_and_read(self, wanted: Wanted, wait_for: Resource | None = None) -> Ledger:
        self.store.on_read()
        return self.inner.lock_and_read(wanted, wait_for)

    def write_and_commit(self, writes: GroupWrites) -> None:
        self.store.group_sizes.append(len(writes.transitions))
        self.store.before_commit(writes)
        self.inner.write_and_commit(writes)
        self.store.after_commit(writes)


def lost_in_commit(_writes: GroupWrites) -> None:
    raise CommitUnknown(CommitToken(1, None))


@dataclass
class Times:
    """A fault that occurs only the first few times."""

    count: int
    error: Exception

    def __call__(self, *_: object) -> None:
        if self.count:
            self.count -= 1
            raise self.error
