"""What the reconciler keeps and reads: its tasks, and this service's side of each hold. Every call
may raise StoreError."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId, TicketTypeId
from holdfast.domain.immutable import immutable
from holdfast.ports.inventory.service import Reservation
from holdfast.ports.paging import Cursor, Page

PROBLEM_LENGTH_MAX = 200


@immutable
class InventoryTask:
    """A hold of which it is not known that both services agree. `position` is the transaction that
    wrote the task last: it changes with the hold."""

    organization_id: OrganizationId
    hold_id: HoldId
    position: str
    since: datetime
    attempts: int


@immutable
class OurSide:
    """A hold, and its tickets that are still sold, by ticket type."""

    hold: Hold
    sold: Mapping[TicketTypeId, int]
    has_task: bool
    at: datetime

    @property
    def version(self) -> tuple[object, ...]:
        """Changes with everything that concerns the Inventory Service."""
        return self.hold.version, self.sold, self.has_task


@immutable
class StuckTask:
    """A task with a problem. If the sides contradict each other, somebody has to decide."""

    organization_id: OrganizationId
    hold_id: HoldId
    since: datetime
    problem: str
    is_contradiction: bool


@immutable
class Compared:
    """The size and the result of a comparison."""

    reservations: int = 0
    holds: int = 0
    differences: int = 0
    mended: int = 0


@immutable
class ReconcilerState:
    """`tried` are tasks that could not be finished yet; `lag_seconds` is the age of the oldest that
    is due. Contradictions count in neither."""

    tasks: int
    tried: int
    contradictions: int
    lag_seconds: float
    compared_at: datetime | None
    compared: Compared


class InventoryTasks(Protocol):
    """The reconciler's tasks, of all organizations."""

    def take(self, limit: int, lease_seconds: float) -> Sequence[InventoryTask]:
        """Due tasks, oldest first. Others may take them again after the lease."""
        ...

    def add(
        self, organization_id: OrganizationId, hold_id: HoldId, lease_seconds: float
    ) -> InventoryTask | None:
        """A task for this hold, taken at once; None if it has one."""
        ...

    def done(self, task: InventoryTask) -> bool:
        """Delete it unless its hold has changed since it was taken."""
        ...

    def postpone(
        self, task: InventoryTask, seconds: float, problem: str, *, is_contradiction: bool
    ) -> None:
        """Count an attempt, unless its hold has changed since it was taken."""
        ...

    def stuck(self, organizations: Iterable[OrganizationId], limit: int) -> Sequence[StuckTask]: ...

    def state(self) -> ReconcilerState: ...


class OurSides(Protocol):
    """This service's side."""

    def organizations(self) -> Sequence[OrganizationId]: ...

    def now(self) -> datetime: ...

    def of_hold(self, organization_id: OrganizationId, hold_id: HoldId) -> OurSide | None: ...

    def of_reservations(
        self, organizations: Iterable[OrganizationId], reservations: Sequence[Reservation]
    ) -> Mapping[HoldId, OurSide | None]:
        """None if there is no such hold. Reservations of sessions that these organizations do not
        have are left out."""
        ...

    def remote_holds(
        self,
        organization_id: OrganizationId,
        status: HoldStatus,
        before: datetime,
        after: Cursor | None,
    ) -> Page[HoldId]:
        """The holds with this status whose places are those of the Inventory Service, oldest first,
        without lapsed ones and those made since `before`."""
        ...


class Comparisons(Protocol):
    def take_comparison(self, interval_seconds: float) -> bool:
        """Whether the comparison is due; it is then the caller's."""
        ...

    def seconds_until_comparison(self) -> float: ...

    def compared(self, result: Compared) -> None: ...
