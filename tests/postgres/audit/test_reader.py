"""Queries on a large audit use their index, with and without statistics; none reads more than a
bounded number of entries."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from holdfast.adapters.postgres.audit import reader
from holdfast.adapters.postgres.audit.reader import PostgresAudit, audit_query
from holdfast.adapters.postgres.connections.connection import OWNER_AT_WORK
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import HolderHashes
from holdfast.domain.ids import (
    EventId,
    HoldId,
    OrderId,
    OrganizationId,
    SeatId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.values import EmailAddress, Holder
from holdfast.ports.audit.reader import AuditEntry, AuditFilter, AuditOutcome, AuditPosition
from tests.contract.worlds import PostgresWorld
from tests.support.databases import DatabaseFactory

ENTRIES = 50_000
PAGE = 21
HOLDS = 5_000
SEATS = 20
REFUSED_EVERY = 10
ANN = Holder(EmailAddress("ann@example.com"))
SECRET = "a secret of the installation, 32"
HASHES = HolderHashes(SECRET)

# One entry per second. Entries of one hold or seat are close in time. Every tenth was refused, one
# of a thousand to Ann.
LOAD = """
INSERT INTO audit (organization_id, at, action, hold_id, seat_id, actor, request_id, holder, cart,
    new)
SELECT %(organization)s, now() - make_interval(secs => %(count)s - n), 'hold.created',
    (%(holds)s::uuid[])[1 + n * cardinality(%(holds)s::uuid[]) / %(count)s],
    CASE WHEN n %% 2 = 0
        THEN (%(seats)s::uuid[])[1 + n * cardinality(%(seats)s::uuid[]) / %(count)s] END,
    'reaper', 'r' || n,
    CASE WHEN n %% 1000 = 0 THEN %(ann)s::uuid ELSE gen_random_uuid() END,
    CASE WHEN n %% 1000 = 0 THEN 'cart-1' ELSE 'cart-' || n END,
    CASE WHEN n %% 10 = 0 THEN '{"error": "insufficient_inventory"}' ELSE '{}' END::jsonb
