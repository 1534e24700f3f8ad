"""Lists of the API stay fast in a large organization: each filter finds its index."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from holdfast.adapters.postgres.catalog import statements as catalog
from holdfast.adapters.postgres.holds.reader import list_query
from holdfast.adapters.postgres.orders.reader import orders_query
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import EventId, HoldId, SessionId
from holdfast.domain.values import EmailAddress
from holdfast.ports.holds import HoldFilter, HoldOrder
from holdfast.ports.orders import OrderFilter
from holdfast.ports.paging import Cursor, PageRequest
from tests.postgres.large import BUYER, Large, touched
from tests.support.databases import DatabaseFactory

ORDERS = 20_000
EVENTS = 5_000
PAGE = PageRequest(20)

# Orders of 20 sessions, each of one hold; every hundredth is the box office's.
LOAD_ORDERS = """
WITH made AS (
    INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key,
        user_id, quantity,
        total_minor, currency, status, version, created_at, updated_at, held_at, expires_at, due_at,
        confirmed_at, order_id)
    SELECT %(organization)s, gen_random_uuid(), (%(sessions)s::uuid[])[1 + n %% 20], 'O' || n,
        '\\x00' || convert_to('buyer' || n %% 4000 || '@example.com', 'UTF8'),
    md5('buyer' || n %% 4000 || '@example.com')::uuid,
        CASE WHEN n %% 100 = 0 THEN 'box-office' ELSE 'user' || n %% 4000 END, 1, 4500, 'EUR',
        'converted', 2, at, at, at, at + interval '10 minutes', at + interval '10 minutes', at,
        gen_random_uuid()
    FROM (SELECT n, now() - make_interval(secs => n) AS at
          FROM generate_series(1, %(orders)s) AS n) AS numbered
    RETURNING *)
INSERT INTO purchase_order (organization_id, id, hold_ids, customer_email, email_key,
    user_id, total_minor,
    currency, payment_reference, created_at)
SELECT organization_id, order_id, ARRAY[id], customer_email, email_key, user_id, 4500, 'EUR',
    'pay-' || reference, confirmed_at FROM made
"""
LOAD_EVENTS = """
INSERT INTO event (organization_id, id, name, currency, status, created_at)
SELECT %(organization)s, gen_random_uuid(), 'more', 'EUR',
    CASE WHEN n %% 500 = 0 THEN 'draft' ELSE 'archived' END, now() - make_interval(secs => n)
FROM generate_series(1, %(events)s) AS n
"""
LOAD_SESSIONS = """
INSERT INTO session (organization_id, id, event_id, name, starts_at, created_at)
SELECT organization_id, gen_random_uuid(), id, 'one',
    created_at + make_interval(days => extract(epoch FROM now() - created_at)::integer), created_at
FROM event WHERE name = 'more'
"""


# The twenty sessions with orders are those of one event.
ONE_EVENT = """
UPDATE session SET event_id = (SELECT id FROM event WHERE name = 'more' LIMIT 1)
WHERE id = ANY (%(sessions)s)
"""


@pytest.fixture(scope="module")
def many(databases: DatabaseFactory) -> Iterator[Large]:
    large = Large(databases.fresh())
    sessions = large.owner.execute("SELECT id FROM session ORDER BY id LIMIT 20").fetchall()
    names = {
        "organization": large.organization_id,
        "sessions": [large.venue.session_id, *(row[0] for row in sessions)][:20],
        "orders": ORDERS,
        "events": EVENTS,
    }
    for load in (LOAD_ORDERS, LOAD_EVENTS, LOAD_SESSIONS, ONE_EVENT):
        large.owner.execute(load, names)
    for table in ("hold", "purchase_order"):
        large.name_a_buyer(table)
    large.owner.execute("ANALYZE")
    yield large
    for connection in (large.owner, large.application, large.engine):
        connection.close()
    large.world.close()


def event_of(large: Large) -> EventId:
    row = large.owner.execute(
        "SELECT event_id FROM session WHERE id = %s", [large.venue.session_id]
    ).fetchone()
    assert row is not None
    return EventId(row[0])


def indexes_of(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def filters_of(large: Large) -> dict[str, dict[str, Any]]:
    row = large.owner.execute("SELECT id FROM hold WHERE order_id IS NOT NULL LIMIT 1").fetchone()
    assert row is not None
    lately = datetime.now(UTC) - timedelta(hours=1)
    return {
        "event": {"event_id": event_of(large)},
        "session": {"session_id": SessionId(large.venue.session_id)},
        "email": {"email": BUYER},
        "user": {"user_id": "user7"},
        "box office": {"user_id": "box-office"},
        "reference": {"hold_id": HoldId(row[0])},
        "payment": {"payment_reference": "pay-O77"},
        "time": {"created_from": lately - timedelta(hours=1), "created_before": lately},
        "time of a session": {
            "session_id": SessionId(large.venue.session_id),
            "created_before": lately,
        },
    }


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("event", "hold_by_order"),
        ("session", "hold_by_order"),
        ("email", "purchase_order_by_email"),
        ("user", "purchase_order_by_user"),
        ("box office", "purchase_order_by_user"),
        ("reference", "hold_pkey"),
        ("payment", "purchase_order_by_payment"),
        ("time", "purchase_order_by_creation"),
        ("time of a session", "hold_by_order"),
    ],
)
def test_a_page_of_orders_reads_about_a_page(many: Large, name: str, index: str) -> None:
    only = OrderFilter(**filters_of(many)[name])
    query, names = orders_query(many.organization_id, only, PAGE)
    nodes = many.plan(many.application, query, names, measured=True)
    assert index in indexes_of(nodes)
    # Of an event: about a page of each of its twenty sessions.
    assert touched(nodes) <= (750 if name == "event" else 250)


OF_BOX_OFFICE = """
INSERT INTO purchase_order (organization_id, id, hold_ids, customer_email, email_key, total_minor,
    currency, created_at)
