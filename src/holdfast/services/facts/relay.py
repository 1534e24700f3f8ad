"""The relay: publishes facts from the outbox to the broker. It advances its cursor only after the
broker's confirmation, so a relay that is killed loses nothing; the next one may publish the last
facts again, with the same ids.

All facts of a hold are in one partition, and one relay at a time claims a partition: their order is
kept, however many relays share the work.
"""

import random
import time
from collections.abc import Callable

import structlog

from holdfast.domain.immutable import immutable
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
# The pause after a run that published something.
SOON_SECONDS = 0.02
AFTER_STORE_ERROR_SECONDS = 1.0
LAG_LOGGED_SECONDS = 30.0
LOG_EVERY_SECONDS = 60.0
# The facts of one partition may cause one error; two in a row point to the database.
STORE_ERRORS_MAX = 2

_log = structlog.get_logger("holdfast.relay")


@immutable
class Relayed:
    """The result of one run. `may_be_more` means that facts are left."""

    lag: RelayLag
    published: int = 0
    may_be_more: bool = False


class _Backoff:
    """Exponential back-off with jitter."""

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
    """The back-off and batch size of a partition. One unroutable fact makes its whole batch be
    published again at each attempt, so batches shrink until that fact is alone. They also shrink
    when a batch is too much for the broker."""

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
    """For one thread. With a secret, messages carry a hash of the holder."""

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
        # A partition with an unroutable fact does not delay the others.
        self._turns = [_Turn(clock) for _ in range(PARTITIONS)]
        self._first = 0
        self._logged_at = -LOG_EVERY_SECONDS
        self._has_logged_lag = False

    def tend(self) -> float:
        """Run once; returns the seconds to wait for the next run."""
        if self._broker.seconds:
            return self._broker.seconds
        try:
            relayed = self.run_once()
        except LogAhead:
            self._log_ahead()
            return AFTER_STORE_ERROR_SECONDS
        except StoreError as error:
            _log.warning("relay.failed", problem=error.problem)
            return AFTER_STORE_ERROR_SECONDS
        if self._broker.seconds:
            return self._broker.seconds
        if relayed.may_be_more:
            return 0.0
        return SOON_SECONDS if relayed.published else IDLE_SECONDS

    def run_once(self) -> Relayed:
        """Publish one batch of each partition. May raise StoreError; facts published before that
        may be published again."""
        lag = self._outbox.lag()
        self._log_lag(lag)
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
                # These facts may be the cause, so start with the others next time.
                self._first = (partition + 1) % PARTITIONS
                _log.warning("relay.failed", partition=partition, problem=str(error))
                break
            except StoreError as error:
                turn.failed()
                store_errors += 1
                if store_errors == STORE_ERRORS_MAX:
                    raise
                _log.warning("relay.failed", partition=partition, problem=error.problem)
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

    def _log_lag(self, lag: RelayLag) -> None:
        if lag.oldest_seconds < LAG_LOGGED_SECONDS:
            if self._has_logged_lag:
                _log.info("relay.caught_up", waiting=lag.waiting)
            self._has_logged_lag = False
        elif self._may_log():
            seconds = round(lag.oldest_seconds, 1)
            _log.warning("relay.lags", waiting=lag.waiting, oldest_seconds=seconds)
            self._has_logged_lag = True

    def _log_ahead(self) -> None:
        if self._may_log():
            problem = "this database was restored from another PostgreSQL: run holdfast migrate"
            _log.error("relay.stands_still", problem=problem)

    def _may_log(self) -> bool:
        """Limits the rate of log entries."""
        now = self._clock()
        is_due = now - self._logged_at >= LOG_EVERY_SECONDS
        if is_due:
            self._logged_at = now
        return is_due
