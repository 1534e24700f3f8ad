"""The pruner: deletes recorded answers that nobody can ask for any more."""

from dataclasses import dataclass

import structlog

from holdfast.ports.holds import Housekeeping
from holdfast.ports.store import StoreError

BATCH_SIZE = 1_000
BATCHES_MAX = 100
FULL_RUN = BATCH_SIZE * BATCHES_MAX

_log = structlog.get_logger("holdfast.pruner")


@dataclass(frozen=True, slots=True)
class Pruner:
    """Small transactions, so that it is never in anybody's way; a bounded number of them, so that
    one run always ends."""

    housekeeping: Housekeeping
    answers_kept_seconds: int

    def run_once(self) -> int:
        """How many answers were deleted; the duty goes on at once when the run was full."""
        pruned = 0
        try:
            for _ in range(BATCHES_MAX):
                deleted = self.housekeeping.prune_answers(self.answers_kept_seconds, BATCH_SIZE)
                pruned += deleted
                if deleted < BATCH_SIZE:
                    break
        except StoreError as error:
            _log.warning("pruner.failed", problem=type(error).__name__)
        if pruned:
            _log.info("answers.pruned", count=pruned)
        return pruned
