"""A cache of sessions' seats, updated with the changes since the last read. It is a hint for best
available: proposals are checked under lock."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from holdfast.adapters.postgres.connections.pipeline import Row, Statements
from holdfast.adapters.postgres.engine import statements as sql
from holdfast.domain.ids import BlockId, SessionKey
from holdfast.domain.seats.seat import SeatPlace, SeatStatus
from holdfast.domain.seats.seat_plan import Seating, SeatMap, SeenSeat, make_plan

SEATS_KEPT_MAX = 500_000

Ranks = Mapping[BlockId, int]


class _Changes(NamedTuple):
    """The changes between two snapshots. `until` is None if there are none, or if that snapshot
    must not be cached."""

    since: str
    until: str | None
    seats: list[SeenSeat]
    now: datetime
    server_started_at: datetime


@dataclass(slots=True)
class _Followed:
    """`snapshot` is the last one read: changes that it could not see are new. A restarted server
    may be a different one, with other transaction numbers."""

    seats: SeatMap
    ranks: Ranks
    server_started_at: datetime
    snapshot: str
    lock: threading.Lock = field(default_factory=threading.Lock)

    def covers(self, changes: _Changes) -> bool:
        is_same_server = changes.server_started_at == self.server_started_at
        return is_same_server and all(seat.id in self.seats.plan.spots for seat in changes.seats)

    def seating(self, changes: _Changes) -> Seating:
        """The seats with these changes. They are cached only if the map has not changed since they
        were read: otherwise they may be older than those of another lane."""
        with self.lock:
            if changes.until is None or changes.since != self.snapshot:
                return self.seats.seating(changes.now, changes.seats)
            for seat in changes.seats:
                self.seats.saw(seat)
            self.snapshot = changes.until
            return self.seats.seating(changes.now)


class SeatMaps:
    """Shared by the lanes of a process. The least recently used session is evicted first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followed: OrderedDict[SessionKey, _Followed] = OrderedDict()

    def follow(self, connection: Statements, key: SessionKey, ranks: Ranks) -> Seating | None:
        """The current seats, or None if they have to be loaded: they are not cached, there are new
        ones, the server restarted, or the order of the blocks changed. No lock is held during the
        query, because other lanes follow the same session."""
        with self._lock:
            followed = self._followed.get(key)
            if followed is None or followed.ranks != ranks:
                return None
            self._followed.move_to_end(key)
        changes = _changes(connection, key, followed.snapshot)
        if followed.covers(changes):
            return followed.seating(changes)
        self._forget(key, followed)
        return None

    def load(self, connection: Statements, key: SessionKey, ranks: Ranks) -> Seating:
        """Read all seats in the caller's transaction. This is slow, but blocks nobody else."""
        clock = connection.execute(sql.SNAPSHOT)
        seats = _load(connection.execute(sql.SEAT_PLACES, key), ranks)
        ((snapshot, now, server_started_at),) = clock
        if snapshot is not None:
            self._keep(key, _Followed(seats, ranks, server_started_at, snapshot))
        return seats.seating(now)

    def _keep(self, key: SessionKey, followed: _Followed) -> None:
        with self._lock:
            self._followed[key] = followed
            self._followed.move_to_end(key)
            kept = sum(len(each.seats.plan.spots) for each in self._followed.values())
            while kept > SEATS_KEPT_MAX and len(self._followed) > 1:
                _, forgotten = self._followed.popitem(last=False)
                kept -= len(forgotten.seats.plan.spots)

    def _forget(self, key: SessionKey, followed: _Followed) -> None:
        with self._lock:
            if self._followed.get(key) is followed:
                del self._followed[key]


def _load(rows: Iterable[Row], ranks: Ranks) -> SeatMap:
    places: list[SeatPlace] = []
    seen: list[SeenSeat] = []
    for status, held_until, *columns in rows:
        place = SeatPlace(*columns)
        # A block newer than the cached catalog is not offered yet.
        if place.block_id in ranks:
            places.append(place)
            seen.append(SeenSeat(place.id, SeatStatus(status), held_until))
    seats = SeatMap(make_plan(places, ranks))
    for seat in seen:
        seats.saw(seat)
    return seats


def _changes(connection: Statements, key: SessionKey, since: str) -> _Changes:
    organization_id, session_id = key
    names = {"organization_id": organization_id, "session_id": session_id, "snapshot": since}
    changed = connection.execute(sql.CHANGED_SEATS, names)
    clock = connection.execute(sql.NOW)
    (now,) = clock
    rows = list(changed)
    snapshot = next((kept for *_, kept in rows), None)
    seats = [SeenSeat(id_, SeatStatus(status), until) for id_, status, until, _ in rows]
    return _Changes(since, snapshot, seats, *now)
