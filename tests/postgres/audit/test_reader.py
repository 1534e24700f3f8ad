"""Queries on a large audit use their index, with and without statistics."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.audit.reader import audit_query
from holdfast.domain.ids import HoldId, OrganizationId, SeatId
from holdfast.ports.audit.reader import AuditFilter
from tests.support.databases import DatabaseFactory

ENTRIES = 50_000
PAGE = 21

HOLDS = 5_000
SEATS = 20

# One entry per second. Entries of one hold or seat are close in time.
LOAD = """
INSERT INTO audit (organization_id, at, action, hold_id, seat_id, actor, request_id, new)
SELECT %(organization)s, now() - make_interval(secs => %(count)s - n), 'hold.created',
    (%(holds)s::uuid[])[1 + n * cardinality(%(holds)s::uuid[]) / %(count)s],
    CASE WHEN n %% 2 = 0
        THEN (%(seats)s::uuid[])[1 + n * cardinality(%(seats)s::uuid[]) / %(count)s] END,
    'reaper', 'r' || n, '{}'
FROM generate_series(0, %(count)s - 1) AS n
"""


class LargeAudit:
    def __init__(self, url: str) -> None:
        self.organization_id = OrganizationId(uuid4())
        self.holds = [HoldId(uuid4()) for _ in range(HOLDS)]
        self.seats = [SeatId(uuid4()) for _ in range(SEATS)]
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(
            LOAD,
            {
                "organization": self.organization_id,
                "holds": self.holds,
                "seats": self.seats,
                "count": ENTRIES,
            },
        )

    def plan(self, only: AuditFilter, before: int | None = None) -> tuple[set[str], int]:
        """The indexes that a query uses, and the most rows that any step reads."""
        query, names = audit_query(self.organization_id, only, PAGE, before)
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode()
        row = self.connection.execute(explain, names).fetchone()
        assert row is not None
        steps = list(_steps(row[0][0]["Plan"]))
        looked_at = (step["Actual Rows"] + step.get("Rows Removed by Filter", 0) for step in steps)
        return {step["Index Name"] for step in steps if "Index Name" in step}, int(max(looked_at))


def _steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _steps(inner)


@pytest.fixture(scope="module", params=["fresh", "analyzed"])
def large(databases: DatabaseFactory, request: pytest.FixtureRequest) -> Iterator[LargeAudit]:
    audit = LargeAudit(databases.fresh())
    if request.param == "analyzed":
        audit.connection.execute("ANALYZE audit")
    with audit.connection:
        yield audit


def test_the_entries_of_a_hold_are_found_by_index(large: LargeAudit) -> None:
    indexes, rows = large.plan(AuditFilter(hold_id=large.holds[0]))
    assert "audit_by_hold" in indexes
    assert rows <= ENTRIES // HOLDS


def test_an_unknown_hold_reads_no_rows(large: LargeAudit) -> None:
    _, rows = large.plan(AuditFilter(hold_id=HoldId(UUID(int=1))))
    assert rows == 0


@pytest.mark.parametrize("action", [None, "hold.created"])
def test_the_entries_of_a_seat_are_found_by_index(large: LargeAudit, action: str | None) -> None:
    """For an old seat, reading backwards from the newest entry would read nearly all of them."""
    indexes, rows = large.plan(AuditFilter(seat_id=large.seats[0], action=action))
    assert "audit_by_seat" in indexes
    assert rows <= ENTRIES // SEATS


@pytest.mark.parametrize("before", [None, ENTRIES // 2])
def test_the_newest_entries_are_read_backwards(large: LargeAudit, before: int | None) -> None:
    indexes, rows = large.plan(AuditFilter(), before)
    assert indexes == {"audit_pkey"}
    assert rows <= PAGE


@pytest.mark.parametrize(
    ("since_seconds", "until_seconds"), [(10, -60), (ENTRIES, ENTRIES - 10), (-60, -120)]
)
def test_the_entries_of_a_short_period_are_found_by_index(
    databases: DatabaseFactory, since_seconds: int, until_seconds: int
) -> None:
    """Reading backwards from the newest entry would never find enough. This needs statistics, to
    know that the period is short."""
    audit = LargeAudit(databases.fresh())
    audit.connection.execute("VACUUM ANALYZE audit")
    now = datetime.now(UTC)
    since, until = (now - timedelta(seconds=each) for each in (since_seconds, until_seconds))
    with audit.connection:
        indexes, rows = audit.plan(AuditFilter(created_from=since, created_before=until))
    assert indexes == {"audit_by_time"}
    assert rows <= ENTRIES // 4
