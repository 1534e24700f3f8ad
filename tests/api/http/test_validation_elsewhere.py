"""Every kind of bad path, query or catalog request, with the input never echoed."""

from typing import Any

import pytest

from tests.api.http.test_validation import MARK
from tests.api.world import EVENT, FLOOR, POOL, SESSION, UNKNOWN, World

QUERIES = [
    ("limit=0", "validation_error", "limit"),
    ("limit=101", "validation_error", "limit"),
    (f"limit={MARK}", "validation_error", "limit"),
    ("limit=", "validation_error", "limit"),
    ("limit=" + "9" * 500, "validation_error", "limit"),
    ("limit=1e2", "validation_error", "limit"),
    ("limit=10.0", "validation_error", "limit"),
    ("limit=%2010", "validation_error", "limit"),
    ("user_id=%20", "invalid_user_id", "user_id"),
    (f"status={MARK}", "validation_error", "status"),
    (f"session_id={MARK}", "validation_error", "session_id"),
    (f"customer_email={MARK}@example.com", "validation_error", "customer_email"),
    (f"limit=2&customer_email={MARK}", "validation_error", "customer_email"),
    ("customer_email=", "validation_error", "customer_email"),
    (f"X-Customer-Email={MARK}@example.com", "validation_error", "query"),
    (f"cursor={MARK}", "invalid_cursor", "cursor"),
    (f"cursor={MARK * 8}", "invalid_cursor", "cursor"),
    ("cursor=" + "!" * 32, "invalid_cursor", "cursor"),
    ("limit=1&limit=1", "validation_error", "query"),
    (f"{MARK}=1", "validation_error", "query"),
    (f"status=active&{MARK}=1", "validation_error", "query"),
    ("a=" + MARK * 2000, "validation_error", "query"),
    (f"customer_email={MARK}%00@example.com", "invalid_characters", None),
    (f"customer_email={MARK}%ff@example.com", "invalid_characters", None),
]


@pytest.mark.parametrize(("query", "error", "field"), QUERIES)
def test_a_bad_query_is_refused(world: World, query: str, error: str, field: str | None) -> None:
    answer = world.call("GET", f"/api/holds?{query}")
    problem = answer.json()
    assert (answer.status_code, problem["error"]) == (400, error)
    assert [each["field"] for each in problem.get("errors", [])] == ([field] if field else [])
    assert MARK not in answer.text


@pytest.mark.parametrize("moment", ["0.5", "1700000000", "1e9", "2026-12-31", "now"])
@pytest.mark.parametrize("name", ["created_from", "created_before"])
def test_a_time_needs_an_offset(world: World, name: str, moment: str) -> None:
    answer = world.call("GET", f"/api/audit?{name}={moment}")
    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert [each["field"] for each in answer.json()["errors"]] == [name]
    assert world.call("GET", f"/api/audit?{name}=2026-12-31T20:00:00Z").status_code == 200


def test_statistics_of_an_unknown_session_are_refused(world: World) -> None:
    answer = world.call("GET", f"/api/stats?session_id={UNKNOWN}")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_session")


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/holds/", "/api/holds"),
        (f"/api/holds/{UNKNOWN}/", "/api/holds/{hold_id}"),
        (f"/api/holds/{MARK}/release/", "/api/holds/{hold_id}/release"),
        ("/api/docs/", "/api/docs"),
        (f"/api/{MARK}/", None),
        ("/api/holds//", None),
        ("/api/", None),
    ],
)
def test_a_trailing_slash_gets_a_hint(world: World, path: str, named: str | None) -> None:
    answer = world.call("GET", path)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    message = answer.json()["message"]
    hint = "" if named is None else f". Leave out the slash at the end: {named}"
    assert message == f"There is nothing at this address{hint}"
    assert MARK not in answer.text


def test_a_route_without_parameters_refuses_a_query(world: World) -> None:
    for method, path in (("POST", "/api/holds"), ("GET", f"/api/events/{EVENT}")):
        answer = world.call(method, f"{path}?{MARK}=1")
        assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
        assert MARK not in answer.text


