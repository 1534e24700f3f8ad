"""The waitlist of a session and its queues.

Parties that want the same pools and blocks share a queue, ordered by (since, id). Queues may
overlap: then the first party of each keeps its claim on what they share, earlier parties before
later ones. A queue for one thing never stops the sale of another.

A queue whose first party needs more than is free may let smaller parties overtake it a limited
number of times. `passes` counts all overtakes; each party remembers the count at its arrival. The
first party has waited longest, so if it may be overtaken once more, so may everybody behind it.

One lock per session guards the waitlist. Every command that joins, leaves or frees places takes it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalog
from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.ids import BlockId, HoldKey, PoolId, SeatId, SessionKey, TicketTypeId
from holdfast.domain.immutable import immutable

# Parties of a session that are read: as many of each queue, and at least one.
LOOK_AHEAD = 64
# If none of those can be served, more of their queue are read, up to as many in all queues.
LOOK_AHEAD_MAX = 4096
_FURTHER_EACH_TIME = 7
PROMOTIONS_MAX = 32
# Queues per session: each release looks at the first party of every one.
QUEUES_MAX = 500


QueueKey = tuple[SessionKey, UUID]


def queue_id_of(wants: Iterable[UUID]) -> UUID:
    """The id of the queue for these pools and blocks."""
    return _queue_id(frozenset(wants))


@lru_cache(maxsize=4096)
def _queue_id(wants: frozenset[UUID]) -> UUID:
    names = b"".join(sorted(each.bytes for each in wants))
    return UUID(bytes=blake2b(names, digest_size=16).digest())


def wants_of(lines: Iterable[Line], session: SessionCatalog) -> frozenset[UUID]:
    """The pools these lines draw from, and the blocks where they want seats."""
    wants: set[UUID] = set()
    for line in lines:
        wants.update(line.pool_ids)
        if line.wish is not None:
            wants |= blocks_for(line.ticket_type_id, line.wish.block_id, session)
    return frozenset(wants)


def blocks_for(
    ticket_type_id: TicketTypeId, block_id: BlockId | None, session: SessionCatalog
) -> frozenset[BlockId]:
    """The blocks that sell this ticket type, limited to `block_id` if given."""
    return frozenset(
        id_
        for id_, block in session.blocks.items()
        if block.sells(ticket_type_id) and block_id in {None, id_}
    )


def place_of(hold: Hold) -> tuple[datetime, UUID]:
    """The sort key of a party among all that wait in the session."""
    assert hold.waiting is not None
    return (hold.waiting.since, hold.id)


@immutable
class WaitlistQueue:
    """A queue of the waitlist. `first` are its first parties, as far as read, in order; `served`
    counts those promoted since it opened."""

    id: UUID
    wants: frozenset[UUID]
    waiting: int
    passes: int
    opened_at: datetime
    served: int = 0
    first: tuple[Hold, ...] = ()

    @property
    def is_all_seen(self) -> bool:
        return len(self.first) >= self.waiting

    def joined(self, hold: Hold) -> "WaitlistQueue":
        first = self.first
        # After a failover, the clock may be behind parties that were read.
        is_among = bool(first) and place_of(hold) < place_of(first[-1])
        if is_among or (self.is_all_seen and len(first) < LOOK_AHEAD):
            first = tuple(sorted((*first, hold), key=place_of))
        # `replace` takes longer, and every newcomer needs this.
        return WaitlistQueue(
            self.id, self.wants, self.waiting + 1, self.passes, self.opened_at, self.served, first
        )

    def left(self, key: HoldKey, *, is_served: bool) -> "WaitlistQueue":
        return replace(
            self,
            waiting=self.waiting - 1,
            served=self.served + is_served,
            first=tuple(hold for hold in self.first if hold.key != key),
        )

    def changed(self, hold: Hold) -> "WaitlistQueue":
        first = tuple(hold if each.key == hold.key else each for each in self.first)
        return replace(self, first=first)


@dataclass(slots=True)
class QueueIndex:
    """By what is wanted: the queues, and how many parties wait for it."""

    queue_ids: dict[UUID, frozenset[UUID]]
    waiting: dict[UUID, int]

    @classmethod
    def of(cls, queues: Iterable[WaitlistQueue]) -> "QueueIndex":
        ids: dict[UUID, set[UUID]] = {}
        waiting: dict[UUID, int] = {}
        for queue in queues:
            for want in queue.wants:
                ids.setdefault(want, set()).add(queue.id)
                waiting[want] = waiting.get(want, 0) + queue.waiting
        return cls({want: frozenset(each) for want, each in ids.items()}, waiting)

    def copy(self) -> "QueueIndex":
        return QueueIndex(self.queue_ids.copy(), self.waiting.copy())

    def ids_of(self, wants: Iterable[UUID]) -> frozenset[UUID]:
        return frozenset[UUID]().union(*(self.queue_ids.get(want, ()) for want in wants))

    def put(self, before: WaitlistQueue | None, after: WaitlistQueue) -> None:
        joined = after.waiting - (before.waiting if before else 0)
        for want in after.wants if joined else ():
            self.waiting[want] = self.waiting.get(want, 0) + joined
            if before is None:
                self.queue_ids[want] = self.queue_ids.get(want, frozenset()) | {after.id}
            elif not after.waiting:
                self.queue_ids[want] = self.queue_ids.get(want, frozenset()) - {after.id}


@dataclass(slots=True)
class Waitlist:
    """The queues of one session, including the group's changes so far. It is unsettled if a party
    may be due for promotion but time or a lock was missing."""

    session_key: SessionKey
    queues: dict[UUID, WaitlistQueue] = field(default_factory=dict)
    is_settled: bool = True
    promotions_left: int = PROMOTIONS_MAX
    # Needed by parties whose turn may have come, and not locked by this group.
    missing_pools: set[PoolId] = field(default_factory=set)
    missing_seats: set[SeatId] = field(default_factory=set)
    lapsed_pools: set[PoolId] = field(default_factory=set)
    missing_parties: dict[QueueKey, int] = field(default_factory=dict)
    is_blind: bool = False  # a party wants seats, and the seating was not read
    has_gaps: bool = False  # the party tried last lacks any of these
    # Queues to be written.
    changed: set[UUID] = field(default_factory=set)
    was_settled: bool = field(init=False)
    # Made on demand.
    _index: "QueueIndex | None" = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.was_settled = self.is_settled

    def copy(self, *, is_settled: bool) -> "Waitlist":
        """The same queues for another group to change."""
        copy = Waitlist(self.session_key, dict(self.queues), is_settled)
        copy._index = self._indexed().copy()
        return copy

    def __bool__(self) -> bool:
        return bool(self.queues)

    def lacks(
        self,
        *,
        pools: Set[PoolId] = frozenset(),
        seats: Set[SeatId] = frozenset(),
        lapsed: Set[PoolId] = frozenset(),
        is_blind: bool = False,
    ) -> None:
        self.missing_pools |= pools
        self.missing_seats |= seats
        self.lapsed_pools |= lapsed
        self.is_blind |= is_blind
        self.has_gaps |= is_blind or bool(pools or seats or lapsed)

    def is_missing_something(self) -> bool:
        return bool(
            self.missing_pools or self.missing_seats or self.missing_parties or self.is_blind
        )

    def is_dirty(self) -> bool:
        return bool(self.changed) or self.is_settled is not self.was_settled

    def has_wishes(self) -> bool:
        """Whether any queue is for seats."""
        first = (queue.first[0] for queue in self.queues.values() if queue.first)
        return any(line.wish is not None for hold in first for line in hold.lines)

    def has_room_for(self, wants: frozenset[UUID]) -> bool:
        """Whether a party with these wants may join: its queue exists or may be opened."""
        return len(self.queues) < QUEUES_MAX or queue_id_of(wants) in self.queues

    def sharing(self, wants: frozenset[UUID]) -> Iterator[WaitlistQueue]:
        """The queues that want any of the same."""
        return (self.queues[queue_id] for queue_id in self._indexed().ids_of(wants))

    def position_at_end(self, wants: frozenset[UUID]) -> int:
        """The queue position of a newcomer: behind all who want any of the same."""
        index = self._indexed()
        if len(wants) == 1:
            (want,) = wants
            return 1 + index.waiting.get(want, 0)
        # Mostly, all queues want the same pool of the whole venue, and few need to be counted.
        common = max(wants, key=lambda want: len(index.queue_ids.get(want, ())))
        others = index.ids_of(wants - {common}) - index.queue_ids.get(common, frozenset())
        waiting = index.waiting.get(common, 0)
        return 1 + waiting + sum(self.queues[queue_id].waiting for queue_id in others)

    def in_order(self) -> list[Hold]:
        """All parties that were read, earliest first."""
        return sorted(
            (hold for queue in self.queues.values() for hold in queue.first), key=place_of
        )

    def can_read_more(self) -> bool:
        return self._parties_read() < LOOK_AHEAD_MAX

    def further(self, queue_ids: Collection[UUID]) -> dict[QueueKey, int]:
        """How many parties of these queues to read, to see some that are further back."""
        if not queue_ids or not self.can_read_more():
            return {}
        share = max(1, (LOOK_AHEAD_MAX - self._parties_read()) // len(queue_ids))
        seen = {queue_id: len(self.queues[queue_id].first) for queue_id in queue_ids}
        return {
            (self.session_key, queue_id): count
            + min(share, max(LOOK_AHEAD, count * _FURTHER_EACH_TIME))
            for queue_id, count in seen.items()
        }

    def _parties_read(self) -> int:
        return sum(len(queue.first) for queue in self.queues.values())

    def joined(
        self, hold: Hold, sessions: Mapping[SessionKey, SessionCatalog], now: datetime
    ) -> None:
        assert hold.waiting is not None
        queue_id = hold.waiting.queue_id
        queue = self.queues.get(queue_id)
        if queue is None:
            passes = hold.waiting.passes_seen  # the count continues from there
            wants = wants_of(hold.lines, sessions[self.session_key])
            queue = WaitlistQueue(queue_id, wants, 0, passes, now)
        self._put(queue.joined(hold))

    def left(self, hold: Hold, *, is_served: bool) -> None:
        """Remove a party. `hold` is its state while it waited."""
        assert hold.waiting is not None
        self._put(self.queues[hold.waiting.queue_id].left(hold.key, is_served=is_served))

    def without(self, hold: Hold) -> "Waitlist":
        """A copy without this party."""
        copy = self.copy(is_settled=self.is_settled)
        copy.left(hold, is_served=False)
        return copy

    def kept(self, hold: Hold) -> None:
        """Update a party that keeps its place in its queue."""
        assert hold.waiting is not None
        self._put(self.queues[hold.waiting.queue_id].changed(hold))

    def passed(self, queue_ids: Iterable[UUID]) -> None:
        for queue_id in queue_ids:
            queue = self.queues.get(queue_id)
            if queue is not None:
                self._put(replace(queue, passes=queue.passes + 1))

    def _put(self, queue: WaitlistQueue) -> None:
        self.changed.add(queue.id)
        before = self.queues.get(queue.id)
        if queue.waiting:
            self.queues[queue.id] = queue
        else:
            self.queues.pop(queue.id, None)
        if self._index is not None:
            self._index.put(before, queue)

    def _indexed(self) -> "QueueIndex":
        if self._index is None:
            self._index = QueueIndex.of(self.queues.values())
        return self._index
