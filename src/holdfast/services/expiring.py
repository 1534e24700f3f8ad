"""The reaper: writes down that holds have lapsed, and warns their holders before, so that the facts
are timely. It is never safety: a lapsed hold blocks nobody, whether the reaper came by or not.

It looks without locks and submits commands like everybody else, so several of them do no harm, and
one that is killed leaves nothing half done.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from operator import attrgetter

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.commands import DUE_BATCH_MAX, ExpireHolds, Origin, WarnHolds
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.outcomes import Expired, Warned
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import DueHold, Housekeeping
from holdfast.ports.store import StoreError

HOLDS_PER_RUN = 32 * DUE_BATCH_MAX
WAIT_SECONDS = 30.0
# Holds end at whole seconds: being there a moment later finds all that end together.
AFTER_DUE_SECONDS = 0.01

_log = structlog.get_logger("holdfast.reaper")


@dataclass(frozen=True, slots=True)
class Reaped:
    """What one run found and did. Failed are those that were found lapsed and not expired by it:
    refused, unanswered, or ended by somebody else meanwhile. The next run finds those that
    remain."""

    expired_holds: int = 0
    processed_successfully: int = 0
    tickets_released: int = 0
    warned: int = 0
    found: int = 0
    duration_ms: int = 0

    @property
    def processed_failed(self) -> int:
        return self.expired_holds - self.processed_successfully

    @property
    def may_be_more(self) -> bool:
        """The run was full and moved on: another one is due at once."""
        return self.found >= HOLDS_PER_RUN and self.processed_successfully + self.warned > 0


@dataclass(frozen=True, slots=True)
class Reaper:
    housekeeping: Housekeeping
    submit: Submit
    wait_seconds: float = WAIT_SECONDS

    def due(self) -> tuple[DueHold, ...]:
        """What the next run would find."""
        return self.housekeeping.due_holds(HOLDS_PER_RUN)

    def run_once(self) -> Reaped:
        """May raise StoreError: then nothing was done."""
        started = time.monotonic()
        due = self.due()
        if not due:
            return Reaped()
        origin = Origin(actor="reaper", request_id=str(uuid7()))
        futures = [self.submit.submit(command) for command in _commands(due, origin)]
        finished, unanswered = wait(futures, timeout=self.wait_seconds)
        if unanswered:
            _log.warning("reaper.unanswered", commands=len(unanswered))
        expired, warned = _done(finished)
        reaped = Reaped(
            expired_holds=sum(hold.is_lapsed for hold in due),
            processed_successfully=len(expired),
            tickets_released=sum(hold.quantity for hold in due if hold.hold_id in expired),
            warned=len(warned),
            found=len(due),
            duration_ms=int((time.monotonic() - started) * 1000),
        )
        _log_run(reaped)
        return reaped

    def tend(self, interval_seconds: float) -> float:
        """One run, and how long to wait for the next: until something is due, and never longer than
        the interval, for a hold that is placed meanwhile may end before all others."""
        try:
            with self.housekeeping.reaping() as is_ours:
                if is_ours and self.run_once().may_be_more:
                    return 0.0
            until_due = self.housekeeping.seconds_until_due()
        except StoreError as error:
            _log.warning("reaper.failed", problem=type(error).__name__)
            return interval_seconds
        if until_due is None:
            return interval_seconds
        # What is overdue was tried just now and not done: not again at once.
        return min(interval_seconds, until_due + AFTER_DUE_SECONDS if until_due > 0 else 1.0)


def _log_run(reaped: Reaped) -> None:
    _log.info(
        "reaper.run",
        expired_holds=reaped.expired_holds,
        processed_successfully=reaped.processed_successfully,
        processed_failed=reaped.processed_failed,
        tickets_released=reaped.tickets_released,
        warned=reaped.warned,
        duration_ms=reaped.duration_ms,
    )


def _commands(due: Iterable[DueHold], origin: Origin) -> Iterator[ExpireHolds | WarnHolds]:
    """One organization at a time, and its sessions one after the other."""
    batches: defaultdict[tuple[OrganizationId, bool], list[DueHold]] = defaultdict(list)
    for hold in due:
        batches[hold.organization_id, hold.is_lapsed].append(hold)
    for (organization_id, is_lapsed), holds in batches.items():
        hold_ids = [hold.hold_id for hold in sorted(holds, key=attrgetter("session_id"))]
        for start in range(0, len(hold_ids), DUE_BATCH_MAX):
            batch = tuple(hold_ids[start : start + DUE_BATCH_MAX])
            command = ExpireHolds if is_lapsed else WarnHolds
            yield command(organization_id, batch, origin)


def _done(finished: Iterable[Future[Answer]]) -> tuple[set[HoldId], set[HoldId]]:
    expired: set[HoldId] = set()
    warned: set[HoldId] = set()
    for future in finished:
        match future.result().outcome:
            case Expired(hold_ids):
                expired.update(hold_ids)
            case Warned(hold_ids):
                warned.update(hold_ids)
    return expired, warned
