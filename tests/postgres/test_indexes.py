"""Each query on a large table uses its index, and every index is documented."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from holdfast.adapters.postgres.holds import reader, statements
from holdfast.adapters.postgres.inventory.reader import list_query as reservation_query
from holdfast.adapters.postgres.waitlist import statements as waiting_statements
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.ports.holds import RECENT_HOLDS_MAX, HoldFilter, HoldOrder
from holdfast.ports.paging import Cursor, PageRequest
from tests.postgres.large import BUYER, CARTS, HOLDS, LAPSED_SECONDS, SESSIONS, Large, keys, touched


@pytest.fixture(scope="module")
def analyzed(large: Large) -> Large:
    large.owner.execute("ANALYZE")
    return large


def body_of(large: Large, function: str) -> str:
    row = large.owner.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = %s", [function]
    ).fetchone()
    assert row is not None
    return str(row[0])


def test_the_reaper_reads_only_due_holds(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_due_holds").replace("row_limit", "100")
    query = query.replace("skipped_sessions", f"'{{{uuid4()}}}'::uuid[]")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert {node.get("Index Name") for node in nodes} >= {"hold_live_by_due"}
    assert touched(nodes) <= 100
    nobody = query.replace("statement_timestamp()", "now() - interval '1 year'")
    assert touched(analyzed.plan(analyzed.owner, nobody, None, measured=True)) == 0
    slow = query.replace("statement_timestamp()", "clock_timestamp() - interval '1 year'")
    nodes = analyzed.plan(analyzed.owner, slow, None, measured=True)
    assert touched(nodes) > 1000, "control: clock_timestamp() can never be an index condition"


def test_the_reaper_finds_the_next_due_hold_with_one_row(analyzed: Large) -> None:
    nodes = analyzed.plan(
        analyzed.owner, body_of(analyzed, "holdfast_seconds_until_due"), None, measured=True
    )
    assert {node.get("Index Name") for node in nodes} >= {"hold_live_by_due"}
    assert touched(nodes) == 1


@pytest.mark.parametrize("kind", ["LIVE", "RECENT"])
@pytest.mark.parametrize("name", ["HOLDS_BY_EMAIL", "HOLDS_BY_USER"])
def test_the_holds_a_person_could_pay_for_are_found_without_reading_others(
    analyzed: Large, kind: str, name: str
) -> None:
    is_by_email = name == "HOLDS_BY_EMAIL"
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
        "email": [row[1]],
        "user_id": row[2],
        "since": None,
        "statuses": [status.value for status in HoldStatus],
        "limit": RECENT_HOLDS_MAX,
    }
    query = getattr(statements, f"{kind}_{name}")
    nodes = analyzed.plan(analyzed.engine, query, names, measured=True)
    assert nodes[0]["Actual Rows"] > 0
    of_holds = [node for node in nodes if node.get("Relation Name") == "hold"]
    assert of_holds
    assert touched(of_holds) <= HOLDS // 4000


def test_the_promoter_reads_only_unsettled_waitlists(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_unsettled_sessions").replace("row_limit", "100")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert "waitlist_unsettled" in {node.get("Index Name") for node in nodes}
    assert touched(nodes) == 0


def test_the_sweep_reads_one_row_per_session(
    analyzed: Large,
) -> None:
    query = body_of(analyzed, "holdfast_waiting_sessions").replace("row_limit", "50")
    start = f"'{analyzed.organization_id}'::uuid"
    query = query.replace("after_organization", start).replace("after_session", f"'{UUID(int=0)}'")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert nodes[0]["Actual Rows"] == 50
    assert touched(nodes) <= 50


def test_a_queue_position_is_counted_by_index(analyzed: Large) -> None:
    (organization_id,), (hold_id,) = keys(
        analyzed, "SELECT organization_id, hold_id FROM waiting_place ORDER BY since DESC LIMIT 1"
    )
    position = (organization_id, hold_id)
    nodes = analyzed.plan(
        analyzed.application, waiting_statements.POSITION, position, measured=True
    )
    assert nodes[0]["Actual Rows"] == 1
    # The parties of its queue, and the queues of its session.
    assert touched(nodes) <= CARTS // 20
    used = analyzed.indexes(waiting_statements.POSITION, position)
    assert used == {"waiting_place_pkey", "waiting_place_in_line", "waiting_line_pkey"}


@pytest.mark.parametrize("name", ["CART_HOLD", "LIVE_HOLDS_OF_CART"])
def test_the_holds_of_a_cart_are_found_by_its_token(analyzed: Large, name: str) -> None:
    query = getattr(statements, name)
    used = analyzed.indexes(query, (analyzed.organization_id, "cart7"))
    assert used & {"hold_by_cart", "hold_of_cart"}
    nodes = analyzed.plan(
        analyzed.application, query, (analyzed.organization_id, "cart7"), measured=True
    )
    assert touched(nodes) <= 2


def test_the_pruner_reads_only_old_rows(analyzed: Large) -> None:
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
    query, parameters = reader.list_query(analyzed.organization_id, only, PageRequest(20))
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    # All lapsed ones may be read: few exist while a reaper runs. Here are 5,000.
    has_lapsed = status in {HoldStatus.EXPIRED, HoldStatus.ACTIVE}
    assert touched(nodes) <= (LAPSED_SECONDS + 300 if has_lapsed else 100)


@pytest.mark.parametrize("of_session", [False, True])
def test_a_page_ordered_by_expiry_reads_about_a_page(analyzed: Large, of_session: bool) -> None:
    session_id = analyzed.venue.session_id if of_session else None
    query, parameters = reader.list_query(
        analyzed.organization_id,
        HoldFilter(session_id=session_id),
        PageRequest(20),
        HoldOrder.EXPIRY,
    )
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    assert "hold_live_by_session" in {node.get("Index Name") for node in nodes}
    # Without a session, one lookup for each session of the organization.
    assert touched(nodes) <= (100 if of_session else SESSIONS + 100)


@pytest.mark.parametrize("status", [None, *ReservationStatus])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_page_of_reservations_reads_about_a_page(
    analyzed: Large, status: ReservationStatus | None, is_first: bool
) -> None:
    after = None if is_first else Cursor(datetime(2026, 1, 15, tzinfo=UTC), uuid4())
    query, names = reservation_query(analyzed.organization_id, status, PageRequest(20, after))
    nodes = analyzed.plan(analyzed.application, query, names, measured=True)
    assert touched(nodes) <= 100


def test_the_organizations_of_a_session_are_found_by_its_id(analyzed: Large) -> None:
    query = body_of(analyzed, "holdfast_organizations_of_session")
    query = query.replace("wanted", f"'{analyzed.venue.session_id}'::uuid")
    nodes = analyzed.plan(analyzed.owner, query, None, measured=True)
    assert "session_by_id" in {node.get("Index Name") for node in nodes}
    assert nodes[0]["Actual Rows"] == 1


def test_an_organization_with_few_holds_does_not_read_those_of_others(
    analyzed: Large,
) -> None:
    nobody = OrganizationId(uuid4())
    query, parameters = reader.list_query(nobody, HoldFilter(), PageRequest(20), HoldOrder.EXPIRY)
    nodes = analyzed.plan(analyzed.application, query, parameters, measured=True)
    assert touched(nodes) <= 20


def listed(large: Large, **only: Any) -> set[str]:
    query, parameters = reader.list_query(
        large.organization_id, HoldFilter(**only), PageRequest(20)
    )
    beside = {"hold_line_pkey", "seat_pkey", "waiting_place_pkey"}
    return large.indexes(query, parameters) - beside


def test_one_hold_is_found_by_its_id(analyzed: Large) -> None:
    used = analyzed.indexes(statements.SELECT_HOLD, (analyzed.organization_id, uuid4()))
    assert used == {"hold_pkey", "hold_line_pkey", "seat_pkey", "waiting_place_pkey"}


def test_lists_of_holds_use_their_index(analyzed: Large) -> None:
    session_id = SessionId(analyzed.venue.session_id)
    email = BUYER
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
def test_queries_of_operators_use_their_index(analyzed: Large, question: str, index: str) -> None:
    query = f"SELECT * FROM hold WHERE organization_id = %(organization)s AND {question}"
    parameters = {
        "organization": OrganizationId(analyzed.organization_id),
        "session": analyzed.venue.session_id,
    }
    assert index in analyzed.indexes(query, parameters)


def test_every_index_is_documented(analyzed: Large) -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "indexes.md").read_text()
    rows = analyzed.owner.execute(
        "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"
        " JOIN pg_class t ON t.oid = x.indrelid"
        " WHERE t.relnamespace = 'public'::regnamespace AND t.relname !~ '^(auth|axes|django|otp)_'"
        " AND NOT t.relispartition"
    ).fetchall()
    missing = [name for (name,) in rows if f"`{name}`" not in text]
    assert not missing
