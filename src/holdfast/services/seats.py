"""Finds the session of a seat, to reserve it."""

from threading import Lock

from holdfast.domain.ids import EventId, OrganizationId, SeatId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.seats import SeatReader
from holdfast.services import reads

REMEMBERED_MAX = 100_000

SeatPath = tuple[OrganizationId, EventId, SeatId]


class SeatFinder:
    """Finds and caches the session of a seat, which never changes. A missing seat is not cached,
    because it may be created a moment later."""

    def __init__(self, seats: SeatReader) -> None:
        self._seats = seats
        self._lock = Lock()
        self._remembered: dict[SeatPath, SessionId] = {}

    def remembered(self, path: SeatPath) -> SessionId | None:
        """Never blocks."""
        return self._remembered.get(path)

    def find(self, path: SeatPath) -> SessionId | Refusal:
        """Look the seat up. Blocks."""
        found = reads.seat(self._seats, *path)
        if isinstance(found, Refusal):
            return found
        session_id = found.seat.session_id
        with self._lock:
            self._remembered[path] = session_id
            if len(self._remembered) > REMEMBERED_MAX:
                del self._remembered[next(iter(self._remembered))]  # the oldest
        return session_id
