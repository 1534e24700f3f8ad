"""The seats of sessions, kept in memory and followed from one look to the next. It is a hint for
best-available: what is proposed from it is checked under lock."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.adapters.postgres import statements as sql
from holdfast.adapters.postgres.connecting import Connection
from holdfast.domain.ids import BlockId, SessionKey
from holdfast.domain.seat import SeatPlace, SeatStatus
from holdfast.domain.seating import Seating, SeatMap, make_plan

SEATS_KEPT_MAX = 500_000

Ranks = Mapping[BlockId, int]


@dataclass(slots=True)
class _Followed:
    """`snapshot` is the last one that was looked at: what it could not see is new. A server that
    was started anew may be another one, which counts its transactions differently."""

    seats: SeatMap
    ranks: Ranks
    server_started_at: datetime
    snapshot: str
    lock: threading.Lock = field(default_factory=threading.Lock)


class SeatMaps:
    """Shared by the lanes of a process. The least recently used session is forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followed: OrderedDict[SessionKey, _Followed] = OrderedDict()

    def follow(self, connection: Connection, key: SessionKey, ranks: Ranks) -> Seating | None:
        """The seats as they are now, or None where they have to be loaded (anew): they were not
        read yet, there are new ones, or the order of the blocks has changed."""
        with self._lock:
            followed = self._followed.get(key)
            if followed is None or followed.ranks != ranks:
                return None
            self._followed.move_to_end(key)
        with followed.lock:
            return _follow(connection, key, followed)

    def load(self, connection: Connection, key: SessionKey, ranks: Ranks) -> Seating:
        """Read all seats within the caller's transaction. It takes a while, and nobody else waits
        for it."""
        followed, seating = _load(connection, key, ranks)
        with self._lock:
            self._followed[key] = followed
            self._followed.move_to_end(key)
            self._make_room()
        return seating

    def _make_room(self) -> None:
        kept = sum(len(each.seats.plan.spots) for each in self._followed.values())
        while kept > SEATS_KEPT_MAX and len(self._followed) > 1:
            _, forgotten = self._followed.popitem(last=False)
            kept -= len(forgotten.seats.plan.spots)


def _load(connection: Connection, key: SessionKey, ranks: Ranks) -> tuple[_Followed, Seating]:
    seen = connection.execute(sql.SNAPSHOT).fetchone()
    assert seen is not None
    snapshot, now, server_started_at = seen
    rows = connection.execute(sql.SEAT_PLACES, key).fetchall()
    # A block that is younger than what we know of the catalogue is not offered yet.
    rows = [row for row in rows if row[1] in ranks]
    seats = SeatMap(make_plan((SeatPlace(*row[:11]) for row in rows), ranks))
    for row in rows:
        seats.saw(row[0], SeatStatus(row[11]), row[12])
    return _Followed(seats, ranks, server_started_at, snapshot), seats.seating(now)


def _follow(connection: Connection, key: SessionKey, followed: _Followed) -> Seating | None:
    names = {"organization_id": key[0], "session_id": key[1], "snapshot": followed.snapshot}
    with connection.pipeline():
        changed = connection.execute(sql.CHANGED_SEATS, names)
        clock = connection.execute(sql.NOW)
    now = clock.fetchone()
    assert now is not None
    if now[1] != followed.server_started_at:
        return None
    for seat_id, status, held_until, snapshot in changed:
        if seat_id not in followed.seats.plan.spots:
            return None
        followed.seats.saw(seat_id, SeatStatus(status), held_until)
        followed.snapshot = snapshot
    return followed.seats.seating(now[0])
