"""Orders of thousands of tickets and other oversized batches are split, and hold nobody up."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import psycopg
import pytest

from holdfast.adapters.postgres.facts.outbox import PostgresOutbox
from holdfast.ports.facts.log import (
    PARTITIONS,
    ClaimedPartition,
    Message,
    Outbox,
    Position,
    PublishFailed,
    RelayLag,
    StoredFact,
)
from holdfast.ports.store import StoreUnavailable
from holdfast.services.facts.relay import AFTER_STORE_ERROR_SECONDS, Relay
from tests.relay.stage import Listed, Stage, write_fact
from tests.support.patience import wait_until

# Slightly less than half a megabyte each.
LARGE_FACTS = """
INSERT INTO outbox (organization_id, event_id, hold_id, version, type, partition, occurred_at,
    payload)
SELECT %s, gen_random_uuid(), gen_random_uuid(), 2, 'hold.converted', 0, now(), jsonb_build_object(
    'tickets', (SELECT jsonb_agg(jsonb_build_object('ticket_id', gen_random_uuid(), 'hold_id',
                                                    gen_random_uuid(), 'seat_id', t))
                FROM generate_series(1, 4000) AS t))
FROM generate_series(1, 60) AS n
"""
BATCH_BYTES_MAX = 6_000_000
TOO_MANY = 3


def test_large_facts_are_sent_in_small_batches(stage: Stage) -> None:
    with psycopg.connect(stage.url) as connection:
        connection.execute(LARGE_FACTS, [stage.venue.organization_id])
        small = write_fact(connection, stage.venue, partition=5)
    batches: list[Sequence[Message]] = []
    published = Listed([], batches.append)
    with stage.relay(published) as relay:
        assert relay.run_once().may_be_more
        assert published.ids[-1] == small, "another partition had to wait"
        wait_until(lambda: not relay.run_once().lag.waiting, "everything is relayed")
    stage.assert_arrived(published.messages, once=True)
    sizes = [sum(len(message.body) for message in batch) for batch in batches]
    assert max(sizes) < BATCH_BYTES_MAX
    # But not one by one.
    assert len(batches) < 20


def test_a_fact_larger_than_a_batch_is_sent_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.adapters.postgres.facts.outbox.BATCH_BYTES", 1)
    stage.place_and_release(5)
    published = Listed([], _refuse_more_than_one)
    stage.relay_all(published)
    stage.assert_arrived(published.messages, once=True)


def _refuse_more_than_one(messages: Sequence[Message]) -> None:
    assert len(messages) == 1


def test_a_batch_too_large_to_read_is_read_in_parts(stage: Stage, quick: None) -> None:
    """Other partitions are served in the same run."""
    stage.place(100)
    slow = stage.stored()[0].partition
    others = {fact.event_id for fact in stage.stored() if fact.partition != slow}
    published = Listed([])
    with closing(PostgresOutbox(stage.url)) as outbox:
        relay = Relay(_SlowOutbox(outbox, {slow}), published)
        relay.run_once()
        assert set(published.ids) == others
        wait_until(lambda: not relay.run_once().lag.waiting, "everything is relayed")
    stage.assert_arrived(published.messages, once=True)


def test_an_unresponsive_database_is_not_tried_for_every_partition(
    stage: Stage, quick: None
) -> None:
    stage.place(100)
    with closing(PostgresOutbox(stage.url)) as inner:
        outbox = _SlowOutbox(inner, set(range(PARTITIONS)))
        assert Relay(outbox, Listed([])).tend() == AFTER_STORE_ERROR_SECONDS
    assert outbox.refusals == 2


def test_a_batch_too_large_to_publish_is_sent_in_parts(stage: Stage, quick: None) -> None:
    stage.place(100)

    def refuse_many(messages: Sequence[Message]) -> None:
        if len(messages) > TOO_MANY:
            raise PublishFailed("too much")

    published = Listed([], refuse_many)
    stage.relay_all(published)
    stage.assert_arrived(published.messages, once=True)


class _SlowOutbox:
    """Some of its partitions time out if more than a few facts are requested."""

    def __init__(self, inner: Outbox, slow: set[int]) -> None:
        self._inner = inner
        self._slow = slow
        self.refusals = 0

    @contextmanager
    def claim(self, partition: int) -> Iterator["ClaimedPartition | None"]:
        with self._inner.claim(partition) as claimed:
            assert claimed is not None
            yield _SlowClaim(claimed, self) if partition in self._slow else claimed

    def lag(self) -> RelayLag:
        return self._inner.lag()


class _SlowClaim:
    def __init__(self, inner: ClaimedPartition, outbox: _SlowOutbox) -> None:
        self._inner = inner
        self._outbox = outbox

    def unpublished(self, limit: int) -> tuple[StoredFact, ...]:
        if limit > TOO_MANY:
            self._outbox.refusals += 1
            raise StoreUnavailable("it took too long")
        return self._inner.unpublished(limit)

    def published(self, up_to: Position) -> None:
        self._inner.published(up_to)
