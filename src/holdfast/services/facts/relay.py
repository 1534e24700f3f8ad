"""The relay: takes facts from the outbox to the broker. It moves its cursor only when the broker
has answered for what it was given, so a relay that is killed loses nothing; the next one may tell
the last facts once more, under the same ids.

The facts of one hold are all in one partition, and one relay at a time has a partition: so their
order is kept, whatever number of relays share the work.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from holdfast.ports.facts.deliveries import pause_seconds
from holdfast.ports.facts.log import (
    PARTITIONS,
    LogAhead,
    Outbox,
    Publisher,
    PublishFailed,
    RelayLag,
    Unroutable,
)
from holdfast.ports.store import StoreError
from holdfast.services.facts.envelope import message_of

BATCH = 500
IDLE_SECONDS = 0.2
# Where there were some just now.
SOON_SECONDS = 0.02
AFTER_STORE_ERROR_SECONDS = 1.0
LAG_WORTH_TELLING_SECONDS = 30.0
TELL_EVERY_SECONDS = 60.0
# One may be about the facts of its partition. Two in a row are about the database.
STORE_ERRORS_MAX = 2

_log = structlog.get_logger("holdfast.relay")


@dataclass(frozen=True, slots=True)
class Relayed:
    """What one run found and did. `may_be_more`: some partition was not emptied by it."""

    lag: RelayLag
    published: int = 0
    may_be_more: bool = False


class _Backoff:
    """Longer and longer after each failure in a row, never quite as long as somebody else."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0

    def failed(self) -> None:
        pause = pause_seconds(self._failures) * random.uniform(0.5, 1.0)  # noqa: S311
        self._failures += 1
        self._until = self._clock() + pause

    def succeeded(self) -> None:
        self._failures, self._until = 0, 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, self._until - self._clock())


class _Turn:
    """When a partition is next, and with how many facts. Where one of them has nobody who listens,
    the others of its batch are told again at each attempt: so the batches become smaller until that
    one is alone. What was too much at once goes in smaller batches, too."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.backoff = _Backoff(clock)
        self.batch = BATCH

    def failed(self) -> None:
        self.backoff.failed()
        self.take_less()

    def take_less(self) -> None:
        self.batch = max(1, self.batch // 2)

    def succeeded(self) -> None:
        self.backoff.succeeded()
        self.batch = min(BATCH, self.batch * 2)


class Relay:
    """For one thread. With a secret, facts say whose they are to those who know that already."""

    def __init__(
        self,
        outbox: Outbox,
        publisher: Publisher,
        secret: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._secret = secret
        self._clock = clock
        self._broker = _Backoff(clock)
        # What one partition has to wait for (somebody who listens) is no reason for others to wait.
        self._turns = [_Turn(clock) for _ in range(PARTITIONS)]
        self._first = 0
        self._told_at = -TELL_EVERY_SECONDS
        self._has_told_lag = False

    def tend(self) -> float:
        """One run, and how long to wait for the next."""
        if self._broker.seconds:
            return self._broker.seconds
        try:
            relayed = self.run_once()
        except LogAhead:
            self._tell_ahead()
            return AFTER_STORE_ERROR_SECONDS
        except StoreError as error:
            _log.warning("relay.failed", problem=type(error).__name__)
            return AFTER_STORE_ERROR_SECONDS
        if self._broker.seconds:
            return self._broker.seconds
        if relayed.may_be_more:
            return 0.0
        return SOON_SECONDS if relayed.published else IDLE_SECONDS

    def run_once(self) -> Relayed:
        """One batch of each partition. May raise StoreError: what was published until then may be
        published once more."""
        lag = self._outbox.lag()
        self._tell_lag(lag)
        if not lag.waiting:
            return Relayed(lag)
        published, store_errors = 0, 0
        for partition in self._partitions_in_turn():
            turn = self._turns[partition]
            try:
                published += self._relay(partition, turn.batch)
                store_errors = 0
            except Unroutable as error:
                turn.failed()
                _log.warning("relay.unroutable", partition=partition, types=list(error.types))
            except PublishFailed as error:
                turn.take_less()
                self._broker.failed()
                # Should it be about these very facts: the others come first next time.
                self._first = (partition + 1) % PARTITIONS
                _log.warning("relay.failed", partition=partition, problem=str(error))
                break
            except StoreError as error:
                turn.failed()
                store_errors += 1
                if store_errors == STORE_ERRORS_MAX:
                    raise
                _log.warning("relay.failed", partition=partition, problem=type(error).__name__)
        return Relayed(lag, published, may_be_more=0 < published < lag.waiting)

    def _partitions_in_turn(self) -> list[int]:
        in_order = [(self._first + number) % PARTITIONS for number in range(PARTITIONS)]
        return [each for each in in_order if not self._turns[each].backoff.seconds]

    def _relay(self, partition: int, wanted: int) -> int:
        with self._outbox.claim(partition) as claimed:
            facts = claimed.unpublished(wanted) if claimed is not None else ()
            if claimed is None or not facts:
                return 0
            self._publisher.publish([message_of(fact, self._secret) for fact in facts])
            self._broker.succeeded()
            self._turns[partition].succeeded()
            claimed.published(facts[-1].position)
        return len(facts)

    def _tell_lag(self, lag: RelayLag) -> None:
        if lag.oldest_seconds < LAG_WORTH_TELLING_SECONDS:
            if self._has_told_lag:
                _log.info("relay.caught_up", waiting=lag.waiting)
            self._has_told_lag = False
        elif self._may_tell():
            seconds = round(lag.oldest_seconds, 1)
            _log.warning("relay.lags", waiting=lag.waiting, oldest_seconds=seconds)
            self._has_told_lag = True

    def _tell_ahead(self) -> None:
        if self._may_tell():
            problem = "this database was restored from another PostgreSQL: run holdfast migrate"
            _log.error("relay.stands_still", problem=problem)

    def _may_tell(self) -> bool:
        """Now and then, not at every run."""
        now = self._clock()
        is_due = now - self._told_at >= TELL_EVERY_SECONDS
        if is_due:
            self._told_at = now
        return is_due
