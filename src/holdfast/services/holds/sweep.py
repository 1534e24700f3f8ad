"""Release everything that has lapsed: as many runs of the reaper as it takes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.domain.ids import SessionId
from holdfast.services.holds.reaper import Reaped, Reaper

FRUITLESS_MAX = 3
PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Swept:
    """`expired` are holds, `waiting` parties on the waitlist. `failed` are those that were tried in
    the last pass and are lapsed still; where their rows are locked, there may be more behind
    them."""

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
    """Until nothing lapsed is left, or a few passes in a row could not end what is. `report` is
    told after each run that is followed by another. May raise StoreError."""
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
            # Another reaper may be at it, or the database may be coming back.
            time.sleep(PAUSE_SECONDS)
        if report is not None:
            report(swept)


def _pass_through(reaper: Reaper, swept: Swept, report: Report | None) -> Swept:
    """Everything that is due, once: what is blocked is not tried again in the same pass."""
    blocked: set[SessionId] = set()
    while True:
        run = reaper.run_once(blocked)
        swept = swept.plus(run)
        blocked |= run.blocked
        if not run.may_be_more:
            return swept
        if report is not None:
            report(swept)
