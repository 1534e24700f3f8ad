"""The SQL that reads holds, for the API and for background duties."""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS
from holdfast.adapters.postgres.seats.statements import IS_HELD

# One clock for the filter and the answer.
SELECT_HOLD = f"""
SELECT statement_timestamp(), {HOLD_COLUMNS}
FROM hold h WHERE h.organization_id = %s AND h.id = %s
"""  # noqa: S608

# The newest hold of a cart.
CART_HOLD = f"""
SELECT statement_timestamp(), {HOLD_COLUMNS}
FROM hold h WHERE h.organization_id = %s AND h.cart_token = %s AND h.is_cart
ORDER BY h.status IN ('waiting', 'active') DESC, h.created_at DESC, h.id DESC LIMIT 1
"""  # noqa: S608
# Payable holds with a cart token, oldest first.
LIVE_HOLDS_OF_CART = f"""
SELECT {HOLD_COLUMNS} FROM hold h
WHERE h.organization_id = %s AND h.cart_token = %s AND h.status = 'active'
    AND h.expires_at > statement_timestamp()
ORDER BY h.created_at, h.id
"""  # noqa: S608

# A holder's payable holds for an event, oldest first. Both statuses are named to match the
# condition of the index on open holds.
_LIVE_OF_EVENT = f"""
SELECT {HOLD_COLUMNS}
FROM session s
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = s.organization_id AND session_id = s.id AND {{of_holder}}
        AND status IN ('waiting', 'active') AND expires_at > statement_timestamp()
        AND status = 'active'
    OFFSET 0
) h
WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s
ORDER BY h.created_at, h.id
"""  # noqa: S608
_OF_USER = "user_id = %(user_id)s"
_OF_EMAIL = "email_key = ANY (%(email)s::uuid[]) AND user_id IS NULL"
LIVE_HOLDS_BY_USER = _LIVE_OF_EVENT.format(of_holder=_OF_USER)
LIVE_HOLDS_BY_EMAIL = _LIVE_OF_EVENT.format(of_holder=_OF_EMAIL)

# A holder's recent holds for an event, in any status. Every status is named, because the index has
# it before the time.
_RECENT_OF_EVENT = f"""
SELECT statement_timestamp(), {HOLD_COLUMNS}
FROM session s
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = s.organization_id AND session_id = s.id AND {{of_holder}}
        AND status = ANY (%(statuses)s)
        AND expires_at > coalesce(%(since)s, statement_timestamp() - interval '1 day')
    OFFSET 0
) h
WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s
ORDER BY h.created_at DESC, h.id DESC LIMIT %(limit)s
"""  # noqa: S608
RECENT_HOLDS_BY_USER = _RECENT_OF_EVENT.format(of_holder=_OF_USER)
RECENT_HOLDS_BY_EMAIL = _RECENT_OF_EVENT.format(of_holder=_OF_EMAIL)

# A page is merged from one part per status: each follows an index and stops at the page size.
LIST_HOLDS = f"""
SELECT statement_timestamp(), {HOLD_COLUMNS}
FROM ({{parts}}) h ORDER BY {{order}} LIMIT %(limit)s
"""  # noqa: S608
LIST_PART = "(SELECT * FROM {source} h WHERE {conditions} ORDER BY {order} LIMIT %(limit)s)"
# For an event: the same for each of its sessions.
LIST_PART_OF_EVENT = """(
    SELECT h.* FROM session s
    CROSS JOIN LATERAL (
        SELECT * FROM hold h WHERE h.session_id = s.id AND {conditions}
        ORDER BY {order} LIMIT %(limit)s
    ) h
    WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s
    ORDER BY {order} LIMIT %(limit)s)"""
LAPSED_OF_EVENT = """h.session_id IN (
    SELECT s.id FROM session s
    WHERE s.organization_id = %(organization_id)s AND s.event_id = %(event_id)s)"""
