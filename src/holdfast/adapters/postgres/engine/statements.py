"""The SQL of the engine. SQL locks, reads, writes, and refuses the impossible; it holds no rule.

Look-ups by several keys are lateral: one index probe per key, in the order of the keys, which is
the order of the locks. A join would leave both to the planner.
"""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS
from holdfast.adapters.postgres.seats.rows import SEAT_COLUMNS, SEAT_PLACE
from holdfast.domain.policy import POLICY_FIELDS, WAITING_PLACES_MAX

HOLDINGS_MAX = WAITING_PLACES_MAX + 14


def policy_of(table: str) -> str:
    """The columns of a level of the policy, in the order of PolicyOverride."""
    return ", ".join(f"{table}.{field}" for field in POLICY_FIELDS)


BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
DISCARD_PLANS = "DISCARD PLANS"

# Row-level security: the organizations of this transaction. Local, so that it ends with it.
SET_ORGANIZATIONS = "SELECT set_config('holdfast.organizations', %s, true)"

# (1) sessions, shared, then (2) keys: never waited for, and in this order.
TRY_ADVISORY_LOCKS = """
SELECT CASE WHEN is_shared THEN pg_try_advisory_xact_lock_shared(name)
            ELSE pg_try_advisory_xact_lock(name) END
FROM unnest(%s::bigint[], %s::boolean[]) AS wanted (name, is_shared)
"""

# (3) waitlists, then pools. What somebody else has locked is left out, and its commands wait
# elsewhere.
LOCK_WAITLISTS = """
SELECT w.organization_id, w.session_id, w.is_settled
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, session_id)
CROSS JOIN LATERAL (
    SELECT * FROM waitlist
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
    FOR NO KEY UPDATE SKIP LOCKED
) w
"""
LOCK_POOLS = """
SELECT p.organization_id, p.id, p.total, p.held, p.sold
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT * FROM pool
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    FOR NO KEY UPDATE SKIP LOCKED
) p
"""

# A patient lane waits for one row, up to lock_timeout, before it locks anything else: whoever waits
# holds nothing that others could need.
AWAIT_WAITLIST = """
SELECT FROM waitlist WHERE organization_id = %s AND session_id = %s FOR NO KEY UPDATE
"""
AWAIT_POOL = "SELECT FROM pool WHERE organization_id = %s AND id = %s FOR NO KEY UPDATE"
AWAIT_SEAT = "SELECT FROM seat WHERE organization_id = %s AND id = %s FOR NO KEY UPDATE"
AWAIT_HOLD = "SELECT FROM hold WHERE organization_id = %s AND id = %s FOR NO KEY UPDATE"

# (4) seats.
LOCK_SEATS = f"""
SELECT s.told_xid::text::bigint, {SEAT_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT * FROM seat
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    FOR NO KEY UPDATE SKIP LOCKED
) s
"""  # noqa: S608

# (5) holds. Whatever changes of a hold raises its version: what the look ahead has read need not be
# read again where the version is still the same.
LOCK_HOLDS = """
SELECT h.organization_id, h.id, h.version, h.changed_xid::text::bigint
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version, changed_xid FROM hold
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    FOR NO KEY UPDATE SKIP LOCKED
) h
"""

# SKIP LOCKED leaves out both what is locked and what is not there: this tells them apart, for holds
# that the look ahead has not seen. (None is ever deleted.)
EXISTING_HOLDS = """
SELECT h.organization_id, h.id
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id FROM hold
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) h
"""

EXISTING_SEATS = """
SELECT s.organization_id, s.id
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id FROM seat
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
"""

# What people hold or wait for: by the user id where there is one, as Holder.key tells them apart.
# One is enough to say that there is one, a few more should this group end it; parties on the
# waitlist are counted, so those come first, and all of them. The index knows which holds are open
# by this very condition, so that what has ended is not read.
_HOLDINGS = f"""
SELECT {HOLD_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) AS wanted (organization_id, session_id, name)
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
        AND {{of_holder}} AND status IN ('waiting', 'active')
        AND expires_at > statement_timestamp()
    ORDER BY status DESC LIMIT {HOLDINGS_MAX}
) h
"""  # noqa: S608
HOLDINGS_BY_EMAIL = _HOLDINGS.format(of_holder="email_key = wanted.name AND user_id IS NULL")
HOLDINGS_BY_USER = _HOLDINGS.format(of_holder="user_id = wanted.name")

