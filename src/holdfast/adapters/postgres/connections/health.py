"""The health check of PostgreSQL."""

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.ports.store import StoreError, StoreUnavailable


class DatabaseDependency:
    name = "database"
    is_required = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def problem(self) -> str | None:
        try:
            with self._database.transaction() as connection:
                connection.execute("SELECT FROM hold LIMIT 0")
        except StoreUnavailable:
            return "cannot be reached, or is not migrated"
        except StoreError:
            return "is not migrated: run `holdfast migrate`"
        return None
