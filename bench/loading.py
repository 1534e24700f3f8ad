"""Fills the tables with holds in bulk, as after some time of a sale."""

from collections.abc import Iterator
from datetime import UTC, datetime

from bench.lab import ORGANIZATION_ID, SESSION_ID, Lab, pool_id, ticket_type_id
from holdfast.domain.waitlist.queues import queue_id_of

# Their expiry is spread over ten minutes.
SPREAD_SECONDS = 600
HOUR_SECONDS = 3600

HOLD = """
COPY hold (organization_id, id, session_id, reference, customer_email, quantity, total_minor,
    currency, status, version, created_at, updated_at, held_at, expires_at, due_at) FROM STDIN
"""
# Parties on the waitlist of the first pool, which is sold out.
WAITING = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, quantity, total_minor,
    currency, status, version, created_at, updated_at, expires_at, due_at)
SELECT %(organization)s, ('b0000000-0000-4000-8006-' || lpad(to_hex(n), 12, '0'))::uuid,
    %(session)s, 'W' || n, 'waiting' || n || '@example.com', 1, 4500, 'EUR', 'waiting', 1,
    since, since, date_trunc('second', now()) + interval '1 day',
    date_trunc('second', now()) + interval '1 day'
FROM (SELECT n, now() - interval '1 hour' + n * interval '1 ms' AS since
      FROM generate_series(1, %(count)s) AS n) AS party;
"""
WAITING_LINES = """
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity,
    unit_price_minor, pool_ids)
SELECT organization_id, id, 0, %(ticket_type)s, 1, 4500, ARRAY[%(pool)s]::uuid[]
FROM hold WHERE status = 'waiting'
"""
WAITING_PLACES = """
INSERT INTO waiting_place (organization_id, hold_id, session_id, line_id, since, passes_seen)
SELECT organization_id, id, session_id, %(queue)s, created_at, 0 FROM hold WHERE status = 'waiting'
"""
WAITING_QUEUE = """
INSERT INTO waiting_line
    (organization_id, session_id, id, wants, waiting, passes, served, opened_at)
VALUES (%(organization)s, %(session)s, %(queue)s, ARRAY[%(pool)s]::uuid[], %(count)s, 0, 0, now())
"""
QUEUE = """
INSERT INTO waiting_line
    (organization_id, session_id, id, wants, waiting, passes, served, opened_at)
VALUES (%s, %s, %s, %s::uuid[], 1, 0, 0, now())
"""
QUEUE_PLACE = """
INSERT INTO waiting_place (organization_id, hold_id, session_id, line_id, since, passes_seen)
SELECT organization_id, id, session_id, %s, created_at, 0 FROM hold WHERE id = %s
"""
QUEUE_LINES = """
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity,
    unit_price_minor, pool_ids)
SELECT %s, %s, number - 1, ticket_type_id, quantity, 4500, ARRAY[pool_id]
FROM unnest(%s::uuid[], %s::uuid[], %s::integer[])
    WITH ORDINALITY AS line (ticket_type_id, pool_id, quantity, number)
"""
LINES = """
INSERT INTO hold_line
SELECT organization_id, id, 0, type_id, 1, 4500, ARRAY[pool_id]
FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM hold) h
JOIN unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY AS sold (type_id, pool_id, number)
    ON sold.number = h.n %% %s + 1
