"""Counting what became of holds. It reads every hold of the window, so it has more time than other
readers; the index by creation (or by session) keeps it to those."""

from datetime import timedelta
from typing import Any

from holdfast.adapters.postgres.reading import Database
from holdfast.domain.hold import HoldStatus
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.ports.statistics import SaleStatistics

SECONDS_MAX = 8.0

# With so much memory the holders of a large sale are hashed, not sorted: half the time.
_PATIENCE = f"""
SET LOCAL statement_timeout = '{int(SECONDS_MAX * 750)}ms';
SET LOCAL work_mem = '32MB'"""

# Every status is named: the index has it before the time.
_OF_WINDOW = """
h.organization_id = %(organization_id)s AND h.status = ANY (%(statuses)s)
    AND h.created_at > statement_timestamp() - %(window)s {of_session}"""
# Whoever only waited never held anything.
_HELD_OF_WINDOW = f"{_OF_WINDOW} AND h.held_at IS NOT NULL"
_OF_SESSION = "AND h.session_id = %(session_id)s"

# A hold whose time is up has expired, whether or not that is written down. Who has paid went to the
# checkout, by whatever way.
_COUNTS = """
SELECT statement_timestamp() - %(window)s, statement_timestamp(),
    min(held_at), count(held_at), ({holders}),
    count(held_at) FILTER (WHERE is_expired),
    count(*) FILTER (WHERE status = 'converted'),
    count(held_at) FILTER (WHERE status = 'cancelled'),
    ({renewed}), ({changed}), ({waiting}),
    count(*) FILTER (WHERE held_at > created_at),
    count(*) FILTER (WHERE held_at IS NULL AND (is_expired OR status = 'cancelled')),
    (extract(epoch FROM avg(held_at - created_at) FILTER (WHERE held_at > created_at)))::float8,
    count(*) FILTER (WHERE status = 'converted' OR checkout_id IS NOT NULL),
    count(*) FILTER (WHERE checkout_id IS NOT NULL AND (is_expired OR status = 'cancelled'))
FROM (
    SELECT h.status, h.created_at, h.held_at, h.checkout_id, h.status = 'expired' OR
        (h.status IN ('waiting', 'active') AND h.expires_at <= statement_timestamp()) AS is_expired
    FROM hold h WHERE {of_window}
) made"""

_HOLDERS = """
SELECT count(*) FROM (
    SELECT DISTINCT h.email_key, h.user_id FROM hold h WHERE {held_of_window}
) who"""

# The hold that the cart had just before ran out of its time.
_RENEWED = """
SELECT count(*) FROM hold h
CROSS JOIN LATERAL (
    SELECT b.status, b.held_at FROM hold b
    WHERE b.organization_id = h.organization_id AND b.cart_token = h.cart_token AND b.is_cart
        AND (b.created_at, b.id) < (h.created_at, h.id)
    ORDER BY b.created_at DESC, b.id DESC LIMIT 1
) before
WHERE {held_of_window} AND h.is_cart AND before.status = 'expired'
    AND before.held_at IS NOT NULL"""

# A promotion exchanges lines too: wishes for seats. That is no change of mind.
_CHANGED = """
SELECT count(*) FROM hold h
WHERE {held_of_window} AND h.is_cart AND h.version > 1 AND EXISTS (
    SELECT FROM hold_line l
    WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND (
        (l.removed_version IS NOT NULL AND l.wish_accessible IS NULL)
        OR (l.added_version > 1 AND (l.seat_id IS NULL OR h.held_at = h.created_at))))"""

_WAITING = """
SELECT count(*) FROM hold h
WHERE h.organization_id = %(organization_id)s AND h.status = 'waiting'
    AND h.expires_at > statement_timestamp() {of_session}"""


class PostgresStatistics:
    """Implements SaleStatisticsReader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sale(
        self, organization_id: OrganizationId, session_id: SessionId | None, window: timedelta
    ) -> SaleStatistics:
        names: dict[str, Any] = {
            "organization_id": organization_id,
            "session_id": session_id,
            "window": window,
            "statuses": [status.value for status in HoldStatus],
        }
        query = sale_query(of_session=session_id is not None)
        with self._database.transaction(organization_id, seconds=SECONDS_MAX) as connection:
            connection.execute(_PATIENCE)
            row = connection.execute(query, names).fetchone()
        assert row is not None
        return SaleStatistics(*row)


def sale_query(*, of_session: bool) -> str:
    narrowed = _OF_SESSION if of_session else ""
    of_window = _OF_WINDOW.format(of_session=narrowed)
    held_of_window = _HELD_OF_WINDOW.format(of_session=narrowed)
    return _COUNTS.format(
        holders=_HOLDERS.format(held_of_window=held_of_window),
        renewed=_RENEWED.format(held_of_window=held_of_window),
        changed=_CHANGED.format(held_of_window=held_of_window),
        waiting=_WAITING.format(of_session=narrowed),
        of_window=of_window,
    )
