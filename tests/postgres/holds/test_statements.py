"""The hot statements read only as many rows as the group has, even on tables without statistics."""

from hashlib import md5
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.connections import connection
from holdfast.adapters.postgres.engine import statements, write_statements
from holdfast.adapters.postgres.waitlist import statements as waiting_statements
from holdfast.domain.ids import EventId
from tests.contract.venues import Plan
from tests.postgres.large import (
    CARTS,
    GROUP,
    HOLDS,
    HOT,
    LAPSED_SECONDS,
    SEATS,
    SESSIONS,
    Large,
    keys,
    touched,
)

SOLD = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key,
    user_id, quantity,
    total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at)
SELECT %(organization)s, gen_random_uuid(), %(session)s, gen_random_uuid()::text,
    '\\x00' || convert_to(%(email)s, 'UTF8'), md5(%(email)s::text)::uuid,
    %(user)s, 1, 4500, 'EUR', %(status)s, 1, now() - interval '1 day', now(), now(),
    now() + make_interval(mins => %(minutes)s), now() + make_interval(mins => %(minutes)s)
FROM generate_series(1, %(count)s)
"""


def key_of(address: str) -> str:
    """As the statements above compute it."""
    return md5(address.encode(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("name", sorted(HOT))
def test_hot_statements_touch_only_their_group_on_tables_without_statistics(
    large: Large, name: str
) -> None:
    """As the engine runs them: prepared on empty tables with a generic plan, and planned again
    after the tables have grown."""
    organizations, ids = keys(large, HOT[name])
    nodes = large.prepared_plan(name, organizations, ids)
    for node in nodes:
        assert node["Node Type"] != "Seq Scan", node
        rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        # The database sums up every lapsed second.
        is_summed = name == "LAPSED_UNITS" and "Index" in node["Node Type"]
        allowed = LAPSED_SECONDS + 300 if is_summed else (20 if name == "QUEUES" else 4) * len(ids)
        assert rows * node["Actual Loops"] <= allowed, node


def test_ended_holds_are_written_by_key_on_tables_without_statistics(large: Large) -> None:
    organizations, ids = keys(large, f"SELECT organization_id, id FROM hold LIMIT {GROUP}")
    count = len(ids)
    now = large.owner.execute("SELECT now()").fetchone()
    assert now is not None
    moments, nothing = [now[0]] * count, [None] * count
    # Version 2; updated, ending and due now; neither warned, paid for nor cancelled.
    times = (moments, moments, moments, nothing, nothing, nothing, moments)
    rest = (nothing, nothing, [0] * count, moments)  # no checkout, no order, never extended
    ended = ("1", organizations, ids, ["expired"] * count, [2] * count, *times, *rest)
    nodes = large.plan(large.engine, write_statements.UPDATE_HOLDS, ended, measured=True)
    assert all(node["Node Type"] != "Seq Scan" for node in nodes)


def test_changed_seats_are_written_by_key_on_tables_without_statistics(large: Large) -> None:
    organizations, ids = keys(
        large, f"SELECT organization_id, id FROM seat WHERE status = 'held' LIMIT {GROUP}"
    )
    nothing = [None] * GROUP
    changed = ("1", organizations, ids, ["available"] * GROUP, *[nothing] * 5, [2] * GROUP)
    nodes = large.plan(large.engine, write_statements.UPDATE_SEATS, changed, measured=True)
    assert {node.get("Index Name") for node in nodes} >= {"seat_pkey"}
    assert touched(nodes) <= GROUP


def test_only_changed_seats_are_read_again(large: Large) -> None:
    """Also without statistics. Control: since the beginning, all have changed."""
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


@pytest.mark.parametrize("name", ["HELD_IN_SESSION_BY_EMAIL", "HELD_IN_SESSION_BY_USER"])
def test_the_live_holds_of_a_holder_are_found_without_reading_others(
    large: Large, name: str
) -> None:
    is_by_email = name == "HELD_IN_SESSION_BY_EMAIL"
    row = large.owner.execute(
        "SELECT organization_id, session_id, email_key, user_id FROM hold"
        " WHERE status = 'active' AND expires_at > now() AND (user_id IS NULL) = %s LIMIT 1",
        [is_by_email],
    ).fetchone()
    assert row is not None
    holder = str(row[2]) if is_by_email else row[3]
    query = getattr(statements, name)
    people = ([row[0]], [row[1]], [holder])
    assert large.engine_rows(query, people)
    nodes = large.plan(large.engine, query, people, measured=True)
    assert touched(nodes) <= HOLDS // 4000


@pytest.mark.parametrize("name", ["HELD_IN_SESSION_BY_EMAIL", "HELD_IN_SESSION_BY_USER"])
def test_the_open_holds_of_a_box_office_are_found_without_its_history(
    large: Large, name: str
) -> None:
    """On a table without statistics. The box office has sold thousands of holds of one session, and
    many of its lapsed ones are not expired yet."""
    user = "box office" if name == "HELD_IN_SESSION_BY_USER" else None
    made = {
        "organization": large.organization_id,
        "session": large.venue.session_id,
        "user": user,
        "email": f"{name.lower()}@example.com",
    }
    for status, count, ends_in in (
        ("converted", 5_000, 600),
        ("active", 500, -5),
        ("active", 2, 5),
    ):
        large.owner.execute(SOLD, {**made, "status": status, "count": count, "minutes": ends_in})
    query = getattr(statements, name)
    holder = user or key_of(str(made["email"]))
    people = ([made["organization"]], [made["session"]], [holder])
    assert len(large.engine_rows(query, people)) == 2
    nodes = large.plan(large.engine, query, people, measured=True)
    of_holds = [node for node in nodes if node.get("Relation Name") == "hold"]
    assert touched(of_holds) == 2, of_holds


GIVEN_UP = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key,
    user_id, quantity,
    total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at,
    cancelled_at, given_up_at)
SELECT %(organization)s, gen_random_uuid(), %(session)s, gen_random_uuid()::text,
    '\\x00' || convert_to(%(email)s, 'UTF8'), md5(%(email)s::text)::uuid,
    %(user)s, 1, 4500, 'EUR', 'cancelled', 1, now() - interval '1 day', now(), now(),
    now() + interval '1 day', now() + interval '1 day', now(), now() - make_interval(secs => n)
FROM generate_series(1, %(count)s) AS n
"""


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_what_a_bot_has_in_an_event_is_counted_without_its_history(large: Large, name: str) -> None:
    """On a table without statistics. The bot has held and released thousands of times in a session
    of the event, and bought, holds and let lapse some in the other, as others did."""
    is_by_user = name == "HOLDINGS_BY_USER"
    event_id = uuid4()
    first = large.world.build(Plan({}, {}, event_id=EventId(event_id)), beside=large.venue)
    second = large.world.build(Plan({}, {}, event_id=EventId(event_id)), beside=large.venue)
    bot = {
        "organization": large.organization_id,
        "user": "bot" if is_by_user else None,
        "email": "bot@example.com",
    }
    large.owner.execute(GIVEN_UP, {**bot, "session": first.session_id, "count": 5_000})
    for session, status, count, ends_in in (
        (first, "converted", 3, 600),
        (second, "converted", 4, 600),
        (second, "active", 2, 5),
        (second, "active", 500, -60),
    ):
        made = {**bot, "session": session.session_id, "status": status}
        large.owner.execute(SOLD, {**made, "count": count, "minutes": ends_in})
    others = {**made, "user": "other", "email": "other@example.com"}
    large.owner.execute(SOLD, {**others, "count": 1_000, "minutes": -30})
    query = getattr(statements, name)
    people = (
        [large.organization_id],
        [second.session_id],
        [event_id],
        ["bot" if is_by_user else key_of("bot@example.com")],
    )
    (event,) = large.engine_rows(query, people)
    assert (len(event[1]), event[2]) == (2, 7)
    (latest,) = large.owner.execute("SELECT max(given_up_at) FROM hold").fetchone() or (None,)
    assert event[3] == latest
    nodes = large.plan(large.engine, query, people, measured=True)
    assert all(node["Node Type"] != "Seq Scan" for node in nodes)
    of_holds = [node for node in nodes if node.get("Relation Name") == "hold"]
    assert touched(of_holds) == 7, "no part of the query reads more than the seven that were sold"
    kind = "user" if is_by_user else "email"
    used = {node.get("Index Name") for node in of_holds}
    assert used == {f"hold_by_{kind}", f"hold_over_by_{kind}", "hold_pending"}


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_the_sessions_of_an_event_where_a_holder_has_nothing_are_not_looked_into(
    large: Large, name: str
) -> None:
    """On tables without statistics. The event has two thousand sessions, and the holder was in
    three; another has held in hundreds of them."""
    holder = f"visitor-{name.lower()}@example.com"
    made = {
        "organization": large.organization_id,
        "user": holder if name == "HOLDINGS_BY_USER" else None,
        "email": holder,
        "status": "active",
        "minutes": 5,
        "count": 2,
    }
    asked = holder if made["user"] else key_of(holder)
    event_id, sessions = large.sessions_of_event()
    assert len(sessions) >= SESSIONS
    for session in sessions[:3]:
        large.owner.execute(SOLD, {**made, "session": session})
    other = {**made, "user": "everywhere", "email": "everywhere@example.com"}
    for session in sessions[:300]:
        large.owner.execute(SOLD, {**other, "session": session})
    query = getattr(statements, name)
    people = ([large.organization_id], [sessions[-1]], [event_id], [asked])
    ((_, live, sold, *_),) = large.engine_rows(query, people)
    assert (len(live), sold) == (6, 0)
    nodes = large.plan(large.engine, query, people, measured=True)
    assert all(node["Node Type"] != "Seq Scan" for node in nodes)
    assert max(node["Actual Loops"] for node in nodes) <= 5, (
        "of its three sessions, the first, and the end"
    )
    assert touched(nodes) <= 6


