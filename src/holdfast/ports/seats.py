"""Reading seats. What is shown carries the moment of the database's clock at which it was true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import NamedTuple, Protocol

from holdfast.domain.catalog.model import PoolState
from holdfast.domain.ids import BlockId, EventId, OrganizationId, SeatId, SessionId
from holdfast.domain.seats.seat import Seat, SeatStatus

# Beyond so many the whole map is shorter, and is written once for all who ask.
CHANGES_MAX = 2_000


@dataclass(frozen=True, slots=True)
class SeenSeat:
    seat: Seat
    event_id: EventId
    block_name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class MapRow:
    """A row from left to right, one entry per seat. `statuses` has one letter for each: a, h, s or
    b. `held_until`, and the places with something special, go by index."""

    name: str
    seat_ids: Sequence[str]
    numbers: Sequence[str]
    x: Sequence[float]
    y: Sequence[float]
    statuses: str
    held_until: Mapping[str, int]  # in seconds since 1970
    accessible: Sequence[int]
    companion: Sequence[int]
    restricted_view: Sequence[int]


@dataclass(frozen=True, slots=True)
class MapBlock:
    id: BlockId
    name: str
    capacity: int | None
    rows: tuple[MapRow, ...]


@dataclass(frozen=True, slots=True)
class SessionMap:
    """All seats of a session. Whoever asks for the changes since `version` misses none.
    `blocks_digest` stands for what it says of the blocks themselves."""

    session_id: SessionId
    version: int
    blocks: tuple[MapBlock, ...]
    blocks_digest: int = 0

    @property
    def next_lapse(self) -> float:
        """When the first of its held seats becomes available, in seconds since 1970."""
        rows = (row for block in self.blocks for row in block.rows if row.held_until)
        return min((min(row.held_until.values()) for row in rows), default=inf)


class MapState(NamedTuple):
    """What a map depends on, without the map. `at` is in seconds since 1970. A map that was read
    while a change was on its way has a lower version than any state from then on."""

    version: int
    blocks_digest: int
    at: float


class ChangedSeat(NamedTuple):
    id: SeatId
    status: SeatStatus
    held_until: datetime | None
    version: int


@dataclass(frozen=True, slots=True)
class SeatChanges:
    """The seats that have changed since a version; one that was known already may be among them.
    Where there are `too_many`, none is named."""

    session_id: SessionId
    version: int
    seats: tuple[ChangedSeat, ...]
    too_many: bool = False


@dataclass(frozen=True, slots=True)
class SeatCounts:
    """Seats whose hold has lapsed are available."""

    available: int = 0
    held: int = 0
    sold: int = 0
    blocked: int = 0

    @property
    def total(self) -> int:
        return self.available + self.held + self.sold + self.blocked

    def and_(self, other: "SeatCounts") -> "SeatCounts":
        return SeatCounts(
            self.available + other.available,
            self.held + other.held,
            self.sold + other.sold,
            self.blocked + other.blocked,
        )


@dataclass(frozen=True, slots=True)
class BlockOccupancy:
    id: BlockId
    name: str
    capacity: int | None
    seats: SeatCounts


@dataclass(frozen=True, slots=True)
class SessionOccupancy:
    """`pools` are those of its ticket types; the capacity of a block is told with the block."""

    id: SessionId
    name: str
    blocks: tuple[BlockOccupancy, ...]
    pools: tuple[PoolState, ...]

    @property
    def seats(self) -> SeatCounts:
        counts = SeatCounts()
        for block in self.blocks:
            counts = counts.and_(block.seats)
        return counts


@dataclass(frozen=True, slots=True)
class EventOccupancy:
    event_id: EventId
    at: datetime
    sessions: tuple[SessionOccupancy, ...]

    @property
    def seats(self) -> SeatCounts:
        counts = SeatCounts()
        for session in self.sessions:
            counts = counts.and_(session.seats)
        return counts


class SeatReader(Protocol):
    """Every call may raise StoreUnavailable; it blocks. None: there is no such thing here."""

    def seat(
        self, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
    ) -> SeenSeat | None:
        """A seat of one of the sessions of this event."""
        ...

    def has_event(self, organization_id: OrganizationId, event_id: EventId) -> bool: ...

    def session_map(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionMap | None: ...

    def map_state(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> MapState | None: ...

    def seat_changes(
        self, organization_id: OrganizationId, session_id: SessionId, since: int
    ) -> SeatChanges | None:
        """At most CHANGES_MAX of them."""
        ...

    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None: ...
