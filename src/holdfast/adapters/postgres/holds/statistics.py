"""Computes sale statistics. It reads every hold of some hours, through the index by creation or
session, so its time limit is longer than that of other readers. It counts by the hour of creation,
so one query answers for any number of hours."""

from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.ports.statistics import SaleHistory, SaleHour

SECONDS_MAX = 8.0

# Enough memory to hash the holders of a large sale instead of sorting them: half the time.
_PATIENCE = f"""
SET LOCAL statement_timeout = '{int(SECONDS_MAX * 750)}ms';
SET LOCAL work_mem = '32MB'"""

# Every status is named, because the index has it before the time.
_OF_WINDOW = """
h.organization_id = %(organization_id)s AND h.status = ANY (%(statuses)s)
    AND h.created_at > statement_timestamp() - %(window)s {of_session}"""
# A party that only waited held nothing.
_HELD_OF_WINDOW = f"{_OF_WINDOW} AND h.held_at IS NOT NULL"
_OF_SESSION = "AND h.session_id = %(session_id)s"

# Age in whole hours.
_HOUR = "floor(extract(epoch FROM statement_timestamp() - h.created_at) / 3600)::integer"

# The numbers of SaleHour that one pass counts. A lapsed hold has expired, recorded or not. A paid
# hold counts as checked out, even without a checkout.
_COUNTED = {
    "first_at": "extract(epoch FROM min(held_at))::float8",
    "holds": "count(held_at)",
    "expired": "count(held_at) FILTER (WHERE is_expired)",
    "converted": "count(*) FILTER (WHERE status = 'converted')",
    "cancelled": "count(held_at) FILTER (WHERE status = 'cancelled')",
    "promoted": "count(*) FILTER (WHERE held_at > created_at)",
    "left_waitlist": """count(*) FILTER (
        WHERE held_at IS NULL AND (is_expired OR status = 'cancelled'))""",
    "waited_seconds": """coalesce(extract(epoch FROM
        sum(held_at - created_at) FILTER (WHERE held_at > created_at)), 0)::float8""",
    "checkouts": "count(*) FILTER (WHERE status = 'converted' OR checkout_id IS NOT NULL)",
    "abandoned": """count(*) FILTER (
        WHERE checkout_id IS NOT NULL AND (is_expired OR status = 'cancelled'))""",
}
_COUNTS = f"""
SELECT hour, {", ".join(f"{sql} AS {name}" for name, sql in _COUNTED.items())}
FROM (
    SELECT {{hour}} AS hour, h.status, h.created_at, h.held_at, h.checkout_id,
        h.status = 'expired' OR (h.status IN ('waiting', 'active')
            AND h.expires_at <= statement_timestamp()) AS is_expired
    FROM hold h WHERE {{of_window}}
) made
GROUP BY hour"""  # noqa: S608

# Each holder counts in the hour of the newest hold, so once in any window up to now.
_HOLDERS = """
SELECT hour, count(*) FROM (
    SELECT min({hour}) AS hour FROM hold h WHERE {held_of_window} GROUP BY h.email_key, h.user_id
) who
GROUP BY hour"""

# The cart's previous hold expired.
_RENEWED = """
SELECT {hour} AS hour, count(*) FROM hold h
CROSS JOIN LATERAL (
    SELECT b.status, b.held_at FROM hold b
    WHERE b.organization_id = h.organization_id AND b.cart_token = h.cart_token AND b.is_cart
        AND (b.created_at, b.id) < (h.created_at, h.id)
    ORDER BY b.created_at DESC, b.id DESC LIMIT 1
) before
WHERE {held_of_window} AND h.is_cart AND before.status = 'expired'
    AND before.held_at IS NOT NULL
GROUP BY hour"""

# A promotion replaces lines too (wishes by seats), which is no change by the buyer.
_CHANGED = """
SELECT {hour} AS hour, count(*) FROM hold h
WHERE {held_of_window} AND h.is_cart AND h.version > 1 AND EXISTS (
    SELECT FROM hold_line l
    WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND (
        (l.removed_version IS NOT NULL AND l.wish_accessible IS NULL)
        OR (l.added_version > 1 AND (l.seat_id IS NULL OR h.held_at = h.created_at))))
GROUP BY hour"""


# Numbers that need a query of their own.
_COUNTED_APART = {"holders": _HOLDERS, "renewed": _RENEWED, "changed": _CHANGED}


class PostgresStatistics:
    """Implements SaleStatisticsReader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def history(
        self, organization_id: OrganizationId, session_id: SessionId | None, hours: int
    ) -> SaleHistory:
        names: dict[str, Any] = {
            "organization_id": organization_id,
            "session_id": session_id,
            "window": timedelta(hours=hours),
            "statuses": [status.value for status in HoldStatus],
        }
        query = history_query(of_session=session_id is not None)
        with self._database.transaction(organization_id, seconds=SECONDS_MAX) as connection:
            connection.execute(_PATIENCE)
            row = connection.execute(query, names).fetchone()
        assert row is not None
        return _history(*row)


def history_query(*, of_session: bool) -> str:
    narrowed = _OF_SESSION if of_session else ""
    names = {
        "of_window": _OF_WINDOW.format(of_session=narrowed),
        "held_of_window": _HELD_OF_WINDOW.format(of_session=narrowed),
        "of_session": narrowed,
        "hour": _HOUR,
    }
    apart = ", ".join(
        f"(SELECT json_object_agg(hour, count) FROM ({query.format(**names)}) found)"  # noqa: S608
        for query in _COUNTED_APART.values()
    )
    # One statement, so that all numbers have the same time.
    return f"""
SELECT statement_timestamp(), (SELECT json_agg(made) FROM ({_COUNTS.format(**names)}) made), {apart}
"""  # noqa: S608


def _history(
    at: datetime, counts: list[dict[str, Any]] | None, *apart: dict[str, int] | None
) -> SaleHistory:
    hours = {}
    for counted in counts or ():
        hour, first = counted.pop("hour"), counted.pop("first_at")
        for name, by_hour in zip(_COUNTED_APART, apart, strict=True):
            counted[name] = (by_hour or {}).get(str(hour), 0)
        first_at = None if first is None else datetime.fromtimestamp(first, UTC)
        hours[hour] = SaleHour(first_at=first_at, **counted)
    return SaleHistory(at, hours)
