"""The SQL of the log of facts. The relay's queries span all organizations and use functions."""

CLAIM = "SELECT pg_try_advisory_lock(%s, %s)"
UNCLAIM = "SELECT pg_advisory_unlock(%s, %s)"

UNPUBLISHED = "SELECT * FROM holdfast_unpublished(%s::smallint, %s, %s)"
PUBLISHED = "SELECT holdfast_published(%s::smallint, %s, %s)"
LAG = "SELECT * FROM holdfast_relay_lag(%s, %s)"
CURSORS = "SELECT partition, xid::text, seq, moved_at FROM relay_cursor ORDER BY partition"

# Without statistics a table looks small, and the planner would read and sort the whole backlog
# instead of using the index.
BY_INDEX = "SET LOCAL enable_bitmapscan = off"

# One snapshot: pruning moves the horizon in the same transaction, and no fact older than the
# frontier can still appear. Returns one row even without facts.
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
