"""The SQL of the engine: it locks, reads, writes and enforces constraints, without business rules.

Look-ups by several keys are lateral: one index probe per key, in the order of the keys, which is
the lock order. A join would leave both to the planner.
"""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS
from holdfast.adapters.postgres.seats.rows import SEAT_COLUMNS, SEAT_PLACE
from holdfast.domain.holds.holdings import PROMOTION_SECONDS_MAX
from holdfast.domain.policy import HOLDER_UNITS_MAX, POLICY_FIELDS

# Each hold has at least one unit, so this many are more than any limit allows.
HOLDINGS_MAX = HOLDER_UNITS_MAX + 1
# The sessions of an event that a walk passes, whether the holder was there or not.
WALK_MAX = 1_000


def policy_of(table: str) -> str:
    """The columns of a level of the policy, in the order of PolicyOverride."""
    return ", ".join(f"{table}.{field}" for field in POLICY_FIELDS)


BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
DISCARD_PLANS = "DISCARD PLANS"

# Row-level security: the organizations of this transaction, for this transaction only.
SET_ORGANIZATIONS = "SELECT set_config('holdfast.organizations', %s, true)"
# A group also says that it gives the waitlists that it changes a new version. Without that, a
# trigger removes the version (migration 0017).
SET_ORGANIZATIONS_OF_GROUP = """
SELECT set_config('holdfast.organizations', %s, true),
    set_config('holdfast.versions_waitlists', 'true', true)
"""

# (1) sessions, shared, then (2) keys: in this order, and without waiting.
TRY_ADVISORY_LOCKS = """
SELECT CASE WHEN is_shared THEN pg_try_advisory_xact_lock_shared(name)
            ELSE pg_try_advisory_xact_lock(name) END
FROM unnest(%s::bigint[], %s::boolean[]) AS wanted (name, is_shared)
"""

# (3) waitlists, then pools. Rows locked by others are left out, and their commands wait in a lock
# queue.
LOCK_WAITLISTS = """
SELECT w.organization_id, w.session_id, w.is_settled, w.version
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

# A patient lane waits for one row, up to lock_timeout, before it locks anything else: while it
# waits it blocks nobody.
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

# (5) holds. Every change raises a hold's version, so holds with the version that the survey saw
# need not be read again. The exception is a forgotten buyer, whose address must not be written
# again.
LOCK_HOLDS = """
SELECT h.organization_id, h.id, h.version, h.changed_xid::text::bigint,
    h.customer_email IS NOT NULL
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version, changed_xid, customer_email FROM hold
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    FOR NO KEY UPDATE SKIP LOCKED
) h
"""

# SKIP LOCKED leaves out both locked and missing rows: this tells them apart for holds that the
# survey has not seen. (Holds are never deleted.)
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

# The live holds of a person in a session: by user id if there is one, like Holder.key. If there are
# too many, waiting holds and carts come first, because their number is limited separately. The
# index has no ended holds. (Not `status = 'active'`: the planner might read everybody's lapsed
# holds of the session.) Pending holds are few, and have an index of their own.
_LIVE_IN = f"""
    SELECT id, session_id, quantity, expires_at, is_waiting, is_cart FROM (
        SELECT id, session_id, quantity, expires_at, status = 'waiting' AS is_waiting, is_cart
        FROM hold
        WHERE organization_id = wanted.organization_id AND session_id = {{session}}
            AND {{of_holder}} AND status IN ('waiting', 'active')
            AND expires_at > statement_timestamp() - interval '{PROMOTION_SECONDS_MAX} seconds'
            AND (status = 'waiting' OR expires_at > statement_timestamp())
        UNION ALL
        SELECT id, session_id, quantity, expires_at, false, is_cart FROM hold
        WHERE organization_id = wanted.organization_id AND session_id = {{session}}
            AND {{of_holder}} AND status = 'pending' AND expires_at > statement_timestamp()
    ) unended
    ORDER BY is_waiting OR is_cart DESC LIMIT {HOLDINGS_MAX}
"""  # noqa: S608
_BY_EMAIL = "email_key = wanted.name::uuid AND user_id IS NULL"
_BY_USER = "user_id = wanted.name"
# Most people who join a waitlist have none, so there are no rows for them.
_HELD_IN_SESSION = """
SELECT wanted.number, h.*
FROM unnest(%s::uuid[], %s::uuid[], %s::text[]) WITH ORDINALITY
    AS wanted (organization_id, session_id, name, number)
