"""`holdfast reconcile`."""

import argparse
import sys
import time
from collections.abc import Iterable
from uuid import UUID

from holdfast.bootstrap.engine_room import EngineRoom
from holdfast.bootstrap.inventory.reconciliation import Reconciliation
from holdfast.bootstrap.settings import Settings, SettingsError
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.entrypoints.cli.terminal import CommandFailed, needs_database, say, uuid_argument
from holdfast.ports.inventory.reconciliation import Compared
from holdfast.ports.inventory.service import InventoryUnavailable
from holdfast.services.inventory.agreement import Step
from holdfast.services.inventory.comparison import Extent, Finding

STUCK_MAX = 1_000
# A hold that is being settled for longer counts as a difference.
LAG_SECONDS_MAX = 60
PROGRESS_SECONDS = 1.0

_DONE = {
    Step.FAIL: "ended here",
    Step.RELEASE: "released there",
    Step.COMMIT: "committed there",
    Step.RESERVE: "reserved there",
    Step.EXPIRE: "expired here",
}


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "reconcile",
        help="compare all holds with the Inventory Service",
        description="Compares all holds and sales with the reservations of the Inventory Service "
        "at HOLDFAST_INVENTORY_URL, and lists every difference. Sales can continue. Exit code 0: "
        "the services agree; 1: they differ, or one of them could not be read.",
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", action="store_true", help="list the differences and change nothing")
    how.add_argument("--fix", action="store_true", help="also mend them, and say how")
    parser.add_argument(
        "--organization",
        metavar="ID",
        type=uuid_argument,
        help="only the holds of this organization",
    )
    parser.set_defaults(run=run)


def run(settings: Settings, options: argparse.Namespace) -> int:
    if settings.holdfast_inventory_url is None:
        raise SettingsError("HOLDFAST_INVENTORY_URL: must be set for `holdfast reconcile`")
    organizations = tuple(map(OrganizationId, filter(None, [options.organization])))
    with needs_database("the holds could not be read"), EngineRoom(settings).running() as room:
        assert room.reconciliation is not None
        try:
            return _reconcile(room.reconciliation, organizations, mends=options.fix)
        except InventoryUnavailable as error:
            raise CommandFailed(
                f"the Inventory Service could not be asked: {error.reason}"
            ) from error


def _reconcile(
    reconciliation: Reconciliation, organizations: tuple[OrganizationId, ...], *, mends: bool
) -> int:
    if mends:
        _finish_tasks(reconciliation)
    report = Report()
    compared = reconciliation.comparison.run(
        Extent(organizations, is_complete=True, mends=mends), report
    )
    named = organizations or tuple(reconciliation.our_sides.organizations())
    left = compared.differences - compared.mended
    left += _show_stuck(reconciliation, named, report.shown)
    if not organizations:
        left += _show_state(reconciliation)
    say(
        f"Compared {compared.reservations:,} reservation(s) and {compared.holds:,} hold(s): "
        f"{compared.differences:,} difference(s), {compared.mended:,} mended."
    )
    say("Both services agree." if not left else "They do not agree.")
    return 1 if left else 0


def _finish_tasks(reconciliation: Reconciliation) -> None:
    while True:
        run = reconciliation.reconciler.run_once()
        for step, count in run.steps:
            say(f"... {count:,} hold(s) {_DONE[step]}")
        if not run.agreed:
            return


class Report:
    """Prints each difference, and the progress if a person is watching."""

    def __init__(self) -> None:
        self.shown: set[HoldId] = set()
        self._told_at = time.monotonic()

    def __call__(self, found: Finding | Compared) -> None:
        if isinstance(found, Finding):
            self.shown.add(found.hold_id)
            done = ", ".join(_DONE[step] for step in found.done)
            _show(found.organization_id, found.hold_id, found.difference, done)
        elif sys.stdout.isatty() and time.monotonic() - self._told_at > PROGRESS_SECONDS:
            self._told_at = time.monotonic()
            say(f"... {found.reservations:,} reservation(s), {found.holds:,} hold(s) compared")


def _show(organization_id: UUID | None, hold_id: UUID, difference: str, done: str = "") -> None:
    owner = "unknown organization" if organization_id is None else f"organization {organization_id}"
    mended = f" -> {done}" if done else ""
    say(f"{hold_id}  {owner}  {difference}{mended}")


def _show_stuck(
    reconciliation: Reconciliation, organizations: Iterable[OrganizationId], shown: set[HoldId]
) -> int:
    """Tasks that the reconciler cannot finish."""
    stuck = [
        task
        for task in reconciliation.tasks.stuck(organizations, STUCK_MAX)
        if task.hold_id not in shown
    ]
    for task in stuck:
        _show(task.organization_id, task.hold_id, task.problem)
    return len(stuck)


def _show_state(reconciliation: Reconciliation) -> int:
    """1 if a hold has been under way for too long."""
    state = reconciliation.reconciler.state()
    if state.tasks:
        say(f"{state.tasks:,} hold(s) are being settled, for up to {state.lag_seconds:,.0f} s.")
    return int(state.lag_seconds > LAG_SECONDS_MAX)
