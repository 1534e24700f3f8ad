"""The SQL of carts and waitlist queues. Reading or writing the queues of a session for a decision
requires the lock of its waitlist."""

from holdfast.adapters.postgres.holds.rows import HOLD_COLUMNS

# The live or else newest hold of each cart, under the cart's lock.
NEWEST_OF_CARTS = """
SELECT h.organization_id, h.cart_token, h.id
FROM unnest(%s::uuid[], %s::text[]) AS wanted (organization_id, cart)
CROSS JOIN LATERAL (
    SELECT organization_id, cart_token, id FROM hold
    WHERE organization_id = wanted.organization_id AND cart_token = wanted.cart AND is_cart
    ORDER BY status IN ('waiting', 'active') DESC, created_at DESC, id DESC LIMIT 1
) h
"""
SURVEY_CARTS = f"""
SELECT {HOLD_COLUMNS}
FROM unnest(%s::uuid[], %s::text[]) AS wanted (organization_id, cart)
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = wanted.organization_id AND cart_token = wanted.cart AND is_cart
    ORDER BY status IN ('waiting', 'active') DESC, created_at DESC, id DESC LIMIT 1
) h
"""  # noqa: S608

# Without the lock, for the survey.
VERSIONS = """
SELECT w.organization_id, w.session_id, w.version
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, session_id)
CROSS JOIN LATERAL (
    SELECT * FROM waitlist
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
    OFFSET 0
) w
"""
QUEUES = """
SELECT l.organization_id, l.session_id, l.id, l.wants, l.waiting, l.passes, l.opened_at, l.served
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, session_id)
CROSS JOIN LATERAL (
    SELECT * FROM waiting_line
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
    OFFSET 0
) l
"""
# The first parties of every queue, and the cursor of their last facts. With many queues only a few
# each, because every command waits while they are read.
FIRST_PARTIES = f"""
SELECT h.changed_xid::text::bigint, {HOLD_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted (organization_id, session_id)
CROSS JOIN LATERAL (
    SELECT id, count(*) OVER () AS lines FROM waiting_line
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
) l
CROSS JOIN LATERAL (
    SELECT hold_id FROM waiting_place
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
        AND line_id = l.id
    ORDER BY since, hold_id LIMIT greatest(1, %s / l.lines)
) p
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = wanted.organization_id AND id = p.hold_id
    OFFSET 0
) h
"""  # noqa: S608
# The same for a few queues of which too few parties are in memory.
PARTIES_OF_QUEUES = f"""
SELECT h.changed_xid::text::bigint, {HOLD_COLUMNS}
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::integer[])
    AS wanted (organization_id, session_id, line_id, parties)
CROSS JOIN LATERAL (
    SELECT hold_id FROM waiting_place
    WHERE organization_id = wanted.organization_id AND session_id = wanted.session_id
        AND line_id = wanted.line_id
    ORDER BY since, hold_id LIMIT wanted.parties
) p
CROSS JOIN LATERAL (
    SELECT * FROM hold
    WHERE organization_id = wanted.organization_id AND id = p.hold_id
    OFFSET 0
) h
"""  # noqa: S608

PUT_QUEUES = """
INSERT INTO waiting_line (organization_id, session_id, id, wants, waiting, passes, served,
    opened_at)
SELECT organization_id, session_id, id, wants::uuid[], waiting, passes, served, opened_at
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::integer[], %s::integer[],
    %s::integer[], %s::timestamptz[])
    AS line (organization_id, session_id, id, wants, waiting, passes, served, opened_at)
ON CONFLICT (organization_id, session_id, id) DO UPDATE SET waiting = excluded.waiting,
    passes = excluded.passes, served = excluded.served, opened_at = excluded.opened_at
"""
DELETE_QUEUES = """
DELETE FROM waiting_line USING unnest(%s::uuid[], %s::uuid[], %s::uuid[])
    AS ended (organization_id, session_id, id)
WHERE waiting_line.organization_id = ended.organization_id
    AND waiting_line.session_id = ended.session_id AND waiting_line.id = ended.id
"""
INSERT_PLACES = """
INSERT INTO waiting_place (organization_id, hold_id, session_id, line_id, since, passes_seen)
SELECT organization_id, hold_id, session_id, line_id, since, passes_seen
FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::timestamptz[], %s::integer[])
    AS place (organization_id, hold_id, session_id, line_id, since, passes_seen)
"""
# Of holds that have changed, in this group or an earlier one. Looking for a conflict takes longer.
PUT_PLACES = f"""
{INSERT_PLACES.strip()}
ON CONFLICT (organization_id, hold_id) DO UPDATE SET line_id = excluded.line_id,
    since = excluded.since, passes_seen = excluded.passes_seen
"""
DELETE_PLACES = """
DELETE FROM waiting_place USING unnest(%s::uuid[], %s::uuid[]) AS ended (organization_id, hold_id)
WHERE waiting_place.organization_id = ended.organization_id
    AND waiting_place.hold_id = ended.hold_id
"""
# A version identifies one state of the queues and is never reused: a process that finds the version
# it has in memory need not read them.
UPDATE_WAITLISTS = """
UPDATE waitlist SET is_settled = changed.is_settled, version = changed.version
FROM unnest(%s::uuid[], %s::uuid[], %s::boolean[], %s::uuid[])
    AS changed (organization_id, session_id, is_settled, version)
WHERE waitlist.organization_id = changed.organization_id
    AND waitlist.session_id = changed.session_id
"""

# Marks waitlists that are not empty: of one session, or of all sessions of an event.
_UNSETTLE = """
UPDATE waitlist w SET is_settled = false
FROM session s
WHERE w.organization_id = %s AND s.organization_id = w.organization_id AND s.id = w.session_id
    AND {of_change} = %s AND EXISTS (
        SELECT FROM waiting_line l
        WHERE l.organization_id = w.organization_id AND l.session_id = w.session_id)
RETURNING w.session_id
"""
UNSETTLE_SESSION = _UNSETTLE.format(of_change="s.id")
UNSETTLE_EVENT = _UNSETTLE.format(of_change="s.event_id")
UNSETTLE_ORGANIZATION = _UNSETTLE.format(of_change="s.organization_id")

# Counts all earlier parties that want any of the same. The pace is that of its own queue.
POSITION = """
SELECT
    1 + sum((SELECT count(*) FROM waiting_place e
             WHERE e.organization_id = p.organization_id AND e.session_id = p.session_id
                AND e.line_id = l.id AND (e.since, e.hold_id) < (p.since, p.hold_id))),
    sum(l.waiting), own.served,
    extract(epoch FROM statement_timestamp() - own.opened_at)::double precision,
    p.since, statement_timestamp()
FROM waiting_place p
JOIN waiting_line own ON own.organization_id = p.organization_id
    AND own.session_id = p.session_id AND own.id = p.line_id
JOIN waiting_line l ON l.organization_id = p.organization_id
    AND l.session_id = p.session_id AND l.wants && own.wants
WHERE p.organization_id = %s AND p.hold_id = %s
GROUP BY p.organization_id, p.hold_id, own.served, own.opened_at
"""
