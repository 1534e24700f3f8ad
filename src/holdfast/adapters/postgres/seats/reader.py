"""Seats for the API: a single seat, the seat map, its changes, and the occupancy."""

from itertools import groupby
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.engine.rows import Row, seat_from_row
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.adapters.postgres.seats import statements as sql
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
ROWS_PER_SLICE = 10


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
        return None if row is None else SeenSeat(seat_from_row(row), *row[-3:])

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
        # A session without blocks is one row of NULLs.
        blocks = groupby((row for row in rows if row[1] is not None), key=lambda row: row[1:4])
        return SessionMap(
            session_id,
            rows[0][0],
            tuple(
                MapBlock(BlockId(id_), name, capacity, tuple(map(_map_row, filter(_has_seats, of))))
                for (id_, name, capacity), of in blocks
            ),
            rows[0][4],
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
        return SeatChanges(session_id, rows[0][0], seats, too_many=rows[0][1])

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


def _has_seats(row: Row) -> bool:
    return row[5] is not None


def _map_row(row: Row) -> MapRow:
    name, seat_ids, numbers, x, y, statuses, held_until, *special = row[7:]
    accessible, companion, restricted_view = (indexes or () for indexes in special)
    return MapRow(
        name,
        seat_ids,
        numbers,
        x,
        y,
        statuses,
        held_until or {},
        accessible,
        companion,
        restricted_view,
    )


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