FROM generate_series(0, %(count)s - 1) AS n
"""


class LargeAudit:
    def __init__(self, url: str) -> None:
        self.organization_id = OrganizationId(uuid4())
        self.holds = [HoldId(uuid4()) for _ in range(HOLDS)]
        self.seats = [SeatId(uuid4()) for _ in range(SEATS)]
        self.connection = psycopg.connect(url, autocommit=True)
        # For the whole connection, instead of each transaction.
        self.connection.execute(reader.IN_ORDER.replace("LOCAL ", "").encode())
        self.connection.execute(
            LOAD,
            {
                "organization": self.organization_id,
                "holds": self.holds,
                "seats": self.seats,
                "count": ENTRIES,
                "ann": HASHES.of(self.organization_id, ANN)[0],
            },
        )

    def plan(
        self, only: AuditFilter, before: AuditPosition | None = None, *, is_search: bool = False
    ) -> tuple[set[str], int, int]:
        """The indexes that find something, the most rows that any step reads, and the rows of the
        answer."""
        query = audit_query(self.organization_id, only, PAGE, before, HASHES, is_search=is_search)
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {query.entries}".encode()
        row = self.connection.execute(explain, query.names).fetchone()
        assert row is not None
        steps = list(_steps(row[0][0]["Plan"]))
        looked_at = [_read(step) for step in steps]
        used = {step["Index Name"] for step in steps if "Index Name" in step and _read(step)}
        names = {name.replace("audit_start_", "audit_") for name in used}
        return names, max(looked_at), int(steps[0]["Actual Rows"])


def _read(step: dict[str, Any]) -> int:
    read = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
    return int(read * step["Actual Loops"])


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
    indexes, rows, found = large.plan(AuditFilter(hold_id=large.holds[0]))
    assert indexes == {"audit_by_hold"}
    assert found <= rows <= ENTRIES // HOLDS


def test_an_unknown_hold_reads_no_rows(large: LargeAudit) -> None:
    _, rows, _ = large.plan(AuditFilter(hold_id=HoldId(UUID(int=1))))
    assert rows == 0


@pytest.mark.parametrize("action", [None, "hold.created"])
def test_the_entries_of_a_seat_are_found_by_index(large: LargeAudit, action: str | None) -> None:
    """For an old seat, reading backwards from the newest entry would read nearly all of them."""
    indexes, rows, _ = large.plan(AuditFilter(seat_id=large.seats[0], action=action))
    assert indexes == {"audit_by_seat"}
    assert rows <= ENTRIES // SEATS


def test_a_busy_seat_is_read_from_its_newest_entry_on(large: LargeAudit) -> None:
    indexes, rows, found = large.plan(AuditFilter(seat_id=large.seats[0]))
    assert indexes == {"audit_by_seat"}
    assert found == PAGE
    assert rows <= 2 * PAGE


@pytest.mark.parametrize("seconds", [None, ENTRIES // 2])
def test_the_newest_entries_are_read_backwards(large: LargeAudit, seconds: int | None) -> None:
    before = None
    if seconds is not None:
        before = AuditPosition(datetime.now(UTC) - timedelta(seconds=seconds), 0)
    indexes, rows, found = large.plan(AuditFilter(), before)
    assert indexes == {"audit_pkey"}
    assert rows == found == PAGE


@pytest.mark.parametrize(
    ("since_seconds", "until_seconds"), [(10, -60), (ENTRIES, ENTRIES - 10), (-60, -120)]
)
def test_the_entries_of_a_period_are_found_by_index(
    large: LargeAudit, since_seconds: int, until_seconds: int
) -> None:
    now = datetime.now(UTC)
    since, until = (now - timedelta(seconds=each) for each in (since_seconds, until_seconds))
    indexes, rows, _ = large.plan(AuditFilter(created_from=since, created_before=until))
    assert indexes <= {"audit_pkey"}
    assert rows <= PAGE


def test_the_refused_attempts_of_a_person_are_found_by_index(large: LargeAudit) -> None:
    indexes, rows, found = large.plan(AuditFilter(email=ANN.email))
    assert indexes == {"audit_refused_by_holder"}
    assert found == PAGE
    assert rows <= ENTRIES // 1000


def test_the_refused_attempts_of_a_cart_are_found_by_index(large: LargeAudit) -> None:
    indexes, rows, found = large.plan(AuditFilter(cart_token="cart-1"))
    assert indexes == {"audit_refused_by_cart"}
    assert found == PAGE
    assert rows <= ENTRIES // 1000


@pytest.mark.parametrize(
    "only", [AuditFilter(outcome=AuditOutcome.REFUSED), AuditFilter(error="insufficient_inventory")]
)
def test_refused_attempts_have_an_index_of_their_own(large: LargeAudit, only: AuditFilter) -> None:
    indexes, rows, found = large.plan(only)
    assert indexes == {"audit_refused"}
    assert rows == found == PAGE


@pytest.mark.parametrize("name", ["hold_id", "seat_id"])
def test_a_search_for_a_person_with_many_holds_uses_the_index_of_what_else_is_given(
    large: LargeAudit, name: str
) -> None:
    given: dict[str, Any] = {"hold_id": large.holds[0], "seat_id": large.seats[0]}
    only = AuditFilter(email=ANN.email, **{name: given[name]})
    indexes, rows, _ = large.plan(only, is_search=True)
    assert indexes == {f"audit_by_{name.removesuffix('_id')}"}
    assert rows <= ENTRIES // min(HOLDS, SEATS)


NOBODY = UUID(int=1)
UNINDEXED: dict[str, Any] = {
    "action": "no.such",
    "actor": "nobody",
    "acting_user": "nobody",
    "ip": "203.0.113.7",
    "user_agent": "nobody/1.0",
    "request_id": "none",
    "session_id": SessionId(NOBODY),
    "event_id": EventId(NOBODY),
    "ticket_type_id": TicketTypeId(NOBODY),
    "outcome": AuditOutcome.DONE,
    "error": "no_such",
}


@pytest.mark.parametrize("name", UNINDEXED)
def test_a_filter_without_an_index_reads_a_bounded_number_of_entries(
    large: LargeAudit, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(reader, "EXAMINED_MAX", 1_000)
    _, rows, _ = large.plan(AuditFilter(**{name: UNINDEXED[name]}))
    assert rows <= 1_000
    monkeypatch.setattr(reader, "EXAMINED_MAX", 10 * ENTRIES)
    _, rows, found = large.plan(AuditFilter(**{name: UNINDEXED[name]}))
    is_rare = name != "outcome"
    assert not is_rare or (rows > 1_000 and not found), "control: without the bound it reads on"


BUSY = Holder(EmailAddress("busy@example.com"))
# Client-chosen ids: the newest hold has the lowest.
HELD = """
INSERT INTO hold (organization_id, id, session_id, reference, customer_email, email_key, cart_token,
    quantity, total_minor, currency, status, version, created_at, updated_at, held_at, expires_at,
    due_at, cancelled_at)
