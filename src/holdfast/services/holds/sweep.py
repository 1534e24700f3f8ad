"""Release all lapsed holds, in as many runs of the reaper as it takes."""

import time
from collections.abc import Callable
from dataclasses import replace

from holdfast.domain.ids import SessionId
from holdfast.domain.immutable import immutable
from holdfast.services.holds.reaper import Reaped, Reaper

FRUITLESS_MAX = 3
PAUSE_SECONDS = 0.5


@immutable
class Swept:
    """`expired` counts holds, `waiting` waitlist entries. `failed` counts those that the last pass
    could not end; if their rows are locked, there may be more behind them."""

    expired: int = 0
    tickets_released: int = 0
    warned: int = 0
    failed: int = 0
    waiting: int = 0

    @property
    def ended(self) -> int:
        return self.expired + self.waiting

    def plus(self, run: Reaped) -> "Swept":
        return Swept(
            self.expired + run.processed_successfully - run.waiting_processed,
            self.tickets_released + run.tickets_released,
            self.warned + run.warned,
            self.failed + run.processed_failed,
            self.waiting + run.waiting_processed,
        )


Report = Callable[[Swept], None]


def sweep(reaper: Reaper, report: Report | None = None) -> Swept:
    """Run until nothing lapsed is left, or several passes in a row end nothing. `report` is called
    between runs. May raise StoreError."""
    swept = Swept()
    fruitless = 0
    while True:
        before = swept
        swept = _pass_through(reaper, replace(before, failed=0), report)
        if not swept.failed:
            return swept
        if swept.ended > before.ended:
            fruitless = 0
        else:
            fruitless += 1
            if fruitless == FRUITLESS_MAX:
                return swept
            # Another reaper may be working on them, or the database may be recovering.
            time.sleep(PAUSE_SECONDS)
        if report is not None:
            report(swept)


def _pass_through(reaper: Reaper, swept: Swept, report: Report | None) -> Swept:
    """Try everything that is due once; blocked sessions are not tried again in the same pass."""
    blocked: set[SessionId] = set()
    while True:
        run = reaper.run_once(blocked)
        swept = swept.plus(run)
        blocked |= run.blocked
        if not run.may_be_more:
            return swept
        if report is not None:
            report(swept)
