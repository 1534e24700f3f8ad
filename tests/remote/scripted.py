"""An Inventory Service in this process that answers, refuses, fails or waits, as it is told."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.inventory.service import Asked, Item, Reservation, ReservationPage

# Returns a refusal, None, or raises.
Answer = Callable[[Reservation], Refusal | None]


def agrees(_: Reservation) -> None:
    return None


@dataclass
class ScriptedInventory:
    answer: Answer = agrees
    is_certain: bool = True
    asked: list[Reservation] = field(default_factory=list)
    released: list[Reservation] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, reservation: Reservation) -> Asked:
        with self._lock:
            self.asked.append(reservation)
        return Asked(self.answer(reservation), self.is_certain)

    def release(self, reservation: Reservation) -> None:
        with self._lock:
            self.released.append(reservation)

    def commit(self, reservation: Reservation) -> None:
        raise AssertionError("only the reconciler commits")

    def find(self, hold_id: HoldId) -> Reservation | None:
        raise AssertionError("only the reconciler asks")

    def reservations(self, status: ReservationStatus, after: str | None) -> ReservationPage:
        raise AssertionError("only the reconciler asks")

    def items(self, session_id: SessionId) -> tuple[Item, ...] | None:
        raise AssertionError("nobody asked for availability")
