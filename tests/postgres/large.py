"""A database with many holds, seats and queues, and the plans of queries on it."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg

from holdfast.adapters.postgres.connections import connection as connecting
from holdfast.adapters.postgres.connections.connection import Watchdog
from holdfast.adapters.postgres.engine import statements
from holdfast.adapters.postgres.waitlist import statements as waiting_statements
from holdfast.domain.holder_hash import NO_HASHES
from holdfast.domain.values import EmailAddress
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld

HOLDS = 20_000
SEATS = 20_000
SESSIONS = 2_000
LAPSED_SECONDS = 5_000
CARTS = 4_000
BUYER = EmailAddress("buyer7@example.com")
GROUP = 64

# 20,000 holds over 20 sessions; half of them are active, and half of those lapsed.
LOAD = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key,
    user_id, quantity,
    total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at)
SELECT *, expires_at FROM (
    SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1 + n %% 20], 'R' || n,
    '\\x00' || convert_to('buyer' || n %% 4000 || '@example.com', 'UTF8'),
    md5('buyer' || n %% 4000 || '@example.com')::uuid,
    CASE WHEN n %% 8 <> 2 THEN 'user' || n %% 4000 END, 1, 4500, 'EUR',
    CASE WHEN n %% 2 = 0 THEN 'active' ELSE 'expired' END, 1,
    now() - make_interval(secs => n), now(), now(),
    CASE WHEN n %% 4 = 0 THEN now() - make_interval(secs => n) + interval '1 second'
         ELSE now() + make_interval(secs => n) END AS expires_at
    FROM generate_series(1, %(count)s) AS n
) AS made
"""
# Carts that waited, gave up and wait again, in twenty queues of the first session.
LOAD_CARTS = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key, quantity,
    total_minor, currency, status, version, created_at, updated_at, expires_at, due_at, is_cart,
    cart_token)
SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1], 'W' || status || n,
    '\\x00' || convert_to('waiter' || n || '@example.com', 'UTF8'),
    md5('waiter' || n || '@example.com')::uuid, 1, 4500, 'EUR', status, 1,
    CASE status WHEN 'waiting' THEN now() ELSE now() - interval '1 day' END, now(),
    now() + interval '1 day', now() + interval '1 day', true, 'cart' || n
FROM generate_series(1, %(carts)s) AS n, unnest(ARRAY['cancelled', 'waiting']) AS status
"""
LOAD_LINE = """
INSERT INTO waiting_line
SELECT %(organization)s, (%(sessions)s::uuid[])[s], lpad(to_hex(n), 32, '0')::uuid,
    ARRAY[gen_random_uuid()], %(carts)s / 20, 0, 0, now()
FROM generate_series(0, 19) AS n, generate_series(1, 500) AS s
"""
LOAD_PLACES = """
INSERT INTO waiting_place
SELECT organization_id, id, session_id,
    lpad(to_hex(right(cart_token, -4)::integer %% 20), 32, '0')::uuid, created_at, 0
FROM hold WHERE status = 'waiting'
"""
WAITING_TABLES = ("waitlist", "waiting_line", "waiting_place", "hold_line")
LOAD_LINES = """
INSERT INTO hold_line
SELECT organization_id, id, 0, %(type)s, 1, 4500, ARRAY[%(pool)s::uuid] FROM hold
"""
LOAD_LAPSE = """
INSERT INTO pool_lapse
SELECT organization_id, %(pool)s, date_trunc('second', expires_at), count(*) FROM hold
WHERE status = 'active' GROUP BY 1, 3
"""
LOAD_ANSWERS = """
INSERT INTO idempotency
SELECT organization_id, gen_random_uuid(), 'x', 'y', now() FROM hold
"""


# The seats of one session; one in seven is held.
LOAD_SEATS = """
INSERT INTO seat (organization_id, id, session_id, block_id, row_name, row_rank, number, position,
    x, y, status, hold_id, holder_key, held_until, locked_at)
SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1], %(block)s, 'R' || n / 50,
    n / 50, n %% 50, n %% 50, 0, 0, CASE WHEN is_held THEN 'held' ELSE 'available' END,
    CASE WHEN is_held THEN gen_random_uuid() END, CASE WHEN is_held THEN gen_random_uuid() END,
    CASE WHEN is_held THEN now() END, CASE WHEN is_held THEN now() END
