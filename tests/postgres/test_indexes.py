"""Every index earns its place: each question that is asked of a large table finds its index, and
the hot statements touch as many rows as the group has, on tables without statistics too."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from holdfast.adapters.postgres import (
    connecting,
    hold_statements,
    reading,
    statements,
    waiting_statements,
    writing_statements,
)
from holdfast.adapters.postgres.watchdog import Watchdog
from holdfast.domain.hold import HoldStatus
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.values import EmailAddress
from holdfast.ports.holds import HoldFilter, HoldOrder
from holdfast.ports.paging import PageRequest
from tests.contract.venues import Hall, Plan, Venue
from tests.contract.worlds import PostgresWorld
from tests.support.databases import DatabaseFactory

HOLDS = 20_000
SEATS = 20_000
SESSIONS = 2_000
LAPSED_SECONDS = 5_000
CARTS = 4_000
GROUP = 64

# 20,000 holds over 20 sessions; half of them are active, half of those lapsed.
LOAD = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, user_id, quantity,
    total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at)
SELECT *, expires_at FROM (
    SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1 + n %% 20], 'R' || n,
    'buyer' || n %% 4000 || '@example.com',
    CASE WHEN n %% 8 <> 2 THEN 'user' || n %% 4000 END, 1, 4500, 'EUR',
    CASE WHEN n %% 2 = 0 THEN 'active' ELSE 'expired' END, 1,
    now() - make_interval(secs => n), now(), now(),
    CASE WHEN n %% 4 = 0 THEN now() - make_interval(secs => n) + interval '1 second'
         ELSE now() + make_interval(secs => n) END AS expires_at
    FROM generate_series(1, %(count)s) AS n
) AS made
"""
# Carts that waited once, gave up, and wait again: all of them in twenty lines of the first session.
LOAD_CARTS = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, quantity,
    total_minor, currency, status, version, created_at, updated_at, expires_at, due_at, is_cart,
    cart_token)
SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1], 'W' || status || n,
    'waiter' || n || '@example.com', 1, 4500, 'EUR', status, 1,
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


# The seats of one session, of which one in seven is held.
LOAD_SEATS = """
INSERT INTO seat (organization_id, id, session_id, block_id, row_name, row_rank, number, position,
    x, y, status, hold_id, holder_key, held_until, locked_at)
SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1], %(block)s, 'R' || n / 50,
    n / 50, n %% 50, n %% 50, 0, 0, CASE WHEN is_held THEN 'held' ELSE 'available' END,
    CASE WHEN is_held THEN gen_random_uuid() END, CASE WHEN is_held THEN gen_random_uuid() END,
    CASE WHEN is_held THEN now() END, CASE WHEN is_held THEN now() END
FROM (SELECT n, n %% 7 = 0 AS is_held FROM generate_series(1, %(seats)s) AS n) AS numbered
"""


class Large:
    """A database with many holds and seats, and the plans of questions to it."""

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

    def plan(
        self,
        connection: psycopg.Connection[Any],
        query: str,
        parameters: Any,
        *,
        measured: bool = False,
    ) -> list[dict[str, Any]]:
        """The nodes of the plan, as the application would run it."""
        connecting.begin(connection, [self.organization_id])
        try:
            explain = f"EXPLAIN (FORMAT JSON, ANALYZE {measured}) {query}".encode()
            row = connection.execute(explain, parameters).fetchone()
        finally:
            connection.execute("ROLLBACK")
        assert row is not None
        return list(_nodes(row[0][0]["Plan"]))

    def indexes(self, query: str, parameters: Any) -> set[str]:
        """The indexes that a reader's question uses; it must not read a whole table."""
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


@pytest.fixture(scope="module")
def large(databases: DatabaseFactory) -> Iterator[Large]:
    made = Large(databases.fresh())
    yield made
    for connection in (made.owner, made.application, made.engine):
        connection.close()
    made.world.close()


def keys(large: Large, query: str) -> tuple[list[UUID], list[UUID]]:
    rows = large.owner.execute(query.encode()).fetchall()
    return [row[0] for row in rows], [row[1] for row in rows]


