"""The SQL that reads seats. Expiry changes no row, so each statement compares held_until with the
clock; statement_timestamp() gives a response a single time."""

from holdfast.adapters.postgres.seats.rows import SEAT_COLUMNS

# Looks the seat up by its own key; the event is only a condition.
SEAT = f"""
SELECT x.event_id, b.name, statement_timestamp(), {SEAT_COLUMNS}
FROM seat s
JOIN session x ON x.organization_id = s.organization_id AND x.id = s.session_id
JOIN block b ON b.organization_id = s.organization_id AND b.id = s.block_id
WHERE s.organization_id = %(organization_id)s AND s.id = %(seat_id)s AND x.event_id = %(event_id)s
"""  # noqa: S608

HAS_EVENT = "SELECT FROM event WHERE organization_id = %s AND id = %s"

# A reader who continues from this version misses nothing: all older transactions have ended and
# were seen. Without _AFTER_NEWEST the version would rise with every transaction in the database.
_AFTER_NEWEST = """1 + coalesce((
    SELECT newest.changed_xid::text::bigint FROM seat newest
    WHERE newest.organization_id = %(organization_id)s AND newest.session_id = %(session_id)s
    ORDER BY newest.changed_xid DESC LIMIT 1), 0)"""
_VERSION = f"least(pg_snapshot_xmin(pg_current_snapshot())::text::bigint, {_AFTER_NEWEST})"
# Everything in a map besides the seats. The capacity is a pool's, which may change separately.
_BLOCKS_DIGEST = """(
    SELECT hashtextextended(coalesce(string_agg(
        concat_ws('|', digested.id, digested.rank, capacity.total, digested.name), E'\n'
        ORDER BY digested.id), ''), 0)
    FROM block digested
    LEFT JOIN pool capacity ON capacity.organization_id = digested.organization_id
        AND capacity.id = digested.capacity_pool_id
    WHERE digested.organization_id = %(organization_id)s
        AND digested.session_id = %(session_id)s)"""

# Later than every transaction.
_NEVER = "'18446744073709551615'::xid8"

IS_HELD = "s.status = 'held' AND s.held_until > statement_timestamp()"
_IS_AVAILABLE = "s.status = 'available' OR s.held_until <= statement_timestamp()"

# The whole map in one snapshot, with a row of the result for a row of seats: aggregating in the
# database avoids handling tens of thousands of seats one by one. Materialized, because a plan
# without statistics would read all seats again for each block.
SESSION_MAP = f"""
WITH seat_row AS MATERIALIZED (
    SELECT block_id, min(row_rank) AS rank, row_name, array_agg(id ORDER BY index) AS seat_ids,
        array_agg(number ORDER BY index) AS numbers, array_agg(x ORDER BY index) AS x,
        array_agg(y ORDER BY index) AS y, string_agg(letter, '' ORDER BY index) AS statuses,
        json_object_agg(index, until ORDER BY index) FILTER (WHERE until IS NOT NULL)
            AS held_until,
        array_agg(index ORDER BY index) FILTER (WHERE is_accessible) AS accessible,
        array_agg(index ORDER BY index) FILTER (WHERE is_companion) AS companion,
        array_agg(index ORDER BY index) FILTER (WHERE is_restricted_view) AS restricted_view
    FROM (
        SELECT s.block_id, s.row_name, s.row_rank, s.id::text AS id, s.number, s.x, s.y,
            s.is_accessible, s.is_companion, s.is_restricted_view,
            CASE WHEN {_IS_AVAILABLE} THEN 'a' ELSE left(s.status, 1) END AS letter,
            CASE WHEN {IS_HELD} THEN extract(epoch FROM s.held_until)::bigint END AS until,
            row_number() OVER (PARTITION BY s.block_id, s.row_name ORDER BY s.position) - 1
                AS index
        FROM seat s
        WHERE s.organization_id = %(organization_id)s AND s.session_id = %(session_id)s
    ) seats
    GROUP BY block_id, row_name
)
SELECT {_VERSION}, {_BLOCKS_DIGEST}, b.id, b.name, p.total, r.row_name, r.seat_ids, r.numbers,
    r.x, r.y, r.statuses, r.held_until, r.accessible, r.companion, r.restricted_view
FROM session x
LEFT JOIN block b ON b.organization_id = x.organization_id AND b.session_id = x.id
LEFT JOIN pool p ON p.organization_id = b.organization_id AND p.id = b.capacity_pool_id
LEFT JOIN seat_row r ON r.block_id = b.id
WHERE x.organization_id = %(organization_id)s AND x.id = %(session_id)s
ORDER BY b.rank, b.id, r.rank, r.row_name
"""  # noqa: S608

