"""The promoter. The transaction that frees a place gives it to the next party on the waitlist; the
promoter does the rest: what was too much for one transaction, locked by another, or freed by a
change of the catalog whose server died.

Like the reaper it reads without locks and submits commands, so several promoters do no harm. A
lease lets one work at a time, which is enough.
"""

from collections.abc import Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from uuid import UUID

import structlog
from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Promoted
from holdfast.domain.ids import SessionKey
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.ports.engine import Answer, Submit
from holdfast.ports.holds import PromoterStore, PromoterTurn
from holdfast.ports.store import StoreError

SESSIONS_PER_RUN = 64
WAIT_SECONDS = 30.0
# The background worker waits only this long for commands behind others' locks.
TURN_SECONDS = 1.0
# How often all waitlists are checked, a few at a time, even those marked as settled.
SWEEP_SECONDS = 30.0

_log = structlog.get_logger("holdfast.promoter")


def submit_promotions(
    submit: Submit, sessions: Iterable[SessionKey]
) -> dict[SessionKey, Future[Answer]]:
    origin = Origin(actor="promoter", request_id=str(uuid7()))
    return {key: submit.submit(PromoteWaiting(*key, origin)) for key in sessions}


@dataclass(slots=True)
class Promoter:
    store: PromoterStore
    submit: Submit
    wait_seconds: float = WAIT_SECONDS
    _id: UUID = field(default_factory=uuid7)
    # Commands in flight, which are not submitted again.
    _unanswered: dict[SessionKey, Future[Answer]] = field(default_factory=dict)

    def run_once(self) -> int:
        """Settle waitlists marked as unsettled; returns the number promoted. May raise
        StoreError."""
        return self._settle_some(self.wait_seconds)

    def sweep(self) -> int:
        """Check the remaining waitlists of this round, or all, unless another promoter has the
        lease; returns the number promoted. May raise StoreError."""
        promoted = 0
        while (turn := self.store.promoter_turn(self._id)) is not None:
            count, is_last = self._sweep_on(turn, self.wait_seconds)
            promoted += count
            if is_last:
                break
        return promoted

    def tend(self, interval_seconds: float) -> float:
        """Run once; returns the seconds to wait for the next run."""
        try:
            turn = self.store.promoter_turn(self._id)
            if turn is None:
                return interval_seconds
            promoted = self._sweep_on(turn, TURN_SECONDS)[0] if turn.is_sweep_due else 0
            promoted += self._settle_some(TURN_SECONDS)
        except StoreError as error:
            _log.warning("promoter.failed", problem=error.problem)
            return interval_seconds
        return 0.0 if promoted else interval_seconds

    def _settle_some(self, wait_seconds: float) -> int:
        return self._promote(self.store.unsettled_sessions(SESSIONS_PER_RUN), wait_seconds)

    def _sweep_on(self, turn: PromoterTurn, wait_seconds: float) -> tuple[int, bool]:
        """Check the next waitlists; returns the number promoted, and whether the round is done."""
        sessions = self.store.waiting_sessions(turn.swept_to, SESSIONS_PER_RUN)
        promoted = self._promote(sessions, wait_seconds)
        is_last = len(sessions) < SESSIONS_PER_RUN
        if is_last:
            self.store.swept(self._id, None, SWEEP_SECONDS)
        else:
            self.store.swept(self._id, sessions[-1], 0.0)
        return promoted, is_last

    def _promote(self, sessions: Iterable[SessionKey], wait_seconds: float) -> int:
        in_flight = {key: each for key, each in self._unanswered.items() if not each.done()}
        asked = submit_promotions(self.submit, (key for key in sessions if key not in in_flight))
        finished, unanswered = wait(asked.values(), timeout=wait_seconds)
        if unanswered:
            _log.warning("promoter.unanswered", commands=len(unanswered))
        self._unanswered = in_flight | {
            key: future for key, future in asked.items() if future in unanswered
        }
        outcomes = (future.result().outcome for future in finished)
        return sum(outcome.count for outcome in outcomes if isinstance(outcome, Promoted))
