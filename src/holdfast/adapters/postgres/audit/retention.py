"""The partitions of the audit. The application may neither create nor drop tables: functions of the
owner do both."""

from collections.abc import Sequence

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.ports.audit.retention import AuditPartition

_MAKE = "SELECT holdfast_make_audit_partitions(%s)"
_DROP = "SELECT name, ends_at FROM holdfast_drop_audit_partition(%s)"
_KEPT_DAYS = "SELECT kept_days FROM audit_horizon"
_ALL = "SELECT name, ends_at FROM holdfast_audit_partitions()"


class PostgresAuditPartitions:
    """Implements AuditPartitions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(self, months: int) -> int | None:
        with self._database.transaction() as connection:
            ((made,),) = connection.execute(_MAKE, [months])
        return None if made is None else int(made)

    def recorded_days(self) -> int | None:
        with self._database.transaction() as connection:
            ((days,),) = connection.execute(_KEPT_DAYS)
        return None if days is None else int(days)

    def drop_oldest(self, kept_days: int) -> AuditPartition | None:
        with self._database.transaction() as connection:
            row = connection.execute(_DROP, [kept_days]).fetchone()
        return None if row is None else AuditPartition(*row)

    def all(self) -> Sequence[AuditPartition]:
        with self._database.transaction() as connection:
            return [AuditPartition(*row) for row in connection.execute(_ALL)]
