"""The SQL of the log of facts. The relay's queries span all organizations and use functions."""

from holdfast.adapters.postgres.facts.rows import FACT_COLUMNS

CLAIM = "SELECT pg_try_advisory_lock(%s, %s)"
UNCLAIM = "SELECT pg_advisory_unlock(%s, %s)"

UNPUBLISHED = f"""
SELECT f.customer_email, f.user_id, {FACT_COLUMNS} FROM holdfast_unpublished(%s::smallint, %s, %s) f
"""  # noqa: S608
PUBLISHED = "SELECT holdfast_published(%s::smallint, %s, %s)"
LAG = "SELECT waiting, oldest_seconds, is_ahead FROM holdfast_relay_lag(%s, %s)"
CURSORS = "SELECT partition, xid::text, seq, moved_at FROM relay_cursor ORDER BY partition"

# Without statistics a table looks small, and the planner would read and sort the whole backlog
# instead of using the index.
BY_INDEX = "SET LOCAL enable_bitmapscan = off"

# One snapshot: pruning moves the horizon in the same transaction, and no fact older than the
# frontier can still appear. Returns one row even without facts.
FACTS = f"""
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, horizon.xid::text, horizon.seq,
    f.seq IS NOT NULL, {FACT_COLUMNS}
FROM fact_horizon horizon LEFT JOIN LATERAL (
    SELECT * FROM outbox o
    WHERE o.organization_id = %(organization_id)s
        AND (o.xid, o.seq) > (%(xid)s::text::xid8, %(seq)s)
        AND o.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY o.xid, o.seq LIMIT %(limit)s
) f ON true
"""  # noqa: S608
