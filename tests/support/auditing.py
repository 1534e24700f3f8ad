"""Proof, from the rows of a live database, that nothing was lost and nothing was counted twice."""

from typing import Any

import psycopg

# Each query finds what must not exist.
CHECKS = {
    "a pool whose held and sold units are not those of its holds": """
        SELECT p.id, p.held, p.sold FROM pool p
        LEFT JOIN hold h ON h.organization_id = p.organization_id AND h.session_id = p.session_id
            AND h.status IN ('active', 'converted')
        LEFT JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
            AND p.id = ANY (l.pool_ids)
        GROUP BY p.organization_id, p.id
        HAVING p.held <> coalesce(sum(l.quantity) FILTER (WHERE h.status = 'active'), 0)
            OR p.sold <> coalesce(sum(l.quantity) FILTER (WHERE h.status = 'converted'), 0)""",
    "a pool whose seconds of lapse do not add up": """
        SELECT p.id FROM pool p
        LEFT JOIN pool_lapse b ON b.organization_id = p.organization_id AND b.pool_id = p.id
        GROUP BY p.organization_id, p.id, p.held HAVING p.held <> coalesce(sum(b.units), 0)""",
    "a hold without exactly one fact per version": """
        SELECT h.id FROM hold h LEFT JOIN outbox o
            ON o.organization_id = h.organization_id AND o.hold_id = h.id AND o.seat_id IS NULL
            AND o.type <> 'order.confirmed'
        GROUP BY h.organization_id, h.id, h.version
        HAVING count(DISTINCT o.version) <> h.version OR count(*) <> h.version""",
    "a hold without exactly one audit row per version": """
        SELECT h.id FROM hold h LEFT JOIN audit a
            ON a.organization_id = h.organization_id AND a.hold_id = h.id
            AND a.seat_id IS NULL AND a.action !~ '_failed$'
        GROUP BY h.organization_id, h.id, h.version HAVING count(a.seq) <> h.version""",
    "a hold whose quantity is not that of its lines": """
        SELECT h.id FROM hold h LEFT JOIN hold_line l
            ON l.organization_id = h.organization_id AND l.hold_id = h.id
        GROUP BY h.organization_id, h.id, h.quantity
        HAVING h.quantity <> coalesce(sum(l.quantity), 0)""",
    "an oversold pool": "SELECT id FROM pool WHERE held + sold > total",
    "a seat of a live hold that is not held by it until its end": """
        SELECT l.seat_id, l.hold_id FROM hold h JOIN hold_line l
            ON l.organization_id = h.organization_id AND l.hold_id = h.id
        LEFT JOIN seat s ON s.organization_id = l.organization_id AND s.id = l.seat_id
            AND s.session_id = h.session_id
        WHERE h.status = 'active' AND l.seat_id IS NOT NULL AND (s.status, s.hold_id, s.held_until)
            IS DISTINCT FROM ('held', h.id, h.expires_at)""",
    "a held seat that is no line of a live hold": """
        SELECT s.id, s.hold_id FROM seat s WHERE s.status = 'held' AND NOT EXISTS (
            SELECT FROM hold h JOIN hold_line l
                ON l.organization_id = h.organization_id AND l.hold_id = h.id
            WHERE h.organization_id = s.organization_id AND h.id = s.hold_id
                AND h.status = 'active' AND l.seat_id = s.id)""",
    "a seat in two live or paid holds": """
        SELECT l.seat_id, count(*) FROM hold h JOIN hold_line l
            ON l.organization_id = h.organization_id AND l.hold_id = h.id
        WHERE h.status IN ('active', 'converted') AND l.seat_id IS NOT NULL
        GROUP BY l.organization_id, l.seat_id HAVING count(*) > 1""",
    "a line of a seat that is not one": """
        SELECT hold_id, seat_id FROM hold_line WHERE seat_id IS NOT NULL AND quantity <> 1""",
    "more people on the seats of a block than its capacity": """
        SELECT b.id, p.total, count(*) FROM block b
        JOIN pool p ON p.organization_id = b.organization_id AND p.id = b.capacity_pool_id
        JOIN seat s ON s.organization_id = b.organization_id AND s.block_id = b.id
        WHERE s.hold_id IS NOT NULL
        GROUP BY b.organization_id, b.id, p.total HAVING count(*) > p.total""",
    "a seat of a hold without exactly one fact of its beginning and one of its end": """
        WITH told AS (
            SELECT organization_id, hold_id, seat_id, version, type FROM outbox
            WHERE hold_id IS NOT NULL AND seat_id IS NOT NULL
        ), due AS (
            SELECT l.organization_id, l.hold_id, l.seat_id, fact.version, fact.type
            FROM hold h JOIN hold_line l
                ON l.organization_id = h.organization_id AND l.hold_id = h.id
            CROSS JOIN LATERAL (VALUES
                (1, 'seat.held', true),
                (h.version, CASE h.status WHEN 'converted' THEN 'seat.sold'
                                          ELSE 'seat.released' END, h.status <> 'active')
            ) AS fact (version, type, is_due)
            WHERE l.seat_id IS NOT NULL AND fact.is_due
        )
        (TABLE due EXCEPT ALL TABLE told) UNION ALL (TABLE told EXCEPT ALL TABLE due)""",
    "a seat that was not blocked as often as it was told": """
        SELECT s.id, s.status FROM seat s LEFT JOIN outbox o
            ON o.organization_id = s.organization_id AND o.seat_id = s.id
        GROUP BY s.organization_id, s.id, s.status
        HAVING count(*) FILTER (WHERE o.type = 'seat.blocked')
            - count(*) FILTER (WHERE o.type = 'seat.unblocked')
            <> CASE s.status WHEN 'blocked' THEN 1 ELSE 0 END""",
    "a seat that was blocked or unblocked without an audit row": """
        SELECT coalesce(o.seat_id, a.seat_id) FROM
            (SELECT * FROM outbox WHERE seat_id IS NOT NULL AND hold_id IS NULL) o
        FULL JOIN (SELECT * FROM audit
                   WHERE seat_id IS NOT NULL AND hold_id IS NULL AND action !~ '_failed$') a
            ON a.organization_id = o.organization_id AND a.seat_id = o.seat_id
            AND a.action = o.type AND (a.new ->> 'version')::integer = o.version
        WHERE o.seat_id IS NULL OR a.seat_id IS NULL""",
}


def assert_sound(url: str) -> None:
    with psycopg.connect(url) as connection:
        for description, query in CHECKS.items():
            found = connection.execute(query.encode()).fetchall()
            assert not found, f"{description}: {found[:3]}"


def rows(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode(), parameters).fetchall()
