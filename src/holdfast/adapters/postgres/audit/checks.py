"""The queries of the integrity check: each finds rows that must not exist.

They read whole tables, so each makes one pass that sorts or hashes, never a look-up per row. Facts
may be incomplete, because the pruner deletes old ones; the audit shows which there must have been.
Nobody can delete from it, but its oldest partitions may have been dropped: what is older than its
horizon is not compared with it.
"""

from holdfast.adapters.postgres.audit.book_check import HORIZON, MAY_BE_PRUNED, BookCheck
from holdfast.adapters.postgres.audit.order_checks import ORDER_CHECKS

# The tickets of a hold have the order of its lines, so the nth ticket is the nth unit.
_COUNTERS = """
WITH void AS (
    SELECT organization_id, hold_id, number FROM (
        SELECT organization_id, hold_id, voided_at, row_number() OVER (
            PARTITION BY organization_id, hold_id ORDER BY position) AS number
        FROM ticket WHERE (organization_id, hold_id) IN (
            SELECT organization_id, hold_id FROM ticket WHERE voided_at IS NOT NULL)
    ) AS numbered
    WHERE voided_at IS NOT NULL
), sold_line AS (
    SELECT organization_id, hold_id, pool_ids, quantity, sum(quantity) OVER (
        PARTITION BY organization_id, hold_id ORDER BY position) AS last
    FROM hold_line WHERE removed_version IS NULL AND (organization_id, hold_id) IN (
        SELECT organization_id, hold_id FROM ticket WHERE voided_at IS NOT NULL)
), returned AS (
    SELECT l.organization_id, drawn.pool_id, count(*) AS units
    FROM void v JOIN sold_line l ON l.organization_id = v.organization_id
        AND l.hold_id = v.hold_id AND v.number BETWEEN l.last - l.quantity + 1 AND l.last
    CROSS JOIN unnest(l.pool_ids) AS drawn (pool_id)
    GROUP BY 1, 2
), counted AS (
    SELECT l.organization_id, drawn.pool_id,
        coalesce(sum(l.quantity) FILTER (WHERE h.status = 'active'), 0) AS held,
        coalesce(sum(l.quantity) FILTER (WHERE h.status = 'converted'), 0)
            - coalesce(min(r.units), 0) AS sold
    FROM hold h
    JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
        AND l.removed_version IS NULL
    CROSS JOIN unnest(l.pool_ids) AS drawn (pool_id)
    LEFT JOIN returned r ON r.organization_id = l.organization_id AND r.pool_id = drawn.pool_id
    WHERE h.status IN ('active', 'converted')
    GROUP BY l.organization_id, drawn.pool_id
)
SELECT coalesce(p.id, c.pool_id) AS pool_id, p.held, c.held AS held_by_holds, p.sold,
    c.sold AS sold_by_holds
FROM pool p FULL JOIN counted c ON c.organization_id = p.organization_id AND c.pool_id = p.id
WHERE p.id IS NULL OR p.held <> coalesce(c.held, 0) OR p.sold <> coalesce(c.sold, 0)
"""

_LAPSES = """
WITH counted AS (
    SELECT l.organization_id, drawn.pool_id, h.expires_at, sum(l.quantity) AS units
    FROM hold h
    JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
        AND l.removed_version IS NULL
    CROSS JOIN unnest(l.pool_ids) AS drawn (pool_id)
    WHERE h.status = 'active'
    GROUP BY l.organization_id, drawn.pool_id, h.expires_at
)
SELECT coalesce(b.pool_id, c.pool_id) AS pool_id, coalesce(b.lapses_at, c.expires_at) AS second,
    b.units, c.units AS units_of_holds
FROM pool_lapse b FULL JOIN counted c ON c.organization_id = b.organization_id
    AND c.pool_id = b.pool_id AND c.expires_at = b.lapses_at
WHERE coalesce(b.units, 0) <> coalesce(c.units, 0)
"""

_SUMS = """
SELECT h.id AS hold_id, h.quantity, h.total_minor FROM hold h
LEFT JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
    AND l.removed_version IS NULL
GROUP BY h.organization_id, h.id
HAVING h.quantity <> coalesce(sum(l.quantity), 0)
    OR h.total_minor <> coalesce(sum(l.quantity * l.unit_price_minor), 0)
"""