@pytest.mark.parametrize("hold_id", [str(UNKNOWN), MARK, "%00", "{}", f"{UNKNOWN}x", UNKNOWN.hex])
@pytest.mark.parametrize("action", ["", "/release"])
def test_a_malformed_id_in_a_path_looks_like_an_unknown_one(
    world: World, hold_id: str, action: str
) -> None:
    answer = world.call("POST" if action else "GET", f"/api/holds/{hold_id}{action}")
    problem = answer.json()
    assert (answer.status_code, problem["error"]) == (404, "hold_not_found")
    assert problem["message"] == "Hold not found"
    assert MARK not in answer.text


def test_an_unknown_path_is_404_and_a_wrong_method_405(world: World) -> None:
    unknown = world.call("GET", f"/api/{MARK}")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "not_found")
    assert MARK not in unknown.text
    wrong = world.call("DELETE", f"/api/events/{EVENT}")
    assert (wrong.status_code, wrong.json()["error"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, PATCH"


def test_a_release_accepts_no_body(world: World) -> None:
    path = f"/api/holds/{world.place().json()['hold_id']}/release"
    refused = world.call("POST", path, json={MARK: 1})
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
    assert MARK not in refused.text
    assert world.call("POST", path, json={}).status_code == 200


EVENT_BODY = {"name": "x", "currency": "EUR"}
BLOCK_BODY = {"session_id": str(SESSION), "name": "x"}
SOLD_HERE = {"ticket_type_id": str(FLOOR), "price": 1}
LAYOUT = {"name": "x", "rows": ["A"], "seats_per_row": 2}
SEATS = f"sessions/{SESSION}/seats"

BAD_CATALOG: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("POST", "events", {"name": "x"}, "validation_error", "currency"),
    ("POST", "events", {"name": " ", "currency": "EUR"}, "validation_error", "name"),
    ("POST", "events", {"name": MARK * 51, "currency": "EUR"}, "validation_error", "name"),
    ("POST", "events", {"name": "x", "currency": MARK}, "invalid_currency", "currency"),
    ("POST", "events", {"name": "x", "currency": "eur"}, "invalid_currency", "currency"),
    (
        "POST",
        "events",
        {"name": "x", "currency": "EUR", "hold_policy": {"ttl_seconds": 0}},
        "invalid_policy",
        "hold_policy.ttl_seconds",
    ),
    ("PATCH", f"events/{EVENT}", {}, "validation_error", "body"),
    ("PATCH", f"events/{EVENT}", {"name": None}, "validation_error", "name"),
    ("PATCH", f"events/{EVENT}", {"currency": "USD"}, "validation_error", "body"),
    ("PATCH", f"events/{EVENT}", {"hold_policy": {}}, "validation_error", "hold_policy"),
    ("PATCH", f"events/{EVENT}", {"hold_policy": None}, "validation_error", "hold_policy"),
    (
        "POST",
        "sessions",
        {"event_id": str(EVENT), "name": "x", "starts_at": "2026-01-01T20:00:00"},
        "validation_error",
        "starts_at",
    ),
    (
        "POST",
        "sessions",
        {"event_id": str(EVENT), "name": "x", "starts_at": "0001-01-01T00:00:00+14:00"},
        "validation_error",
        "starts_at",
    ),
    (
        "POST",
        "pools",
        {"session_id": str(SESSION), "name": "x", "capacity": -1},
        "validation_error",
        "capacity",
    ),
    (
        "POST",
        "pools",
        {"session_id": str(SESSION), "name": "x", "capacity": 2**31},
        "validation_error",
        "capacity",
    ),
    (
        "POST",
        "ticket-types",
        {"session_id": str(SESSION), "name": "x", "price": 1},
        "validation_error",
        "capacity",
    ),
    (
        "POST",
        "ticket-types",
        {"session_id": str(SESSION), "name": "x", "price": 0.5, "capacity": 1},
        "invalid_price",
        "price",
    ),
    (
        "POST",
        "ticket-types",
        {"session_id": str(SESSION), "name": "x", "price": 1, "pool_ids": [str(POOL), str(POOL)]},
        "validation_error",
        "pool_ids[1]",
    ),
    ("POST", "events", {**EVENT_BODY, "status": "live"}, "validation_error", "status"),
    ("POST", "events", {**EVENT_BODY, "sale_ends_at": MARK}, "validation_error", "sale_ends_at"),
    ("PATCH", f"events/{EVENT}", {"status": MARK}, "validation_error", "status"),
    ("PATCH", f"events/{EVENT}", {"status": None}, "validation_error", "status"),
    (
        "PATCH",
        f"events/{EVENT}",
        {"sale_starts_at": "0001-01-01T00:00:00+14:00"},
        "validation_error",
        "sale_starts_at",
    ),
    (
        "PATCH",
        f"events/{EVENT}",
        {"hold_policy": {"refuse_orphans": "yes"}},
        "validation_error",
        "hold_policy.refuse_orphans",
    ),
    (
        "POST",
        "ticket-types",
        {"session_id": str(SESSION), "name": "x", "price": 1, "is_seated": 1},
        "validation_error",
        "is_seated",
    ),
    ("POST", "blocks", {"session_id": str(SESSION)}, "validation_error", "name"),
    ("POST", "blocks", {**BLOCK_BODY, "capacity": -1}, "validation_error", "capacity"),
    ("POST", "blocks", {**BLOCK_BODY, "rank": -1}, "validation_error", "rank"),
    ("POST", "blocks", {**BLOCK_BODY, "rank": 2**31}, "validation_error", "rank"),
    (
        "POST",
        "blocks",
        {**BLOCK_BODY, "ticket_types": [SOLD_HERE, SOLD_HERE]},
        "validation_error",
        "ticket_types[1].ticket_type_id",
    ),
    (
        "POST",
        "blocks",
        {**BLOCK_BODY, "ticket_types": [{**SOLD_HERE, "price": -1}]},
        "invalid_price",
        "ticket_types[0].price",
    ),
    ("PATCH", f"blocks/{UNKNOWN}", {}, "validation_error", "body"),
    ("PATCH", f"blocks/{UNKNOWN}", {"name": None}, "validation_error", "name"),
    ("PATCH", f"blocks/{UNKNOWN}", {"session_id": str(SESSION)}, "validation_error", "body"),
    ("POST", SEATS, {"blocks": []}, "validation_error", "blocks"),
    ("POST", SEATS, {"blocks": [{**LAYOUT, "rows": []}]}, "validation_error", "blocks[0].rows"),
    ("POST", SEATS, {"blocks": [{**LAYOUT, "rows": "A"}]}, "validation_error", "blocks[0].rows"),
    ("POST", SEATS, {"blocks": [{**LAYOUT, "rows": None}]}, "validation_error", "blocks[0].rows"),
    (
        "POST",
        SEATS,
        {"blocks": [LAYOUT, {**LAYOUT, "rows": ["A", " "]}]},
        "validation_error",
        "blocks[1].rows[1]",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "rows": {"from": MARK, "to": "B"}}]},
        "validation_error",
        "blocks[0].rows.from",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "rows": {"from": "A"}}]},
        "validation_error",
        "blocks[0].rows.to",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "seats_per_row": 0}]},
        "validation_error",
        "blocks[0].seats_per_row",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "numbering": MARK}]},
        "validation_error",
        "blocks[0].numbering",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "origin": {"x": 1e300, "y": 0}}]},
        "validation_error",
        "blocks[0].origin.x",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "gaps": [1]}]},
        "validation_error",
        "blocks[0].gaps[0]",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "gaps": [MARK]}]},
        "invalid_seats",
        "blocks[0].gaps[0]",
    ),
    (
        "POST",
        SEATS,
        {"blocks": [{**LAYOUT, "ticket_types": [SOLD_HERE, SOLD_HERE]}]},
        "validation_error",
        "blocks[0].ticket_types[1].ticket_type_id",
    ),
    (
        "PATCH",
        f"ticket-types/{FLOOR}",
        {"pool_ids": [str(POOL), MARK]},
        "validation_error",
        "pool_ids[1]",
    ),
]


@pytest.mark.parametrize("bad", BAD_CATALOG)
def test_a_bad_catalog_request_is_refused(
    world: World, bad: tuple[str, str, dict[str, Any], str, str]
) -> None:
    method, path, body, error, field = bad
    before = len(world.catalog.changes)
    answer = world.call(method, f"/api/{path}", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["error"]) == (400, error)
    assert [each["field"] for each in problem["errors"]] == [field]
    assert MARK not in answer.text
    assert len(world.catalog.changes) == before
