"""Checkout: holds are extended once, and paid as a whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.e2e.answers import first_error, problem_of, seconds_between
from tests.e2e.halls import build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import (
    checked_out,
    completed,
    confirmed,
    extended,
    held,
    hold_now,
    keyed,
    ok,
    post,
    read,
)
from tests.support.platform import Json, Platform, Sale

TTL_SECONDS = 600
FIFTEEN_MINUTES = {"ttl_seconds": 900}


def two_held(platform: Platform, sale: Sale) -> tuple[Json, Json]:
    """Two holds of one person: two tickets of the first type and one of the second."""
    first = held(platform, sale, 2, customer_email="ada@example.com")
    second = held(
        platform,
        sale,
        ticket_type_id=sale.ticket_type_ids[1],
        customer_email="ada@example.com",
    )
    return first, second


def test_a_checkout_shows_the_amount_due_and_its_deadline(platform: Platform) -> None:
    sale = platform.on_sale(5, 5)
    holds = two_held(platform, sale)
    checkout = ok(checked_out(platform, *holds), 201)
    assert (checkout["total"], checkout["currency"]) == (3 * 4500, "EUR")
    assert [hold["hold_id"] for hold in checkout["holds"]] == [hold["hold_id"] for hold in holds]
    assert {hold["checkout_id"] for hold in checkout["holds"]} == {checkout["checkout_id"]}
    assert checkout["expires_at"] == min(hold["expires_at"] for hold in checkout["holds"])
    assert 890 <= checkout["expires_in_seconds"] <= 901
    assert checkout.get("order_id") is None
    seen = read(platform, f"/api/checkouts/{checkout['checkout_id']}")
    passing = {"expires_in_seconds", "holds"}
    assert {name: seen[name] for name in seen if name not in passing} == {
        name: checkout[name] for name in checkout if name not in passing
    }


def test_checkout_adds_five_minutes_to_a_hold_of_fifteen(platform: Platform, owner: Owner) -> None:
    hold = held(platform, platform.on_sale(5, hold_policy=FIFTEEN_MINUTES))
    owner.let_pass(platform.organization_id, 14 * 60 + 50)
    before = hold_now(platform, hold)
    checkout = ok(checked_out(platform, hold), 201)
    assert seconds_between(before["expires_at"], checkout["expires_at"]) == 300
    after = hold_now(platform, hold)
    assert 1200 <= seconds_between(after["created_at"], after["expires_at"]) < 1201
    # Neither another checkout nor the holder can extend it further.
    problem_of(extended(platform, hold, minutes=1), 409, "extension_limit_reached")


def test_a_checkout_never_makes_a_hold_shorter(platform: Platform) -> None:
    """After a generous operator extension, or with a policy that grants no extra time."""
    sale = platform.on_sale(5)
    generous = held(platform, sale)
    longer = ok(extended(platform, generous, minutes=120, as_operator=True))
    assert ok(checked_out(platform, generous), 201)["expires_at"] == longer["expires_at"]
    nothing_more = {"checkout_extension_seconds": 0}
    hold = held(platform, platform.on_sale(5, hold_policy=nothing_more))
    assert ok(checked_out(platform, hold), 201)["expires_at"] == hold["expires_at"]


def test_a_second_click_returns_the_same_checkout(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    first = checked_out(platform, hold)
    again = checked_out(platform, hold)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json()["checkout_id"] == again.json()["checkout_id"]
    assert first.json()["expires_at"] == again.json()["expires_at"]
    assert hold_now(platform, hold)["version"] == hold["version"] + 1


def test_overlapping_checkouts_never_extend_a_hold_twice(platform: Platform) -> None:
    sale = platform.on_sale(5, 5)
    first, second = two_held(platform, sale)
    alone = ok(checked_out(platform, first), 201)
    both = ok(checked_out(platform, first, second), 201)
    assert both["checkout_id"] != alone["checkout_id"]
    assert both["holds"][0]["expires_at"] == alone["expires_at"]
    turned = checked_out(platform, second, first)
    assert (turned.status_code, turned.json()["checkout_id"]) == (200, both["checkout_id"])


def test_a_checkout_by_event_includes_all_of_a_persons_holds(platform: Platform) -> None:
    sale, other = platform.on_sale(5, 5), platform.on_sale(5)
    holds = two_held(platform, sale)
    held(platform, other, customer_email="ada@example.com")
    held(platform, sale, customer_email="bob@example.com")
    body = {"event_id": sale.event_id, "customer_email": "ADA@example.com"}
    checkout = ok(post(platform, "/api/checkouts", body), 201)
    assert [hold["hold_id"] for hold in checkout["holds"]] == [hold["hold_id"] for hold in holds]
    nothing = {"event_id": sale.event_id, "user_id": "nobody"}
    problem_of(post(platform, "/api/checkouts", nothing), 400, "empty_cart")
    unknown = {"event_id": str(uuid4()), "user_id": "nobody"}
    problem_of(post(platform, "/api/checkouts", unknown), 400, "invalid_event")


def test_a_repeated_key_replays_the_exact_checkout(platform: Platform, owner: Owner) -> None:
    """Even after the hold has ended."""
    sale = platform.on_sale(5)
    hold = held(platform, sale, customer_email="ada@example.com")
    of_event = {"event_id": sale.event_id, "customer_email": "ada@example.com"}
    for body in ({"hold_ids": [hold["hold_id"]]}, of_event):
        key = keyed()
        first = post(platform, "/api/checkouts", body, key)
        assert first.is_success
        owner.let_pass(platform.organization_id, 5)
        again = post(platform, "/api/checkouts", body, key)
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert again.headers["idempotent-replayed"] == "true"
    first = post(platform, "/api/checkouts", of_event, key := keyed())
    ok(platform.client.post(f"/api/holds/{hold['hold_id']}/release"))
    again = post(platform, "/api/checkouts", of_event, key)
    assert (first.status_code, first.content) == (again.status_code, again.content)
    other = {"hold_ids": [hold["hold_id"]]}
    problem_of(post(platform, "/api/checkouts", other, key), 422, "idempotency_key_reused")


def test_one_expired_hold_stops_the_whole_checkout(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    sale = unreaped.on_sale(5, 5)
    lapsed = held(unreaped, sale, customer_email="ada@example.com")
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    live = held(unreaped, sale, customer_email="ada@example.com")
    problem = problem_of(checked_out(unreaped, live, lapsed), 409, "expired_before_checkout")
    assert problem["lapsed_hold_ids"] == [lapsed["hold_id"]]
    untouched = hold_now(unreaped, live)
    assert (untouched["version"], untouched.get("checkout_id")) == (live["version"], None)


def test_released_or_sold_holds_cannot_be_checked_out(platform: Platform) -> None:
    sale = platform.on_sale(5)
    released, sold = held(platform, sale), held(platform, sale)
    ok(platform.client.post(f"/api/holds/{released['hold_id']}/release"))
    ok(confirmed(platform, sold))
    for hold, status in ((released, "cancelled"), (sold, "converted")):
        problem = problem_of(checked_out(platform, hold), 409, "invalid_hold_state")
        assert problem["current_status"] == status


def test_one_checkout_has_one_holder_and_one_currency(platform: Platform) -> None:
    sale = platform.on_sale(5)
    ada = held(platform, sale, customer_email="ada@example.com")
    bob = held(platform, sale, customer_email="bob@example.com")
    problem_of(checked_out(platform, ada, bob), 400, "different_holders")
    event = platform.made("/api/events", {"name": "Abroad", "currency": "USD"})
    session = platform.made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
    ticket = {"session_id": session["session_id"], "name": "Seat", "price": 1, "capacity": 5}
    abroad = Sale(
        event["event_id"],
        session["session_id"],
        (platform.made("/api/ticket-types", ticket)["ticket_type_id"],),
    )
    dollars = held(platform, abroad, customer_email="ada@example.com")
    problem_of(checked_out(platform, ada, dollars), 400, "different_currencies")
    problem_of(checked_out(platform, ada, customer_email="bob@example.com"), 404, "hold_not_found")
    assert {hold_now(platform, hold).get("checkout_id") for hold in (ada, bob, dollars)} == {None}


def test_holds_and_checkouts_of_another_organization_are_not_found(
    platform: Platform, neighbour: Platform
) -> None:
    hold = held(platform, platform.on_sale(5))
    own = held(neighbour, neighbour.on_sale(5))
    problem_of(checked_out(neighbour, own, hold), 404, "hold_not_found")
    assert hold_now(neighbour, own).get("checkout_id") is None
    checkout = ok(checked_out(platform, hold), 201)
    path = f"/api/checkouts/{checkout['checkout_id']}"
    problem_of(neighbour.client.get(path), 404, "checkout_not_found")
    problem_of(completed(neighbour, checkout), 404, "checkout_not_found")
    body = {"event_id": platform.on_sale(1).event_id, "user_id": "u"}
    problem_of(post(neighbour, "/api/checkouts", body), 400, "invalid_event")
    assert hold_now(platform, hold)["status"] == "active"


def test_completing_sells_everything_at_once(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(5, 5)
    holds = two_held(platform, sale)
    checkout = ok(checked_out(platform, *holds), 201)
    order = ok(completed(platform, checkout), 201)
    assert order["checkout_id"] == checkout["checkout_id"]
    assert order["hold_ids"] == [hold["hold_id"] for hold in holds]
    assert (order["total"], order["payment_reference"]) == (3 * 4500, "pay-1")
    assert len(order["tickets"]) == len({ticket["code"] for ticket in order["tickets"]}) == 3
    for hold in holds:
        seen = hold_now(platform, hold)
        assert (seen["status"], seen["order_id"]) == ("converted", order["order_id"])
        assert seen.get("confirmed_at") is not None
    seen = read(platform, f"/api/checkouts/{checkout['checkout_id']}")
    assert (seen["order_id"], seen["expires_in_seconds"]) == (order["order_id"], 0)
    assert owner.counters(platform.organization_id) == [(5, 0, 2), (5, 0, 1)]
    kinds = [kind for kind, _ in owner.facts(holds[0]["hold_id"])]
    assert kinds == ["hold.created", "hold.extended", "hold.converted", "order.confirmed"]


def test_completing_again_returns_the_same_order(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5), 2)
    checkout = ok(checked_out(platform, hold), 201)
    first = completed(platform, checkout)
    again = completed(platform, checkout)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    problem = problem_of(completed(platform, checkout, "pay-2"), 409, "already_paid")
    assert problem["order_id"] == first.json()["order_id"]


def test_a_repeated_key_replays_the_exact_completion(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5))
    checkout = ok(checked_out(platform, hold), 201)
    path, key = f"/api/checkouts/{checkout['checkout_id']}/complete", keyed()
    body = {"payment_reference": "pay-1"}
    first, again = (post(platform, path, body, key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert again.headers["idempotent-replayed"] == "true"
    other = {"payment_reference": "pay-2"}
    problem_of(post(platform, path, other, key), 422, "idempotency_key_reused")


ADA: dict[str, Any] = {"customer_email": "ada@example.com"}


def of_event(platform: Platform, sale: Sale) -> httpx.Response:
    return post(platform, "/api/checkouts", {"event_id": sale.event_id, **ADA})


def one_expired_one_active(platform: Platform, owner: Owner, sale: Sale) -> tuple[Json, Json]:
    """Ada's two holds: the first has expired, the second is active."""
    first = held(platform, sale, 2, **ADA)
    second = held(platform, sale, ticket_type_id=sale.ticket_type_ids[1], **ADA)
    ok(extended(platform, second, minutes=5))
    owner.let_pass(platform.organization_id, TTL_SECONDS + 1)
    return first, second