SELECT %(organization)s, lpad(to_hex(1000000 - n), 32, '0')::uuid, %(session)s, 'B' || n, '',
    %(key)s::uuid, 'busy', 1, 100, 'EUR', 'cancelled', 1, now() - interval '1 day', now(), now(),
    now(), now(), now()
FROM generate_series(1, %(count)s) AS n
"""
OF_HOLDS = """
INSERT INTO audit (organization_id, at, action, hold_id, actor, request_id, new)
SELECT organization_id, now() - make_interval(secs => right(reference, -1)::integer),
    'hold.created', id, 'test', 'r', '{}' FROM hold WHERE organization_id = %s
"""


@pytest.mark.parametrize("count", [reader.HOLDS_MAX, reader.HOLDS_MAX + 100])
@pytest.mark.parametrize("only", [AuditFilter(email=BUSY.email), AuditFilter(cart_token="busy")])
def test_the_entries_of_many_holds_are_all_found_in_order(
    fresh_database_url: str, monkeypatch: pytest.MonkeyPatch, count: int, only: AuditFilter
) -> None:
    """However many pages that takes."""
    monkeypatch.setattr(reader, "EXAMINED_MAX", 150)
    with closing(PostgresWorld(fresh_database_url)) as world:
        venue = world.venue({"floor": 1}, {"standing": ("floor",)})
        with psycopg.connect(world.url, autocommit=True) as owner:
            owner.execute(OWNER_AT_WORK)
            session = {"organization": venue.organization_id, "session": venue.session_id}
            (key, _) = HASHES.of(venue.organization_id, BUSY)
            owner.execute(HELD, {**session, "key": key, "count": count})
            owner.execute(OF_HOLDS, [venue.organization_id])
        database = Database(world.url)
        database.open()
        audit, position = PostgresAudit(database, HASHES), None
        found: list[AuditEntry] = []
        while True:
            part = audit.entries(venue.organization_id, only, 100, position)
            found += part.entries
            position = part.next
            if position is None:
                break
        database.close()
    assert len(found) == count
    assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)


def test_attempts_recorded_with_an_older_secret_are_found(large: LargeAudit) -> None:
    rotated = HolderHashes(
        "the next secret of the installation", "a secret of the installation, 32"
    )
    query = audit_query(large.organization_id, AuditFilter(email=ANN.email), PAGE, None, rotated)
    assert len(large.connection.execute(query.entries, query.names).fetchall()) == PAGE
    forgotten = HolderHashes("the next secret of the installation")
    query = audit_query(large.organization_id, AuditFilter(email=ANN.email), PAGE, None, forgotten)
    assert large.connection.execute(query.entries, query.names).fetchall() == []


def test_every_filter_is_in_one_of_these_tests() -> None:
    indexed = {"hold_id", "seat_id", "email", "cart_token", "created_from", "created_before"}
    by_the_same_way = {"catalog_id", "key_id", "user_id", "order_id", "email_keys"}
    assert indexed | by_the_same_way | set(UNINDEXED) == set(AuditFilter.__dataclass_fields__)


def test_an_order_is_found_by_its_holds(large: LargeAudit) -> None:
    _, rows, _ = large.plan(AuditFilter(order_id=OrderId(NOBODY)))
    assert rows == 0