# Instead of foreign keys, which every hold would pay for.
_DANGLING = """
SELECT h.id AS hold_id, h.session_id, NULL::uuid AS ticket_type_id FROM hold h
WHERE NOT EXISTS (
    SELECT FROM session s WHERE s.organization_id = h.organization_id AND s.id = h.session_id)
UNION ALL
SELECT l.hold_id, h.session_id, l.ticket_type_id FROM hold_line l
LEFT JOIN hold h ON h.organization_id = l.organization_id AND h.id = l.hold_id
LEFT JOIN ticket_type t ON t.organization_id = l.organization_id AND t.id = l.ticket_type_id
WHERE h.id IS NULL OR t.id IS NULL
"""

_AUDIT_PER_VERSION = f"""
SELECT h.id AS hold_id, h.version, count(a.seq) AS audit_rows FROM hold h
LEFT JOIN audit a ON a.organization_id = h.organization_id AND a.hold_id = h.id
    AND a.seat_id IS NULL AND a.new ? 'version'
WHERE h.created_at >= {HORIZON}
GROUP BY h.organization_id, h.id
HAVING count(a.seq) <> h.version OR count(DISTINCT a.new ->> 'version') <> h.version
    OR max((a.new ->> 'version')::integer) <> h.version
"""  # noqa: S608

_FACT_PER_VERSION = f"""
WITH told AS (
    SELECT organization_id, hold_id, version, type FROM outbox
    WHERE hold_id IS NOT NULL AND seat_id IS NULL
        AND type NOT IN ('order.confirmed', 'order.cancelled', 'ticket.voided')
        AND occurred_at >= {HORIZON}
), written AS (
    SELECT organization_id, hold_id, (new ->> 'version')::integer AS version, action, at
    FROM audit WHERE hold_id IS NOT NULL AND seat_id IS NULL AND new ? 'version'
)
SELECT coalesce(w.hold_id, t.hold_id) AS hold_id, coalesce(w.version, t.version) AS version,
    w.action, t.type AS fact
FROM written w FULL JOIN told t ON t.organization_id = w.organization_id
    AND t.hold_id = w.hold_id AND t.version = w.version AND t.type = w.action
WHERE w.hold_id IS NULL OR (t.hold_id IS NULL AND NOT {MAY_BE_PRUNED.format(at="w.at")})
"""  # noqa: S608

_FACTS_IN_ORDER = """
SELECT id, version, earlier FROM (
    SELECT coalesce(hold_id, catalog_id) AS id, version, lag(version) OVER (
        PARTITION BY organization_id, coalesce(hold_id, catalog_id) ORDER BY xid, seq) AS earlier
    FROM outbox WHERE num_nonnulls(hold_id, catalog_id) > 0
) AS told
WHERE earlier > version
"""

