"""The promoter: whoever waits is promoted by the very transaction that frees a place; what was too
much for one transaction, or locked by another, is done here.

Like the reaper it looks without locks and submits commands, so several of them do no harm.
"""

import time
from collections.abc import Iterable
from concurrent.futures import wait
from dataclasses import dataclass, field

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.commands import Origin, PromoteWaiting
from holdfast.domain.ids import SessionKey
from holdfast.domain.outcomes import Promoted
from holdfast.ports.engine import Submit
from holdfast.ports.holds import LineKeeping
from holdfast.ports.store import StoreError

SESSIONS_PER_RUN = 64
WAIT_SECONDS = 30.0
# All lines are looked at so often, whatever anybody has noted about them.
SWEEP_SECONDS = 30.0

_log = structlog.get_logger("holdfast.promoter")


@dataclass(slots=True)
class Promoter:
    lines: LineKeeping
    submit: Submit
    wait_seconds: float = WAIT_SECONDS
    _swept_at: float = field(default_factory=time.monotonic)

    def run_once(self) -> int:
        """Settle the lines that somebody left unsettled; says how many were promoted. May raise
        StoreError."""
        return self._promote(self.lines.unsettled_sessions(SESSIONS_PER_RUN))

    def sweep(self) -> int:
        """Look at every line there is; says how many were promoted."""
        seen, after = 0, None
        while sessions := self.lines.waiting_sessions(after, SESSIONS_PER_RUN):
            seen += self._promote(sessions)
            after = sessions[-1]
        return seen

    def tend(self, interval_seconds: float) -> float:
        """One run, and how long to wait for the next."""
        try:
            if time.monotonic() - self._swept_at > SWEEP_SECONDS:
                self.sweep()
                self._swept_at = time.monotonic()
            promoted = self.run_once()
        except StoreError as error:
            _log.warning("promoter.failed", problem=type(error).__name__)
            return interval_seconds
        return 0.0 if promoted else interval_seconds

    def _promote(self, sessions: Iterable[SessionKey]) -> int:
        origin = Origin(actor="promoter", request_id=str(uuid7()))
        futures = [self.submit.submit(PromoteWaiting(*key, origin)) for key in sessions]
        finished, unanswered = wait(futures, timeout=self.wait_seconds)
        if unanswered:
            _log.warning("promoter.unanswered", commands=len(unanswered))
        outcomes = (future.result().outcome for future in finished)
        return sum(outcome.count for outcome in outcomes if isinstance(outcome, Promoted))
