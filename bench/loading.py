"""Fills the tables with holds in bulk, as after some time of a sale."""

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

from bench.lab import ORGANIZATION_ID, SESSION_ID, Lab, pool_id, ticket_type_id
from holdfast.domain.waitlist.queues import queue_id_of

# Their expiry is spread over ten minutes.
SPREAD_SECONDS = 600
HOUR_SECONDS = 3600

HOLD = """
COPY hold (organization_id, id, session_id, reference, customer_email, email_key,
    quantity, total_minor,
    currency, status, version, created_at, updated_at, held_at, expires_at, due_at) FROM STDIN
"""
# Parties on the waitlist of the first pool, which is sold out. New holds have no L in their
# references, so none of these is taken twice.
WAITING = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key,
    quantity, total_minor,
    currency, status, version, created_at, updated_at, expires_at, due_at)
SELECT %(organization)s, ('b0000000-0000-4000-8006-' || lpad(to_hex(n), 12, '0'))::uuid,
    %(session)s, 'L' || n, '\\x00' || convert_to('waiting' || n || '@example.com', 'UTF8'),
    md5('waiting' || n || '@example.com')::uuid, 1, 4500, 'EUR', 'waiting', 1,
    since, since, date_trunc('second', now()) + interval '1 day',
    date_trunc('second', now()) + interval '1 day'
FROM (SELECT n, now() - interval '1 hour' + n * interval '1 ms' AS since
      FROM generate_series(1, %(count)s) AS n) AS party;
"""
# They are dealt out to the queues in turn. Each row of `wanted` is a pool that a queue wants.
WAITING_LINES = """
INSERT INTO hold_line (organization_id, hold_id, position, ticket_type_id, quantity,
    unit_price_minor, pool_ids)
SELECT h.organization_id, h.id, wanted.position, wanted.ticket_type_id, 1, 4500,
    ARRAY[wanted.pool_id]
FROM (SELECT *, (row_number() OVER (ORDER BY id) - 1) %% %(queues)s AS number
      FROM hold WHERE status = 'waiting') AS h
JOIN unnest(%(numbers)s::integer[], %(positions)s::integer[], %(ticket_types)s::uuid[],
        %(pools)s::uuid[]) AS wanted (number, position, ticket_type_id, pool_id)
    ON wanted.number = h.number
"""
WAITING_PLACES = """
INSERT INTO waiting_place (organization_id, hold_id, session_id, line_id, since, passes_seen)
SELECT h.organization_id, h.id, h.session_id, queue.id, h.created_at, 0
FROM (SELECT *, (row_number() OVER (ORDER BY id) - 1) %% %(queues)s + 1 AS number
      FROM hold WHERE status = 'waiting') AS h
JOIN unnest(%(queue_ids)s::uuid[]) WITH ORDINALITY AS queue (id, number)
    ON queue.number = h.number
"""
COUNT_WAITING = """
UPDATE waiting_line q SET waiting = counted.places
FROM (SELECT line_id, count(*) AS places FROM waiting_place GROUP BY 1) AS counted
WHERE q.id = counted.line_id
"""
QUEUE = """
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


def load_waiting(lab: Lab, count: int, queues: int = 1) -> None:
    """Load parties that wait for the first pool, which is sold out; in several queues, most want
    two more pools. Clear the tables first."""
    wanted = [(1,), *((1, *pair) for pair in _pairs(queues - 1))]
    flat = [
        (number, position, ticket_type_id(pool), pool_id(pool))
        for number, pools in enumerate(wanted)
        for position, pool in enumerate(pools)
    ]
    numbers, positions, types, pools = map(list, zip(*flat, strict=True))
    names = {
        "organization": ORGANIZATION_ID,
        "session": SESSION_ID,
        "count": count,
        "queues": queues,
        "queue_ids": [queue_id_of(map(pool_id, each)) for each in wanted],
        "numbers": numbers,
        "positions": positions,
        "ticket_types": types,
        "pools": pools,
    }
    with lab.connected() as connection, connection.transaction():
        connection.execute("UPDATE pool SET total = 1, held = 1 WHERE id = %s", [pool_id(1)])
        for statement in (WAITING, WAITING_LINES):
            connection.execute(statement.rstrip().rstrip(";"), names)
        for each in wanted:
            drawn = [pool_id(number) for number in each]
            queue = queue_id_of(drawn)
            connection.execute(QUEUE, (ORGANIZATION_ID, SESSION_ID, queue, drawn))
        connection.execute(WAITING_PLACES, names)
        connection.execute(COUNT_WAITING)
    _vacuum_waitlist(lab)


def _pairs(count: int) -> list[tuple[int, int]]:
    """Different pairs of pools, none of them the first."""
    return [(2 + number % 49, 51 + number // 49) for number in range(count)]


def _vacuum_waitlist(lab: Lab) -> None:
    with lab.connected() as connection:
        for table in ("hold", "hold_line", "waiting_place", "waiting_line"):
            connection.execute(f"VACUUM ANALYZE {table}".encode())
    lab.checkpoint()


def load_queues(lab: Lab, count: int) -> None:
    """Load different queues of one party each. All want the first pool, which has one free place;
    the first party needs two, so nobody can be promoted. Clear the tables first."""
    wanted = [(1, *pair) for pair in _pairs(count)]
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
    _vacuum_waitlist(lab)


def _lines(count: int, now: float, first_end: float) -> Iterator[str]:
    created = datetime.fromtimestamp(min(now, first_end) - HOUR_SECONDS, UTC).isoformat()
    for number in range(count):
        end = datetime.fromtimestamp(first_end + number % SPREAD_SECONDS, UTC).isoformat()
        yield (
            f"{ORGANIZATION_ID}\tb0000000-0000-4000-8005-{number:012x}\t{SESSION_ID}\tL{number}\t"
            f"\\\\x00{f'live{number}@example.com'.encode().hex()}\t{UUID(int=number)}\t1\t4500\tEUR\tactive\t1\t{created}\t{created}\t{created}\t"
            f"{end}\t{end}\n"
        )