@pytest.mark.parametrize("is_reaped", [True, False])
def test_a_checkout_by_event_is_refused_when_one_hold_expired(
    platform: Platform, owner: Owner, unreaped: Platform, unreaped_owner: Owner, is_reaped: bool
) -> None:
    shop, clock = (platform, owner) if is_reaped else (unreaped, unreaped_owner)
    sale = shop.on_sale(5, 5)
    lapsed, staying = one_expired_one_active(shop, clock, sale)
    if is_reaped:
        clock.wait_for_status(lapsed["hold_id"], "expired")
    problem = problem_of(of_event(shop, sale), 409, "expired_before_checkout")
    assert problem["lapsed_hold_ids"] == [lapsed["hold_id"]]
    assert hold_now(shop, staying).get("checkout_id") is None
    checkout = ok(checked_out(shop, staying), 201)
    assert [hold["hold_id"] for hold in checkout["holds"]] == [staying["hold_id"]], (
        "a checkout by hold id succeeds"
    )


def test_choosing_them_again_allows_checkout(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(5, 5)
    _, staying = one_expired_one_active(unreaped, unreaped_owner, sale)
    again = held(unreaped, sale, 1, **ADA)
    checkout = ok(of_event(unreaped, sale), 201)
    assert [hold["hold_id"] for hold in checkout["holds"]] == [staying["hold_id"], again["hold_id"]]


def test_holds_that_expired_before_the_current_ones_are_ignored(
    unreaped: Platform, unreaped_owner: Owner
) -> None:
    sale = unreaped.on_sale(5, 5)
    lapsed = held(unreaped, sale, 2, **ADA)
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS + 1)
    problem = problem_of(of_event(unreaped, sale), 409, "expired_before_checkout")
    assert problem["lapsed_hold_ids"] == [lapsed["hold_id"]], "every hold has expired"
    new = held(unreaped, sale, ticket_type_id=sale.ticket_type_ids[1], **ADA)
    checkout = ok(of_event(unreaped, sale), 201)
    assert [hold["hold_id"] for hold in checkout["holds"]] == [new["hold_id"]]


