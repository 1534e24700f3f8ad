"""The queries of the integrity check about orders and tickets."""

from holdfast.adapters.postgres.audit.book_check import HORIZON, MAY_BE_PRUNED, BookCheck
from holdfast.domain.inventory.reservation import FOREVER

# What the Inventory Service has sold: the Hold Service has its order.
_RESERVATION = f"h.expires_at = '{FOREVER.isoformat()}'"

# A blocked seat that was sold keeps its hold, and stays sold.
_SOLD_SEATS = """
WITH sold AS (
    SELECT organization_id, id, hold_id FROM seat
    WHERE status = 'sold' OR (status = 'blocked' AND hold_id IS NOT NULL)
), ticketed AS (
    SELECT organization_id, seat_id, hold_id FROM ticket
    WHERE seat_id IS NOT NULL AND voided_at IS NULL
)
SELECT coalesce(s.id, t.seat_id) AS seat_id, coalesce(s.hold_id, t.hold_id) AS hold_id
FROM sold s FULL JOIN ticketed t ON t.organization_id = s.organization_id
    AND t.seat_id = s.id AND t.hold_id = s.hold_id
WHERE s.id IS NULL OR t.seat_id IS NULL
"""

_HELD_AND_SOLD = """
SELECT s.id AS seat_id, s.hold_id, t.order_id FROM seat s
JOIN ticket t ON t.organization_id = s.organization_id AND t.seat_id = s.id
WHERE s.status = 'held' AND t.voided_at IS NULL
"""

_PAID_HOLDS = f"""
SELECT h.id AS hold_id, h.status, h.order_id FROM hold h
LEFT JOIN purchase_order o ON o.organization_id = h.organization_id AND o.id = h.order_id
    AND h.id = ANY (o.hold_ids)
WHERE CASE WHEN h.status = 'converted' AND NOT {_RESERVATION} THEN o.id IS NULL
    ELSE h.order_id IS NOT NULL END
"""  # noqa: S608

_ORDERED_HOLDS = """
SELECT o.id AS order_id, named.hold_id FROM purchase_order o
CROSS JOIN unnest(o.hold_ids) AS named (hold_id)
LEFT JOIN hold h ON h.organization_id = o.organization_id AND h.id = named.hold_id
WHERE (h.status, h.order_id) IS DISTINCT FROM ('converted', o.id)
"""

_TICKETS = f"""
WITH bought AS (
    SELECT l.organization_id, h.order_id, l.hold_id, h.session_id, l.ticket_type_id, l.seat_id,
        l.unit_price_minor, sum(l.quantity) AS tickets
    FROM hold h
    JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
    WHERE h.status = 'converted' AND NOT {_RESERVATION} AND l.removed_version IS NULL
    GROUP BY 1, 2, 3, 4, 5, 6, 7
), made AS (
    SELECT organization_id, order_id, hold_id, session_id, ticket_type_id, seat_id,
        unit_price_minor, count(*) AS tickets
    FROM ticket GROUP BY 1, 2, 3, 4, 5, 6, 7
)
(TABLE bought EXCEPT TABLE made) UNION ALL (TABLE made EXCEPT TABLE bought)
"""  # noqa: S608

_TOTALS = """
SELECT o.id AS order_id, o.total_minor, sum(t.unit_price_minor) AS price_of_tickets
FROM purchase_order o
LEFT JOIN ticket t ON t.organization_id = o.organization_id AND t.order_id = o.id
GROUP BY o.organization_id, o.id
HAVING o.total_minor <> coalesce(sum(t.unit_price_minor), 0)
"""

_REVIVED = """
SELECT h.id AS hold_id, h.revives FROM hold h
LEFT JOIN hold late ON late.organization_id = h.organization_id AND late.id = h.revives
WHERE h.revives IS NOT NULL AND NOT h.is_cart
    AND (h.status, late.status, late.session_id, late.quantity)
        IS DISTINCT FROM ('converted', 'expired', h.session_id, h.quantity)
"""

# A hold for a late payment is in the checkout under the id of the expired hold. A renewed one, of
# a cart, is there under its own.
_CHECKOUTS = """
SELECT h.id AS hold_id, h.checkout_id FROM hold h
LEFT JOIN checkout c ON c.organization_id = h.organization_id AND c.id = h.checkout_id
WHERE h.checkout_id IS NOT NULL
    AND (CASE WHEN h.is_cart THEN h.id ELSE coalesce(h.revives, h.id) END = ANY (c.hold_ids))
        IS NOT TRUE
"""