FROM (SELECT n, n %% 7 = 0 AS is_held FROM generate_series(1, %(seats)s) AS n) AS numbered
"""

HOT = {
    "LOCK_POOLS": "SELECT organization_id, id FROM pool",
    "LOCK_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "EXISTING_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "BLOCKS_OF_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "LOCK_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "EXISTING_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "SURVEY_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "SESSION_VERSIONS": "SELECT organization_id, id FROM session LIMIT 2",
    "SESSION_CATALOG": "SELECT organization_id, id FROM session LIMIT 2",
    "LAPSED_UNITS": "SELECT organization_id, id FROM pool",
    "LOCK_WAITLISTS": "SELECT organization_id, session_id FROM waitlist LIMIT 2",
    "QUEUES": f"SELECT DISTINCT organization_id, session_id FROM waiting_line LIMIT {GROUP}",
    "NEWEST_OF_CARTS": f"SELECT organization_id, cart_token FROM hold WHERE is_cart LIMIT {GROUP}",
    "SURVEY_CARTS": f"SELECT organization_id, cart_token FROM hold WHERE is_cart LIMIT {GROUP}",
    "RECORDED_ANSWERS": f"SELECT organization_id, digest FROM idempotency LIMIT {GROUP}",
}


class Large:
    """A database with many holds and seats, and the plans of queries on it."""

    def __init__(self, url: str) -> None:
        self.world = PostgresWorld(url)
        hall = Hall({"Stalls": {}}, {"seat": ()})
        self.venue: Venue = self.world.build(
            Plan({"floor": 10**6}, {"standing": ("floor",)}, hall=hall)
        )
        self.organization_id = self.venue.organization_id
        self.owner = psycopg.connect(url, autocommit=True)
        self.application = psycopg.connect(url, autocommit=True)
        connecting.configure_reader(self.application)
        self.engine = connecting.connect(url, "test", Watchdog())
        # psycopg would deallocate ours together with its own after a ROLLBACK.
        self.engine.prepare_threshold = None
        connecting.begin(self.engine, [self.organization_id])
        for name in HOT:
            query = statement(name).replace("%s", "$1", 1).replace("%s", "$2", 1)
            self.engine.execute(f"PREPARE {name} AS {query}".encode())
            self.engine.execute(f"EXECUTE {name} ('{{}}', '{{}}')".encode())
        self.engine.execute("COMMIT")
        self._load()

    def prepared_plan(
        self, name: str, organizations: list[UUID], ids: list[UUID]
    ) -> list[dict[str, Any]]:
        self.engine.execute(statements.DISCARD_PLANS)
        arrays = [_array(organizations), _array(ids)]
        query = f"EXECUTE {name} ('{arrays[0]}', '{arrays[1]}')"
        return self.plan(self.engine, query, None, measured=True)

    def _load(self) -> None:
        sessions = [self.venue.session_id, *(uuid4() for _ in range(SESSIONS))]
        self.owner.execute(
            "INSERT INTO session (organization_id, id, event_id, name)"
            " SELECT organization_id, unnest(%s::uuid[]), event_id, 'more'"
            " FROM (SELECT * FROM session LIMIT 1) s",
            [sessions[1:]],
        )
        names: dict[str, Any] = {
            "organization": self.organization_id,
            "sessions": sessions,
            "count": HOLDS,
            "carts": CARTS,
            "seats": SEATS,
            "block": self.venue.blocks["Stalls"],
            "type": self.venue.ticket_types["standing"],
            "pool": self.venue.pools["floor"],
        }
        # No statistics until a test asks for them.
        for table in ("hold", "session", "idempotency", "seat", *WAITING_TABLES):
            self.owner.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)".encode())
        for load in (
            LOAD,
            LOAD_CARTS,
            LOAD_LINE,
            LOAD_PLACES,
            LOAD_LINES,
            LOAD_LAPSE,
            LOAD_ANSWERS,
            LOAD_SEATS,
        ):
            self.owner.execute(load, names)
        self.name_a_buyer("hold")

    def name_a_buyer(self, table: str) -> None:
        """The hashes above are not ours: give the rows of BUYER theirs."""
        (key,) = NO_HASHES.address_keys(self.organization_id, BUYER)
        found = "email_key = md5(%s::text)::uuid"
        self.owner.execute(
            f"UPDATE {table} SET email_key = %s WHERE {found}".encode(), [key, BUYER.value]
        )

    def plan(
        self,
        connection: psycopg.Connection[Any],
        query: str,
        parameters: Any,
        *,
        measured: bool = False,
    ) -> list[dict[str, Any]]:
        """The nodes of the plan, run as the application would, however long that takes here."""
        connecting.begin(connection, [self.organization_id])
        try:
            connection.execute("SET LOCAL statement_timeout = '60s'")
            explain = f"EXPLAIN (FORMAT JSON, ANALYZE {measured}) {query}".encode()
            row = connection.execute(explain, parameters).fetchone()
        finally:
            connection.execute("ROLLBACK")
        assert row is not None
        return list(_nodes(row[0][0]["Plan"]))

    def engine_rows(self, query: str, parameters: Any) -> list[Any]:
        """What the engine reads with this query."""
        connecting.begin(self.engine, [self.organization_id])
        try:
            return self.engine.execute(query.encode(), parameters).fetchall()
        finally:
            self.engine.execute("ROLLBACK")

    def sessions_of_event(self) -> tuple[UUID, list[UUID]]:
        """The event of the venue, and all its sessions."""
        found = self.owner.execute(
            "SELECT event_id, id FROM session WHERE event_id ="
            " (SELECT event_id FROM session WHERE id = %s)",
            [self.venue.session_id],
        ).fetchall()
        return found[0][0], [session_id for _, session_id in found]

    def indexes(self, query: str, parameters: Any) -> set[str]:
        """The indexes used by a reader's query, which must not scan a whole table."""
        nodes = self.plan(self.application, query, parameters)
        scanned = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
        assert not scanned & {
            "hold",
            "hold_line",
            "outbox",
            "audit",
            "idempotency",
            "pool_lapse",
            "seat",
            "waiting_line",
            "waiting_place",
        }
        return {node["Index Name"] for node in nodes if "Index Name" in node}


def statement(name: str) -> str:
    found = getattr(statements, name, None) or getattr(waiting_statements, name)
    assert isinstance(found, str)
    return found


def _array(ids: list[UUID]) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def keys(large: Large, query: str) -> tuple[list[UUID], list[UUID]]:
    rows = large.owner.execute(query.encode()).fetchall()
    return [row[0] for row in rows], [row[1] for row in rows]


def touched(nodes: list[dict[str, Any]]) -> float:
    """The most rows that one step of a plan read, returned or filtered out."""
    return float(
        max(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in nodes
        )
    )