VISITED = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key, user_id,
    quantity, total_minor, currency, status, version, created_at, updated_at, held_at, expires_at,
    due_at, cancelled_at)
SELECT %(organization)s, gen_random_uuid(), session_id, gen_random_uuid()::text,
    '\\x00' || convert_to(%(email)s, 'UTF8'), md5(%(email)s::text)::uuid, %(user)s,
    1, 4500, 'EUR', 'cancelled', 1, now() - interval '1 day', now(), now(), now(), now(), now()
FROM unnest(%(sessions)s::uuid[]) AS session_id
"""


def visited(large: Large, name: str, sessions: list[UUID]) -> str:
    holder = f"{uuid4()}@example.com"
    user = holder if name == "HOLDINGS_BY_USER" else None
    made = {"organization": large.organization_id, "email": holder, "user": user}
    large.owner.execute(VISITED, {**made, "sessions": sessions})
    return user or key_of(holder)


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_long_history_in_other_events_is_jumped_over(large: Large, name: str) -> None:
    """On tables without statistics. The holder was in two thousand sessions of another event."""
    _, elsewhere = large.sessions_of_event()
    event_id = EventId(uuid4())
    venue = large.world.build(Plan({}, {}, event_id=event_id), beside=large.venue)
    holder = visited(large, name, [*elsewhere, venue.session_id])
    query = getattr(statements, name)
    people = ([large.organization_id], [venue.session_id], [event_id], [holder])
    ((_, live, sold, _, are_too_many),) = large.engine_rows(query, people)
    assert (live, sold, are_too_many) == (None, 0, False)
    nodes = large.plan(large.engine, query, people, measured=True)
    assert max(node["Actual Loops"] for node in nodes) <= 4
    assert touched(nodes) <= 4


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_session_after_one_of_another_event_counts(large: Large, name: str) -> None:
    """The holder was in a session elsewhere, whose id lies between two sessions of the event."""
    event_id, sessions = large.sessions_of_event()
    first, last = sorted(sessions)[:2]
    between = UUID(int=(first.int + last.int) // 2)
    holder = f"{uuid4()}@example.com"
    user = holder if name == "HOLDINGS_BY_USER" else None
    made = {"organization": large.organization_id, "email": holder, "user": user, "minutes": 9}
    for session_id, status in ((between, "active"), (last, "active"), (last, "converted")):
        large.owner.execute(SOLD, {**made, "session": session_id, "status": status, "count": 1})
    people = ([large.organization_id], [last], [event_id], [user or key_of(holder)])
    ((_, live, sold, *_),) = large.engine_rows(getattr(statements, name), people)
    assert [hold[1] for hold in live or ()] == [str(last)]
    assert sold == 1


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_long_history_between_the_sessions_of_an_event_does_not_count(
    large: Large, name: str
) -> None:
    """The holder was in a thousand sessions elsewhere, whose ids lie between those of the event."""
    event_id, sessions = large.sessions_of_event()
    elsewhere = [uuid4() for _ in range(1_000)]
    holder = visited(large, name, [*elsewhere, *sessions[:3]])
    query = getattr(statements, name)
    people = ([large.organization_id], [sessions[0]], [event_id], [holder])
    ((_, live, sold, given_up_at, are_too_many),) = large.engine_rows(query, people)
    assert (live, sold, given_up_at, are_too_many) == (None, 0, None, False)
    nodes = large.plan(large.engine, query, people, measured=True)
    of_holds = [node for node in nodes if node.get("Relation Name") == "hold"]
    assert sorted(node["Actual Loops"] for node in of_holds)[-3] <= 4, "only the walk passes them"


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_walk_that_is_too_long_ends(large: Large, name: str) -> None:
    event_id, sessions = large.sessions_of_event()
    holder = visited(large, name, [uuid4() for _ in range(1_000)])
    people = ([large.organization_id], [sessions[0]], [event_id], [holder])
    bounded = getattr(statements, name).replace(str(statements.WALK_MAX), "100")
    assert large.engine_rows(bounded, people)[0][4], "and the decision knows"
    nodes = large.plan(large.engine, bounded, people, measured=True)
    assert max(node["Actual Loops"] for node in nodes) <= 101


@pytest.mark.parametrize("name", ["HOLDINGS_BY_EMAIL", "HOLDINGS_BY_USER"])
def test_a_holder_of_too_many_sessions_of_an_event_is_counted_in_part(
    large: Large, name: str
) -> None:
    event_id, sessions = large.sessions_of_event()
    holder = visited(large, name, sessions)
    query = getattr(statements, name)
    people = ([large.organization_id], [sessions[0]], [event_id], [holder])
    assert large.engine_rows(query, people)[0][4], "and the decision knows"
    nodes = large.plan(large.engine, query, people, measured=True)
    assert max(node["Actual Loops"] for node in nodes) <= statements.HOLDINGS_MAX + 1
    assert touched(nodes) <= 2 * (statements.HOLDINGS_MAX + 1)


def test_lapsed_units_are_summed_up_to_the_current_second(large: Large) -> None:
    """One row per pool, however many seconds are not expired yet."""
    large.engine.execute(statements.DISCARD_PLANS)
    connection.begin(large.engine, [large.organization_id])
    pools = ([large.organization_id], [large.venue.pools["floor"]])
    found = large.engine.execute(statements.LAPSED_UNITS, pools).fetchall()
    now = large.engine.execute(statements.CLOCK).fetchone()
    assert now is not None
    large.engine.execute("COMMIT")
    ((_, second, units, _),) = found
    assert second <= now[0]
    expected = large.owner.execute(
        "SELECT sum(units) FROM pool_lapse WHERE lapses_at <= %s", [second]
    ).fetchone()
    assert expected is not None
    assert expected[0] > LAPSED_SECONDS // 2
    assert units == expected[0]


def test_the_order_of_a_payment_is_found_by_its_reference(large: Large) -> None:
    """On a table without statistics. The second payment is unused."""
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


def test_lapsed_holds_to_evict_are_found_by_their_second(large: Large) -> None:
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
def test_only_the_first_parties_of_each_queue_are_read(large: Large, look_ahead: int) -> None:
    """On tables without statistics. Control: without a limit all parties are read."""
    session = ([large.organization_id], [large.venue.session_id])
    nodes = large.plan(
        large.engine, waiting_statements.FIRST_PARTIES, (*session, look_ahead), measured=True
    )
    of_each = max(1, look_ahead // 20)  # there are twenty queues
    assert nodes[0]["Actual Rows"] == 20 * of_each
    assert touched(nodes) <= 20 * of_each + 20
    assert "waiting_place_in_line" in {node.get("Index Name") for node in nodes}
    nodes = large.plan(
        large.engine, waiting_statements.FIRST_PARTIES, (*session, 20 * CARTS), measured=True
    )
    assert touched(nodes) == CARTS


def test_changed_queues_and_waiting_places_are_written_by_key(large: Large) -> None:
    organizations, ids = keys(
        large, f"SELECT organization_id, hold_id FROM waiting_place LIMIT {GROUP}"
    )
    now = large.owner.execute("SELECT now()").fetchone()
    assert now is not None
    address = ["\\x00"] * GROUP, [UUID(int=7)] * GROUP
    sums, times = ([1] * GROUP, [4500] * GROUP), [now[0]] * GROUP
    contents = (organizations, ids, *sums, times, ["{}"] * GROUP, *address)
    queues, sessions = [UUID(int=1)], [large.venue.session_id]
    writes = {
        write_statements.UPDATE_CONTENTS: contents,
        write_statements.REMOVE_LINES: (organizations, ids, [0] * GROUP, [2] * GROUP),
        waiting_statements.DELETE_PLACES: (organizations, ids),
        waiting_statements.DELETE_QUEUES: (organizations[:1], sessions, queues),
        waiting_statements.UPDATE_WAITLISTS: (organizations[:1], sessions, [False], queues),
    }
    for query, parameters in writes.items():
        nodes = large.plan(large.engine, query, parameters, measured=True)
        assert all(node["Node Type"] != "Seq Scan" for node in nodes), query
        assert touched(nodes) <= GROUP, query
