"""Refused attempts, as rows of the audit log."""

from collections.abc import Mapping, Sequence

from holdfast.adapters.postgres.audit.rows import attempt_row
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.ports.audit.attempts import EndedKey, FailedAttempt

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
            columns = rows.columns(attempt_row(each, self._hashes) for each in attempts)
            connection.execute(sql.INSERT_ATTEMPTS, columns)

    def ended_keys(self, secret_hashes: Sequence[bytes]) -> Mapping[bytes, EndedKey]:
        with self._database.transaction() as connection:
            found = connection.execute(_ENDED_KEYS, [list(secret_hashes)])
            return {
                hashed: EndedKey(OrganizationId(organization_id), ApiKeyId(key_id))
                for hashed, organization_id, key_id in found
            }
