"""Reading the audit. It is large and only grows, so every query uses an index."""

from typing import Any

from holdfast.adapters.postgres.engine.rows import Row
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.ports.audit.reader import AuditEntry, AuditFilter

_COLUMNS = """
a.seq, a.at, a.action, a.hold_id, a.seat_id, a.catalog_id, a.key_id, a.actor, a.request_id,
host(a.ip), a.user_agent, a.old, a.new"""

# The newest of an organization, from the primary key read backwards.
_NEWEST = f"""
SELECT {_COLUMNS} FROM audit a WHERE {{conditions}}
ORDER BY a.seq DESC LIMIT %(limit)s
"""  # noqa: S608

# Looks up the rows of a hold, a seat, a part of the catalog or a key first, then sorts them.
# Otherwise the planner may read backwards from the newest row, for an old seat through the whole
# table.
_OF_ONE = f"""
WITH of_one AS MATERIALIZED (
    SELECT a.* FROM audit a
    WHERE a.organization_id = %(organization_id)s AND a.{{column}} = %({{column}})s
)
SELECT {_COLUMNS} FROM of_one a WHERE {{conditions}}
ORDER BY a.seq DESC LIMIT %(limit)s
"""  # noqa: S608

_SUBJECTS = ("hold_id", "seat_id", "catalog_id", "key_id")
_CONDITIONS = {
    "hold_id": "a.hold_id = %(hold_id)s",
    "seat_id": "a.seat_id = %(seat_id)s",
    "catalog_id": "a.catalog_id = %(catalog_id)s",
    "key_id": "a.key_id = %(key_id)s",
    "action": "a.action = %(action)s",
    "actor": "a.actor = %(actor)s",
    "created_from": "a.at >= %(created_from)s",
    "created_before": "a.at < %(created_before)s",
    "before": "a.seq < %(before)s",
}


class PostgresAudit:
    """Implements AuditReader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(
        self,
        organization_id: OrganizationId,
        only: AuditFilter,
        limit: int,
        before: int | None = None,
    ) -> tuple[AuditEntry, ...]:
        query, names = audit_query(organization_id, only, limit, before)
        with self._database.transaction(organization_id) as connection:
            return tuple(_entry(row) for row in connection.execute(query, names))


def audit_query(
    organization_id: OrganizationId, only: AuditFilter, limit: int, before: int | None
) -> tuple[str, dict[str, Any]]:
    """The query with only the given conditions: each combination uses its index."""
    asked = {
        "hold_id": only.hold_id,
        "seat_id": only.seat_id,
        "catalog_id": only.catalog_id,
        "key_id": only.key_id,
        "action": only.action,
        "actor": only.actor,
        "created_from": only.created_from,
        "created_before": only.created_before,
        "before": before,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    conditions = ["a.organization_id = %(organization_id)s", *(_CONDITIONS[name] for name in given)]
    column = next((name for name in _SUBJECTS if name in given), None)
    query = _NEWEST if column is None else _OF_ONE
    names = {"organization_id": organization_id, "limit": limit, **given}
    return query.format(conditions=" AND ".join(conditions), column=column), names


def _entry(row: Row) -> AuditEntry:
    seq, at, action, hold_id, seat_id, *rest = row
    return AuditEntry(
        seq,
        at,
        action,
        None if hold_id is None else HoldId(hold_id),
        None if seat_id is None else SeatId(seat_id),
        *rest,
    )