"""
LAPSE = """
INSERT INTO pool_lapse
SELECT h.organization_id, l.pool_ids[1], h.expires_at, count(*)
FROM hold h JOIN hold_line l ON l.organization_id = h.organization_id AND l.hold_id = h.id
GROUP BY 1, 2, 3
"""
HELD = """
UPDATE pool SET held = counted.units
FROM (SELECT pool_id, sum(units) AS units FROM pool_lapse GROUP BY 1) AS counted
WHERE pool.id = counted.pool_id
"""


def load_holds(lab: Lab, count: int, *, ends_in_seconds: int, pools: int = 1) -> None:
    """Load active holds; with a negative `ends_in_seconds`, lapsed ones. Clear the tables first."""
    with lab.connected() as connection, connection.transaction():
        row = connection.execute("SELECT date_trunc('second', now())").fetchone()
        assert row is not None
        now = row[0].timestamp()
        with connection.cursor().copy(HOLD) as copy:
            for line in _lines(count, now, now + ends_in_seconds):
                copy.write(line)
        numbers = range(1, pools + 1)
        types, drawn = [*map(ticket_type_id, numbers)], [*map(pool_id, numbers)]
        connection.execute(LINES, (types, drawn, pools))
        connection.execute(LAPSE)
        connection.execute(HELD)
    with lab.connected() as connection:
        for table in ("hold", "hold_line", "pool", "pool_lapse"):
            connection.execute(f"VACUUM ANALYZE {table}".encode())
    lab.checkpoint()


def load_waiting(lab: Lab, count: int) -> None:
    """Load parties that wait for the first pool, which is sold out. Clear the tables first."""
    pool, ticket_type = pool_id(1), ticket_type_id(1)
    names = {
        "organization": ORGANIZATION_ID,
        "session": SESSION_ID,
        "pool": pool,
        "ticket_type": ticket_type,
        "queue": queue_id_of([pool]),
        "count": count,
    }
    with lab.connected() as connection, connection.transaction():
        connection.execute("UPDATE pool SET total = 1, held = 1 WHERE id = %(pool)s", names)
        for statement in (WAITING, WAITING_LINES, WAITING_PLACES, WAITING_QUEUE):
            connection.execute(statement.rstrip().rstrip(";"), names)
    with lab.connected() as connection:
        for table in ("hold", "hold_line", "waiting_place", "waiting_line"):
            connection.execute(f"VACUUM ANALYZE {table}".encode())
    lab.checkpoint()


def load_queues(lab: Lab, count: int) -> None:
    """Load different queues of one party each. All want the first pool, which has one free place;
    the first party needs two, so nobody can be promoted. Clear the tables first."""
    wanted = [(1, 2 + number % 49, 51 + number // 49) for number in range(count)]
    queues = [queue_id_of(map(pool_id, numbers)) for numbers in wanted]
    names = {"organization": ORGANIZATION_ID, "session": SESSION_ID, "count": count}
    with lab.connected() as connection, connection.transaction():
        connection.execute("UPDATE pool SET total = 2, held = 1 WHERE id = %s", [pool_id(1)])
        connection.execute(WAITING.rstrip().rstrip(";"), names)
        holds = connection.execute("SELECT id FROM hold ORDER BY created_at").fetchall()
        for (hold_id,), numbers, queue in zip(holds, wanted, queues, strict=True):
            pools = [pool_id(number) for number in numbers]
            connection.execute(QUEUE, (ORGANIZATION_ID, SESSION_ID, queue, pools))
            connection.execute(QUEUE_PLACE, (queue, hold_id))
            quantities = [2 if hold_id == holds[0][0] else 1, 1, 1]
            types = [ticket_type_id(number) for number in numbers]
            connection.execute(QUEUE_LINES, (ORGANIZATION_ID, hold_id, types, pools, quantities))
    with lab.connected() as connection:
        for table in ("hold", "hold_line", "waiting_place", "waiting_line"):
            connection.execute(f"VACUUM ANALYZE {table}".encode())
    lab.checkpoint()


def _lines(count: int, now: float, first_end: float) -> Iterator[str]:
    created = datetime.fromtimestamp(min(now, first_end) - HOUR_SECONDS, UTC).isoformat()
    for number in range(count):
        end = datetime.fromtimestamp(first_end + number % SPREAD_SECONDS, UTC).isoformat()
        yield (
            f"{ORGANIZATION_ID}\tb0000000-0000-4000-8005-{number:012x}\t{SESSION_ID}\tL{number}\t"
            f"live{number}@example.com\t1\t4500\tEUR\tactive\t1\t{created}\t{created}\t{created}\t"
            f"{end}\t{end}\n"
        )
