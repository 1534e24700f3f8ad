"""Integrity checks of carts and the waitlist: each query finds rows that must not exist."""

from holdfast.adapters.postgres.audit.check import BookCheck

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
WHERE CASE status WHEN 'waiting' THEN held_at IS NOT NULL
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

WAITING_CHECKS = (
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
        "an active or paid hold without held_at, or a waiting hold with one",
        "hold",
        _HELD_SINCE,
    ),
    BookCheck("a line of a version that its hold never had", "hold_line", _LINE_VERSIONS),
    BookCheck("a session without a waitlist", "session", _WAITLISTS),
)