# Under the session's lock the version tells whether what we know of its catalogue still holds.
SESSION_VERSIONS = """
SELECT s.organization_id, s.id, s.version
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version FROM session
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
"""

# What lapsed holds still occupy, summed up to the present second; and the next second beside it,
# because the clock is read last.
# statement_timestamp() here: clock_timestamp() may change from row to row, so no index serves it.
LAPSED_UNITS = """
SELECT wanted.id, date_trunc('second', statement_timestamp()), b.units, b.next_units
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT coalesce(sum(units) FILTER (WHERE lapses_at <= statement_timestamp()), 0)::integer
            AS units,
        coalesce(sum(units) FILTER (WHERE lapses_at > statement_timestamp()), 0)::integer
            AS next_units
    FROM pool_lapse
    WHERE organization_id = wanted.organization_id AND pool_id = wanted.id
        AND lapses_at <= statement_timestamp() + interval '1 second'
) b
"""

RECORDED_ANSWERS = """
SELECT i.organization_id, i.digest, i.fingerprint, i.body
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, digest)
CROSS JOIN LATERAL (
    SELECT * FROM idempotency
    WHERE organization_id = wanted.organization_id AND digest = wanted.digest
    OFFSET 0
) i
"""

# Last of all, when every lock is held: the only clock there is, and the name of the transaction.
CLOCK = "SELECT clock_timestamp(), pg_current_xact_id()::text::bigint"

# Blocks of numbers for the references of new holds; sequences are outside of transactions.
REFERENCE_BLOCK = "SELECT nextval('hold_reference_block')"

SURVEY_HOLDS = f"""
SELECT {HOLD_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) h
"""  # noqa: S608

# Lapsed holds that would make room in a pool, oldest first. The seconds of pool_lapse lead to
# them, so that lapsed holds of other pools of the session are not waded through.
SURVEY_LAPSED = f"""
SELECT {HOLD_COLUMNS}
FROM pool_lapse b
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = b.organization_id AND session_id = %(session_id)s
        AND expires_at = b.lapses_at AND status = 'active'
    ORDER BY id OFFSET 0
) h
WHERE b.organization_id = %(organization_id)s AND b.pool_id = %(pool_id)s
    AND b.lapses_at <= statement_timestamp()
    AND EXISTS (
        SELECT FROM hold_line l
        WHERE l.organization_id = h.organization_id AND l.hold_id = h.id
            AND l.removed_version IS NULL AND %(pool_id)s = ANY (l.pool_ids))
ORDER BY b.lapses_at, h.id
LIMIT %(limit)s
"""  # noqa: S608

# The catalogue of a session, nearest policy last.
SESSION_CATALOGUE = f"""
SELECT s.organization_id, s.id, s.version, e.currency, e.id, e.status, e.sale_starts_at,
    e.sale_ends_at, EXISTS (
        SELECT FROM waiting_line l
        WHERE l.organization_id = s.organization_id AND l.session_id = s.id),
    json_build_array({policy_of("o")}), json_build_array({policy_of("e")})
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
JOIN session s ON s.organization_id = wanted.organization_id AND s.id = wanted.id
JOIN event e ON e.organization_id = s.organization_id AND e.id = s.event_id
JOIN organization o ON o.id = s.organization_id
"""  # noqa: S608

SESSION_OFFERS = f"""
SELECT t.organization_id, t.session_id, t.id, t.price_minor, t.is_seated,
    (SELECT array_agg(p.pool_id ORDER BY p.pool_id) FROM ticket_type_pool p
     WHERE p.organization_id = t.organization_id AND p.ticket_type_id = t.id),
    {policy_of("t")}
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
JOIN ticket_type t ON t.organization_id = wanted.organization_id AND t.session_id = wanted.id
ORDER BY t.created_at, t.id
"""  # noqa: S608

