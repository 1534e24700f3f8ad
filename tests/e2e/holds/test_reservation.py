"""Reserving a specific seat, as people do with a click: the exact answer, and every refusal."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.e2e.answers import moment, problem_of
from tests.e2e.halls import NamedHall, build_hall, new_email
from tests.e2e.owner import Owner
from tests.e2e.paying import confirmed
from tests.support.platform import Json, Platform

FIVE_MINUTES = {"hold_policy": {"ttl_seconds": 300}}
SEAT = "Stalls A 3"


@pytest.fixture
def hall(platform: Platform) -> NamedHall:
    return build_hall(platform, event=FIVE_MINUTES)


def reserved(hall: NamedHall, name: str = SEAT, **body: str) -> Json:
    answer = hall.reserve(name, **body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def test_the_answer_has_the_documented_shape(hall: NamedHall) -> None:
    answer = hall.reserve(SEAT, customer_email="user@example.com", source="web")
    assert answer.status_code == 201, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-cache, no-store"
    body = answer.json()
    assert list(body) == ["data"]
    data = body["data"]
    held_until = moment(data["held_until"])
    assert body["data"] == {
        "hold_id": data["hold_id"],
        "seat_id": hall.seat_ids[SEAT],
        "event_id": hall.event_id,
        "block_name": "Stalls",
        "row": "A",
        "seat_number": "3",
        "status": "held",
        "held_until": data["held_until"],
        "held_until_unix": int(held_until.timestamp()),
        "expires_in_seconds": 300,
        "message": "Seat reserved for 5 minutes. Proceed to checkout.",
    }
    left = held_until - datetime.now(UTC)
    assert timedelta(seconds=295) < left <= timedelta(seconds=301)


def test_the_reservation_is_a_hold_like_any_other(hall: NamedHall, owner: Owner) -> None:
    data = reserved(hall, user_id="user-1", source="scanner", cart_token="c" * 255)
    hold = hall.platform.client.get(f"/api/holds/{data['hold_id']}").json()
    assert (hold["status"], hold["seat_ids"]) == ("active", [hall.seat_ids[SEAT]])
    assert (hold["source"], hold["cart_token"]) == ("scanner", "c" * 255)
    assert hall.status(SEAT) == "held"
    facts = [kind for kind, _ in owner.facts(data["hold_id"])]
    assert sorted(facts) == ["hold.created", "seat.held"]
    ((version, locked_at),) = owner.rows(
        "SELECT version, locked_at FROM seat WHERE id = %s", hall.seat_ids[SEAT]
    )
    assert version == 2
    assert abs(locked_at - datetime.now(UTC)) < timedelta(seconds=5)


@pytest.mark.parametrize(
    ("ttl_seconds", "duration"), [(60, "1 minute"), (900, "15 minutes"), (90, "90 seconds")]
)
def test_the_message_states_the_policys_duration(
    platform: Platform, ttl_seconds: int, duration: str
) -> None:
    hall = build_hall(platform, event={"hold_policy": {"ttl_seconds": ttl_seconds}})
    data = reserved(hall)
    assert data["message"] == f"Seat reserved for {duration}. Proceed to checkout."
    assert data["expires_in_seconds"] == ttl_seconds


def test_reserving_your_own_seat_again_returns_the_same_reservation(hall: NamedHall) -> None:
    first = reserved(hall, customer_email="Ann@example.com")
    again = hall.reserve(SEAT, customer_email="ann@example.com", source="scanner")
    assert again.status_code == 200
    data = again.json()["data"]
    for name in ("hold_id", "held_until", "status"):
        assert data[name] == first[name]
    assert again.headers["cache-control"] == "no-cache, no-store"
    stranger = hall.reserve(SEAT, customer_email="bob@example.com")
    problem_of(stranger, 409, "seat_held_by_another_user")


@pytest.mark.parametrize(
    ("passed", "left"),
    [
        (0, {"4 minutes"}),
        (150, {"2 minutes"}),
        (200, {f"{left} seconds" for left in range(90, 101)}),
    ],
)
def test_reserving_your_own_seat_again_shows_the_time_left(
    unreaped: Platform, unreaped_owner: Owner, passed: int, left: set[str]
) -> None:
    hall = build_hall(unreaped, event=FIVE_MINUTES)
    reserved(hall, user_id="ann")
    unreaped_owner.let_pass(unreaped.organization_id, passed + 1)
    again = hall.reserve(SEAT, user_id="ann")
    assert again.status_code == 200
    messages = {f"Seat reserved for {each}. Proceed to checkout." for each in left}
    assert again.json()["data"]["message"] in messages


def test_the_answer_shows_the_requested_seat_of_a_larger_hold(hall: NamedHall) -> None:
    holder = {"customer_email": new_email()}
    hold = hall.hold("Stalls A 1", "Stalls A 2", **holder).json()
    again = hall.reserve("Stalls A 2", **holder)
    assert again.status_code == 200
    data = again.json()["data"]
    assert (data["hold_id"], data["seat_number"]) == (hold["hold_id"], "2")


def test_a_key_replays_the_first_answer_byte_for_byte(hall: NamedHall) -> None:
    body, headers = {"customer_email": new_email()}, {"Idempotency-Key": uuid4().hex}
    first = hall.reserve(SEAT, **body, headers=headers)
    again = hall.reserve(SEAT, **body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["cache-control"] == "no-cache, no-store"
    other = hall.reserve("Stalls A 4", **body, headers=headers)
    problem_of(other, 422, "idempotency_key_reused")


def test_no_price_is_shown(hall: NamedHall) -> None:
    assert "price" not in hall.reserve(SEAT).text
    answer = hall.reserve("Stalls A 4", customer_email=new_email(), unit_price=1)
    problem_of(answer, 400, "invalid_request")


@pytest.mark.parametrize("part", ["event_id", "seat_id"])
@pytest.mark.parametrize("malformed", ["not-an-id", "1", "0198f1c2-7b1e-7c3a-9d52"])
def test_a_malformed_id_is_an_invalid_request(hall: NamedHall, part: str, malformed: str) -> None:
    ids = {"event_id": hall.event_id, "seat_id": hall.seat_ids[SEAT]} | {part: malformed}
    path = f"/api/events/{ids['event_id']}/seats/{ids['seat_id']}/reserve"
    answer = hall.platform.client.post(path, json={"user_id": "u"})
    problem = problem_of(answer, 400, "invalid_request")
    assert [(error["field"], error["code"]) for error in problem["errors"]] == [
        (part, "invalid_value")
    ]


def test_an_unknown_event_is_404(hall: NamedHall) -> None:
    path = f"/api/events/{uuid4()}/seats/{hall.seat_ids[SEAT]}/reserve"
    answer = hall.platform.client.post(path, json={"user_id": "u"})
    assert problem_of(answer, 404, "event_not_found")["message"] == "Event not found"


def test_a_foreign_event_is_404_like_an_unknown_one(hall: NamedHall, neighbour: Platform) -> None:
    answer = neighbour.client.post(f"{hall.seat_path(SEAT)}/reserve", json={"user_id": "u"})
    problem_of(answer, 404, "event_not_found")
    assert hall.status(SEAT) == "available"


def test_an_unknown_seat_is_404(hall: NamedHall) -> None:
    path = f"/api/events/{hall.event_id}/seats/{uuid4()}/reserve"
    answer = hall.platform.client.post(path, json={"user_id": "u"})
    assert problem_of(answer, 404, "seat_not_found")["message"] == "Seat not found"


def test_a_seat_of_another_event_or_organization_is_404(
    hall: NamedHall, neighbour: Platform
) -> None:
    reserved(hall)  # it exists under its own event
    for other in (build_hall(hall.platform), build_hall(neighbour)):
        path = f"/api/events/{other.event_id}/seats/{hall.seat_ids[SEAT]}/reserve"
        answer = other.platform.client.post(path, json={"user_id": "u"})
        problem_of(answer, 404, "seat_not_found")


def change_event(hall: NamedHall, **changes: object) -> None:
    answer = hall.platform.client.patch(f"/api/events/{hall.event_id}", json=changes)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("status", ["draft", "archived"])
def test_an_event_that_is_not_on_sale_is_400(platform: Platform, status: str) -> None:
    first = "draft" if status == "draft" else "published"
    hall = build_hall(platform, event={"status": first})
    if status != first:
        change_event(hall, status=status)
    problem_of(hall.reserve(SEAT), 400, "event_not_available")
    assert hall.status(SEAT) == "available"


def test_a_cancelled_event_is_400(hall: NamedHall) -> None:
    change_event(hall, status="cancelled")
    problem_of(hall.reserve(SEAT), 400, "event_unavailable")


def test_a_live_event_is_on_sale(hall: NamedHall) -> None:
    change_event(hall, status="live")
    reserved(hall)


def test_a_reservation_outside_the_sale_window_is_400(hall: NamedHall) -> None:
    now = datetime.now(UTC)
    change_event(hall, sale_starts_at=(now + timedelta(hours=1)).isoformat())
    problem_of(hall.reserve(SEAT), 400, "event_sales_closed")
    change_event(
        hall,
        sale_starts_at=(now - timedelta(hours=2)).isoformat(),
        sale_ends_at=(now - timedelta(hours=1)).isoformat(),
    )
    problem_of(hall.reserve(SEAT), 400, "event_sales_closed")
    change_event(hall, sale_ends_at=(now + timedelta(hours=1)).isoformat())
    reserved(hall)


def test_a_seat_held_by_another_says_for_how_long_but_not_by_whom(hall: NamedHall) -> None:
    first = reserved(hall, customer_email="secret-ann@example.com", user_id="secret-ann")
    answer = hall.reserve(SEAT, customer_email="bob@example.com")
    problem = problem_of(answer, 409, "seat_held_by_another_user")
    assert problem["expires_at"] == first["held_until"]
    assert 295 <= problem["expires_in"] <= 300
    assert "secret-ann" not in answer.text
    assert first["hold_id"] not in answer.text


def test_an_expired_seat_can_be_reserved_by_anybody(hall: NamedHall, owner: Owner) -> None:
    first = reserved(hall)
    owner.let_pass(hall.platform.organization_id, 301)
    second = reserved(hall)
    assert second["hold_id"] != first["hold_id"]
    assert owner.status(first["hold_id"]) == "expired"


def test_a_blocked_seat_is_not_available(hall: NamedHall) -> None:
    assert hall.block(SEAT).status_code == 200
    problem = problem_of(hall.reserve(SEAT), 409, "seat_not_available")
    assert problem["current_status"] == "blocked"


def test_a_sold_seat_is_not_available_not_even_to_its_buyer(hall: NamedHall) -> None:
    hold = reserved(hall, user_id="ann")
    assert confirmed(hall.platform, hold).status_code == 200
    for user_id in ("ann", "bob"):
        problem = problem_of(hall.reserve(SEAT, user_id=user_id), 409, "seat_not_available")
        assert problem["current_status"] == "sold"


def test_a_seat_in_a_block_at_capacity_is_409(platform: Platform) -> None:
    hall = build_hall(platform, rows={"Box": {"A": 3}}, blocks={"Box": {"capacity": 1}})
    reserved(hall, "Box A 1")
    problem = problem_of(hall.reserve("Box A 2"), 409, "block_at_capacity")
    assert (problem["block_name"], problem["available_quantity"]) == ("Box", 0)
    assert hall.status("Box A 2") == "available"


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_id": "u", "source": "telephone"},
        {"user_id": "u", "cart_token": ""},
        {"user_id": "u", "cart_token": "c" * 256},
        {"user_id": "u", "colour": "red"},
        {"user_id": "u", "source": 1},
        ["user_id", "u"],
    ],
)
def test_a_malformed_request_is_400_and_reserves_nothing(hall: NamedHall, wrong: object) -> None:
    answer = hall.platform.client.post(f"{hall.seat_path(SEAT)}/reserve", json=wrong)
    problem = problem_of(answer, 400, "invalid_request")
    assert problem["errors"][0]["field"]
    assert hall.status(SEAT) == "available"


def test_a_holder_is_required(hall: NamedHall) -> None:
    problem_of(hall.reserve(SEAT, source="web"), 400, "holder_required")
    problem_of(hall.reserve(SEAT, customer_email="ann"), 400, "invalid_email")
    assert hall.status(SEAT) == "available"


def test_a_request_without_a_key_is_401(hall: NamedHall) -> None:
    path = f"{hall.seat_path(SEAT)}/reserve"
    headers = {"Authorization": "Bearer nobody"}
    answer = hall.platform.client.post(path, json={"user_id": "u"}, headers=headers)
    problem_of(answer, 401, "unauthorized")


def test_failed_attempts_are_in_the_audit_log(hall: NamedHall, owner: Owner) -> None:
    reserved(hall)
    problem_of(hall.reserve(SEAT), 409, "seat_held_by_another_user")
    organization_id = hall.platform.organization_id
    assert owner.failed_attempts(organization_id) == [
        ("seat_reserve_failed", "seat_held_by_another_user")
    ]
    assert owner.rows(
        "SELECT action FROM audit WHERE organization_id = %s AND seat_id = %s ORDER BY seq",
        organization_id,
        hall.seat_ids[SEAT],
    ) == [("seat_reserved",), ("seat_reserve_failed",)]