# Checks with two index probes whether a map is unchanged.
MAP_STATE = f"""
SELECT {_AFTER_NEWEST}, {_BLOCKS_DIGEST}, extract(epoch FROM statement_timestamp())::float8
FROM session x WHERE x.organization_id = %(organization_id)s AND x.id = %(session_id)s
"""  # noqa: S608

# The changes since that version, inclusive, or only a flag that they exceed the limit: the index is
# probed for a row beyond the limit before any seat is read. A version that is ahead comes from
# another database: then everything has changed.
SEAT_CHANGES = f"""
WITH asked AS MATERIALIZED (
    SELECT CASE WHEN %(since)s::text::xid8 > pg_snapshot_xmin(pg_current_snapshot()) THEN '0'::xid8
        ELSE %(since)s::text::xid8 END AS since
), change AS MATERIALIZED (
    SELECT EXISTS (
        SELECT FROM seat s
        WHERE s.organization_id = %(organization_id)s AND s.session_id = %(session_id)s
            AND s.changed_xid >= (SELECT since FROM asked)
        ORDER BY s.changed_xid OFFSET %(limit)s
    ) AS is_too_much
)
SELECT {_VERSION}, change.is_too_much, s.id,
    CASE WHEN {_IS_AVAILABLE} THEN 'available' ELSE s.status END,
    CASE WHEN {IS_HELD} THEN s.held_until END, s.version
FROM session x
CROSS JOIN change
LEFT JOIN seat s ON s.organization_id = x.organization_id AND s.session_id = x.id
    AND s.changed_xid >= (SELECT CASE WHEN is_too_much THEN {_NEVER} ELSE since END
                          FROM asked, change)
WHERE x.organization_id = %(organization_id)s AND x.id = %(session_id)s
ORDER BY s.changed_xid
"""  # noqa: S608

# One row, with the event's sessions as JSON, counted in one snapshot and one pass. A pool that no
# ticket type uses has no places for sale; removing a block's capacity leaves one.
OCCUPANCY = f"""
WITH counted AS MATERIALIZED (
    SELECT s.block_id, count(*) FILTER (WHERE {_IS_AVAILABLE}) AS available,
        count(*) FILTER (WHERE {IS_HELD}) AS held,
        count(*) FILTER (WHERE s.status = 'sold') AS sold,
        count(*) FILTER (WHERE s.status = 'blocked') AS blocked
    FROM session x
    JOIN seat s ON s.organization_id = x.organization_id AND s.session_id = x.id
    WHERE x.organization_id = %(organization_id)s AND x.event_id = %(event_id)s
    GROUP BY s.block_id
)
SELECT statement_timestamp(), (
    SELECT json_agg(json_build_array(x.id, x.name, blocks.found, pools.found)
                    ORDER BY x.created_at, x.id)
    FROM session x
    CROSS JOIN LATERAL (
        SELECT json_agg(json_build_array(b.id, b.name, p.total, counted.available, counted.held,
                                         counted.sold, counted.blocked)
                        ORDER BY b.rank, b.id) AS found
        FROM block b
        LEFT JOIN pool p ON p.organization_id = b.organization_id AND p.id = b.capacity_pool_id
        LEFT JOIN counted ON counted.block_id = b.id
        WHERE b.organization_id = x.organization_id AND b.session_id = x.id
    ) blocks
    CROSS JOIN LATERAL (
        SELECT json_agg(json_build_array(p.id, p.name, p.total, p.held - coalesce((
                            SELECT sum(l.units) FROM pool_lapse l
                            WHERE l.organization_id = p.organization_id AND l.pool_id = p.id
                                AND l.lapses_at <= statement_timestamp()), 0), p.sold)
                        ORDER BY p.created_at, p.id) AS found
        FROM pool p
        WHERE p.organization_id = x.organization_id AND p.session_id = x.id AND EXISTS (
            SELECT FROM ticket_type_pool t
            WHERE t.organization_id = p.organization_id AND t.pool_id = p.id
        ) AND NOT EXISTS (
            SELECT FROM block b WHERE b.organization_id = p.organization_id
                AND b.session_id = p.session_id AND b.capacity_pool_id = p.id)
    ) pools
    WHERE x.organization_id = e.organization_id AND x.event_id = e.id)
FROM event e WHERE e.organization_id = %(organization_id)s AND e.id = %(event_id)s
"""  # noqa: S608