CROSS JOIN LATERAL ({live}) h
"""
HELD_IN_SESSION_BY_EMAIL, HELD_IN_SESSION_BY_USER = (
    _HELD_IN_SESSION.format(live=_LIVE_IN.format(session="wanted.session_id", of_holder=of_holder))
    for of_holder in (_BY_EMAIL, _BY_USER)
)

# What a person has in all sessions of an event, bought there, and when the last places were given
# up. Void tickets do not count. One statement, so one snapshot. The walk goes from a session of the
# event to the person's next one, and from there to the next of the event: neither a long history
# elsewhere nor an event with thousands of sessions costs much, and a walk that is too long ends.
# Every part finds its rows by an index that has no others: ended holds are not read to find live
# ones, nor released ones to find sold ones. If there are too many live ones, those of the session
# in question come after waiting holds and carts.
_HOLDINGS = f"""
SELECT wanted.number, live.holds, sold.units, given_up.at, sessions.are_too_many
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[]) WITH ORDINALITY
    AS wanted (organization_id, session_id, event_id, name, number)
CROSS JOIN LATERAL (
    WITH RECURSIVE walk (id, is_visited, visits, step) AS (
        (SELECT id, true, 1, 1 FROM session
         WHERE organization_id = wanted.organization_id AND event_id = wanted.event_id
         ORDER BY id LIMIT 1)
        UNION ALL
        SELECT next.id, probe.is_visited, walk.visits + probe.is_visited::integer, walk.step + 1
        FROM walk
        CROSS JOIN LATERAL (
            SELECT session_id AS id FROM hold
            WHERE organization_id = wanted.organization_id AND {{named}}
                AND session_id > walk.id
            ORDER BY session_id LIMIT 1
        ) visited
        CROSS JOIN LATERAL (
            SELECT id FROM session
            WHERE organization_id = wanted.organization_id AND event_id = wanted.event_id
                AND id >= visited.id
            ORDER BY id LIMIT 1
        ) next
        CROSS JOIN LATERAL (
            SELECT coalesce((
                SELECT session_id = next.id FROM hold
                WHERE organization_id = wanted.organization_id AND {{named}}
                    AND session_id >= next.id
                ORDER BY session_id LIMIT 1), false) AS is_visited
            OFFSET 0
        ) probe
        WHERE walk.visits < {HOLDINGS_MAX} AND walk.step < {WALK_MAX}
    )
    SELECT array_agg(id) FILTER (WHERE is_visited) AS of_event,
        coalesce(max(visits) = {HOLDINGS_MAX} OR max(step) = {WALK_MAX}, false) AS are_too_many
    FROM walk
) sessions
CROSS JOIN LATERAL (
    SELECT json_agg(json_build_array(
        h.id, h.session_id, h.quantity, h.expires_at, h.is_waiting, h.is_cart)) AS holds
    FROM (
        SELECT found.*
        FROM unnest(sessions.of_event) AS s (id)
        CROSS JOIN LATERAL ({{live}}) found
        ORDER BY (found.is_waiting OR found.is_cart) DESC, s.id = wanted.session_id DESC
        LIMIT {HOLDINGS_MAX}
    ) h
) live
CROSS JOIN LATERAL (
    SELECT coalesce(sum(h.quantity), 0)::integer AS units
    FROM (
        SELECT found.quantity
        FROM unnest(sessions.of_event) AS s (id)
        CROSS JOIN LATERAL (
            SELECT quantity - (
                SELECT count(*) FROM ticket t
                WHERE t.organization_id = hold.organization_id AND t.hold_id = hold.id
                    AND t.voided_at IS NOT NULL) AS quantity
            FROM hold
            WHERE organization_id = wanted.organization_id AND session_id = s.id
                AND {{of_holder}} AND status = 'converted' AND given_up_at IS NULL
            LIMIT {HOLDINGS_MAX}
        ) found
        LIMIT {HOLDINGS_MAX}
    ) h
) sold
CROSS JOIN LATERAL (
    SELECT max(greatest(
        (SELECT given_up_at FROM hold
         WHERE organization_id = wanted.organization_id AND session_id = s.id
             AND {{of_holder}} AND given_up_at IS NOT NULL
         ORDER BY given_up_at DESC LIMIT 1),
        (SELECT expires_at FROM hold
         WHERE organization_id = wanted.organization_id AND session_id = s.id
             AND {{of_holder}} AND status IN ('waiting', 'active') AND held_at IS NOT NULL
             AND expires_at <= statement_timestamp()
         ORDER BY expires_at DESC LIMIT 1)
    )) AS at
    FROM unnest(sessions.of_event) AS s (id)
) given_up
"""  # noqa: S608
HOLDINGS_BY_EMAIL = _HOLDINGS.format(
    named="email_key = wanted.name::uuid",
    of_holder=_BY_EMAIL,
    live=_LIVE_IN.format(session="s.id", of_holder=_BY_EMAIL),
)
HOLDINGS_BY_USER = _HOLDINGS.format(
    named=_BY_USER, of_holder=_BY_USER, live=_LIVE_IN.format(session="s.id", of_holder=_BY_USER)
)

# Under the session's lock, the version shows whether the cached catalog is current.
SESSION_VERSIONS = """
SELECT s.organization_id, s.id, s.version
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version FROM session
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
"""

# The units of lapsed holds, up to the current second, and those of the next second, because the
# clock is read last. clock_timestamp() is volatile, so it could not use the index.
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

# Last, with all locks held: the only clock in use, and the transaction's id.
CLOCK = "SELECT clock_timestamp(), pg_current_xact_id()::text::bigint"

# Blocks of numbers for the references of new holds; sequences are not transactional.
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

# Lapsed holds that would make room in a pool, oldest first. pool_lapse leads to them, without
# reading lapsed holds of the session's other pools.
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

# The catalog of a session, with the most specific policy last.
SESSION_CATALOG = f"""
SELECT s.organization_id, s.id, s.version, e.currency, e.id,
    CASE s.status WHEN 'cancelled' THEN s.status ELSE e.status END, e.sale_starts_at,
    e.sale_ends_at, e.is_announced, s.starts_at, EXISTS (
        SELECT FROM waiting_line l
        WHERE l.organization_id = s.organization_id AND l.session_id = s.id),
    json_build_array({policy_of("o")}), json_build_array({policy_of("e")})
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT organization_id, id, version, event_id, starts_at, status FROM session
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
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