def test_a_double_click_pays_once(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(50)
    for _ in range(5):
        checkout = ok(checked_out(platform, held(platform, sale, 2)), 201)
        with ThreadPoolExecutor(4) as clicks:
            answers = list(clicks.map(lambda _, one=checkout: completed(platform, one), range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
        assert len({answer.content for answer in answers}) == 1
    assert owner.counters(platform.organization_id) == [(50, 0, 10)]


def test_several_holds_are_paid_all_or_none(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(5, 5, hold_policy={"checkout_extension_seconds": 0})
    lapsing = held(unreaped, sale, customer_email="ada@example.com")
    unreaped_owner.let_pass(unreaped.organization_id, 60)
    staying = held(unreaped, sale, customer_email="ada@example.com")
    checkout = ok(checked_out(unreaped, lapsing, staying), 201)
    unreaped_owner.let_pass(unreaped.organization_id, TTL_SECONDS - 30)
    problem = problem_of(completed(unreaped, checkout), 409, "hold_expired")
    assert problem["message"] == "The hold has expired"
    assert problem["lapsed_hold_ids"] == [lapsing["hold_id"]]
    assert hold_now(unreaped, staying)["status"] == "active"
    assert read(unreaped, f"/api/checkouts/{checkout['checkout_id']}").get("order_id") is None
    assert read(unreaped, "/api/orders")["data"] == []


def test_a_cancelled_event_is_not_checked_out_or_paid(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold, unpaid = held(platform, sale), held(platform, sale)
    checkout = ok(checked_out(platform, hold), 201)
    ok(platform.client.patch(f"/api/events/{sale.event_id}", json={"status": "cancelled"}))
    problem_of(completed(platform, checkout), 400, "event_unavailable")
    problem_of(confirmed(platform, hold), 400, "event_unavailable")
    problem_of(checked_out(platform, unpaid), 400, "event_unavailable")
    problem_of(extended(platform, unpaid, minutes=1), 400, "event_unavailable")
    assert hold_now(platform, unpaid)["expires_at"] == unpaid["expires_at"]


def test_paid_seats_are_sold(platform: Platform) -> None:
    hall = build_hall(platform)
    hold = ok(hall.hold("Stalls A 1", "Stalls A 2", customer_email="ada@example.com"), 201)
    checkout = ok(checked_out(platform, hold), 201)
    order = ok(completed(platform, checkout), 201)
    assert [ticket["seat"]["seat_id"] for ticket in order["tickets"]] == hold["seat_ids"]
    assert [ticket["seat"]["seat_number"] for ticket in order["tickets"]] == ["1", "2"]
    assert [hall.status(name) for name in ("Stalls A 1", "Stalls A 2")] == ["sold", "sold"]
    problem = problem_of(hall.reserve("Stalls A 1"), 409, "seat_not_available")
    assert problem["current_status"] == "sold"


CHECKOUT_FAULTS: list[tuple[Json, str, str]] = [
    ({}, "hold_ids", "required"),
    ({"hold_ids": None}, "hold_ids", "required"),
    ({"hold_ids": []}, "hold_ids", "invalid_value"),
    ({"hold_ids": ["x"]}, "hold_ids[0]", "invalid_value"),
    ({"hold_ids": [None]}, "hold_ids[0]", "invalid_value"),
    ({"hold_ids": "x"}, "hold_ids", "invalid_value"),
    ({"hold_ids": [str(uuid4())] * 2}, "hold_ids[1]", "duplicate"),
    ({"hold_ids": [str(uuid4()) for _ in range(51)]}, "hold_ids", "invalid_value"),
    ({"hold_ids": [str(uuid4())], "event_id": str(uuid4())}, "hold_ids", "conflicting_fields"),
    ({"event_id": "x", "user_id": "u"}, "event_id", "invalid_value"),
    ({"event_id": str(uuid4())}, "customer_email", "holder_required"),
    ({"event_id": str(uuid4()), "customer_email": "no"}, "customer_email", "invalid_email"),
    ({"hold_ids": [str(uuid4())], "user_id": ""}, "user_id", "invalid_user_id"),
    ({"hold_ids": [str(uuid4())], "cart_token": "c"}, "hold_ids", "conflicting_fields"),
]


@pytest.mark.parametrize(("body", "field", "code"), CHECKOUT_FAULTS)
def test_errors_name_the_bad_field_of_a_checkout(
    platform: Platform, body: Json, field: str, code: str
) -> None:
    assert first_error(post(platform, "/api/checkouts", body)) == (field, code)


PAYMENT_FAULTS: list[tuple[Json, str, str]] = [
    ({"payment_reference": ""}, "payment_reference", "invalid_value"),
    ({"payment_reference": "  "}, "payment_reference", "invalid_value"),
    ({"payment_reference": "x" * 256}, "payment_reference", "invalid_value"),
    ({"payment_reference": 7}, "payment_reference", "invalid_value"),
    ({"attendees": {}}, "attendees", "invalid_value"),
    ({"attendees": ["Ada"]}, "attendees[0]", "invalid_value"),
    ({"attendees": [None, {}]}, "attendees[1]", "attendee_required"),
    ({"attendees": [{"name": ""}]}, "attendees[0].name", "invalid_value"),
    ({"attendees": [{"name": "x" * 201}]}, "attendees[0].name", "invalid_value"),
    ({"attendees": [{"name": "Ada\u202e"}]}, "attendees[0].name", "invalid_name"),
    ({"attendees": [{"email": "nobody"}]}, "attendees[0].email", "invalid_email"),
    ({"attendees": [{"name": "Ada", "age": 36}]}, "attendees[0]", "unknown_field"),
    ({"attendees": [None] * 1001}, "attendees", "invalid_value"),
    ({"paid": True}, "body", "unknown_field"),
]


@pytest.mark.parametrize(("body", "field", "code"), PAYMENT_FAULTS)
def test_errors_name_the_bad_field_of_a_payment_and_nothing_is_sold(
    platform: Platform, body: Json, field: str, code: str
) -> None:
    hold = held(platform, platform.on_sale(5))
    checkout = ok(checked_out(platform, hold), 201)
    assert first_error(confirmed(platform, hold, **body)) == (field, code)
    assert first_error(completed(platform, checkout, **body)) == (field, code)
    assert hold_now(platform, hold)["status"] == "active"


def test_completing_needs_a_payment_reference(platform: Platform) -> None:
    checkout = ok(checked_out(platform, held(platform, platform.on_sale(5))), 201)
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    for body in ({}, {"payment_reference": None}):
        field, code = first_error(post(platform, path, body))
        assert field == "payment_reference"
        assert code in {"required", "invalid_value"}


@pytest.mark.parametrize("checkout_id", [pytest.param(str(uuid4()), id="unknown"), "nothing", "0"])
def test_an_unknown_checkout_is_not_found(platform: Platform, checkout_id: str) -> None:
    answers: list[httpx.Response] = [
        platform.client.get(f"/api/checkouts/{checkout_id}"),
        completed(platform, {"checkout_id": checkout_id}),
    ]
    for answer in answers:
        problem_of(answer, 404, "checkout_not_found")


def test_a_ticket_types_policy_overrides_its_events(platform: Platform) -> None:
    """The most specific level wins, field by field; null falls back to the level above."""
    policy: dict[str, Any] = {
        "checkout_extension_seconds": 120,
        "lifetime_max_seconds": 3600,
        "warning_seconds": 0,
        "late_payment_seconds": 30,
    }
    sale = platform.on_sale(5, hold_policy={"checkout_extension_seconds": 60})
    path = f"/api/events/{sale.event_id}"
    answer = ok(platform.client.patch(path, json={"hold_policy": policy}))
    assert policy.items() <= answer["hold_policy"].items()
    assert ok(platform.client.get(path))["hold_policy"] == answer["hold_policy"]
    hold = held(platform, sale)
    checkout = ok(checked_out(platform, hold), 201)
    assert seconds_between(hold["expires_at"], checkout["expires_at"]) == 60
    of_type = f"/api/ticket-types/{sale.ticket_type_id}"
    assert ok(platform.client.get(of_type))["hold_policy"]["checkout_extension_seconds"] == 60
    ok(platform.client.patch(of_type, json={"hold_policy": {"checkout_extension_seconds": None}}))
    hold = held(platform, sale)
    checkout = ok(checked_out(platform, hold), 201)
    assert seconds_between(hold["expires_at"], checkout["expires_at"]) == 120


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("checkout_extension_seconds", -1),
        ("checkout_extension_seconds", 86401),
        ("lifetime_max_seconds", 0),
        ("lifetime_max_seconds", 604801),
        ("warning_seconds", -1),
        ("warning_seconds", 3601),
        ("late_payment_seconds", -1),
        ("late_payment_seconds", "1"),
    ],
)
def test_policy_values_must_be_in_range(platform: Platform, field: str, value: object) -> None:
    body = {"name": "Gala", "currency": "EUR", "hold_policy": {field: value}}
    problem = problem_of(platform.client.post("/api/events", json=body), 400, "invalid_policy")
    assert problem["message"].startswith(f"{field} must be a whole number from ")
