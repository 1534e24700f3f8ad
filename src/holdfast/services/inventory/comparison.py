"""Compares the two services: finds differences for which there is no task, for example after one of
their databases was restored.

It reads the Inventory Service first and this one afterwards: a hold is committed before its tickets
are reserved, so a reservation without a hold is an orphan. Then it looks for this service's holds
without a reservation.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import structlog

from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.immutable import immutable
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.inventory.reconciliation import (
    Compared,
    Comparisons,
    InventoryTasks,
    OurSide,
    OurSides,
)
from holdfast.ports.inventory.service import (
    Inventory,
    InventoryConflict,
    InventoryUnavailable,
    Reservation,
)
from holdfast.ports.paging import Cursor
from holdfast.ports.store import StoreError
from holdfast.services.inventory.agreement import Step, remedy_for
from holdfast.services.inventory.mending import Look, Mender, NotMended
from holdfast.services.inventory.reconciler import LEASE_SECONDS, Reconciler, Settled

T = TypeVar("T")

SHORTEST_WAIT_SECONDS = 1.0

_log = structlog.get_logger("holdfast.comparison")


@immutable
class Finding:
    """A difference. `done` names the steps that mended it; without them it is still there."""

    organization_id: OrganizationId | None
    hold_id: HoldId
    difference: str
    done: tuple[Step, ...] = ()


@immutable
class Extent:
    """What to compare. Without `organizations`, all of them. `is_complete` adds all past sales and,
    if all organizations are compared, reservations for sessions that are unknown here: with a wrong
    key, they may belong to another installation."""

    organizations: tuple[OrganizationId, ...] = ()
    is_complete: bool = False
    mends: bool = False


Report = Callable[[Finding | Compared], None]


class Comparison:
    def __init__(
        self,
        inventory: Inventory,
        our_sides: OurSides,
        mender: Mender,
        tasks: InventoryTasks,
        reconciler: Reconciler,
    ) -> None:
        self._inventory = inventory
        self._our_sides = our_sides
        self._mender = mender
        self._tasks = tasks
        self._reconciler = reconciler

    def run(self, extent: Extent, report: Report) -> Compared:
        """Report differences and progress. May raise InventoryUnavailable or StoreError."""
        organizations = extent.organizations or tuple(self._our_sides.organizations())
        progress = _Progress(report)
        before = self._our_sides.now()
        is_everything = extent.is_complete and not extent.organizations
        reserved: set[HoldId] = set()
        for status in _compared(extent, ReservationStatus.HELD, ReservationStatus.COMMITTED):
            for page in self._pages(status):
                sides = self._our_sides.of_reservations(organizations, page)
                for reservation in page:
                    reserved.add(reservation.hold_id)
                    if reservation.hold_id in sides or is_everything:
                        ours = sides.get(reservation.hold_id)
                        progress.found(self._of_reservation(extent, reservation, ours))
                progress.went_on(reservations=len(page))
        for organization_id in organizations:
            for kind in _compared(extent, HoldStatus.ACTIVE, HoldStatus.CONVERTED):
                after: Cursor | None = None
                while True:
                    holds = self._our_sides.remote_holds(organization_id, kind, before, after)
                    for hold_id in holds.items:
                        if hold_id not in reserved:
                            progress.found(self._of_hold(extent, organization_id, hold_id))
                    progress.went_on(holds=len(holds.items))
                    after = holds.next
                    if after is None:
                        break
        return progress.compared

    def _pages(self, status: ReservationStatus) -> Iterator[Sequence[Reservation]]:
        after: str | None = None
        while True:
            page = self._inventory.reservations(status, after)
            yield page.reservations
            if page.next is None:
                return
            if page.next == after:
                raise InventoryUnavailable("it returns the same page again")
            after = page.next

    def _of_reservation(
        self, extent: Extent, reservation: Reservation, ours: OurSide | None
    ) -> Finding | None:
        if _is_fine(ours, reservation):
            return None
        if ours is not None:
            return self._of_hold(extent, ours.hold.organization_id, reservation.hold_id)
        hold_id = reservation.hold_id
        look = self._look(hold_id, partial(self._read_unknown, reservation))
        if look is None or look.ours is not None or look.theirs is None:
            return None
        finding = Finding(None, hold_id, look.remedy.difference)
        if not extent.mends or look.remedy.step is not Step.RELEASE:
            return finding
        try:
            self._mender.release(look.theirs)
        except InventoryConflict as error:
            return replace(finding, difference=f"{finding.difference}; {error.reason}")
        return replace(finding, done=(Step.RELEASE,))

    def _read_unknown(self, reservation: Reservation) -> OurSide | None:
        """Look in all organizations, because the session may have been unknown before."""
        everybody = self._our_sides.organizations()
        return self._our_sides.of_reservations(everybody, [reservation]).get(reservation.hold_id)

    def _of_hold(
        self, extent: Extent, organization_id: OrganizationId, hold_id: HoldId
    ) -> Finding | None:
        look = self._look(hold_id, partial(self._our_sides.of_hold, organization_id, hold_id))
        if look is None:
            return None
        finding = Finding(organization_id, hold_id, look.remedy.difference)
        if not extent.mends:
            return finding
        task = self._tasks.add(organization_id, hold_id, LEASE_SECONDS)
        if task is None:
            return None  # the reconciler has just got one
        outcome = self._reconciler.settle(task)
        if outcome.settled is Settled.AGREED:
            return replace(finding, done=outcome.steps)
        return replace(finding, difference=outcome.problem or finding.difference)

    def _look(self, hold_id: HoldId, read: Callable[[], OurSide | None]) -> Look | None:
        """None if there is nothing to do, or the reconciler has a task."""
        try:
            look = self._mender.look(hold_id, read)
        except NotMended:
            return None  # it keeps changing, and each change writes a task
        has_task = look.ours is not None and look.ours.has_task
        return None if has_task or look.remedy.step is Step.NOTHING else look


@dataclass(slots=True)
class _Progress:
    report: Report
    compared: Compared = field(default_factory=Compared)

    def found(self, finding: Finding | None) -> None:
        if finding is None:
            return
        seen = self.compared
        mended = seen.mended + bool(finding.done)
        self.compared = replace(seen, differences=seen.differences + 1, mended=mended)
        self.report(finding)

    def went_on(self, reservations: int = 0, holds: int = 0) -> None:
        seen = self.compared
        self.compared = replace(
            seen, reservations=seen.reservations + reservations, holds=seen.holds + holds
        )
        self.report(self.compared)


def _is_fine(ours: OurSide | None, theirs: Reservation) -> bool:
    """Nearly all are. No further call is needed for them."""
    has_task = ours is not None and ours.has_task
    return has_task or remedy_for(ours, theirs).step is Step.NOTHING


def _compared(extent: Extent, live: T, sold: T) -> tuple[T, ...]:
    return (live, sold) if extent.is_complete else (live,)


class ComparisonDuty:
    """Compares and mends what is still open, one process at a time."""

    def __init__(self, comparison: Comparison, turns: Comparisons) -> None:
        self._comparison = comparison
        self._turns = turns

    def tend(self, interval_seconds: float) -> float:
        """Run if it is due; returns the seconds until the next run."""
        try:
            if self._turns.take_comparison(interval_seconds):
                self.run_once()
            wait_seconds = self._turns.seconds_until_comparison()
        except StoreError as error:
            _log.warning("comparison.failed", problem=error.problem)
            return interval_seconds
        except InventoryUnavailable as error:
            _log.warning("comparison.failed", problem=error.reason)
            return interval_seconds
        return min(interval_seconds, max(SHORTEST_WAIT_SECONDS, wait_seconds))

    def run_once(self) -> Compared:
        """May raise InventoryUnavailable or StoreError."""
        started = time.monotonic()
        compared = self._comparison.run(Extent(mends=True), _log_finding)
        self._turns.compared(compared)
        _log.info(
            "comparison.run",
            reservations=compared.reservations,
            holds=compared.holds,
            differences=compared.differences,
            mended=compared.mended,
            duration_ms=int((time.monotonic() - started) * 1000),
        )
        return compared


def _log_finding(found: Finding | Compared) -> None:
    if isinstance(found, Compared):
        return
    log = _log.warning if found.done else _log.error
    log(
        "comparison.difference",
        organization_id=found.organization_id and str(found.organization_id),
        hold_id=str(found.hold_id),
        difference=found.difference,
        done=[step.name.lower() for step in found.done],
    )