# A seat that moves between lines of its hold stays held, without a fact. So does, blocked, a seat
# whose ticket is cancelled while it is blocked: of seats that ever were, that fact may be missing.
_SEAT_FACTS = f"""
WITH told AS (
    SELECT organization_id, hold_id, seat_id, version, type FROM outbox
    WHERE hold_id IS NOT NULL AND seat_id IS NOT NULL
), seat_line AS (
    SELECT organization_id, hold_id, seat_id, added_version, removed_version,
        lag(removed_version) OVER seat_of_hold AS removed_before,
        lead(added_version) OVER seat_of_hold AS added_after
    FROM hold_line WHERE seat_id IS NOT NULL
    WINDOW seat_of_hold AS (PARTITION BY organization_id, hold_id, seat_id ORDER BY added_version)
), happened AS (
    SELECT l.organization_id, l.hold_id, l.seat_id, fact.version, fact.type, fact.at,
        true AS is_certain
    FROM hold h
    JOIN seat_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
    CROSS JOIN LATERAL (VALUES
        (l.added_version, 'seat.held', l.removed_before IS DISTINCT FROM l.added_version,
         h.held_at),
        (l.removed_version, 'seat.released', l.removed_version IS NOT NULL
            AND l.added_after IS DISTINCT FROM l.removed_version, h.held_at),
        (h.version, CASE h.status WHEN 'converted' THEN 'seat.sold' ELSE 'seat.released' END,
         l.removed_version IS NULL AND h.status <> 'active', h.updated_at)
    ) AS fact (version, type, has_happened, at)
    WHERE fact.has_happened
    UNION ALL
    SELECT t.organization_id, t.hold_id, t.seat_id, h.version + t.voided_version - 1,
        'seat.released', t.voided_at, b.seat_id IS NULL AND t.voided_at >= {HORIZON}
    FROM ticket t
    JOIN hold h ON h.organization_id = t.organization_id AND h.id = t.hold_id
    LEFT JOIN (SELECT DISTINCT organization_id, seat_id FROM audit WHERE action = 'seat.blocked') b
        ON b.organization_id = t.organization_id AND b.seat_id = t.seat_id
    WHERE t.voided_at IS NOT NULL AND t.seat_id IS NOT NULL
)
SELECT coalesce(e.hold_id, t.hold_id) AS hold_id, coalesce(e.seat_id, t.seat_id) AS seat_id,
    e.type AS happened, t.type AS fact
FROM happened e FULL JOIN told t ON t.organization_id = e.organization_id
    AND t.hold_id = e.hold_id AND t.seat_id = e.seat_id AND t.version = e.version
    AND t.type = e.type
WHERE e.hold_id IS NULL
    OR (t.hold_id IS NULL AND e.is_certain AND NOT {MAY_BE_PRUNED.format(at="e.at")})
"""  # noqa: S608

# The entry that blocked a seat may have been dropped with its partition.
_BLOCKED_AS_WRITTEN = f"""
SELECT s.id AS seat_id, s.status FROM seat s LEFT JOIN audit a
    ON a.organization_id = s.organization_id AND a.seat_id = s.id AND a.hold_id IS NULL
GROUP BY s.organization_id, s.id
HAVING CASE s.status WHEN 'blocked' THEN 1 ELSE 0 END
    - count(*) FILTER (WHERE a.action = 'seat.blocked')
    + count(*) FILTER (WHERE a.action = 'seat.unblocked')
    NOT BETWEEN 0 AND CASE WHEN {HORIZON} = '-infinity' THEN 0 ELSE 1 END
"""  # noqa: S608

# Of blocked seats and of the catalog.
_FACTS_WITHOUT_HOLD = f"""
WITH told AS (
    SELECT organization_id, coalesce(seat_id, catalog_id) AS id, version, type
    FROM outbox
    WHERE hold_id IS NULL AND type <> 'notice.requested' AND occurred_at >= {HORIZON}
), written AS (
    SELECT organization_id, coalesce(seat_id, catalog_id) AS id,
        (new ->> 'version')::integer AS version, action, at
    FROM audit WHERE hold_id IS NULL AND new ? 'version'
)
SELECT coalesce(w.id, t.id) AS id, coalesce(w.version, t.version) AS version, w.action,
    t.type AS fact
FROM written w FULL JOIN told t ON t.organization_id = w.organization_id
    AND t.id = w.id AND t.version = w.version AND t.type = w.action
WHERE w.id IS NULL OR (t.id IS NULL AND NOT {MAY_BE_PRUNED.format(at="w.at")})
"""  # noqa: S608

_HELD_SEATS = """
SELECT l.seat_id, l.hold_id FROM hold h
JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
LEFT JOIN seat s ON s.organization_id = l.organization_id AND s.id = l.seat_id
    AND s.session_id = h.session_id
WHERE h.status = 'active' AND l.seat_id IS NOT NULL AND l.removed_version IS NULL
    AND (s.status, s.hold_id, s.held_until) IS DISTINCT FROM ('held', h.id, h.expires_at)
"""

_SEATS_HELD_BY_NOBODY = """
SELECT s.id AS seat_id, s.hold_id FROM seat s WHERE s.status = 'held' AND NOT EXISTS (
    SELECT FROM hold h
    JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
    WHERE h.organization_id = s.organization_id AND h.id = s.hold_id
        AND h.status = 'active' AND l.seat_id = s.id AND l.removed_version IS NULL)
"""

