"""Refused attempts, as rows of the audit log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.audit.rows import attempt_row
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import ApiKeyId, OrganizationId, SessionId, TicketTypeId
from holdfast.ports.audit.attempts import EndedKey, FailedAttempt
from holdfast.ports.store import StoreError

# What is about an order is recorded under its first hold.
_FIRST_HOLDS = """
SELECT o.organization_id, o.id, o.hold_ids[1]
FROM unnest(%s::uuid[], %s::uuid[]) AS named (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, hold_ids FROM purchase_order
    WHERE organization_id = named.organization_id AND id = named.id
    OFFSET 0
) o
"""
# What a refused extension, release or payment was about.
_OF_HOLDS = """
SELECT h.organization_id, h.id, h.session_id, ARRAY(
    SELECT DISTINCT l.ticket_type_id FROM hold_line l
    WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND l.removed_version IS NULL)
FROM unnest(%s::uuid[], %s::uuid[]) AS named (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, session_id FROM hold
    WHERE organization_id = named.organization_id AND id = named.id
    OFFSET 0
) h
"""
_Key = tuple[UUID, UUID | None]
_Hold = tuple[UUID, list[UUID]]  # its session and ticket types
_ENDED_KEYS = "SELECT secret_hash, organization_id, id FROM holdfast_ended_api_keys(%s)"


class PostgresAttempts:
    """Implements AttemptLog."""

    def __init__(self, database: Database, hashes: HolderHashes) -> None:
        self._database = database
        self._hashes = hashes

    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        if not attempts:
            return
        attempts = self._under_holds(attempts)
        holds = self._holds_of(attempts)
        organizations = {attempt.organization_id for attempt in attempts}
        with self._database.transaction(*organizations) as connection:
            completed = (_completed(each, holds) for each in attempts)
            columns = rows.columns(attempt_row(each, self._hashes) for each in completed)
            connection.execute(sql.INSERT_ATTEMPTS, columns)

    def _under_holds(self, attempts: Sequence[FailedAttempt]) -> Sequence[FailedAttempt]:
        keys = {(each.organization_id, each.order_id) for each in attempts if each.order_id}
        if not keys:
            return attempts
        try:
            with self._database.transaction(*{own for own, _ in keys}) as connection:
                found = connection.execute(_FIRST_HOLDS, rows.columns(keys))
                first = {(own, order_id): hold_id for own, order_id, hold_id in found}
        except StoreError:
            return attempts
        return [
            replace(each, hold_id=first.get((each.organization_id, each.order_id), each.hold_id))
            for each in attempts
        ]

    def _holds_of(self, attempts: Sequence[FailedAttempt]) -> Mapping[_Key, _Hold]:
        """The holds that attempts name without their session. In a transaction of its own: carts
        with a long history must not keep attempts from being recorded."""
        keys = {(each.organization_id, each.hold_id) for each in attempts if _lacks_session(each)}
        if not keys:
            return {}
        try:
            with self._database.transaction(*{own for own, _ in keys}) as connection:
                found = connection.execute(_OF_HOLDS, rows.columns(keys))
                return {(own, id_): (session_id, types) for own, id_, session_id, types in found}
        except StoreError:
            return {}

    def ended_keys(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        with self._database.transaction() as connection:
            found = connection.execute(_ENDED_KEYS, [list(secret_hashes)])
            return {
                hashed: EndedKey(OrganizationId(organization_id), ApiKeyId(key_id))
                for hashed, organization_id, key_id in found
            }


def _completed(attempt: FailedAttempt, holds: Mapping[_Key, _Hold]) -> FailedAttempt:
    """With the session and the ticket types of the hold that it names."""
    if not _lacks_session(attempt) or (attempt.organization_id, attempt.hold_id) not in holds:
        return attempt
    session_id, types = holds[attempt.organization_id, attempt.hold_id]
    of_hold = tuple(map(TicketTypeId, types))
    asked = replace(attempt.asked, session_id=SessionId(session_id), ticket_type_ids=of_hold)
    return replace(attempt, asked=asked)


def _lacks_session(attempt: FailedAttempt) -> bool:
    return attempt.hold_id is not None and attempt.asked.session_id is None
