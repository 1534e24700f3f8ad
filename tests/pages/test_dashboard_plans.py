"""The dashboard reads indexes up to a limit, however many holds there are."""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.pages.sales import Sale

COUNTS = "holdfast.entrypoints.admin.dashboard.counts"
LIMIT = 200
HOLDS = 20_000
LOAD_HOLDS = """
INSERT INTO hold (organization_id, id, session_id, reference, quantity, total_minor, currency,
    status, version, created_at, updated_at, held_at, expires_at, due_at, user_id)
SELECT %(own)s, gen_random_uuid(), %(session)s, 'R' || n, 2, 100, 'EUR',
    (ARRAY['active', 'expired', 'converted', 'cancelled'])[1 + n %% 4], 1,
    now() - interval '2 hours', now(), now(), now() + make_interval(secs => 60 + n / 100),
    now() + make_interval(secs => 60 + n / 100),
    'user' || n
FROM generate_series(1, %(count)s) AS n
"""
LOAD_ORDERS = """
INSERT INTO purchase_order (organization_id, id, hold_ids, user_id, total_minor, currency,
    created_at, status, version)
SELECT organization_id, id, ARRAY[id], user_id, 100, 'EUR', now(),
    (ARRAY['confirmed', 'partly_cancelled', 'cancelled'])[1 + mod(hashtext(reference) & 1023, 3)], 1
FROM hold WHERE organization_id = %(own)s AND reference LIKE 'R%%' AND status = 'converted'
"""
LOAD_TICKETS = """
INSERT INTO ticket (organization_id, id, order_id, position, hold_id, session_id, ticket_type_id,
    unit_price_minor, code, voided_at, voided_version)
SELECT o.organization_id, gen_random_uuid(), o.id, n, o.id, %(session)s, %(type)s, 50,
    gen_random_uuid()::text, now(), 2
FROM purchase_order o, generate_series(0, 1) AS n
WHERE o.organization_id = %(own)s AND o.status <> 'confirmed'
"""
LOAD_AUDIT = """
INSERT INTO audit (organization_id, at, action, actor, request_id, new)
SELECT %(own)s, now() - make_interval(secs => n / 100), 'hold.create_failed', 'holder', 'r',
    CASE n %% 2 WHEN 0 THEN '{"error": "sold_out"}'::jsonb ELSE '{"status": "active"}'::jsonb END
FROM generate_series(1, %(count)s) AS n
"""


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.fixture
def large(sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Sale:
    """Never analyzed."""
    names = {"own": sale.organization_id, "session": sale.session_id, "count": HOLDS}
    sale.owner.execute(LOAD_HOLDS, names)
    sale.owner.execute(LOAD_ORDERS, names)
    sale.owner.execute(LOAD_TICKETS, {**names, "type": sale.ticket_type_id})
    sale.owner.execute(LOAD_AUDIT, names)
    for limit in ("HOLDS_COUNTED_MAX", "EXPIRING_COUNTED_MAX", "REFUSALS_READ_MAX"):
        monkeypatch.setattr(f"{COUNTS}.{limit}", LIMIT)
    return sale


def rows_read(statement: str, *, is_bounded: bool = True) -> tuple[int, set[str]]:
    """The most rows that a step reads of holds or audit entries, and the tables it scans."""
    counts = import_module(COUNTS)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            if is_bounded:
                cursor.execute(counts._BOUNDED)
            cursor.execute(f"EXPLAIN (FORMAT JSON, ANALYZE) {statement}")
            (found,) = cursor.fetchone()
        finally:
            cursor.execute("ROLLBACK")
    plan = json.loads(found) if isinstance(found, str) else found
    steps = list(nodes(plan[0]["Plan"]))
    read = max(
        (step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"]
        for step in steps
    )
    scanned = {step["Relation Name"] for step in steps if step["Node Type"] == "Seq Scan"}
    return int(read), scanned & {"hold", "audit", "purchase_order", "ticket"}


def test_no_statement_reads_more_than_its_limit(large: Sale) -> None:
    models = import_module("holdfast.adapters.postgres.models")
    organization = models.Organization.objects.get(id=large.organization_id)
    with CaptureQueriesContext(connection) as queries:
        numbers = import_module(COUNTS).numbers_of(organization)
    assert None not in {numbers.today, numbers.expiring, numbers.refusals}
    assert numbers.expiring.is_cut_off
    statements = [each["sql"] for each in queries if each["sql"].lstrip().startswith("SELECT")]
    tables = ("hold", '"audit"', "purchase_order")
    large_ones = [sql for sql in statements if any(table in sql for table in tables)]
    assert len(large_ones) >= 10
    for statement in large_ones:
        read, scanned = rows_read(statement)
        assert read <= LIMIT, statement
        assert not scanned, statement


def test_control_a_count_without_the_limit_reads_everything(large: Sale) -> None:
    own = f"organization_id = '{large.organization_id}'"
    read, _ = rows_read(f"SELECT count(*) FROM hold WHERE {own} AND status = 'active'")
    assert read == HOLDS // 4
