"""Refused attempts, as rows of the audit log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from holdfast.adapters.postgres.audit.rows import attempt_row
from holdfast.adapters.postgres.connections.connection import Connection
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import ApiKeyId, OrganizationId, SessionId, TicketTypeId
from holdfast.ports.audit.attempts import EndedKey, FailedAttempt

# What a refused extension, release or payment was about.
_OF_HOLDS = """
SELECT h.organization_id, h.id, h.session_id, ARRAY(
    SELECT DISTINCT l.ticket_type_id FROM hold_line l
    WHERE l.organization_id = h.organization_id AND l.hold_id = h.id)
FROM unnest(%s::uuid[], %s::uuid[]) AS named (organization_id, id)
JOIN hold h ON h.organization_id = named.organization_id AND h.id = named.id
"""
_ENDED_KEYS = "SELECT secret_hash, organization_id, id FROM holdfast_ended_api_keys(%s)"


class PostgresAttempts:
    """Implements AttemptLog."""

    def __init__(self, database: Database, hashes: HolderHashes) -> None:
        self._database = database
        self._hashes = hashes

    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        if not attempts:
            return
        organizations = {attempt.organization_id for attempt in attempts}
        with self._database.transaction(*organizations) as connection:
            known = _completed(connection, attempts)
            columns = rows.columns(attempt_row(each, self._hashes) for each in known)
            connection.execute(sql.INSERT_ATTEMPTS, columns)

    def ended_keys(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        with self._database.transaction() as connection:
            found = connection.execute(_ENDED_KEYS, [list(secret_hashes)])
            return {
                hashed: EndedKey(OrganizationId(organization_id), ApiKeyId(key_id))
                for hashed, organization_id, key_id in found
            }


def _completed(
    connection: Connection, attempts: Sequence[FailedAttempt]
) -> Iterator[FailedAttempt]:
    """With the session and the ticket types of the holds that they name."""
    keys = {(each.organization_id, each.hold_id) for each in attempts if _lacks_session(each)}
    found: dict[tuple[UUID, UUID], tuple[UUID, list[UUID]]] = {}
    if keys:
        for *key, session_id, types in connection.execute(_OF_HOLDS, rows.columns(keys)):
            found[tuple(key)] = (session_id, types)
    for each in attempts:
        hold = found.get((each.organization_id, each.hold_id)) if each.hold_id else None
        if hold is None or not _lacks_session(each):
            yield each
            continue
        session_id, types = hold
        of_hold = tuple(map(TicketTypeId, types))
        asked = replace(each.asked, session_id=SessionId(session_id), ticket_type_ids=of_hold)
        yield replace(each, asked=asked)


def _lacks_session(attempt: FailedAttempt) -> bool:
    return attempt.hold_id is not None and attempt.asked.session_id is None
