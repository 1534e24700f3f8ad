"""An inventory that is another service: it knows how many tickets are left, and reserves them for
holds. `contracts/inventory.yaml` says what Holdfast expects of it."""

from collections.abc import Mapping
from typing import Protocol

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId, SessionId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.domain.refusal_codes import Refusal

# The longest that a request waits for the Inventory Service, with all attempts.
CALL_SECONDS_MAX = 5.0
# A buyer would rather see no number than wait for it.
ITEMS_SECONDS_MAX = 1.0
# When the reconciler takes over: from a process that has not settled a hold by then, and from
# messages that have not told the Inventory Service.
SECONDS_TO_SETTLE = 15
SECONDS_TO_TELL = 5


@immutable
class Reservation:
    """What a hold takes from the inventory. `lines` are the quantities by ticket type."""

    hold_id: HoldId
    session_id: SessionId
    lines: Mapping[TicketTypeId, int]
    status: ReservationStatus = ReservationStatus.HELD


def reservation_of(hold: Hold) -> Reservation:
    """What to ask for. Lines of the same ticket type are one."""
    lines: dict[TicketTypeId, int] = {}
    for line in hold.lines:
        lines[line.ticket_type_id] = lines.get(line.ticket_type_id, 0) + line.quantity
    return Reservation(hold.id, hold.session_id, lines)


@immutable
class Item:
    """The tickets of one type in a session."""

    ticket_type_id: TicketTypeId
    total: int
    available: int
    held: int
    committed: int


@immutable
class ReservationPage:
    reservations: tuple[Reservation, ...]
    next: str | None = None


class InventoryUnavailable(Exception):
    """It cannot be known whether the call had its effect. `reason` names no hosts: it is safe to
    log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InventoryConflict(Exception):
    """The Inventory Service refuses for good what the hold needs: the two disagree. `is_certain`
    means that no earlier attempt of the call may have had its effect."""

    def __init__(self, reason: str, *, is_certain: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_certain = is_certain


@immutable
class Asked:
    """Without a refusal, the tickets are reserved. With one, and `is_certain`, nothing is reserved
    there, and nothing will be."""

    refusal: Refusal | None
    is_certain: bool = True


class Inventory(Protocol):
    """Every call may be repeated. All may raise InventoryUnavailable."""

    def hold(self, reservation: Reservation) -> Asked:
        """May raise InventoryConflict."""
        ...

    def release(self, reservation: Reservation) -> None:
        """Give the tickets back, or refuse the hold if it arrives later. May raise
        InventoryConflict."""
        ...

    def commit(self, reservation: Reservation) -> None:
        """Sell these tickets, and take back the others. May raise InventoryConflict."""
        ...

    def find(self, hold_id: HoldId) -> Reservation | None: ...

    def reservations(self, status: ReservationStatus, after: str | None) -> ReservationPage: ...

    def items(self, session_id: SessionId) -> tuple[Item, ...] | None:
        """None if it does not know the session."""
        ...
