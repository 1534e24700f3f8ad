"""The SQL of the reconciler."""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS

TAKE_TASKS = """
SELECT organization_id, hold_id, position, since, attempts
FROM holdfast_take_inventory_tasks(%s, %s)
"""

ADD_TASK = """
INSERT INTO inventory_task (organization_id, hold_id, position, since, due_at)
VALUES (%s, %s, pg_current_xact_id(), statement_timestamp(),
    statement_timestamp() + make_interval(secs => %s))
ON CONFLICT (organization_id, hold_id) DO NOTHING
RETURNING organization_id, hold_id, position::text, since, attempts
"""

# Only if the hold has not changed since the task was taken: what was found out is outdated then.
_SAME = "organization_id = %s AND hold_id = %s AND position = %s::text::xid8"
DELETE_TASK = f"DELETE FROM inventory_task WHERE {_SAME}"  # noqa: S608
POSTPONE_TASK = f"""
UPDATE inventory_task SET due_at = statement_timestamp() + make_interval(secs => %s),
    attempts = attempts + 1, problem = %s, is_contradiction = %s
WHERE {_SAME}
"""  # noqa: S608

STUCK_TASKS = """
SELECT organization_id, hold_id, since, problem, is_contradiction FROM inventory_task
WHERE organization_id = ANY (%s::uuid[]) AND problem IS NOT NULL
    AND (is_contradiction OR since < statement_timestamp() - interval '1 minute')
ORDER BY since, hold_id LIMIT %s
"""

STATE = """
SELECT l.tasks, l.tried, l.contradictions,
    coalesce(extract(epoch FROM statement_timestamp() - l.oldest_since), 0)::float8,
    c.finished_at, c.reservations, c.holds, c.differences, c.mended
FROM holdfast_inventory_lag() l CROSS JOIN inventory_comparison c
"""

ORGANIZATIONS = "SELECT holdfast_organization_ids()"
NOW = "SELECT statement_timestamp()"

_OUR_SIDE = f"""{HOLD_COLUMNS},
(SELECT json_object_agg(sold.ticket_type_id, sold.quantity) FROM (
     SELECT t.ticket_type_id, count(*) AS quantity FROM ticket t
     WHERE t.organization_id = h.organization_id AND t.hold_id = h.id AND t.voided_at IS NULL
     GROUP BY t.ticket_type_id) sold),
EXISTS (SELECT FROM inventory_task i
    WHERE i.organization_id = h.organization_id AND i.hold_id = h.id),
statement_timestamp()
"""  # noqa: S608

OF_HOLD = f"SELECT {_OUR_SIDE} FROM hold h WHERE h.organization_id = %s AND h.id = %s"  # noqa: S608

# A reservation does not name its organization: its session does.
OF_RESERVATIONS = f"""
SELECT asked.hold_id, h.id IS NOT NULL, {_OUR_SIDE}
FROM unnest(%s::uuid[], %s::uuid[]) AS asked (hold_id, session_id)
JOIN session s ON s.id = asked.session_id AND s.organization_id = ANY (%s::uuid[])
LEFT JOIN hold h ON h.organization_id = s.organization_id AND h.id = asked.hold_id
"""  # noqa: S608

REMOTE_HOLDS = """
SELECT h.created_at, h.id FROM hold h
WHERE h.organization_id = %(organization_id)s AND h.status = %(status)s
    AND (h.created_at, h.id) > (%(after)s, %(after_id)s) AND h.created_at < %(before)s
    AND (h.status <> 'active' OR h.expires_at > statement_timestamp())
    AND EXISTS (SELECT FROM hold_line l
        WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND l.pool_ids = '{}')
ORDER BY h.created_at, h.id LIMIT %(limit)s
"""

TAKE_COMPARISON = """
UPDATE inventory_comparison SET due_at = statement_timestamp() + make_interval(secs => %s)
WHERE due_at <= statement_timestamp() RETURNING true
"""
SECONDS_UNTIL_COMPARISON = """
SELECT extract(epoch FROM due_at - statement_timestamp())::float8 FROM inventory_comparison
"""
COMPARED = """
UPDATE inventory_comparison SET finished_at = statement_timestamp(),
    due_at = greatest(due_at, statement_timestamp() + interval '1 minute'), reservations = %s,
    holds = %s, differences = %s, mended = %s
"""
