"""One answer per idempotency key, for changes outside the engine."""

from collections.abc import Callable
from typing import TypeVar, cast

import psycopg

from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine.group import advisory_name
from holdfast.domain import refusals
from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.refusal_codes import Refusal
from holdfast.ports.answers import StoredAnswer

T = TypeVar("T")

# Such changes may wait longer for their locks than holds do.
PATIENCE = "SET LOCAL lock_timeout = '2s'"
LOCK_EXCLUSIVELY = "SELECT pg_advisory_xact_lock(%s)"
_RECORDED_ANSWER = """
SELECT fingerprint, body FROM idempotency WHERE organization_id = %s AND digest = %s
"""
_RECORD_ANSWER = """
INSERT INTO idempotency (organization_id, digest, fingerprint, body, created_at)
VALUES (%s, %s, %s, %s, statement_timestamp())
"""


def answered_once(
    connection: Connection,
    idempotency: IdempotencyKey | None,
    render: Callable[[T], bytes],
    decide: Callable[[], T],
) -> StoredAnswer[T]:
    """Decide and record the answer, or return the recorded one. Call it at the start of the
    transaction that `decide` writes in. T includes refusals."""
    if idempotency is None:
        return StoredAnswer(decide())
    known: StoredAnswer[T] | None = recorded_answer(connection, idempotency)
    if known is not None:
        return known
    outcome = decide()
    body = render(outcome)
    if not (isinstance(outcome, Refusal) and outcome.code.is_retryable):
        names = (idempotency.organization_id, idempotency.digest)
        connection.execute(_RECORD_ANSWER, (*names, idempotency.fingerprint, body))
    return StoredAnswer(outcome, body)


def recorded_answer(
    connection: Connection, idempotency: IdempotencyKey | None
) -> StoredAnswer[T] | None:
    """The answer of an earlier request with this key, or why the key cannot be used. None if the
    request is to be decided: until the transaction ends, nobody else decides one with this key."""
    if idempotency is None:
        return None
    if not _lock_key(connection, idempotency):
        return StoredAnswer(cast("T", refusals.request_in_progress()))
    names = (idempotency.organization_id, idempotency.digest)
    recorded = connection.execute(_RECORDED_ANSWER, names).fetchone()
    if recorded is None:
        return None
    fingerprint, body = recorded
    if fingerprint == idempotency.fingerprint:
        return StoredAnswer(None, body, is_replay=True)
    return StoredAnswer(cast("T", refusals.idempotency_key_reused()))


def _lock_key(connection: Connection, key: IdempotencyKey) -> bool:
    """Wait for another request with the same key, up to the lock timeout. This lock comes before
    the session's, against the usual order. No deadlock is possible, because the engine only tries
    these two kinds of locks and never waits for them."""
    resource = Resource(ResourceKind.IDEMPOTENCY_KEY, key.organization_id, key.digest)
    try:
        connection.execute(PATIENCE)
        connection.execute(LOCK_EXCLUSIVELY, (advisory_name(resource),))
    except psycopg.errors.LockNotAvailable:
        connection.execute("ROLLBACK")
        return False
    return True
