"""What the list of a session's orders reads, in a database of its own: on the shared one, the plan
would depend on the rows of other tests."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.pages.sales import Sale, another_session, event_of, list_of

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


@pytest.fixture
def database_url(fresh_database_url: str) -> str:
    return fresh_database_url


@pytest.fixture(params=["never analyzed", "analyzed"])
def large(sale: Sale, request: pytest.FixtureRequest) -> Sale:
    """One order in a hundred is of the session of the sale."""
    for table in ("hold", "purchase_order", "session"):
        sale.owner.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)".encode())
    event_id = event_of(sale)
    others = [another_session(sale, event_id).session_id for _ in range(SESSIONS - 1)]
    names = {
        "own": sale.organization_id,
        "sessions": [sale.session_id, *others],
        "count": SESSIONS,
        "orders": ORDERS,
    }
    sale.owner.execute(LOAD_ORDERS, names)
    if request.param == "analyzed":
        sale.owner.execute("ANALYZE")
    return sale


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def steps_of(statement: str) -> list[dict[str, Any]]:
    """Without joins that read a whole table: for so few rows, they may be as cheap."""
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