SELECT %(organization)s, gen_random_uuid(), ARRAY[gen_random_uuid()], '',
    (%(keys)s::uuid[])[1 + n %% 2], 4500, 'EUR',
    now() - make_interval(secs => n) FROM generate_series(1, %(orders)s) AS n
"""


def test_a_page_of_the_orders_of_an_address_with_several_keys_reads_about_a_page(
    many: Large,
) -> None:
    """Every second order was stored with an earlier secret."""
    hashes, office = HolderHashes("new", "old"), EmailAddress("box@example.com")
    keys = hashes.address_keys(many.organization_id, office)
    names = {"organization": many.organization_id, "keys": keys, "orders": ORDERS}
    many.owner.execute(OF_BOX_OFFICE, names)
    many.owner.execute("ANALYZE purchase_order")
    newest = many.owner.execute(
        "SELECT created_at, id FROM purchase_order WHERE email_key = ANY (%s::uuid[])"
        " ORDER BY created_at DESC, id DESC LIMIT 4",
        [keys],
    ).fetchall()
    only = OrderFilter(email=office)
    for last, following in pairwise(newest):
        page = PageRequest(PAGE.size, Cursor(*last))
        query, given = orders_query(many.organization_id, only, page, hashes)
        found, _, id_, *_ = many.engine_rows(query, given)[0]
        assert (found, id_) == (PAGE.size + 1, following[1])
    nodes = many.plan(many.application, query, given, measured=True)
    assert "purchase_order_by_email" in indexes_of(nodes)
    assert touched(nodes) <= 250


@pytest.mark.parametrize("order", HoldOrder)
def test_a_page_of_the_holds_of_an_event_reads_about_a_page_of_each_session(
    many: Large, order: HoldOrder
) -> None:
    query, names = list_query(
        many.organization_id, HoldFilter(event_id=event_of(many)), PAGE, order
    )
    nodes = many.plan(many.application, query, names, measured=True)
    assert "session_by_event" in indexes_of(nodes)
    # A list of all merges the five statuses of its twenty sessions.
    assert touched(nodes) <= 5 * 20 * 25


@pytest.mark.parametrize("of_session", [False, True])
def test_a_page_of_the_holds_of_a_time_reads_about_a_page(many: Large, of_session: bool) -> None:
    before = datetime.now(UTC) - timedelta(hours=2)
    only = HoldFilter(
        session_id=SessionId(many.venue.session_id) if of_session else None,
        created_from=before - timedelta(minutes=30),
        created_before=before,
    )
    query, names = list_query(many.organization_id, only, PAGE)
    nodes = many.plan(many.application, query, names, measured=True)
    assert indexes_of(nodes) & {"hold_by_session", "hold_by_creation"}
    assert touched(nodes) <= 200


@pytest.mark.parametrize(
    ("table", "only", "index"),
    [
        ("EVENTS", {}, "event_by_creation"),
        ("EVENTS", {"status": "draft"}, "event_by_status"),
        ("EVENTS", {"created_before": True}, "event_by_creation"),
        ("EVENTS", {"starts_from": True, "starts_before": True}, "session_by_start"),
        ("SESSIONS", {}, "session_by_creation"),
        ("SESSIONS", {"starts_from": True, "starts_before": True}, "session_by_start"),
        ("SESSIONS", {"event_status": "draft"}, "event_by_status"),
    ],
)
def test_a_page_of_the_catalog_reads_about_a_page(
    many: Large, table: str, only: dict[str, Any], index: str
) -> None:
    soon = datetime.now(UTC) + timedelta(days=300)
    times = {
        "starts_from": soon,
        "starts_before": soon + timedelta(days=5),
        "created_before": soon - timedelta(days=300, hours=1),
    }
    asked = {name: times.get(name, value) for name, value in only.items()}
    query, names = getattr(catalog, table).listed(many.organization_id, asked, PAGE)
    nodes = many.plan(many.application, query, names, measured=True)
    assert index in indexes_of(nodes)
    assert touched(nodes) <= 150
