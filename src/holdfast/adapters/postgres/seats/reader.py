"""Seats for the API: a single seat, the seat map, its changes, and the occupancy."""

from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.seats import statements as sql
from holdfast.adapters.postgres.seats.rows import seat_from_row
from holdfast.domain.catalog.model import PoolState
from holdfast.domain.ids import BlockId, EventId, OrganizationId, PoolId, SeatId, SessionId
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.slices import giving_way
from holdfast.ports.seats import (
    CHANGES_MAX,
    BlockOccupancy,
    ChangedSeat,
    EventOccupancy,
    MapBlock,
    MapRow,
    MapState,
    SeatChanges,
    SeatCounts,
    SeenSeat,
    SessionMap,
    SessionOccupancy,
)

# A row of a seat map contains all seats of a row of the hall.
ROWS_PER_SLICE = 4


class PostgresSeats:
    """Implements SeatReader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seat(
        self, organization_id: OrganizationId, event_id: EventId, seat_id: SeatId
    ) -> SeenSeat | None:
        names = {"organization_id": organization_id, "event_id": event_id, "seat_id": seat_id}
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.SEAT, names).fetchone()
        if row is None:
            return None
        event_id, block_name, at, *seat = row
        return SeenSeat(seat_from_row(seat), event_id, block_name, at)

    def has_event(self, organization_id: OrganizationId, event_id: EventId) -> bool:
        with self._database.transaction(organization_id) as connection:
            found = connection.execute(sql.HAS_EVENT, (organization_id, event_id)).fetchone()
        return found is not None

    def session_map(
        self, organization_id: OrganizationId, session_id: SessionId
    ) -> SessionMap | None:
        names = {"organization_id": organization_id, "session_id": session_id}
        with self._database.transaction(organization_id) as connection:
            found = connection.execute(sql.SESSION_MAP, names)
        # The result has arrived: no transaction or connection waits during the pauses.
        rows = list(giving_way(found, ROWS_PER_SLICE))
        if not rows:
            return None
        version, digest, *_ = rows[0]
        blocks: dict[tuple[UUID, str, int | None], list[MapRow]] = {}
        for _, _, block_id, name, capacity, row_name, *seats in rows:
            if block_id is None:
                continue  # a session without blocks is one row of NULLs
            block = blocks.setdefault((block_id, name, capacity), [])
            if row_name is not None:
                block.append(_map_row(row_name, *seats))
        return SessionMap(
            session_id,
            version,
            tuple(
                MapBlock(BlockId(id_), name, capacity, tuple(of))
                for (id_, name, capacity), of in blocks.items()
            ),
            digest,
        )

    def map_state(self, organization_id: OrganizationId, session_id: SessionId) -> MapState | None:
        names = {"organization_id": organization_id, "session_id": session_id}
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.MAP_STATE, names).fetchone()
        return None if row is None else MapState(*row)

    def seat_changes(
        self, organization_id: OrganizationId, session_id: SessionId, since: int
    ) -> SeatChanges | None:
        names = {
            "organization_id": organization_id,
            "session_id": session_id,
            "since": since,
            "limit": CHANGES_MAX,
        }
        with self._database.transaction(organization_id) as connection:
            rows = connection.execute(sql.SEAT_CHANGES, names).fetchall()
        if not rows:
            return None
        seats = tuple(
            ChangedSeat(SeatId(id_), SeatStatus(status), held_until, version)
            for _, _, id_, status, held_until, version in rows
            if id_ is not None
        )
        version, is_too_much, *_ = rows[0]
        return SeatChanges(session_id, version, seats, too_many=is_too_much)

    def occupancy(
        self, organization_id: OrganizationId, event_id: EventId
    ) -> EventOccupancy | None:
        names = {"organization_id": organization_id, "event_id": event_id}
        with self._database.transaction(organization_id) as connection:
            row = connection.execute(sql.OCCUPANCY, names).fetchone()
        if row is None:
            return None
        at, sessions = row
        return EventOccupancy(event_id, at, tuple(map(_session_occupancy, sessions or ())))


def _map_row(*columns: Any) -> MapRow:
    """The columns are in the order of the fields of MapRow."""
    *seats, held_until, accessible, companion, restricted_view = columns
    special = [indexes or () for indexes in (accessible, companion, restricted_view)]
    values = [*seats, held_until or {}, *special]
    return MapRow(*values)


def _session_occupancy(found: list[Any]) -> SessionOccupancy:
    id_, name, blocks, pools = found
    session_id = SessionId(UUID(id_))
    return SessionOccupancy(
        session_id,
        name,
        tuple(map(_block_occupancy, blocks or ())),
        tuple(
            PoolState(PoolId(UUID(pool_id)), session_id, *counted)
            for pool_id, *counted in pools or ()
        ),
    )


def _block_occupancy(found: list[Any]) -> BlockOccupancy:
    id_, name, capacity, *counts = found
    counted = SeatCounts(*(count or 0 for count in counts))
    return BlockOccupancy(BlockId(UUID(id_)), name, capacity, counted)
