"""Proof, from the rows of a live database, that nothing was lost and nothing was counted twice."""

from typing import Any

import psycopg

# Each query finds what must not exist.
CHECKS = {
    "a pool whose held units are not those of its holds": """
        SELECT p.id, p.held, coalesce(sum(l.quantity), 0) FROM pool p
        LEFT JOIN hold h ON h.organization_id = p.organization_id
            AND h.session_id = p.session_id AND h.status = 'active'
        LEFT JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
            AND p.id = ANY (l.pool_ids)
        GROUP BY p.organization_id, p.id HAVING p.held <> coalesce(sum(l.quantity), 0)""",
    "a pool whose seconds of lapse do not add up": """
        SELECT p.id FROM pool p
        LEFT JOIN pool_lapse b ON b.organization_id = p.organization_id AND b.pool_id = p.id
        GROUP BY p.organization_id, p.id, p.held HAVING p.held <> coalesce(sum(b.units), 0)""",
    "a hold without exactly one fact per version": """
        SELECT h.id FROM hold h LEFT JOIN outbox o
            ON o.organization_id = h.organization_id AND o.hold_id = h.id
        GROUP BY h.organization_id, h.id, h.version
        HAVING count(DISTINCT o.version) <> h.version OR count(*) <> h.version""",
    "a hold without exactly one audit row per version": """
        SELECT h.id FROM hold h LEFT JOIN audit a
            ON a.organization_id = h.organization_id AND a.hold_id = h.id
            AND a.action !~ '_failed$'
        GROUP BY h.organization_id, h.id, h.version HAVING count(a.seq) <> h.version""",
    "a hold whose quantity is not that of its lines": """
        SELECT h.id FROM hold h LEFT JOIN hold_line l
            ON l.organization_id = h.organization_id AND l.hold_id = h.id
        GROUP BY h.organization_id, h.id, h.quantity
        HAVING h.quantity <> coalesce(sum(l.quantity), 0)""",
    "an oversold pool": "SELECT id FROM pool WHERE held + sold > total",
}


def assert_sound(url: str) -> None:
    with psycopg.connect(url) as connection:
        for description, query in CHECKS.items():
            found = connection.execute(query.encode()).fetchall()
            assert not found, f"{description}: {found[:3]}"


def rows(url: str, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode(), parameters).fetchall()