SESSION_BLOCKS = """
SELECT b.organization_id, b.session_id, b.id, b.name, b.rank, b.capacity_pool_id,
    (SELECT json_agg(json_build_array(p.ticket_type_id, p.price_minor) ORDER BY p.rank)
     FROM block_price p WHERE p.organization_id = b.organization_id AND p.block_id = b.id)
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
JOIN block b ON b.organization_id = wanted.organization_id AND b.session_id = wanted.id
ORDER BY b.rank, b.id
"""

# Which block a seat is in, for blocks with a capacity.
BLOCKS_OF_SEATS = """
SELECT s.id, s.block_id
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT id, block_id FROM seat
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
"""

# A transaction that has an id is missing from its own snapshots: kept, such a snapshot would pass
# for one that has seen what the transaction writes afterwards. So it is NULL.
_KEPT_SNAPSHOT = """CASE WHEN pg_current_xact_id_if_assigned() IS NULL THEN
    pg_current_snapshot()::text END"""

# All seats of a session. The snapshot is taken first: what it cannot see is read again, and seeing
# a seat twice does no harm.
SNAPSHOT = f"SELECT {_KEPT_SNAPSHOT}, statement_timestamp(), pg_postmaster_start_time()"
SEAT_PLACES = f"""
SELECT status, held_until, {SEAT_PLACE} FROM seat WHERE organization_id = %s AND session_id = %s
"""  # noqa: S608

# What has changed since a snapshot. Its oldest transaction leads the index to the place; what the
# snapshot had seen already (much, while a long transaction runs elsewhere) is left out.
CHANGED_SEATS = f"""
SELECT id, status, held_until, {_KEPT_SNAPSHOT}
FROM seat
WHERE organization_id = %(organization_id)s AND session_id = %(session_id)s
    AND changed_xid >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
    AND NOT pg_visible_in_snapshot(changed_xid, %(snapshot)s::pg_snapshot)
"""  # noqa: S608
NOW = "SELECT statement_timestamp(), pg_postmaster_start_time()"

RECEIPTS = """
SELECT i.organization_id, i.consumer, i.event_id
FROM unnest(%s::uuid[], %s::text[], %s::uuid[]) AS wanted (organization_id, consumer, event_id)
CROSS JOIN LATERAL (
    SELECT * FROM inbox
    WHERE organization_id = wanted.organization_id AND consumer = wanted.consumer
        AND event_id = wanted.event_id
    OFFSET 0
) i
"""

# An order that a payment has made, under the payment's lock. Any one will do: it is used up.
PAID_ORDERS = """
SELECT o.organization_id, o.payment_reference, o.id
FROM unnest(%s::uuid[], %s::text[]) AS wanted (organization_id, payment_reference)
CROSS JOIN LATERAL (
    SELECT organization_id, payment_reference, id FROM purchase_order
    WHERE organization_id = wanted.organization_id
        AND payment_reference = wanted.payment_reference AND total_minor > 0
    LIMIT 1
) o
"""

# After a connection was lost in COMMIT: what became of that transaction, and, because a crashed
# server hands out the same number again, whether a row is there that only it can have written.
TRANSACTION_STATUS = "SELECT pg_xact_status(%s::text::xid8)"
SEAT_WITNESS = "SELECT version >= %s FROM seat WHERE organization_id = %s AND id = %s"
WITNESS = "SELECT version >= %s FROM hold WHERE organization_id = %s AND id = %s"

PRUNE_ANSWERS = "SELECT holdfast_prune_answers(%s, %s)"
PRUNE_FACTS = "SELECT holdfast_prune_facts(%s::smallint, %s::double precision, %s)"
PRUNE_RECEIPTS = "SELECT holdfast_prune_receipts(%s::double precision, %s)"
FIND_API_KEYS = """
SELECT wanted.secret_hash, found.organization_id, found.id, found.scopes
FROM unnest(%s::bytea[]) AS wanted (secret_hash),
    LATERAL holdfast_find_api_key(wanted.secret_hash) AS found
"""
