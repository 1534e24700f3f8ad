"""Audit entries of exports."""

from holdfast.adapters.postgres.audit.entries import write_entry
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.group.origin import Origin
from holdfast.domain.values import JsonValue
from holdfast.ports.audit.exports import EXPORT_FINISHED, EXPORT_STARTED, Export


class PostgresExportLog:
    """Implements ExportLog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def started(self, export: Export, origin: Origin) -> None:
        self._write(EXPORT_STARTED, export, origin, {})

    def finished(self, export: Export, origin: Origin, rows: int, *, is_complete: bool) -> None:
        self._write(EXPORT_FINISHED, export, origin, {"rows": rows, "is_complete": is_complete})

    def _write(
        self, action: str, export: Export, origin: Origin, more: dict[str, JsonValue]
    ) -> None:
        own = export.organization_id
        about: dict[str, JsonValue] = {
            "export": export.what,
            "filters": dict(export.filters),
            "is_in_clear": export.is_in_clear,
            "has_codes": export.has_codes,
            **more,
        }
        with self._database.transaction(own) as connection:
            write_entry(connection, own, action, origin, old=None, new=about, catalog_id=own)
