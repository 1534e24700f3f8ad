"""The pruner: deletes what nobody can ask for any more. Recorded answers, facts that were relayed,
receipts of messages; never a hold, an order, a ticket or a row of the audit."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from holdfast.ports.facts.log import PARTITIONS
from holdfast.ports.holds import Pruning
from holdfast.ports.store import StoreError

BATCH_SIZE = 1_000
BATCHES_MAX = 100
FULL_RUN = BATCH_SIZE * BATCHES_MAX

_log = structlog.get_logger("holdfast.pruner")


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long each kind of row is kept."""

    answers_seconds: int
    facts_seconds: int
    receipts_seconds: int


@dataclass(frozen=True, slots=True)
class Pruned:
    answers: int = 0
    facts: int = 0
    receipts: int = 0

    @property
    def may_be_more(self) -> bool:
        """One of the kinds was left unfinished: another run is due at once."""
        return max(self.answers, self.facts, self.receipts) >= FULL_RUN


@dataclass(frozen=True, slots=True)
class Pruner:
    """Small transactions, so that it is never in anybody's way; a bounded number of them, so that
    one run always ends."""

    store: Pruning
    keeping: Keeping

    def run_once(self) -> Pruned:
        """May raise StoreError: what was deleted before stays deleted."""
        store, keeping = self.store, self.keeping
        answers = _in_batches(lambda limit: store.prune_answers(keeping.answers_seconds, limit))
        facts = _in_batches(self._prune_facts)
        receipts = _in_batches(lambda limit: store.prune_receipts(keeping.receipts_seconds, limit))
        pruned = Pruned(answers, facts, receipts)
        if pruned != Pruned():
            _log.info("pruner.run", answers=answers, facts=facts, receipts=receipts)
        return pruned

    def tend(self, interval_seconds: float) -> float:
        """One run, and how long to wait for the next."""
        try:
            return 0.0 if self.run_once().may_be_more else interval_seconds
        except StoreError as error:
            _log.warning("pruner.failed", problem=type(error).__name__)
            return interval_seconds

    def _prune_facts(self, limit: int) -> int:
        """As much as one batch, of the first partition that has something old."""
        for partition in range(PARTITIONS):
            deleted = self.store.prune_facts(partition, self.keeping.facts_seconds, limit)
            if deleted:
                return deleted
        return 0


def _in_batches(delete: Callable[[int], int]) -> int:
    deleted = 0
    for _ in range(BATCHES_MAX):
        batch = delete(BATCH_SIZE)
        deleted += batch
        if not batch:
            break
    return deleted
