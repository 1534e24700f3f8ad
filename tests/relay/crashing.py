"""A relay that is killed at a given step, as by kill -9, without any cleanup."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.ports.facts.log import (
    ClaimedPartition,
    Message,
    Outbox,
    Position,
    Publisher,
    RelayLag,
    StoredFact,
)
from holdfast.services.facts.relay import Relay
from tests.support.brokers import BrokerAddress


class Step(Enum):
    BEFORE_READING = "before reading"
    AFTER_READING = "after reading"
    AFTER_HALF = "after half is published"
    BEFORE_CURSOR = "after publishing, before the cursor"
    AFTER_CURSOR = "after the cursor"


def relay_and_die(database_url: str, address: BrokerAddress, step: Step) -> None:
    """Run in a separate process."""
    outbox = _DyingOutbox(PostgresOutbox(database_url), step)
    Relay(outbox, _DyingPublisher(address.publisher(), step)).run_once()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _DyingOutbox:
    def __init__(self, inner: Outbox, step: Step) -> None:
        self._inner = inner
        self._step = step

    @contextmanager
    def claim(self, partition: int) -> Iterator["_DyingClaim | None"]:
        with self._inner.claim(partition) as claimed:
            assert claimed is not None
            yield _DyingClaim(claimed, self._step)

    def lag(self) -> RelayLag:
        return self._inner.lag()


class _DyingClaim:
    def __init__(self, inner: ClaimedPartition, step: Step) -> None:
        self._inner = inner
        self._step = step

    def unpublished(self, limit: int) -> tuple[StoredFact, ...]:
        if self._step is Step.BEFORE_READING:
            _die()
        facts = self._inner.unpublished(limit)
        if self._step is Step.AFTER_READING:
            _die()
        return facts

    def published(self, up_to: Position) -> None:
        if self._step is Step.BEFORE_CURSOR:
            _die()
        self._inner.published(up_to)
        if self._step is Step.AFTER_CURSOR:
            _die()


class _DyingPublisher:
    def __init__(self, inner: Publisher, step: Step) -> None:
        self._inner = inner
        self._step = step

    def publish(self, messages: Sequence[Message]) -> None:
        if self._step is Step.AFTER_HALF:
            self._inner.publish(messages[: len(messages) // 2])
            _die()
        self._inner.publish(messages)

    def close(self) -> None:
        self._inner.close()