HOT = {
    "LOCK_POOLS": "SELECT organization_id, id FROM pool",
    "LOCK_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "EXISTING_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "BLOCKS_OF_SEATS": f"SELECT organization_id, id FROM seat LIMIT {GROUP}",
    "LOCK_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "EXISTING_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "SURVEY_HOLDS": f"SELECT organization_id, id FROM hold LIMIT {GROUP}",
    "SESSION_VERSIONS": "SELECT organization_id, id FROM session LIMIT 2",
    "SESSION_CATALOGUE": "SELECT organization_id, id FROM session LIMIT 2",
    "LAPSED_UNITS": "SELECT organization_id, id FROM pool",
    "LOCK_WAITLISTS": "SELECT organization_id, session_id FROM waitlist LIMIT 2",
    "LINES": f"SELECT DISTINCT organization_id, session_id FROM waiting_line LIMIT {GROUP}",
    "NEWEST_OF_CARTS": f"SELECT organization_id, cart_token FROM hold WHERE is_cart LIMIT {GROUP}",
    "SURVEY_CARTS": f"SELECT organization_id, cart_token FROM hold WHERE is_cart LIMIT {GROUP}",
    "RECORDED_ANSWERS": f"SELECT organization_id, digest FROM idempotency LIMIT {GROUP}",
}


@pytest.mark.parametrize("name", sorted(HOT))
def test_hot_statements_touch_only_their_group_on_tables_without_statistics(
    large: Large, name: str
) -> None:
    """As the engine runs them: prepared when the tables were empty, with one plan for all, made
    anew after the tables have grown."""
    organizations, ids = keys(large, HOT[name])
    nodes = large.prepared_plan(name, organizations, ids)
    for node in nodes:
        assert node["Node Type"] != "Seq Scan", node
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        allowed = {"LAPSED_UNITS": LAPSED_SECONDS + 300, "LINES": 20 * len(ids)}.get(
            name, 4 * len(ids)
        )
        assert rows * node["Actual Loops"] <= allowed, node


def test_ended_holds_are_written_by_key_on_tables_without_statistics(large: Large) -> None:
    organizations, ids = keys(large, f"SELECT organization_id, id FROM hold LIMIT {GROUP}")
    count = len(ids)
    now = large.owner.execute("SELECT now()").fetchone()
    assert now is not None
    moments, nothing = [now[0]] * count, [None] * count
    # Version 2; updated, ending and due now; neither warned, paid for nor cancelled.
    times = (moments, moments, moments, nothing, nothing, nothing, moments)
    ended = ("1", organizations, ids, ["expired"] * count, [2] * count, *times, nothing, nothing)
    nodes = large.plan(large.engine, writing_statements.UPDATE_HOLDS, ended, measured=True)
    assert all(node["Node Type"] != "Seq Scan" for node in nodes)


def test_changed_seats_are_written_by_key_on_tables_without_statistics(large: Large) -> None:
    organizations, ids = keys(
        large, f"SELECT organization_id, id FROM seat WHERE status = 'held' LIMIT {GROUP}"
    )
    nothing = [None] * GROUP
    changed = ("1", organizations, ids, ["available"] * GROUP, *[nothing] * 5, [2] * GROUP)
    nodes = large.plan(large.engine, writing_statements.UPDATE_SEATS, changed, measured=True)
    assert {node.get("Index Name") for node in nodes} >= {"seat_pkey"}
    assert touched(nodes) <= GROUP


def test_only_seats_that_changed_are_looked_at_again(large: Large) -> None:
    """On a table without statistics too. The control: since the beginning, all have changed."""
    row = large.owner.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert row is not None
    names = {
        "organization_id": large.organization_id,
        "session_id": large.venue.session_id,
        "snapshot": row[0],
    }
    large.owner.execute(
        "UPDATE seat SET x = x + 1, changed_xid = pg_current_xact_id()"
        " WHERE id IN (SELECT id FROM seat LIMIT 10)"
    )
    nodes = large.plan(large.engine, statements.CHANGED_SEATS, names, measured=True)
    assert "seat_by_change" in {node.get("Index Name") for node in nodes}
    assert touched(nodes) == 10
    since_the_beginning = {**names, "snapshot": "3:3:"}
    nodes = large.plan(large.engine, statements.CHANGED_SEATS, since_the_beginning, measured=True)
    assert touched(nodes) == SEATS


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_holders_live_holds_are_found_without_wading_through_others(
    large: Large, name: str
) -> None:
    is_by_email = name == "HOLDINGS_BY_EMAIL"
    row = large.owner.execute(
        "SELECT organization_id, session_id, email_key, user_id FROM hold"
        " WHERE status = 'active' AND expires_at > now() AND (user_id IS NULL) = %s LIMIT 1",
        [is_by_email],
    ).fetchone()
    assert row is not None
    holder = row[2] if is_by_email else row[3]
    query = getattr(statements, name)
    people = ([row[0]], [row[1]], [holder])
    nodes = large.plan(large.engine, query, people, measured=True)
    assert nodes[0]["Actual Rows"] > 0
    assert touched(nodes) <= HOLDS // 4000


