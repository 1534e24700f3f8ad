"""The pruner: deletes old recorded answers, relayed facts, message receipts and revocations of
holder tokens. It never deletes holds, orders or tickets; the audit log has a duty of its own."""

from collections.abc import Callable

import structlog

from holdfast.domain.access.tokens import TTL_SECONDS_MAX
from holdfast.domain.immutable import immutable
from holdfast.ports.facts.log import PARTITIONS
from holdfast.ports.holds import Pruning
from holdfast.ports.store import StoreError

BATCH_SIZE = 1_000
BATCHES_MAX = 100
FULL_RUN = BATCH_SIZE * BATCHES_MAX

_log = structlog.get_logger("holdfast.pruner")


@immutable
class Keeping:
    """How long each kind of row is kept."""

    answers_seconds: int
    facts_seconds: int
    receipts_seconds: int


@immutable
class Pruned:
    answers: int = 0
    facts: int = 0
    receipts: int = 0
    revocations: int = 0

    @property
    def may_be_more(self) -> bool:
        """Whether one kind was left unfinished, and another run is due at once."""
        return max(self.answers, self.facts, self.receipts, self.revocations) >= FULL_RUN


@immutable
class Pruner:
    """Uses small transactions, to block nobody, and a bounded number of them per run."""

    store: Pruning
    keeping: Keeping

    def run_once(self) -> Pruned:
        """May raise StoreError; batches deleted before that stay deleted."""
        store, keeping = self.store, self.keeping
        answers = _in_batches(lambda limit: store.prune_answers(keeping.answers_seconds, limit))
        facts = _in_batches(self._prune_facts)
        receipts = _in_batches(lambda limit: store.prune_receipts(keeping.receipts_seconds, limit))
        # Every token issued before has expired by then.
        revocations = _in_batches(lambda limit: store.prune_revocations(TTL_SECONDS_MAX, limit))
        pruned = Pruned(answers, facts, receipts, revocations)
        if pruned != Pruned():
            _log.info(
                "pruner.run",
                answers=answers,
                facts=facts,
                receipts=receipts,
                revocations=revocations,
            )
        return pruned

    def tend(self, interval_seconds: float) -> float:
        """Run once; returns the seconds to wait for the next run."""
        try:
            return 0.0 if self.run_once().may_be_more else interval_seconds
        except StoreError as error:
            _log.warning("pruner.failed", problem=error.problem)
            return interval_seconds

    def _prune_facts(self, limit: int) -> int:
        """Delete one batch from the first partition that has old facts."""
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