_ORDER_FACTS = f"""
SELECT o.id AS order_id, count(f.seq) AS facts FROM purchase_order o
LEFT JOIN outbox f ON f.organization_id = o.organization_id AND f.hold_id = o.hold_ids[1]
    AND f.type = 'order.confirmed'
WHERE NOT {MAY_BE_PRUNED.format(at="o.created_at")}
GROUP BY o.organization_id, o.id
HAVING count(f.seq) <> 1
"""  # noqa: S608

# Each cancellation raises the version, and each refund that was recorded later: it has at least one
# ticket of its own.
_STATUSES = """
SELECT o.id AS order_id, o.status, o.version, count(t.voided_at) AS void_tickets
FROM purchase_order o
LEFT JOIN ticket t ON t.organization_id = o.organization_id AND t.order_id = o.id
GROUP BY o.organization_id, o.id
HAVING o.status <> CASE count(t.voided_at) WHEN 0 THEN 'confirmed' WHEN count(*) THEN 'cancelled'
        ELSE 'partly_cancelled' END
    OR o.version < max(t.voided_version)
    OR o.version NOT BETWEEN 1 + count(DISTINCT t.voided_version)
        AND 1 + count(DISTINCT t.voided_version) + count(t.refund_reference)
"""

_CANCELLATION_FACTS = f"""
WITH happened AS (
    SELECT t.organization_id, t.order_id, t.voided_version AS version, min(t.voided_at) AS at
    FROM ticket t WHERE t.voided_at IS NOT NULL GROUP BY 1, 2, 3
), told AS (
    SELECT organization_id, (payload ->> 'order_id')::uuid AS order_id,
        (payload ->> 'order_version')::integer AS version
    FROM outbox WHERE type = 'order.cancelled'
), written AS (
    SELECT organization_id, (new ->> 'order_id')::uuid AS order_id,
        (new ->> 'order_version')::integer AS version
    FROM audit WHERE action = 'order.cancelled'
)
SELECT coalesce(h.order_id, t.order_id) AS order_id, coalesce(h.version, t.version) AS version
FROM happened h FULL JOIN told t USING (organization_id, order_id, version)
WHERE h.order_id IS NULL OR (t.order_id IS NULL AND NOT {MAY_BE_PRUNED.format(at="h.at")})
UNION ALL
SELECT coalesce(h.order_id, w.order_id), coalesce(h.version, w.version)
FROM happened h FULL JOIN written w USING (organization_id, order_id, version)
WHERE h.order_id IS NULL OR (w.order_id IS NULL AND h.at >= {HORIZON})
"""  # noqa: S608

_TICKET_FACTS = f"""
WITH void AS (
    SELECT t.organization_id, t.id, t.hold_id, h.version + t.voided_version - 1 AS version,
        t.voided_at
    FROM ticket t JOIN hold h ON h.organization_id = t.organization_id AND h.id = t.hold_id
    WHERE t.voided_at IS NOT NULL
), told AS (
    SELECT organization_id, ticket_id, hold_id, version
    FROM outbox WHERE type = 'ticket.voided'
)
SELECT coalesce(v.id, t.ticket_id) AS ticket_id, v.version, t.version AS version_of_fact
FROM void v FULL JOIN told t ON t.organization_id = v.organization_id AND t.ticket_id = v.id
    AND t.hold_id = v.hold_id AND t.version = v.version
WHERE v.id IS NULL OR (t.ticket_id IS NULL AND NOT {MAY_BE_PRUNED.format(at="v.voided_at")})
"""  # noqa: S608

ORDER_CHECKS = (
    BookCheck("a held seat with a ticket", "seat", _HELD_AND_SOLD),
    BookCheck(
        "a sold seat without a ticket, or a ticket for a seat that is not sold", "seat", _SOLD_SEATS
    ),
    BookCheck("a paid hold without an order, or an unpaid hold with one", "hold", _PAID_HOLDS),
    BookCheck(
        "an order with a hold that was not converted to it", "purchase_order", _ORDERED_HOLDS
    ),
    BookCheck("tickets that differ from the lines of a paid hold", "ticket", _TICKETS),
    BookCheck("an order whose total differs from its tickets", "purchase_order", _TOTALS),
    BookCheck("a replacement hold without its expired hold", "hold", _REVIVED),
    BookCheck("a hold that is not in its checkout", "hold", _CHECKOUTS),
    BookCheck("an order without exactly one fact", "purchase_order", _ORDER_FACTS),
    BookCheck(
        "an order whose status or version disagrees with its tickets", "purchase_order", _STATUSES
    ),
    BookCheck("a cancellation without its fact or its audit entry", "ticket", _CANCELLATION_FACTS),
    BookCheck("a void ticket without exactly one fact", "ticket", _TICKET_FACTS),
)
