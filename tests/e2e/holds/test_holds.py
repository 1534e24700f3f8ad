"""Holds over HTTP: placed, read, listed, released, counted."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.e2e.answers import moment, placed, problem_of, seconds_between
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform, Sale, sent

ALPHABET = set("23456789ABCDEFGHJKMNPQRSTUVWXYZ")


def availability(platform: Platform, sale: Sale) -> Json:
    answer = platform.client.get(f"/api/sessions/{sale.session_id}/availability")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_new_hold_has_all_documented_fields(platform: Platform) -> None:
    sale = platform.on_sale(5, price=4500)
    before = datetime.now(UTC)
    answer = platform.place(sale, 2, customer_email="user@example.com")
    hold = placed(answer)
    assert answer.headers["content-type"] == "application/json"
    UUID(hold["hold_id"])
    created_at, expires_at = moment(hold["created_at"]), moment(hold["expires_at"])
    assert abs(created_at - before) < timedelta(seconds=5)
    assert timedelta(minutes=10) <= expires_at - created_at < timedelta(minutes=10, seconds=1)
    assert expires_at.microsecond == 0
    assert len(hold["reference"]) >= 6
    assert set(hold["reference"]) <= ALPHABET
    assert hold == {
        "hold_id": hold["hold_id"],
        "session_id": sale.session_id,
        "ticket_type_id": sale.ticket_type_id,
        "quantity": 2,
        "status": "active",
        "expires_at": hold["expires_at"],
        "created_at": hold["created_at"],
        "reference": hold["reference"],
        "lines": [
            {
                "ticket_type_id": sale.ticket_type_id,
                "quantity": 2,
                "unit_price": 4500,
                "subtotal": 9000,
            }
        ],
        "total": 9000,
        "currency": "EUR",
        "expires_in_seconds": 600,
        "version": 1,
        "updated_at": hold["created_at"],
        "held_at": hold["created_at"],
        "seat_ids": [],
        "minutes_remaining": 10,
        "source": "web",
    }
    promised = ["hold_id", "session_id", "ticket_type_id", "quantity", "status", "expires_at"]
    assert list(hold)[:7] == [*promised, "created_at"]


def test_answers_must_not_be_cached(platform: Platform) -> None:
    answer = platform.place(platform.on_sale(1))
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_request_id_is_echoed_or_generated(platform: Platform) -> None:
    sale = platform.on_sale(1)
    path = f"/api/sessions/{sale.session_id}"
    sent = platform.client.get(path, headers={"X-Request-ID": "checkout-4711"})
    assert sent.headers["x-request-id"] == "checkout-4711"
    UUID(platform.client.get(path).headers["x-request-id"])
    strange = platform.client.get(path, headers={"X-Request-ID": "<script>"})
    UUID(strange.headers["x-request-id"])


def test_reading_a_hold_reveals_no_holder(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = placed(platform.place(sale, 2, customer_email="secret-buyer@example.com", user_id="u1"))
    answer = platform.client.get(f"/api/holds/{hold['hold_id']}")
    assert answer.status_code == 200
    read = answer.json()
    assert 595 <= read.pop("expires_in_seconds") <= 600
    assert read.pop("minutes_remaining") in {9, 10}
    assert read == {name: hold[name] for name in hold if name in read}
    assert len(read) == len(hold) - 2
    assert "secret-buyer" not in answer.text


def test_a_hold_id_is_case_insensitive(platform: Platform) -> None:
    hold = placed(platform.place(platform.on_sale(1)))
    read = platform.client.get(f"/api/holds/{hold['hold_id'].upper()}")
    assert read.json()["hold_id"] == hold["hold_id"]


def test_a_user_id_can_replace_the_email_address(platform: Platform) -> None:
    sale = platform.on_sale(5)
    body = platform.hold_body(sale, user_id="user-4711")
    del body["customer_email"]
    assert platform.client.post("/api/holds", json=body).status_code == 201
    del body["user_id"]
    problem = problem_of(platform.client.post("/api/holds", json=body), 400, "holder_required")
    assert problem["message"] == "Give customer_email or user_id"


def test_the_insufficient_inventory_problem_is_exact(platform: Platform) -> None:
    sale = platform.on_sale(3)
    placed(platform.place(sale, 2))
    answer = platform.place(sale, 2)
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:holdfast:problem:insufficient_inventory",
        "title": "Insufficient inventory",
        "status": 409,
        "detail": "Only 1 ticket(s) available",
        "error": "insufficient_inventory",
        "message": "Only 1 ticket(s) available",
        "available_quantity": 1,
        "request_id": answer.headers["x-request-id"],
    }
    assert platform.available(sale) == [1]


def test_released_tickets_are_free_at_once(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(2)
    hold = placed(platform.place(sale, 2))
    released = platform.client.post(f"/api/holds/{hold['hold_id']}/release")
    assert released.status_code == 200
    after = released.json()
    assert (after["status"], after["version"], after["expires_in_seconds"]) == ("cancelled", 2, 0)
    assert after["cancelled_at"] == after["updated_at"] >= hold["created_at"]
    assert platform.available(sale) == [2]
    placed(platform.place(sale, 2))
    owner.assert_counters_add_up(platform.organization_id)


def test_a_release_accepts_no_fields(platform: Platform) -> None:
    hold = placed(platform.place(platform.on_sale(2)))
    path = f"/api/holds/{hold['hold_id']}/release"
    problem_of(
        platform.client.post(path, json={"reason": "changed my mind"}), 400, "validation_error"
    )
    assert platform.client.get(f"/api/holds/{hold['hold_id']}").json()["status"] == "active"
    assert platform.client.post(path, json={}).json()["status"] == "cancelled"


def test_only_the_first_of_many_releases_succeeds(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(4)
    hold = placed(platform.place(sale, 4))
    path = f"/api/holds/{hold['hold_id']}/release"
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: platform.client.post(path), range(16)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 15
    assert platform.available(sale) == [4]
    owner.assert_counters_add_up(platform.organization_id)


def test_availability_counts_by_ticket_type(platform: Platform) -> None:
    sale = platform.on_sale(5, 3, price=1200)
    placed(platform.place(sale, 2))
    answer = availability(platform, sale)
    assert abs(moment(answer.pop("at")) - datetime.now(UTC)) < timedelta(seconds=5)
    common = {"price": 1200, "currency": "EUR", "sold": 0}
    floor, balcony = sale.ticket_type_ids
    assert answer == {
        "session_id": sale.session_id,
        "event_id": sale.event_id,
        "event_status": "published",
        "on_sale": True,
        "ticket_types": [
            {"ticket_type_id": floor, "name": "Type 0", **common}
            | {"capacity": 5, "held": 2, "available": 3},
            {"ticket_type_id": balcony, "name": "Type 1", **common}
            | {"capacity": 3, "held": 0, "available": 3},
        ],
    }


def test_an_event_that_is_not_on_sale_shows_nothing_available(platform: Platform) -> None:
    sale = platform.on_sale(5)
    placed(platform.place(sale, 2))

    def shown(**change: str | None) -> tuple[str, bool, int, int]:
        answer = platform.client.patch(f"/api/events/{sale.event_id}", json=change)
        assert answer.status_code == 200, answer.text
        seen = availability(platform, sale)
        (offered,) = seen["ticket_types"]
        return seen["event_status"], seen["on_sale"], offered["held"], offered["available"]

    assert shown(sale_ends_at="2020-01-01T00:00:00Z") == ("published", False, 2, 3)
    assert shown(sale_ends_at=None) == ("published", True, 2, 3)
    assert shown(status="cancelled") == ("cancelled", False, 2, 0)
    assert shown(status="archived") == ("archived", False, 2, 0)


def test_several_lines_are_held_and_priced_together(platform: Platform) -> None:
    sale = platform.on_sale(5, 3, price=1000)
    floor, balcony = sale.ticket_type_ids
    lines = [
        {"ticket_type_id": floor, "quantity": 2},
        {"ticket_type_id": balcony, "quantity": 1, "unit_price": 750},
        {"ticket_type_id": floor, "quantity": 1, "unit_price": 0},
    ]
    body = {"session_id": sale.session_id, "user_id": "u", "lines": lines}
    hold = placed(platform.client.post("/api/holds", json=body))
    assert (hold["quantity"], hold["total"]) == (4, 2750)
    assert hold["lines"] == [
        {"ticket_type_id": floor, "quantity": 2, "unit_price": 1000, "subtotal": 2000},
        {"ticket_type_id": balcony, "quantity": 1, "unit_price": 750, "subtotal": 750},
        {"ticket_type_id": floor, "quantity": 1, "unit_price": 0, "subtotal": 0},
    ]
    assert platform.available(sale) == [2, 2]


def test_a_list_of_one_line_reads_like_a_simple_hold(platform: Platform) -> None:
    sale = platform.on_sale(5)
    lines = [{"ticket_type_id": sale.ticket_type_id, "quantity": 2}]
    body = {"session_id": sale.session_id, "user_id": "u", "lines": lines}
    hold = placed(platform.client.post("/api/holds", json=body))
    assert (hold["ticket_type_id"], hold["quantity"]) == (sale.ticket_type_id, 2)


def test_a_hold_has_at_most_fifty_lines(platform: Platform) -> None:
    sale = platform.on_sale(100)
    line = {"ticket_type_id": sale.ticket_type_id, "quantity": 1}
    body: Json = {"session_id": sale.session_id, "user_id": "u", "lines": [line] * 50}
    assert placed(platform.client.post("/api/holds", json=body))["quantity"] == 50
    body["lines"] = [line] * 51
    problem_of(platform.client.post("/api/holds", json=body), 400, "validation_error")
    assert platform.available(sale) == [50]


def test_the_platform_may_set_its_own_price(platform: Platform) -> None:
    sale = platform.on_sale(10, price=4500)
    assert placed(platform.place(sale, 3, unit_price=100))["total"] == 300
    assert placed(platform.place(sale, 3, unit_price=0))["total"] == 0
    assert placed(platform.place(sale, 1, unit_price=None))["total"] == 4500
    for wrong in (-1, 10**12 + 1, 4.5, "4500"):
        problem_of(platform.place(sale, 1, unit_price=wrong), 400, "invalid_price")
    assert platform.available(sale) == [3]
    assert placed(platform.place(sale, 3, unit_price=10**12))["total"] == 3 * 10**12


def lifetime(hold: Json) -> int:
    """In whole seconds, because the expiry is rounded up to one."""
    return int(seconds_between(hold["created_at"], hold["expires_at"]))


def sale_with_policies(platform: Platform, event: Json, *ticket_types: Json) -> Sale:
    made = platform.made
    event_id = made("/api/events", {"name": "Gala", "currency": "EUR", "hold_policy": event})[
        "event_id"
    ]
    session_id = made("/api/sessions", {"event_id": event_id, "name": "Friday"})["session_id"]
    body = {"session_id": session_id, "name": "Floor", "price": 100, "capacity": 1000}
    ids = [
        made("/api/ticket-types", body | {"hold_policy": each})["ticket_type_id"]
        for each in ticket_types
    ]
    return Sale(event_id, session_id, tuple(ids))


def test_the_most_specific_policy_sets_the_lifetime_of_a_hold(platform: Platform) -> None:
    sale = sale_with_policies(platform, {"ttl_seconds": 300}, {}, {"ttl_seconds": 120})
    by_event, by_type = sale.ticket_type_ids
    assert lifetime(placed(platform.place(sale, ticket_type_id=by_event))) == 300
    assert lifetime(placed(platform.place(sale, ticket_type_id=by_type))) == 120
    lines = [{"ticket_type_id": each, "quantity": 1} for each in sale.ticket_type_ids]
    body = {"session_id": sale.session_id, "user_id": "u", "lines": lines}
    together = placed(platform.client.post("/api/holds", json=body))
    assert lifetime(together) == 120, "the shortest lifetime wins"


def test_an_organization_may_have_its_own_policy(platform: Platform, owner: Owner) -> None:
    owner.run(
        "UPDATE organization SET ttl_seconds = 900, quantity_max = 2 WHERE id = %s",
        platform.organization_id,
    )
    sale = sale_with_policies(platform, {}, {}, {"quantity_max": 3})
    assert lifetime(placed(platform.place(sale, 2))) == 900
    problem_of(platform.place(sale, 3), 400, "quantity_above_maximum")
    placed(platform.place(sale, 3, ticket_type_id=sale.ticket_type_ids[1]))


def test_nobody_holds_more_than_the_policy_allows(platform: Platform) -> None:
    sale = sale_with_policies(platform, {"quantity_max": 4}, {}, {"quantity_max": 6})
    by_event, by_type = sale.ticket_type_ids
    placed(platform.place(sale, 4, ticket_type_id=by_event))
    problem = problem_of(
        platform.place(sale, 5, ticket_type_id=by_event), 400, "quantity_above_maximum"
    )
    assert problem["maximum"] == 4
    assert problem["message"] == "At most 4 ticket(s) of this type in one hold"
    placed(platform.place(sale, 6, ticket_type_id=by_type))
    lines = [{"ticket_type_id": by_event, "quantity": 3}] * 2
    body = {"session_id": sale.session_id, "user_id": "u", "lines": lines}
    problem_of(platform.client.post("/api/holds", json=body), 400, "quantity_above_maximum")
    assert platform.available(sale) == [996, 994]


def test_ticket_types_share_their_pools(platform: Platform, owner: Owner) -> None:
    """Each has its own quota, and the venue limits both together."""
    made = platform.made
    sale = platform.on_sale()
    venue = {"session_id": sale.session_id, "name": "Venue", "capacity": 10}
    venue_id = made("/api/pools", venue)["pool_id"]
    body = {"session_id": sale.session_id, "price": 100, "pool_ids": [venue_id]}
    standing = made("/api/ticket-types", body | {"name": "Standing", "capacity": 8})[
        "ticket_type_id"
    ]
    seated = made("/api/ticket-types", body | {"name": "Seated", "capacity": 6})["ticket_type_id"]
    anywhere = made("/api/ticket-types", body | {"name": "Anywhere"})["ticket_type_id"]
    sale = replace(sale, ticket_type_ids=(standing, seated, anywhere))
    assert platform.available(sale) == [8, 6, 10]
    hold = placed(platform.place(sale, 7))
    assert platform.available(sale) == [1, 3, 3]
    refused = problem_of(
        platform.place(sale, 4, ticket_type_id=seated), 409, "insufficient_inventory"
    )
    assert refused["available_quantity"] == 3
    both = [
        {"ticket_type_id": seated, "quantity": 2},
        {"ticket_type_id": anywhere, "quantity": 2},
    ]
    lines = {"session_id": sale.session_id, "user_id": "u", "lines": both}
    problem_of(platform.client.post("/api/holds", json=lines), 409, "insufficient_inventory")
    assert platform.available(sale) == [1, 3, 3]
    platform.client.post(f"/api/holds/{hold['hold_id']}/release")
    assert platform.available(sale) == [8, 6, 10]
    owner.assert_counters_add_up(platform.organization_id)


def test_a_hundred_concurrent_buyers_get_exactly_the_capacity(
    platform: Platform, owner: Owner
) -> None:
    sale = platform.on_sale(40)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: platform.place(sale), range(100)))
    assert sorted({answer.status_code for answer in answers}) == [201, 409]
    won = [answer.json()["hold_id"] for answer in answers if answer.status_code == 201]
    assert len(won) == len(set(won)) == 40
    assert platform.available(sale) == [0]
    assert owner.counters(platform.organization_id) == [(40, 40, 0)]
    owner.assert_counters_add_up(platform.organization_id)


def listed(platform: Platform, **filters: Any) -> list[Json]:
    answer = platform.client.get("/api/holds", **sent(limit=100, **filters))
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def test_every_combination_of_filters_finds_its_holds(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    """A hold past its expiry is listed as expired, even before the reaper has updated its row."""
    sessions = [unreaped.on_sale(100), unreaped.on_sale(100)]
    emails = ["ann@example.com", "bob@example.com"]
    holds = [
        (sale, email, "expired", placed(unreaped.place(sale, customer_email=email)))
        for sale, email in product(sessions, emails)
    ]
    unreaped_owner.let_pass(unreaped.organization_id, 601)
    for sale, email, status in product(sessions, emails, ("active", "cancelled")):
        hold = placed(unreaped.place(sale, customer_email=email))
        if status == "cancelled":
            unreaped.client.post(f"/api/holds/{hold['hold_id']}/release")
        holds.append((sale, email, status, hold))
    assert {unreaped_owner.status(hold["hold_id"]) for *_, hold in holds[:4]} == {"active"}
    statuses = ("active", "expired", "cancelled", "converted")
    any_session: tuple[Sale | None, ...] = (None, *sessions)
    any_email: tuple[str | None, ...] = (None, *emails)
    for session, address, wanted_status in product(any_session, any_email, (None, *statuses)):
        wanted = [
            hold["hold_id"]
            for of_sale, of_email, of_status, hold in reversed(holds)
            if session in (None, of_sale)
            and address in (None, of_email)
            and wanted_status in (None, of_status)
        ]
        filters = {
            "session_id": session and session.session_id,
            "customer_email": address,
            "status": wanted_status,
        }
        given = {name: value for name, value in filters.items() if value is not None}
        found = listed(unreaped, **given)
        assert [hold["hold_id"] for hold in found] == wanted, given
        if wanted_status is not None:
            assert {hold["status"] for hold in found} <= {wanted_status}


def test_holds_are_found_by_email_address_in_any_case(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = placed(platform.place(sale, customer_email="Ann.Lee@Example.com"))
    found = listed(platform, customer_email="ann.lee@example.COM")
    assert [each["hold_id"] for each in found] == [hold["hold_id"]]
    assert listed(platform, customer_email="nn.lee@example.com") == []


def test_pages_neither_skip_nor_repeat_a_hold_while_holds_arrive(platform: Platform) -> None:
    sale = platform.on_sale(1000)
    with ThreadPoolExecutor(8) as threads:  # some share a group and thus a creation time
        answers = list(threads.map(lambda _: platform.place(sale), range(55)))
    there = {placed(answer)["hold_id"] for answer in answers}
    seen: list[str] = []
    sizes: list[int] = []
    parameters: Json = {"limit": 10, "session_id": sale.session_id}
    while True:
        page = platform.client.get("/api/holds", params=parameters).json()
        seen += [hold["hold_id"] for hold in page["data"]]
        sizes.append(len(page["data"]))
        assert page["has_more"] is (page.get("next_cursor") is not None)
        if not page["has_more"]:
            break
        parameters["cursor"] = page["next_cursor"]
        placed(platform.place(sale))
    assert sizes == [10, 10, 10, 10, 10, 5]
    assert len(seen) == len(set(seen)) == 55
    assert set(seen) == there


def test_a_list_is_newest_first_with_twenty_per_page(platform: Platform) -> None:
    sale = platform.on_sale(100)
    ids = [placed(platform.place(sale))["hold_id"] for _ in range(21)]
    page = platform.client.get("/api/holds").json()
    assert [hold["hold_id"] for hold in page["data"]] == ids[:0:-1]
    assert page["has_more"] is True
    last = platform.client.get("/api/holds", params={"cursor": page["next_cursor"]}).json()
    assert [hold["hold_id"] for hold in last["data"]] == ids[:1]
    assert (last["has_more"], last.get("next_cursor")) == (False, None)


def test_an_exactly_full_last_page_has_no_next_page(platform: Platform) -> None:
    sale = platform.on_sale(10)
    for _ in range(3):
        placed(platform.place(sale))
    page = platform.client.get("/api/holds", params={"limit": 3}).json()
    assert (len(page["data"]), page["has_more"], page.get("next_cursor")) == (3, False, None)


def test_a_hold_expires_by_itself_on_time(platform: Platform, owner: Owner) -> None:
    """No moved clock here: a policy of one second, and a real wait."""
    sale = sale_with_policies(platform, {"ttl_seconds": 1}, {})
    hold = placed(platform.place(sale, 2))
    assert platform.available(sale) == [998]
    owner.wait_for_status(hold["hold_id"], "expired")
    after = platform.client.get(f"/api/holds/{hold['hold_id']}").json()
    assert (after["status"], after["version"], after["expires_in_seconds"]) == ("expired", 2, 0)
    assert moment(after["expired_at"]) >= moment(hold["expires_at"]), "never early"
    assert platform.available(sale) == [1000]
    problem_of(platform.client.post(f"/api/holds/{hold['hold_id']}/release"), 409, "hold_expired")
    assert [kind for kind, _ in owner.facts(hold["hold_id"])] == ["hold.created", "hold.expired"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_unknown_hold_is_404(platform: Platform, method: str) -> None:
    answer = platform.client.request(method, f"/api/holds/{uuid4()}")
    assert answer.status_code == 404
    assert (answer.text == "") is (method == "HEAD")


def test_a_hold_takes_as_many_as_are_left_but_no_fewer_than_the_minimum(platform: Platform) -> None:
    sale = platform.on_sale(5)
    placed(platform.place(sale, 2))
    problem_of(platform.place(sale, 5, at_least=4), 409, "insufficient_inventory")
    assert placed(platform.place(sale, 5, at_least=3))["quantity"] == 3
    assert platform.available(sale) == [0]