NEWEST_FIRST = "h.created_at DESC, h.id DESC"
NEXT_TO_EXPIRE_FIRST = "h.expires_at, h.id"
# Lapsed holds are few, so they are found by due time, without reading live ones.
LAPSED = """(
    SELECT * FROM hold
    WHERE organization_id = %(organization_id)s AND status IN ('waiting', 'active')
        AND due_at <= statement_timestamp() AND expires_at <= statement_timestamp()
    OFFSET 0)"""
# The next to expire in each session of an organization, which include the next of all.
LIVE_OF_EVERY_SESSION = """(
    SELECT h.* FROM session s
    CROSS JOIN LATERAL (
        SELECT * FROM hold
        WHERE organization_id = s.organization_id AND session_id = s.id AND status = 'active'
            AND expires_at > statement_timestamp() AND {after}
        ORDER BY expires_at, id LIMIT %(limit)s
    ) h
    WHERE s.organization_id = %(organization_id)s)"""

# All holds that have not ended, counted with one clock. Their seats are counted in the seat table,
# for sessions with an active hold: the lines of hundreds of thousands of holds would take seconds.
HOLD_STATISTICS = f"""
WITH unended AS MATERIALIZED (
    SELECT session_id, quantity, expires_at, status = 'waiting' AS is_waiting,
        expires_at <= statement_timestamp() AS is_lapsed,
        status = 'active' AND expires_at > statement_timestamp() AS is_live
    FROM hold
    WHERE organization_id = %(organization_id)s AND status IN ('waiting', 'active') {{of_session}}
)
SELECT count(*) FILTER (WHERE is_live), count(*) FILTER (WHERE is_lapsed AND NOT is_waiting),
    coalesce(sum(quantity) FILTER (WHERE is_live), 0), (
        SELECT count(*) FROM (SELECT DISTINCT session_id FROM unended WHERE is_live) busy
        JOIN seat s ON s.organization_id = %(organization_id)s AND s.session_id = busy.session_id
        WHERE {IS_HELD}),
    count(*) FILTER (WHERE is_live AND expires_at <= statement_timestamp() + %(soon)s),
    count(*) FILTER (WHERE is_waiting AND NOT is_lapsed),
    count(*) FILTER (WHERE is_waiting AND is_lapsed),
    statement_timestamp()
FROM unended
"""  # noqa: S608
STATISTICS_OF_SESSION = "AND session_id = %(session_id)s"

DUE_HOLDS = """
SELECT organization_id, session_id, id, is_lapsed, quantity
FROM holdfast_due_holds(%s, %s::uuid[])
"""
# Locks with two numbers never collide with the engine's, which have one.
TRY_REAPING = "SELECT pg_try_advisory_xact_lock(46337, 0)"
REAPING_TAKES_ITS_TIME = "SET LOCAL idle_in_transaction_session_timeout = '60s'"
# The lease is written only after half of its time, or if another process had it.
PROMOTER_TURN = """
SELECT after_organization, after_session, sweep_due_at <= statement_timestamp() FROM promoter_lease
WHERE holder = %(promoter)s
    AND held_until > statement_timestamp() + make_interval(secs => %(seconds)s / 2)
"""
TAKE_PROMOTER_LEASE = """
UPDATE promoter_lease SET holder = %(promoter)s,
    held_until = statement_timestamp() + make_interval(secs => %(seconds)s)
WHERE holder = %(promoter)s OR held_until <= statement_timestamp()
RETURNING after_organization, after_session, sweep_due_at <= statement_timestamp()
"""
SWEPT = """
UPDATE promoter_lease SET after_organization = %s, after_session = %s,
    sweep_due_at = statement_timestamp() + make_interval(secs => %s)
WHERE holder = %s
"""
UNSETTLED_SESSIONS = "SELECT organization_id, session_id FROM holdfast_unsettled_sessions(%s)"
WAITING_SESSIONS = "SELECT organization_id, session_id FROM holdfast_waiting_sessions(%s, %s, %s)"
SECONDS_UNTIL_DUE = "SELECT holdfast_seconds_until_due()"
