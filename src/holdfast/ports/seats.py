"""Reads seats. `at` is the database's time at which a result was true."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import inf
from typing import NamedTuple, Protocol

from holdfast.domain.catalog.model import PoolState
from holdfast.domain.ids import BlockId, EventId, OrganizationId, SeatId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.seats.seat import Seat, SeatStatus

# Beyond this the whole map is shorter, and is rendered once for everybody.
CHANGES_MAX = 2_000


@immutable
class SeenSeat:
    seat: Seat
    event_id: EventId
    block_name: str
    at: datetime


@immutable
class MapRow:
    """A row from left to right, one entry per seat. `statuses` has one letter per seat: a, h, s or
    b. `held_until` and the special places refer to seats by index."""

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


@immutable
class MapBlock:
    id: BlockId
    name: str
    capacity: int | None
    rows: tuple[MapRow, ...]


@immutable
class SessionMap:
    """All seats of a session. The changes since `version` are complete. `blocks_digest` is a digest
    of the blocks' own data."""

    session_id: SessionId
    version: int
    blocks: tuple[MapBlock, ...]
    blocks_digest: int = 0

    @property
    def next_lapse(self) -> float:
        """When the next held seat becomes available, in seconds since 1970."""
        rows = (row for block in self.blocks for row in block.rows if row.held_until)
        return min((min(row.held_until.values()) for row in rows), default=inf)


class MapState(NamedTuple):
    """The state that a map depends on, without the map. `at` is in seconds since 1970. A map read
    during a change has a lower version than any later state."""

    version: int
    blocks_digest: int
    at: float


class ChangedSeat(NamedTuple):
    id: SeatId
    status: SeatStatus
    held_until: datetime | None
    version: int


@immutable
class SeatChanges:
    """The seats changed since a version, perhaps including known changes. With `too_many`, none are
    listed."""

    session_id: SessionId
    version: int
    seats: tuple[ChangedSeat, ...]
    too_many: bool = False


@immutable
class SeatCounts:
    """Seat counts. Seats whose hold has lapsed are available."""

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


@immutable
class BlockOccupancy:
    id: BlockId
    name: str
    capacity: int | None
    seats: SeatCounts


@immutable
class SessionOccupancy:
    """`pools` are those of the ticket types; a block's capacity is in the block."""

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


@immutable
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
    """Every call blocks and may raise StoreUnavailable. None means not found."""

    def seat(
        self, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
    ) -> SeenSeat | None:
        """A seat in one of the event's sessions."""
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
        """The changes since a version, at most CHANGES_MAX."""
        ...

    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None: ...