def test_the_order_of_a_payment_is_found_by_its_reference(large: Large) -> None:
    """On a table without statistics. The second payment has not been used."""
    large.owner.execute("ALTER TABLE purchase_order SET (autovacuum_enabled = off)")
    large.owner.execute(
        "INSERT INTO purchase_order (organization_id, id, hold_ids, user_id, total_minor, currency,"
        " payment_reference, created_at) SELECT %s, gen_random_uuid(), ARRAY[gen_random_uuid()],"
        " 'user', 4500, 'EUR', 'pay-' || n, now() FROM generate_series(1, %s) AS n",
        [large.organization_id, HOLDS],
    )
    payments = ([large.organization_id] * 2, ["pay-1", "never used"])
    nodes = large.plan(large.engine, statements.PAID_ORDERS, payments, measured=True)
    assert "purchase_order_by_payment" in {node.get("Index Name") for node in nodes}
    assert nodes[0]["Actual Rows"] == 1
    assert touched(nodes) <= 2


def test_lapsed_holds_in_the_way_are_found_through_their_seconds(large: Large) -> None:
    parameters = {
        "organization_id": large.organization_id,
        "session_id": large.venue.session_id,
        "pool_id": large.venue.pools["floor"],
        "limit": 128,
    }
    nodes = large.plan(large.engine, statements.SURVEY_LAPSED, parameters)
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert {"pool_lapse_pkey", "hold_line_pkey"} <= used
    assert "hold_live_by_session" in used
    assert all(node["Node Type"] != "Seq Scan" for node in nodes)


@pytest.mark.parametrize("look_ahead", [1, 64])
def test_only_the_first_of_each_line_are_read(large: Large, look_ahead: int) -> None:
    """On tables without statistics. The control: with no bound all of them are."""
    session = ([large.organization_id], [large.venue.session_id])
    nodes = large.plan(
        large.engine, waiting_statements.FIRST_PARTIES, (*session, look_ahead), measured=True
    )
    of_each = max(1, look_ahead // 20)  # there are twenty lines
    assert nodes[0]["Actual Rows"] == 20 * of_each
    assert touched(nodes) <= 20 * of_each + 20
    assert "waiting_place_in_line" in {node.get("Index Name") for node in nodes}
    nodes = large.plan(
        large.engine, waiting_statements.FIRST_PARTIES, (*session, 20 * CARTS), measured=True
    )
    assert touched(nodes) == CARTS


def test_changed_lines_and_places_are_written_by_key(large: Large) -> None:
    organizations, ids = keys(
        large, f"SELECT organization_id, hold_id FROM waiting_place LIMIT {GROUP}"
    )
    now = large.owner.execute("SELECT now()").fetchone()
    assert now is not None
    contents = (organizations, ids, [1] * GROUP, [4500] * GROUP, [now[0]] * GROUP)
    lines, sessions = [UUID(int=1)], [large.venue.session_id]
    writes = {
        writing_statements.UPDATE_CONTENTS: contents,
        writing_statements.REMOVE_LINES: (organizations, ids, [0] * GROUP, [2] * GROUP),
        waiting_statements.DELETE_PLACES: (organizations, ids),
        waiting_statements.DELETE_LINES: (organizations[:1], sessions, lines),
        waiting_statements.SETTLE: (organizations[:1], sessions, [False]),
    }
    for query, parameters in writes.items():
        nodes = large.plan(large.engine, query, parameters, measured=True)
        assert all(node["Node Type"] != "Seq Scan" for node in nodes), query
        assert touched(nodes) <= GROUP, query


@pytest.fixture(scope="module")
def analyzed(large: Large) -> Large:
    large.owner.execute("ANALYZE")
    return large


def touched(nodes: list[dict[str, Any]]) -> float:
    """The most rows that one step of a plan has read, shown or thrown away."""
    return float(
        max(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
            for node in nodes
        )
    )


def body_of(large: Large, function: str) -> str:
    row = large.owner.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = %s", [function]
    ).fetchone()
    assert row is not None
    return str(row[0])


