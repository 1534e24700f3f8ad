"""The seats of sessions, kept in memory and followed from one look to the next. It is a hint for
best-available: what is proposed from it is checked under lock."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.adapters.postgres import statements as sql
from holdfast.adapters.postgres.connecting import Connection
from holdfast.domain.ids import BlockId, SessionKey
from holdfast.domain.seat import SeatPlace, SeatStatus
from holdfast.domain.seating import Seating, SeatMap, make_plan

SEATS_KEPT_MAX = 500_000

Ranks = Mapping[BlockId, int]


@dataclass(slots=True)
class _Followed:
    """`snapshot` is the last one that was looked at: what it could not see is new."""

    seats: SeatMap
    ranks: Ranks
    snapshot: str


class SeatMaps:
    """Shared by the lanes of a process. The least recently used session is forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followed: OrderedDict[SessionKey, _Followed] = OrderedDict()

    def seating(self, connection: Connection, key: SessionKey, ranks: Ranks) -> Seating:
        """The seats as they are now, read within the caller's transaction."""
        with self._lock:
            followed = self._followed.pop(key, None)
            seating = None
            if followed is not None and followed.ranks == ranks:
                seating = _follow(connection, key, followed)
            if followed is None or seating is None:
                followed, seating = _load(connection, key, ranks)
            self._followed[key] = followed
            self._make_room()
            return seating

    def forget(self) -> None:
        """After a connection was lost nobody knows whether the new one leads to the same server:
        another one counts its transactions anew."""
        with self._lock:
            self._followed.clear()

    def _make_room(self) -> None:
        kept = sum(len(each.seats.plan.spots) for each in self._followed.values())
        while kept > SEATS_KEPT_MAX and len(self._followed) > 1:
            _, forgotten = self._followed.popitem(last=False)
            kept -= len(forgotten.seats.plan.spots)


def _load(connection: Connection, key: SessionKey, ranks: Ranks) -> tuple[_Followed, Seating]:
    seen = connection.execute(sql.SNAPSHOT).fetchone()
    assert seen is not None
    snapshot, now = seen
    rows = connection.execute(sql.SEAT_PLACES, key).fetchall()
    # A block that is younger than what we know of the catalogue is not offered yet.
    rows = [row for row in rows if row[1] in ranks]
    seats = SeatMap(make_plan((SeatPlace(*row[:11]) for row in rows), ranks))
    for row in rows:
        seats.saw(row[0], SeatStatus(row[11]), row[12])
    return _Followed(seats, ranks, snapshot), seats.seating(now)


def _follow(connection: Connection, key: SessionKey, followed: _Followed) -> Seating | None:
    """None where there are seats that the plan does not know: it is to be loaded anew."""
    names = {"organization_id": key[0], "session_id": key[1], "snapshot": followed.snapshot}
    with connection.pipeline():
        changed = connection.execute(sql.CHANGED_SEATS, names)
        clock = connection.execute(sql.NOW)
    for seat_id, status, held_until, snapshot in changed:
        if seat_id not in followed.seats.plan.spots:
            return None
        followed.seats.saw(seat_id, SeatStatus(status), held_until)
        followed.snapshot = snapshot
    now = clock.fetchone()
    assert now is not None
    return followed.seats.seating(now[0])
