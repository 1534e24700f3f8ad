"""Failed attempts, as rows of the audit log."""

from collections.abc import Sequence

from holdfast.adapters.postgres.audit.rows import attempt_row
from holdfast.adapters.postgres.engine import rows
from holdfast.adapters.postgres.engine import write_statements as sql
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.ports.audit.attempts import FailedAttempt


class PostgresAttempts:
    """Implements AttemptLog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, attempts: Sequence[FailedAttempt]) -> None:
        if not attempts:
            return
        organizations = {attempt.organization_id for attempt in attempts}
        with self._database.transaction(*organizations) as connection:
            columns = rows.columns(map(attempt_row, attempts))
            connection.execute(sql.INSERT_ATTEMPTS, columns)