def test_the_reaper_reads_only_what_is_due(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_due_holds").replace("row_limit", "100")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert {node.get("Index Name") for node in nodes} >= {"hold_live_by_due"}
    assert touched(nodes) <= 100
    nobody = query.replace("statement_timestamp()", "now() - interval '1 year'")
    assert touched(analyzed.plan(analyzed.owner, nobody, None, measured=True)) == 0
    slow = query.replace("statement_timestamp()", "clock_timestamp() - interval '1 year'")
    nodes = analyzed.plan(analyzed.owner, slow, None, measured=True)
    assert touched(nodes) > 1000, "the control: this clock is never the condition of an index"


def test_the_reaper_finds_the_next_that_is_due_at_once(analyzed: Large) -> None:
    nodes = analyzed.plan(
        analyzed.owner, body_of(analyzed, "holdfast_seconds_until_due"), None, measured=True
    )
    assert {node.get("Index Name") for node in nodes} >= {"hold_live_by_due"}
    assert touched(nodes) == 1


@pytest.mark.parametrize("name", ["LIVE_HOLDS_BY_EMAIL", "LIVE_HOLDS_BY_USER"])
def test_what_a_person_could_pay_for_is_found_without_wading_through_others(
    analyzed: Large, name: str
) -> None:
    is_by_email = name == "LIVE_HOLDS_BY_EMAIL"
    row = analyzed.owner.execute(
        "SELECT s.event_id, h.email_key, h.user_id FROM hold h JOIN session s"
        " ON s.organization_id = h.organization_id AND s.id = h.session_id"
        " WHERE h.status = 'active' AND h.expires_at > now() AND (h.user_id IS NULL) = %s LIMIT 1",
        [is_by_email],
    ).fetchone()
    assert row is not None
    names = {
        "organization_id": analyzed.organization_id,
        "event_id": row[0],
        "email": row[1],
        "user_id": row[2],
    }
    nodes = analyzed.plan(analyzed.engine, getattr(hold_statements, name), names, measured=True)
    assert nodes[0]["Actual Rows"] > 0
    of_holds = [node for node in nodes if node.get("Relation Name") == "hold"]
    assert of_holds
    assert touched(of_holds) <= HOLDS // 4000


def test_the_promoter_reads_only_what_is_unsettled(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_unsettled_sessions").replace("row_limit", "100")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert "waitlist_unsettled" in {node.get("Index Name") for node in nodes}
    assert touched(nodes) == 0


def test_the_sweep_goes_from_session_to_session_and_not_through_their_lines(
    analyzed: Large,
) -> None:
    query = body_of(analyzed, "holdfast_waiting_sessions").replace("row_limit", "50")
    start = f"'{analyzed.organization_id}'::uuid"
    query = query.replace("after_organization", start).replace("after_session", f"'{UUID(int=0)}'")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert nodes[0]["Actual Rows"] == 50
    assert touched(nodes) <= 50


def test_a_place_in_line_is_counted_by_its_index(analyzed: Large) -> None:
    (organization_id,), (hold_id,) = keys(
        analyzed, "SELECT organization_id, hold_id FROM waiting_place ORDER BY since DESC LIMIT 1"
    )
    position = (organization_id, hold_id)
    nodes = analyzed.plan(
        analyzed.application, waiting_statements.POSITION, position, measured=True
    )
    assert nodes[0]["Actual Rows"] == 1
    # Those of its line, and the lines of its session.
    assert touched(nodes) <= CARTS // 20
    used = analyzed.indexes(waiting_statements.POSITION, position)
    assert used == {"waiting_place_pkey", "waiting_place_in_line", "waiting_line_pkey"}


@pytest.mark.parametrize("name", ["CART_HOLD", "LIVE_HOLDS_OF_CART"])
def test_the_holds_of_a_cart_are_found_by_its_name(analyzed: Large, name: str) -> None:
    query = getattr(hold_statements, name)
    used = analyzed.indexes(query, (analyzed.organization_id, "cart7"))
    assert used & {"hold_by_cart", "hold_of_cart"}
    nodes = analyzed.plan(
        analyzed.application, query, (analyzed.organization_id, "cart7"), measured=True
    )
    assert touched(nodes) <= 2


def test_the_pruner_reads_only_what_is_old(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_prune_answers")
    query = query.replace("kept_seconds", "3600").replace("row_limit", "100")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert "idempotency_by_creation" in {node.get("Index Name") for node in nodes}
    assert touched(nodes) <= 100


@pytest.mark.parametrize("status", [None, *HoldStatus])
@pytest.mark.parametrize("of_session", [False, True])
def test_a_page_of_any_status_reads_about_a_page(
    analyzed: Large, status: HoldStatus | None, of_session: bool
) -> None:
    only = HoldFilter(session_id=analyzed.venue.session_id if of_session else None, status=status)
    query, parameters = reading.list_query(analyzed.organization_id, only, PageRequest(20))
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    # Lapsed ones may all be read: there are few where a reaper is at work. Here are 5,000.
    has_lapsed = status in {HoldStatus.EXPIRED, HoldStatus.ACTIVE}
    assert touched(nodes) <= (LAPSED_SECONDS + 300 if has_lapsed else 100)


@pytest.mark.parametrize("of_session", [False, True])
def test_a_page_in_the_order_of_expiry_reads_about_a_page(
    analyzed: Large, of_session: bool
) -> None:
    session_id = analyzed.venue.session_id if of_session else None
    query, parameters = reading.list_query(
        analyzed.organization_id,
        HoldFilter(session_id=session_id),
        PageRequest(20),
        HoldOrder.EXPIRY,
    )
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    assert "hold_live_by_session" in {node.get("Index Name") for node in nodes}
    # Where no session is named: one look at each of the organization's, whatever is held of it.
    assert touched(nodes) <= (100 if of_session else SESSIONS + 100)


def test_an_organization_with_few_holds_does_not_wade_through_those_of_others(
    analyzed: Large,
) -> None:
    nobody = OrganizationId(uuid4())
    query, parameters = reading.list_query(nobody, HoldFilter(), PageRequest(20), HoldOrder.EXPIRY)
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    assert touched(nodes) <= 20


def listed(large: Large, **only: Any) -> set[str]:
    query, parameters = reading.list_query(
        large.organization_id, HoldFilter(**only), PageRequest(20)
    )
    beside = {"hold_line_pkey", "seat_pkey", "waiting_place_pkey"}
    return large.indexes(query, parameters) - beside


def test_one_hold_is_found_by_its_id(analyzed: Large) -> None:
    used = analyzed.indexes(hold_statements.SELECT_HOLD, (analyzed.organization_id, uuid4()))
    assert used == {"hold_pkey", "hold_line_pkey", "seat_pkey", "waiting_place_pkey"}


def test_lists_of_holds_find_their_index(analyzed: Large) -> None:
    session_id = SessionId(analyzed.venue.session_id)
    email = EmailAddress("buyer7@example.com")
    assert listed(analyzed) == {"hold_by_creation"}
    assert "hold_by_session" in listed(analyzed, session_id=session_id)
    assert "hold_by_email" in listed(analyzed, email=email)
    assert "hold_by_email" in listed(analyzed, email=email, session_id=session_id)


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("reference = 'R77'", "hold_organization_id_reference_key"),
        ("user_id = 'user7'", "hold_by_user"),
        ("user_id = 'user7' AND session_id = %(session)s", "hold_by_user"),
        ("user_id = 'user7' AND status = 'active'", "hold_by_user"),
        (
            "session_id = %(session)s AND status = 'active' AND expires_at <= now()",
            "hold_live_by_session",
        ),
        ("status = 'expired' AND created_at > now() - interval '20 seconds'", "hold_by_creation"),
    ],
)
def test_what_operators_ask_of_holds_finds_its_index(
    analyzed: Large, question: str, index: str
) -> None:
    query = f"SELECT * FROM hold WHERE organization_id = %(organization)s AND {question}"
    parameters = {
        "organization": OrganizationId(analyzed.organization_id),
        "session": analyzed.venue.session_id,
    }
    assert index in analyzed.indexes(query, parameters)


def test_the_document_names_every_index_there_is(analyzed: Large) -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "indexes.md").read_text()
    rows = analyzed.owner.execute(
        "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
        " JOIN pg_class t ON t.oid = x.indrelid"
        " WHERE t.relnamespace = 'public'::regnamespace AND t.relname !~ '^(auth|django)_'"
    ).fetchall()
    missing = [name for (name,) in rows if f"`{name}`" not in text]
    assert not missing