_SEATS_TAKEN_TWICE = """
SELECT l.seat_id, count(*) AS holds FROM hold h
JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
LEFT JOIN ticket t ON t.organization_id = l.organization_id AND t.hold_id = l.hold_id
    AND t.seat_id = l.seat_id
WHERE h.status IN ('active', 'converted') AND l.seat_id IS NOT NULL
    AND l.removed_version IS NULL AND t.voided_at IS NULL
GROUP BY l.organization_id, l.seat_id HAVING count(*) > 1
"""

_FULL_BLOCKS = """
SELECT b.id AS block_id, p.total, count(*) AS taken FROM block b
JOIN pool p ON p.organization_id = b.organization_id AND p.id = b.capacity_pool_id
JOIN seat s ON s.organization_id = b.organization_id AND s.block_id = b.id
WHERE s.hold_id IS NOT NULL
GROUP BY b.organization_id, b.id, p.total HAVING count(*) > p.total
"""

_ORPHANS = """
SELECT id AS hold_id, expires_at FROM hold
WHERE status IN ('waiting', 'active')
    AND expires_at < transaction_timestamp() - make_interval(secs => %(grace_seconds)s)
"""

_DUE = """
SELECT id AS hold_id, status, due_at FROM hold
WHERE due_at <> coalesce(warn_at, expires_at) OR (status <> 'active' AND warn_at IS NOT NULL)
"""

# Of holds whose tickets another service counts: `holdfast reconcile --check` asks that service.
_PENDING = """
SELECT h.id AS hold_id, h.created_at FROM hold h
LEFT JOIN inventory_task t ON t.organization_id = h.organization_id AND t.hold_id = h.id
WHERE h.status = 'pending' AND (t.hold_id IS NULL
    OR h.created_at < transaction_timestamp() - make_interval(secs => %(grace_seconds)s))
"""

_TASKS = """
SELECT t.hold_id, h.status FROM inventory_task t
JOIN hold h ON h.organization_id = t.organization_id AND h.id = t.hold_id
WHERE h.status = 'waiting' OR EXISTS (SELECT FROM hold_line l
    WHERE l.organization_id = h.organization_id AND l.hold_id = h.id AND l.pool_ids <> '{}')
"""

# Happens after a restore into another PostgreSQL, until it is migrated.
_AHEAD = """
SELECT newest.kept_in, newest.xid::text AS cursor FROM (
    SELECT 'outbox', max(xid) FROM outbox
    UNION ALL SELECT 'relay_cursor', max(xid) FROM relay_cursor
    UNION ALL SELECT 'fact_horizon', max(xid) FROM fact_horizon
    UNION ALL SELECT 'hold', max(changed_xid) FROM hold
    UNION ALL SELECT 'seat', greatest(max(changed_xid), max(told_xid)) FROM seat
) AS newest (kept_in, xid)
WHERE newest.xid >= pg_snapshot_xmax(pg_current_snapshot())
"""

# Carts and the waitlist.
_PLACES = """
SELECT coalesce(h.id, p.hold_id) AS hold_id, p.line_id
FROM (SELECT organization_id, id, session_id FROM hold WHERE status = 'waiting') h
FULL JOIN waiting_place p ON p.organization_id = h.organization_id AND p.hold_id = h.id
WHERE h.session_id IS DISTINCT FROM p.session_id
"""

_LINES = """
WITH standing AS (
    SELECT organization_id, session_id, line_id, count(*) AS places
    FROM waiting_place GROUP BY 1, 2, 3
)
SELECT coalesce(l.id, s.line_id) AS line_id, l.waiting, s.places
FROM waiting_line l FULL JOIN standing s ON s.organization_id = l.organization_id
    AND s.session_id = l.session_id AND s.line_id = l.id
WHERE l.waiting IS DISTINCT FROM s.places
"""

_WAITING_SEATS = """
SELECT l.hold_id, l.seat_id FROM hold h
JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
WHERE h.status = 'waiting' AND l.seat_id IS NOT NULL AND l.removed_version IS NULL
"""

_WISHES = """
SELECT l.hold_id, l.position FROM hold h
JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
WHERE h.status IN ('active', 'converted') AND l.wish_accessible IS NOT NULL
    AND l.removed_version IS NULL
"""

