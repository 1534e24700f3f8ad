"""Reserving one specific seat of an event."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import IdempotencyKey, Origin
from holdfast.domain.holds.hold import Remarks
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import SeatAsk
from holdfast.domain.ids import EventId, HoldId, OrganizationId, SeatId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import Holder
from holdfast.ports.access import Principal
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
        self._remembered: OrderedDict[SeatPath, SessionId] = OrderedDict()

    def remembered(self, path: SeatPath) -> SessionId | None:
        """Never blocks."""
        with self._lock:
            session_id = self._remembered.get(path)
            if session_id is not None:
                self._remembered.move_to_end(path)
            return session_id

    def find(self, path: SeatPath) -> SessionId | Refusal:
        """Look the seat up. Blocks."""
        found = reads.seat(self._seats, *path)
        if isinstance(found, Refusal):
            return found
        session_id = found.seat.session_id
        with self._lock:
            self._remembered[path] = session_id
            if len(self._remembered) > REMEMBERED_MAX:
                self._remembered.popitem(last=False)
        return session_id


@dataclass(frozen=True, slots=True)
class Reservation:
    session_id: SessionId
    seat_id: SeatId
    holder: Holder
    remarks: Remarks


def reserve_command(
    principal: Principal,
    reservation: Reservation,
    origin: Origin,
    idempotency: IdempotencyKey | None,
) -> PlaceHold:
    """A hold of this seat. The engine decides under lock whether this buyer may have it now."""
    return PlaceHold(
        organization_id=principal.organization_id,
        session_id=reservation.session_id,
        hold_id=HoldId(uuid7()),
        holder=reservation.holder,
        asks=(SeatAsk((reservation.seat_id,)),),
        origin=origin,
        idempotency=idempotency,
        remarks=reservation.remarks,
        is_reservation=True,
    )
