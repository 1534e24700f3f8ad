"""The lines of a session: who waits for places, and in which order.

Parties that want the same pools and blocks stand in one line, ordered by (since, id). Parties of
different lines may want some of the same: then the first of each line keeps its claim on what they
share, the earlier before the later. So nobody who comes later takes what an earlier one needs, and
a line for one thing never stops the sale of another.

A line whose first party needs more than is free may let smaller ones pass, a bounded number of
times: `passes` counts them all, and whoever joins remembers how many there had been. The first has
been there the longest, so if it may be passed once more, so may everybody behind it.

All of it is guarded by one lock of the session, which every command takes that joins, leaves or
frees something in a session that keeps a line.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from uuid import UUID

from holdfast.domain.catalog.model import SessionCatalogue
from holdfast.domain.holds.hold import Hold, Line
from holdfast.domain.ids import BlockId, HoldKey, PoolId, SeatId, SessionKey, TicketTypeId

# So far into a line anyone looks.
LOOK_AHEAD = 64
PROMOTIONS_MAX = 32
# Combinations of pools and blocks for which parties wait in one session: each release looks at the
# first of every one.
QUEUES_MAX = 500


def line_id_of(wants: Iterable[UUID]) -> UUID:
    """The same pools and blocks are the same line."""
    return _line_id(frozenset(wants))


@lru_cache(maxsize=4096)
def _line_id(wants: frozenset[UUID]) -> UUID:
    names = b"".join(sorted(each.bytes for each in wants))
    return UUID(bytes=blake2b(names, digest_size=16).digest())


def wants_of(lines: Iterable[Line], session: SessionCatalogue) -> frozenset[UUID]:
    """The pools that these lines draw from, and the blocks in which they wait for seats."""
    wants: set[UUID] = set()
    for line in lines:
        wants.update(line.pool_ids)
        if line.wish is not None:
            wants |= blocks_for(line.ticket_type_id, line.wish.block_id, session)
    return frozenset(wants)


def blocks_for(
    ticket_type_id: TicketTypeId, block_id: BlockId | None, session: SessionCatalogue
) -> frozenset[BlockId]:
    """Where seats of this type are sold: in the block that is named, or in any."""
    return frozenset(
        id_
        for id_, block in session.blocks.items()
        if block.sells(ticket_type_id) and block_id in {None, id_}
    )


def place_of(hold: Hold) -> tuple[datetime, UUID]:
    """Its place in the order of all who wait in the session."""
    assert hold.waiting is not None
    return (hold.waiting.since, hold.id)


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """`first` are its first parties as far as anyone looked, in their order. `served` were promoted
    since it opened."""

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

    def joined(self, hold: Hold) -> "WaitingLine":
        first = self.first
        if self.is_all_seen and len(first) < LOOK_AHEAD:
            first = tuple(sorted((*first, hold), key=place_of))
        return replace(self, waiting=self.waiting + 1, first=first)

    def left(self, key: HoldKey, *, is_served: bool) -> "WaitingLine":
        return replace(
            self,
            waiting=self.waiting - 1,
            served=self.served + is_served,
            first=tuple(hold for hold in self.first if hold.key != key),
        )

    def changed(self, hold: Hold) -> "WaitingLine":
        """The same place, for something else."""
        first = tuple(hold if each.key == hold.key else each for each in self.first)
        return replace(self, first=first)


@dataclass(slots=True)
class Waitlist:
    """The lines of one session, as the commands of a group have left them so far. Unsettled: there
    may be somebody who could be promoted, and was not for want of time or of a lock."""

    session_key: SessionKey
    lines: dict[UUID, WaitingLine] = field(default_factory=dict)
    is_settled: bool = True
    promotions_left: int = PROMOTIONS_MAX
    # What somebody whose turn may have come needs, and this group has not locked.
    missing_pools: set[PoolId] = field(default_factory=set)
    missing_seats: set[SeatId] = field(default_factory=set)
    lapsed_pools: set[PoolId] = field(default_factory=set)
    is_blind: bool = False  # somebody waits for seats, and nobody has looked at the hall
    has_gaps: bool = False  # the one who was tried last lacks any of these
    # What is to be written.
    changed: set[UUID] = field(default_factory=set)
    was_settled: bool = field(init=False)

    def __post_init__(self) -> None:
        self.was_settled = self.is_settled

    def __bool__(self) -> bool:
        return bool(self.lines)

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
        return bool(self.missing_pools or self.missing_seats or self.is_blind)

    def is_dirty(self) -> bool:
        return bool(self.changed) or self.is_settled is not self.was_settled

    def has_wishes(self) -> bool:
        """Whether anyone waits for seats."""
        first = (line.first[0] for line in self.lines.values() if line.first)
        return any(line.wish is not None for hold in first for line in hold.lines)

    def has_room_for(self, wants: frozenset[UUID]) -> bool:
        """Whether a party with these wants may join: its queue is there, or may be opened."""
        return len(self.lines) < QUEUES_MAX or line_id_of(wants) in self.lines

    def sharing(self, wants: frozenset[UUID]) -> Iterator[WaitingLine]:
        return (line for line in self.lines.values() if not wants.isdisjoint(line.wants))

    def position_at_end(self, wants: frozenset[UUID]) -> int:
        """Of somebody who comes now: behind all who want any of the same."""
        return 1 + sum(line.waiting for line in self.sharing(wants))

    def in_order(self) -> list[Hold]:
        """All that are in sight, the earliest first."""
        return sorted((hold for line in self.lines.values() for hold in line.first), key=place_of)

    def joined(self, hold: Hold, session: SessionCatalogue, now: datetime) -> None:
        assert hold.waiting is not None
        line_id = hold.waiting.line_id
        line = self.lines.get(line_id)
        if line is None:
            passes = hold.waiting.passes_seen  # they count on from where it has seen them
            line = WaitingLine(line_id, wants_of(hold.lines, session), 0, passes, now)
        self._put(line.joined(hold))

    def left(self, hold: Hold, *, is_served: bool) -> None:
        """`hold` as it was while it waited."""
        assert hold.waiting is not None
        self._put(self.lines[hold.waiting.line_id].left(hold.key, is_served=is_served))

    def without(self, hold: Hold) -> "Waitlist":
        """A copy, as if it had left."""
        copy = Waitlist(self.session_key, dict(self.lines), self.is_settled)
        copy.left(hold, is_served=False)
        return copy

    def kept(self, hold: Hold) -> None:
        """It waits on in its place, for other things of the same line."""
        assert hold.waiting is not None
        self._put(self.lines[hold.waiting.line_id].changed(hold))

    def passed(self, line_ids: Iterable[UUID]) -> None:
        for line_id in line_ids:
            line = self.lines.get(line_id)
            if line is not None:
                self._put(replace(line, passes=line.passes + 1))

    def _put(self, line: WaitingLine) -> None:
        self.changed.add(line.id)
        if line.waiting:
            self.lines[line.id] = line
        else:
            self.lines.pop(line.id, None)
