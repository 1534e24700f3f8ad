"""The audit: who did what, to which hold or seat, from where. It can be read but not changed."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.e2e.answers import first_error, moment, problem_of
from tests.e2e.cart_calls import in_parallel
from tests.e2e.halls import build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import (
    checked_out,
    completed,
    confirmed,
    extended,
    held,
    keyed,
    ok,
    post,
    read,
)
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer

TTL_SECONDS = 600


def entries(platform: Platform, **query: Any) -> list[Json]:
    return list(read(platform, "/api/audit", **query)["data"])


def actions(platform: Platform, **query: Any) -> list[str]:
    """Oldest first, without the setup of the sale."""
    found = entries(platform, **query)
    return [entry["action"] for entry in found if "catalog_id" not in entry][::-1]


def test_the_audit_records_the_whole_life_of_a_hold(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5), 2)
    ok(extended(platform, hold, minutes=1))
    checkout = ok(checked_out(platform, hold), 201)
    order = ok(completed(platform, checkout), 201)
    found = entries(platform, hold_id=hold["hold_id"])
    assert [entry["action"] for entry in found] == [
        "hold.converted",
        "hold.extended",
        "hold.extended",
        "hold.created",
    ]
    numbers = [entry["entry_id"] for entry in found]
    assert numbers == sorted(numbers, reverse=True)
    last, first = found[0], found[-1]
    assert first.get("old") is None
    assert (last["old"]["status"], last["new"]["status"]) == ("active", "converted")
    assert last["new"]["order_id"] == order["order_id"]
    for entry in found:
        assert entry["hold_id"] == hold["hold_id"]
        assert entry.get("seat_id") is None
        assert entry["actor"].startswith("key:")
        assert entry["ip"] == "127.0.0.1"
        assert entry["user_agent"].startswith("python-httpx/")


def test_an_entry_names_its_request(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    request_id = f"request-{uuid4().hex}"
    answer = platform.client.post(
        f"/api/holds/{hold['hold_id']}/extend",
        json={"minutes": 60, "as_operator": True},
        headers={"X-Request-ID": request_id, "User-Agent": "box-office/7"},
    )
    extension = entries(platform, hold_id=hold["hold_id"], action="hold.extended")[0]
    assert (extension["request_id"], extension["user_agent"]) == (request_id, "box-office/7")
    assert extension["old"]["expires_at"] == hold["expires_at"]
    assert extension["new"]["expires_at"] == answer.json()["expires_at"]


def test_the_audit_distinguishes_operator_and_holder_extensions(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    ok(extended(platform, hold, minutes=1))
    ok(extended(platform, hold, minutes=60, as_operator=True))
    by_operator, by_holder = entries(platform, hold_id=hold["hold_id"], action="hold.extended")
    assert by_operator["new"]["as_operator"] is True
    assert "as_operator" not in by_holder["new"]


def test_a_seat_has_its_own_history(unreaped: Platform, unreaped_owner: Owner) -> None:
    hall = build_hall(unreaped)
    seat_id = hall.seat_ids["Stalls A 1"]
    ok(hall.hold("Stalls A 1", "Stalls A 2"), 201)
    problem_of(hall.reserve("Stalls A 1"), 409, "seat_held_by_another_user")
    wait_until(lambda: "seat_reserve_failed" in actions(unreaped), "the attempt is in the audit")
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    second = ok(hall.hold("Stalls A 1"), 201)
    ok(unreaped.client.post(f"/api/holds/{second['hold_id']}/release"))
    ok(confirmed(unreaped, ok(hall.hold("Stalls A 1"), 201)))
    assert actions(unreaped, seat_id=seat_id) == [
        "seat_reserved",
        "seat_reserve_failed",
        "seat_hold_expired",
        "seat_reserved",
        "seat_released",
        "seat_reserved",
        "seat_sold",
    ]
    failed = entries(unreaped, seat_id=seat_id, action="seat_reserve_failed")[0]
    assert failed["new"]["error"] == "seat_held_by_another_user"
    assert failed["new"]["seat_ids"] == [seat_id]
    reserved = entries(unreaped, seat_id=seat_id, action="seat_reserved")[1]
    assert reserved["new"] == {
        "status": "held",
        "event_id": hall.event_id,
        "held_until": second["expires_at"],
        "source": "web",
    }
    sold = entries(unreaped, seat_id=seat_id)[0]
    assert (sold["old"], sold["new"]) == ({"status": "held"}, {"status": "sold"})
    both = {"seat_id": seat_id, "hold_id": second["hold_id"]}
    assert actions(unreaped, **both) == ["seat_reserved", "seat_released"]


def test_a_refused_change_says_who_tried_it_and_what_the_hold_was(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, user_id="ann")
    mallory = platform.buyer(user_id="mallory")
    path = f"/api/holds/{hold['hold_id']}"
    problem_of(mallory.post(f"{path}/release"), 404, "hold_not_found")
    problem_of(mallory.post(f"{path}/extend", json={"minutes": 1}), 404, "hold_not_found")
    cart = {"session_id": sale.session_id, "items": [], "user_id": "ann"}
    item = {"cart_item_id": "1", "ticket_type_id": sale.ticket_type_ids[0], "quantity": 1}
    ok(platform.client.put("/api/carts/c/hold", json=cart | {"items": [item]}), 201)
    emptied = platform.client.put("/api/carts/c/hold", json=cart | {"user_id": "bob"})
    problem_of(emptied, 409, "cart_of_another_holder")
    of_mallory = {"user_id": "mallory", "outcome": "refused"}
    wait_until(lambda: len(actions(platform, **of_mallory)) == 2, "they are in the audit")
    for entry in entries(platform, **of_mallory):
        assert entry["session_id"] == sale.session_id
        assert entry["ticket_type_ids"] == [sale.ticket_type_ids[0]]
    of_bob = {"user_id": "bob", "cart_token": "c"}
    wait_until(lambda: actions(platform, **of_bob) == ["hold.release_failed"], "so is the cart")


def test_no_tenant_suppresses_anothers_entries(platform: Platform, neighbour: Platform) -> None:
    """Checkouts of empty carts under a used key concern no hold; other commands in the same group
    still leave their entries."""
    key = f"key-{uuid4().hex}"
    ok(platform.place(platform.on_sale(5), key=key), 201)
    sale = neighbour.on_sale(1)

    def empty_checkout() -> httpx.Response:
        body = {"cart_token": f"cart-{uuid4().hex}"}
        return platform.client.post("/api/checkouts", json=body, headers=keyed(key))

    answers = in_parallel([empty_checkout, lambda: neighbour.place(sale, 2)] * 24)
    for checkout, refused in zip(answers[::2], answers[1::2], strict=True):
        problem_of(checkout, 422, "idempotency_key_reused")
        problem_of(refused, 409, "insufficient_inventory")
    wait_until(
        lambda: actions(neighbour, limit=100) == ["hold.create_failed"] * 24,
        "every refused attempt is in the audit",
    )
    assert set(actions(platform)) == {"hold.created", "checkout.start_failed"}


def test_the_audit_contains_no_personal_data(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5), customer_email="ada@example.com", user_id="u-1")
    ok(confirmed(platform, hold, attendees=[{"name": "Ada", "email": "ada@example.com"}]))
    shown = platform.client.get("/api/audit").text
    assert hold["hold_id"] in shown
    for secret in ("ada@example.com", "u-1", "Ada"):
        assert secret not in shown


def test_the_audit_can_be_filtered_by_actor_and_time(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(5)
    first, second = held(platform, sale), held(platform, sale)
    key = entries(platform)[0]["actor"]
    owner.let_pass(platform.organization_id, TTL_SECONDS + 1)
    owner.wait_for_status(first["hold_id"], "expired")
    owner.wait_for_status(second["hold_id"], "expired")
    reaper = entries(platform)[0]["actor"]
    assert reaper != key
    assert actions(platform, actor=key) == ["hold.created", "hold.created"]
    assert actions(platform, actor=reaper) == ["hold.expired", "hold.expired"]
    assert actions(platform, actor="nobody") == []
    at = entries(platform, hold_id=second["hold_id"], action="hold.created")[0]["created_at"]
    later = next_moment(at)
    assert actions(platform, created_before=at, hold_id=second["hold_id"]) == []
    assert actions(platform, created_from=at, created_before=later, hold_id=second["hold_id"]) == [
        "hold.created"
    ]
    assert actions(platform, created_from=later, hold_id=second["hold_id"]) == ["hold.expired"]


def next_moment(at: str) -> str:
    later: datetime = moment(at) + timedelta(microseconds=1)
    return later.isoformat().replace("+00:00", "Z")


def test_the_audit_is_paged(platform: Platform) -> None:
    sale = platform.on_sale(9)
    made = [held(platform, sale)["hold_id"] for _ in range(5)]
    seen: list[str] = []
    query: Json = {"limit": 2}
    while True:
        page = read(platform, "/api/audit", **query)
        seen += [entry.get("hold_id") or entry["catalog_id"] for entry in page["data"]]
        assert page["has_more"] == ("next_cursor" in page)
        if not page["has_more"]:
            break
        query["cursor"] = page["next_cursor"]
        # New entries do not shift the pages.
        held(platform, sale, customer_email="late@example.com") if len(seen) == 2 else None
    setup = [entry["catalog_id"] for entry in entries(platform) if "catalog_id" in entry]
    assert seen == [*made[::-1], *setup]


def test_another_organization_sees_no_entries(platform: Platform, neighbour: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    assert entries(neighbour) == []
    assert entries(neighbour, hold_id=hold["hold_id"]) == []


def test_the_audit_has_its_own_scope(server: RunningServer) -> None:
    clerk = new_platform(server.base_url, server.database_url, ("holds:read", "holds:write"))
    problem_of(clerk.client.get("/api/audit"), 403, "insufficient_scope")
    auditor = new_platform(server.base_url, server.database_url, ("audit:read",))
    assert entries(auditor) == []
    problem_of(post(auditor, "/api/holds", {}), 403, "insufficient_scope")


def test_nobody_can_change_the_audit(platform: Platform, owner: Owner) -> None:
    held(platform, platform.on_sale(5))
    before = entries(platform)
    for statement in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.run(statement)
    assert entries(platform) == before


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ({"hold_id": "x"}, "hold_id", "invalid_value"),
        ({"seat_id": "x"}, "seat_id", "invalid_value"),
        ({"action": ""}, "action", "invalid_value"),
        ({"action": "x" * 101}, "action", "invalid_value"),
        ({"actor": ""}, "actor", "invalid_value"),
        ({"created_from": "yesterday"}, "created_from", "invalid_value"),
        ({"created_from": "2026-01-01T00:00:00"}, "created_from", "invalid_value"),
        ({"created_before": "2026-13-01T00:00:00Z"}, "created_before", "invalid_value"),
        ({"cursor": "0"}, "cursor", "invalid_cursor"),
        ({"cursor": "AAAAAAAAAAA="}, "cursor", "invalid_cursor"),
        ({"cursor": "x" * 33}, "cursor", "invalid_cursor"),
        ({"limit": "101"}, "limit", "invalid_value"),
        ({"user": "x"}, "query", "unknown_field"),
    ],
)
def test_errors_name_the_bad_query_parameter(
    platform: Platform, query: dict[str, str], field: str, code: str
) -> None:
    assert first_error(platform.client.get("/api/audit", params=query)) == (field, code)
