"""The SQL of the log of facts. What the relay asks, over all organizations, goes through
functions."""

CLAIM = "SELECT pg_try_advisory_lock(%s, %s)"
UNCLAIM = "SELECT pg_advisory_unlock(%s, %s)"

UNPUBLISHED = "SELECT * FROM holdfast_unpublished(%s::smallint, %s, %s)"
PUBLISHED = "SELECT holdfast_published(%s::smallint, %s, %s)"
LAG = "SELECT * FROM holdfast_relay_lag(%s, %s)"
CURSORS = "SELECT partition, xid::text, seq, moved_at FROM relay_cursor ORDER BY partition"

# A table without statistics looks small, and the planner would read all of a backlog to sort it;
# the index has the order already.
BY_INDEX = "SET LOCAL enable_bitmapscan = off"

# One snapshot for all of it: a fact is pruned together with the horizon, and nothing older than the
# frontier is still to come. There is one row even where there is no fact.
FACTS = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text, horizon.xid::text, horizon.seq, fact.*
FROM fact_horizon horizon LEFT JOIN LATERAL (
    SELECT o.organization_id, o.xid::text, o.seq, o.event_id, o.type, o.occurred_at, o.hold_id,
        o.seat_id, o.version, o.payload
    FROM outbox o
    WHERE o.organization_id = %(organization_id)s
        AND (o.xid, o.seq) > (%(xid)s::text::xid8, %(seq)s)
        AND o.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY o.xid, o.seq LIMIT %(limit)s
) fact ON true
"""