# The blocks of seats, for blocks with a capacity.
BLOCKS_OF_SEATS = """
SELECT s.id, s.block_id
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, id)
CROSS JOIN LATERAL (
    SELECT id, block_id FROM seat
    WHERE organization_id = wanted.organization_id AND id = wanted.id
    OFFSET 0
) s
"""

# NULL in a transaction with an id: its snapshot would seem to include what the transaction writes
# later.
_KEPT_SNAPSHOT = """CASE WHEN pg_current_xact_id_if_assigned() IS NULL THEN
    pg_current_snapshot()::text END"""

# All seats of a session. The snapshot is taken first: changes that it cannot see are read again,
# and reading a seat twice does no harm.
SNAPSHOT = f"SELECT {_KEPT_SNAPSHOT}, statement_timestamp(), pg_postmaster_start_time()"
SEAT_PLACES = f"""
SELECT status, held_until, {SEAT_PLACE} FROM seat WHERE organization_id = %s AND session_id = %s
"""  # noqa: S608

# The seats changed since a snapshot. The index starts at its oldest transaction; changes already
# visible in it (many, if a long transaction runs elsewhere) are left out.
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

# An order of a payment, under the payment's lock. Any one proves that the payment is used.
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

# After a connection was lost in COMMIT: the transaction's status and, because a server assigns its
# number again after a crash, whether a row exists that only it can have written.
TRANSACTION_STATUS = "SELECT pg_xact_status(%s::text::xid8)"
SEAT_WITNESS = "SELECT version >= %s FROM seat WHERE organization_id = %s AND id = %s"
ORDER_WITNESS = "SELECT version >= %s FROM purchase_order WHERE organization_id = %s AND id = %s"
HOLD_WITNESS = "SELECT version >= %s FROM hold WHERE organization_id = %s AND id = %s"

PRUNE_ANSWERS = "SELECT holdfast_prune_answers(%s, %s)"
PRUNE_FACTS = "SELECT holdfast_prune_facts(%s::smallint, %s::double precision, %s)"
PRUNE_RECEIPTS = "SELECT holdfast_prune_receipts(%s::double precision, %s)"
PRUNE_REVOCATIONS = "SELECT holdfast_prune_revocations(%s::double precision, %s)"
