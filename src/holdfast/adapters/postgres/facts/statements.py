"""The SQL of the log of facts. What the relay asks, over all organizations, goes through
functions."""

from holdfast.adapters.postgres.facts.rows import FACT_COLUMNS

CLAIM = "SELECT pg_try_advisory_lock(%s, %s)"
UNCLAIM = "SELECT pg_advisory_unlock(%s, %s)"

UNPUBLISHED = f"""
SELECT f.email_key, f.user_id, {FACT_COLUMNS} FROM holdfast_unpublished(%s::smallint, %s, %s) f
"""  # noqa: S608
PUBLISHED = "SELECT holdfast_published(%s::smallint, %s, %s)"
LAG = "SELECT waiting, oldest_seconds, is_ahead FROM holdfast_relay_lag(%s, %s)"
CURSORS = "SELECT partition, xid::text, seq, moved_at FROM relay_cursor ORDER BY partition"

# A table without statistics looks small, and the planner would read all of a backlog to sort it;
# the index has the order already.
BY_INDEX = "SET LOCAL enable_bitmapscan = off"

# One snapshot for all of it: a fact is pruned together with the horizon, and nothing older than the
# frontier is still to come. There is one row even where there is no fact.
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
