"""Halls for the scenarios with seats. Their ids are made from numbers too."""

from uuid import UUID

from bench.lab import EVENT_ID, ORGANIZATION_ID, Lab

# Specific seats are chosen in an arena, where two buyers seldom choose the same one; best available
# and the seat map use a hall of ordinary size.
ARENA_SESSION_ID = UUID("b0000000-0000-4000-8010-000000000001")
HOUSE_SESSION_ID = UUID("b0000000-0000-4000-8010-000000000002")
SEATS = {ARENA_SESSION_ID: 200_000, HOUSE_SESSION_ID: 40_000}
SEATS_PER_ROW = 40
SEATED_TYPE_IDS = {
    ARENA_SESSION_ID: UUID("b0000000-0000-4000-8011-000000000001"),
    HOUSE_SESSION_ID: UUID("b0000000-0000-4000-8011-000000000002"),
}
FIRST_SEAT = {ARENA_SESSION_ID: 1, HOUSE_SESSION_ID: 1_000_001}

BUILD = """
INSERT INTO session (organization_id, id, event_id, name) VALUES (%(o)s, %(s)s, %(e)s, 'Hall');
INSERT INTO ticket_type (organization_id, id, session_id, name, price_minor, is_seated)
    VALUES (%(o)s, %(t)s, %(s)s, 'Seat', 4500, true);
INSERT INTO block (organization_id, id, session_id, name, rank)
    VALUES (%(o)s, %(s)s, %(s)s, 'Stalls', 0);
INSERT INTO seat (organization_id, id, session_id, block_id, row_name, row_rank, number, position,
        x, y)
    SELECT %(o)s, ('b0000000-0000-4000-8012-' || lpad(to_hex(%(first)s + n), 12, '0'))::uuid,
        %(s)s, %(s)s, (n / %(row)s)::text, n / %(row)s, (n %% %(row)s + 1)::text, n %% %(row)s,
        n %% %(row)s, n / %(row)s
    FROM generate_series(0, %(seats)s - 1) AS n
"""

EMPTY = """
UPDATE seat SET status = 'available', hold_id = NULL, holder_key = NULL, held_until = NULL,
    locked_at = NULL, changed_xid = pg_current_xact_id()
WHERE status <> 'available'
"""


def seat_id(number: int) -> UUID:
    return UUID(f"b0000000-0000-4000-8012-{number:012x}")


def empty_halls(lab: Lab) -> None:
    """Free every seat. The halls are built on first use."""
    lab.clear()
    with lab.connected() as connection:
        known = connection.execute("SELECT count(*) FROM block").fetchone()
        if known == (0,):
            for session_id, seats in SEATS.items():
                names = {
                    "o": ORGANIZATION_ID,
                    "e": EVENT_ID,
                    "s": session_id,
                    "t": SEATED_TYPE_IDS[session_id],
                    "first": FIRST_SEAT[session_id],
                    "row": SEATS_PER_ROW,
                    "seats": seats,
                }
                for statement in BUILD.split(";"):
                    connection.execute(statement.encode(), names)
        connection.execute(EMPTY)
        connection.execute("VACUUM (ANALYZE) seat")
    lab.checkpoint()