_CARTS = """
SELECT min(id::text) AS hold_id, cart_token, count(*) AS holds FROM hold
WHERE is_cart AND status IN ('waiting', 'active')
GROUP BY organization_id, cart_token HAVING count(*) > 1
"""

_HELD_SINCE = """
SELECT id AS hold_id, status, held_at FROM hold
WHERE CASE WHEN status IN ('waiting', 'pending', 'failed') THEN held_at IS NOT NULL
    ELSE held_at IS NULL AND status IN ('active', 'converted') END
"""

_LINE_VERSIONS = """
SELECT l.hold_id, l.position, l.added_version, l.removed_version FROM hold h
JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
WHERE greatest(l.added_version, l.removed_version) > h.version
"""

_WAITLISTS = """
SELECT s.id AS session_id FROM session s
LEFT JOIN waitlist w ON w.organization_id = s.organization_id AND w.session_id = s.id
WHERE w.session_id IS NULL
"""

BOOK_CHECKS = (
    BookCheck("an active or waiting hold long past its expiry", "hold", _ORPHANS),
    BookCheck("a pending hold without a task of the reconciler, or not settled", "hold", _PENDING),
    BookCheck("a task of the reconciler for a hold of local tickets", "inventory_task", _TASKS),
    BookCheck("a pool whose counters differ from its holds", "pool", _COUNTERS),
    BookCheck("a pool whose expiry counters differ from its holds", "pool", _LAPSES),
    BookCheck(
        "an oversold pool", "pool", "SELECT id AS pool_id FROM pool WHERE held + sold > total"
    ),
    BookCheck("a hold whose quantity or total differs from its lines", "hold", _SUMS),
    BookCheck("a hold or line whose session, hold or ticket type is missing", "hold", _DANGLING),
    BookCheck(
        "a hold with a wrong due_at, or with a warning due though it is not active", "hold", _DUE
    ),
    BookCheck(
        "a line with a seat and a quantity other than 1",
        "hold_line",
        "SELECT hold_id, seat_id FROM hold_line WHERE seat_id IS NOT NULL AND quantity <> 1",
    ),
    BookCheck(
        "a seat of an active hold that is not held by it until its expiry", "seat", _HELD_SEATS
    ),
    BookCheck("a held seat without a line in an active hold", "seat", _SEATS_HELD_BY_NOBODY),
    BookCheck("a seat in two active or paid holds", "hold_line", _SEATS_TAKEN_TWICE),
    BookCheck("a block with more taken seats than its capacity", "seat", _FULL_BLOCKS),
    BookCheck("a hold without exactly one audit row per version", "audit", _AUDIT_PER_VERSION),
    BookCheck("a hold without exactly one fact per version", "outbox", _FACT_PER_VERSION),
    BookCheck(
        "facts of a hold or of the catalog that are not in the order of its versions",
        "outbox",
        _FACTS_IN_ORDER,
    ),
    BookCheck("missing or unexpected facts of a seat in a hold", "outbox", _SEAT_FACTS),
    BookCheck("a seat whose blocked status disagrees with the audit", "seat", _BLOCKED_AS_WRITTEN),
    BookCheck(
        "a blocked or unblocked seat or a changed catalog without its fact",
        "outbox",
        _FACTS_WITHOUT_HOLD,
    ),
    BookCheck("a cursor from the future", "outbox", _AHEAD),
    BookCheck(
        "a waiting hold without a place on the waitlist, or a place without its hold",
        "hold",
        _PLACES,
    ),
    BookCheck("a waitlist queue with a wrong count of its parties", "waiting_line", _LINES),
    BookCheck("a waiting hold with a seat", "hold", _WAITING_SEATS),
    BookCheck("an active or paid hold with a line that waits for seats", "hold", _WISHES),
    BookCheck("a cart with two live holds", "hold", _CARTS),
    BookCheck(
        "an active or paid hold without held_at, or one that never had its tickets with it",
        "hold",
        _HELD_SINCE,
    ),
    BookCheck("a line of a version that its hold never had", "hold_line", _LINE_VERSIONS),
    BookCheck("a session without a waitlist", "session", _WAITLISTS),
    *ORDER_CHECKS,
)
