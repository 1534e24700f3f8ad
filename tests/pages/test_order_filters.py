"""The orders of a session and of an event: links from their pages, and what the lists read."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from uuid_utils.compat import uuid7

from tests.pages.exports import download, rows_of, text_of
from tests.pages.sales import Sale, insert, list_of, page
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff

ORDERS = 10_000
SESSIONS = 100
LOAD_ORDERS = """
WITH made AS (
    SELECT gen_random_uuid() AS order_id, gen_random_uuid() AS hold_id, n,
        now() - make_interval(secs => n) AS at
    FROM generate_series(1, %(orders)s) AS n
), ordered AS (
    INSERT INTO purchase_order (organization_id, id, hold_ids, user_id, total_minor, currency,
        created_at)
    SELECT %(own)s, order_id, ARRAY[hold_id], 'user' || n, 100, 'EUR', at FROM made
)
INSERT INTO hold (organization_id, id, session_id, reference, quantity, total_minor, currency,
    status, version, created_at, updated_at, held_at, expires_at, due_at, user_id, order_id,
    confirmed_at)
SELECT %(own)s, hold_id, (%(sessions)s::uuid[])[1 + n %% %(count)s], 'R' || n, 1, 100, 'EUR',
    'converted', 2, at, at, at, at + interval '1 hour', at + interval '1 hour', 'user' || n,
    order_id, at
FROM made
"""


def event_of(sale: Sale) -> UUID:
    query = "SELECT event_id FROM session WHERE organization_id = %s AND id = %s"
    row = sale.owner.execute(query, [sale.organization_id, sale.session_id]).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def another_session(sale: Sale, event_id: UUID) -> Sale:
    session_id = UUID(str(uuid7()))
    own = {"organization_id": sale.organization_id}
    insert(sale.owner, "session", **own, id=session_id, event_id=event_id, name="Saturday")
    return replace(sale, session_id=session_id)


def another_event(sale: Sale) -> Sale:
    event_id = uuid7()
    own = {"organization_id": sale.organization_id}
    insert(sale.owner, "event", **own, id=event_id, name="Summer concerts", currency="EUR")
    return another_session(sale, event_id)


def link_to_orders(text: str) -> str:
    found = re.search(r'href="(/admin/holdfast/order/\?[^"]+)">Orders</a>', text)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_the_pages_of_a_session_and_an_event_lead_to_their_orders(
    operator: Client, sale: Sale
) -> None:
    event_id = event_of(sale)
    friday = sale.pay(sale.place())
    saturday = another_session(sale, event_id)
    on_saturday = saturday.pay(saturday.place())
    elsewhere = another_event(sale)
    both = sale.pay(sale.place(), elsewhere.place())
    orders = {str(friday), str(on_saturday), str(both)}
    for path, name, expected in (
        (f"session/{sale.session_id}", "Friday", {friday, both}),
        (f"session/{saturday.session_id}", "Saturday", {on_saturday}),
        (f"event/{event_id}", "Winter concerts", {friday, on_saturday, both}),
        (f"event/{event_of(elsewhere)}", "Summer concerts", {both}),
    ):
        url = link_to_orders(page(operator, f"{path}/change/"))
        answer = operator.get(url)
        assert answer.status_code == 200
        listed = answer.content.decode()
        assert {each for each in orders if each in listed} == set(map(str, expected)), path
        assert name in listed, "the filter says what is shown"
        filters = dict(parse_qsl(url.partition("?")[2]))
        rows = rows_of(text_of(download(operator, "orders", **filters)))
        assert {row["Order id"] for row in rows} == set(map(str, expected)), path


def test_filters_narrow_each_other(operator: Client, sale: Sale) -> None:
    order = str(sale.pay(sale.place(), status="cancelled"))
    other = str(sale.pay(sale.place()))
    listed = list_of(operator, "order", sale, session_id=sale.session_id, status="cancelled")
    assert (order in listed, other in listed) == (True, False)
    elsewhere = another_event(sale)
    listed = list_of(
        operator, "order", sale, session_id=sale.session_id, event_id=event_of(elsewhere)
    )
    assert order not in listed


@pytest.mark.parametrize("name", ["session_id", "event_id"])
@pytest.mark.parametrize("value", ["x", "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0002"])
def test_an_unknown_session_or_event_has_no_orders(
    operator: Client, sale: Sale, name: str, value: str
) -> None:
    order = str(sale.pay(sale.place()))
    assert order in list_of(operator, "order", sale)
    assert order not in list_of(operator, "order", sale, **{name: value})


def test_somebody_elses_session_is_unknown(database_url: str, operator: Client, sale: Sale) -> None:
    sale.pay(sale.place())
    organization = uuid4()
    insert(sale.owner, "organization", id=organization, name="Other Hall")
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    client = browser_of(add_staff(database_url, str(organization), "owner", hashed))
    text = page(client, "order/", session_id=sale.session_id)
    assert "Friday" not in text
    assert "unknown" in text


@pytest.fixture
def large(sale: Sale) -> Sale:
    """Never analyzed. One order in a hundred is of the session of the sale."""
    event_id = event_of(sale)
    others = [another_session(sale, event_id).session_id for _ in range(SESSIONS - 1)]
    names = {
        "own": sale.organization_id,
        "sessions": [sale.session_id, *others],
        "count": SESSIONS,
        "orders": ORDERS,
    }
    sale.owner.execute(LOAD_ORDERS, names)
    return sale


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def steps_of(statement: str) -> list[dict[str, Any]]:
    """Without hash joins: whether they are chosen depends on statistics of other tests' rows."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON, ANALYZE) {statement}")
        (found,) = cursor.fetchone()
    plan = json.loads(found) if isinstance(found, str) else found
    return list(nodes(plan[0]["Plan"]))


def test_the_list_of_a_session_reads_its_own_orders(operator: Client, large: Sale) -> None:
    with CaptureQueriesContext(connection) as queries:
        text = list_of(operator, "order", large, session_id=large.session_id)
    assert f"R{SESSIONS}<" in text
    asked = [each["sql"] for each in queries if '"order_id" IS NOT NULL' in each["sql"]]
    assert len(asked) == 2, "the count and the page"
    for statement in asked:
        steps = steps_of(statement)
        assert "hold_by_order" in {step.get("Index Name") for step in steps}
        read = sum(
            (step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"]
            for step in steps
            if "Relation Name" in step
        )
        assert read <= 4 * ORDERS / SESSIONS, statement
