"""When an event sells: its status, its sale window and the rules for its holds."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.e2e.answers import problem_of
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform, Sale

STATUSES = ("draft", "published", "live", "cancelled", "archived")
LEGAL = {
    ("draft", "published"),
    ("draft", "cancelled"),
    ("draft", "archived"),
    ("published", "live"),
    ("published", "cancelled"),
    ("published", "archived"),
    ("live", "cancelled"),
    ("live", "archived"),
    ("cancelled", "archived"),
}
# Legal steps that lead to each status.
PATHS: dict[str, tuple[str, ...]] = {
    "draft": (),
    "published": ("published",),
    "live": ("published", "live"),
    "cancelled": ("cancelled",),
    "archived": ("archived",),
}


def changed(platform: Platform, sale: Sale, **change: object) -> httpx.Response:
    return platform.client.patch(f"/api/events/{sale.event_id}", json=change)


def in_hours(hours: float) -> str:
    moment = datetime.now(UTC) + timedelta(hours=hours)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


@pytest.mark.parametrize("current", STATUSES)
def test_a_status_allows_only_legal_transitions(platform: Platform, current: str) -> None:
    for wanted in STATUSES:
        body = {"name": "Gala", "currency": "EUR", "status": "draft"}
        event = platform.made("/api/events", body)
        assert event["status"] == "draft"
        path = f"/api/events/{event['event_id']}"
        for step in PATHS[current]:
            assert platform.client.patch(path, json={"status": step}).status_code == 200
        answer = platform.client.patch(path, json={"status": wanted})
        if wanted == current or (current, wanted) in LEGAL:
            assert (answer.status_code, answer.json()["status"]) == (200, wanted)
        else:
            problem = problem_of(answer, 409, "invalid_event_state")
            assert problem["current_status"] == current
            assert platform.client.get(path).json()["status"] == current


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        (("cancelled",), "event_unavailable"),
        (("archived",), "event_not_available"),
        (("live", "archived"), "event_not_available"),
    ],
)
def test_an_event_that_is_over_sells_nothing(
    platform: Platform, steps: tuple[str, ...], error: str
) -> None:
    sale = platform.on_sale(5)
    before = platform.place(sale)
    assert before.status_code == 201
    for status in steps:
        assert changed(platform, sale, status=status).status_code == 200
    problem_of(platform.place(sale), 400, error)
    # Earlier holds can still be released.
    released = platform.client.post(f"/api/holds/{before.json()['hold_id']}/release")
    assert released.status_code == 200


def test_a_draft_sells_nothing_until_it_is_published(platform: Platform) -> None:
    body = {"name": "Gala", "currency": "EUR", "status": "draft"}
    event = platform.made("/api/events", body)
    session = platform.made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
    ticket = {"session_id": session["session_id"], "name": "Seat", "price": 1, "capacity": 5}
    sale = Sale(
        event["event_id"],
        session["session_id"],
        (platform.made("/api/ticket-types", ticket)["ticket_type_id"],),
    )
    problem_of(platform.place(sale), 400, "event_not_available")
    for status in ("published", "live"):
        assert changed(platform, sale, status=status).status_code == 200
        assert platform.place(sale).status_code == 201


def test_the_sale_window_opens_and_closes(platform: Platform) -> None:
    sale = platform.on_sale(5)
    for window, is_open in (
        ({"sale_starts_at": in_hours(1)}, False),
        ({"sale_starts_at": in_hours(-1)}, True),
        ({"sale_ends_at": in_hours(-0.5)}, False),
        ({"sale_ends_at": in_hours(2)}, True),
        ({"sale_starts_at": in_hours(1)}, False),
        ({"sale_starts_at": None}, True),
        ({"sale_ends_at": in_hours(-1)}, False),
        ({"sale_ends_at": None}, True),
    ):
        answer = changed(platform, sale, **window)
        assert answer.status_code == 200, answer.text
        for name, value in window.items():
            assert answer.json().get(name) == value
        placed = platform.place(sale)
        if is_open:
            assert placed.status_code == 201, placed.text
            platform.client.post(f"/api/holds/{placed.json()['hold_id']}/release")
        else:
            problem_of(placed, 400, "event_sales_closed")


def test_a_sale_window_is_accepted_at_creation_in_any_time_zone(platform: Platform) -> None:
    body = {
        "name": "Gala",
        "currency": "EUR",
        "sale_starts_at": "2030-06-21T10:00:00+02:00",
        "sale_ends_at": "2030-06-21T09:00:00Z",
    }
    event = platform.made("/api/events", body)
    assert event["sale_starts_at"] == "2030-06-21T08:00:00Z"
    assert event["sale_ends_at"] == "2030-06-21T09:00:00Z"


def test_a_sale_must_end_after_it_starts(platform: Platform, owner: Owner) -> None:
    body: Json = {"name": "Gala", "currency": "EUR", "sale_starts_at": in_hours(1)}
    event = platform.made("/api/events", body)
    before = owner.everything(platform.organization_id)
    path = f"/api/events/{event['event_id']}"
    backwards = body | {"sale_ends_at": body["sale_starts_at"]}
    for answer in (
        platform.client.post("/api/events", json=backwards),
        platform.client.patch(path, json={"sale_ends_at": in_hours(0.5)}),
        platform.client.patch(
            path, json={"sale_ends_at": in_hours(1), "sale_starts_at": in_hours(2)}
        ),
    ):
        problem = problem_of(answer, 400, "invalid_sale_window")
        assert problem["message"] == "sale_ends_at must be later than sale_starts_at"
    assert platform.client.get(path).json() == event
    assert owner.everything(platform.organization_id) == before
    # One change may move both past each other.
    moved = {"sale_starts_at": in_hours(-2), "sale_ends_at": in_hours(-1)}
    assert moved.items() <= platform.client.patch(path, json=moved).json().items()


def test_an_illegal_status_rejects_the_whole_change(platform: Platform) -> None:
    sale = platform.on_sale(1)
    before = platform.client.get(f"/api/events/{sale.event_id}").json()
    answer = changed(platform, sale, status="draft", name="Ball", sale_ends_at=in_hours(1))
    problem_of(answer, 409, "invalid_event_state")
    assert platform.client.get(f"/api/events/{sale.event_id}").json() == before


def test_hold_rules_are_set_changed_and_inherited_from_the_event(platform: Platform) -> None:
    body = {"name": "Gala", "currency": "EUR", "hold_policy": {"one_active_hold": True}}
    event = platform.made("/api/events", body)
    assert event["hold_policy"]["one_active_hold"] is True
    assert event["hold_policy"].get("refuse_orphans") is None
    path = f"/api/events/{event['event_id']}"
    policy = {"hold_policy": {"refuse_orphans": False, "one_active_hold": None}}
    after = platform.client.patch(path, json=policy).json()["hold_policy"]
    assert (after.get("one_active_hold"), after.get("refuse_orphans")) == (None, False)
    session = platform.made("/api/sessions", {"event_id": event["event_id"], "name": "Friday"})
    ticket = {"session_id": session["session_id"], "name": "Seat", "price": 1, "is_seated": True}
    made = platform.made("/api/ticket-types", ticket | {"hold_policy": {"refuse_orphans": True}})
    assert made["hold_policy"]["refuse_orphans"] is True
    change = {"hold_policy": {"one_active_hold": False}}
    changed = platform.client.patch(
        f"/api/ticket-types/{made['ticket_type_id']}", json=change
    ).json()
    said = {name: value for name, value in changed["hold_policy"].items() if value is not None}
    assert said == {"one_active_hold": False, "refuse_orphans": True}


def test_a_policy_may_limit_people_to_one_active_hold(platform: Platform) -> None:
    sale = platform.on_sale(5)
    first = platform.place(sale, user_id="user-1", customer_email=None).json()
    assert changed(platform, sale, hold_policy={"one_active_hold": True}).status_code == 200
    second = platform.place(sale, user_id="user-1", customer_email=None)
    problem = problem_of(second, 409, "active_hold_exists")
    assert problem["hold_id"] == first["hold_id"]
    assert 0 < problem["expires_in"] <= 600
    assert platform.place(sale, user_id="user-2", customer_email=None).status_code == 201
    assert changed(platform, sale, hold_policy={"one_active_hold": None}).status_code == 200
    assert platform.place(sale, user_id="user-1", customer_email=None).status_code == 201


def test_sale_terms_can_change_during_a_rush(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10_000)

    def rush(_: int) -> list[int]:
        return [platform.place(sale).status_code for _ in range(25)]

    with ThreadPoolExecutor(8) as crowd:
        rushing = [crowd.submit(rush, number) for number in range(8)]
        changes = [
            changed(platform, sale, sale_ends_at=in_hours(-1)).status_code,
            changed(platform, sale, hold_policy={"ttl_seconds": 60}).status_code,
            changed(platform, sale, sale_ends_at=None).status_code,
            changed(platform, sale, status="live").status_code,
        ]
        statuses = [status for future in rushing for status in future.result()]
    assert changes == [200] * 4
    assert set(statuses) <= {201, 400}
    assert 201 in statuses
    owner.assert_counters_add_up(platform.organization_id)
    assert platform.place(sale).json()["expires_in_seconds"] <= 60


def test_a_cancelled_session_sells_nothing_while_its_event_goes_on(platform: Platform) -> None:
    sale = platform.on_sale(5)
    event = {"event_id": sale.event_id, "name": "Saturday"}
    saturday = platform.made("/api/sessions", event)["session_id"]
    ticket = {"session_id": saturday, "name": "Seat", "price": 1, "capacity": 5}
    other = Sale(
        sale.event_id, saturday, (platform.made("/api/ticket-types", ticket)["ticket_type_id"],)
    )
    hold = platform.place(sale).json()
    path = f"/api/sessions/{sale.session_id}"
    assert platform.client.get(path).json()["status"] == "scheduled"
    answer = platform.client.patch(path, json={"status": "cancelled"})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")

    problem_of(platform.place(sale), 400, "event_unavailable")
    confirmed = platform.client.post(f"/api/holds/{hold['hold_id']}/confirm", json={})
    problem_of(confirmed, 400, "event_unavailable")
    seen = platform.client.get(f"{path}/availability").json()
    assert [each["available"] for each in seen["ticket_types"]] == [0]
    assert platform.place(other).status_code == 201
    assert platform.client.post(f"/api/holds/{hold['hold_id']}/release").status_code == 200


def test_a_cancelled_session_stays_cancelled(platform: Platform) -> None:
    path = f"/api/sessions/{platform.on_sale(5).session_id}"
    assert platform.client.patch(path, json={"status": "cancelled"}).status_code == 200
    answer = platform.client.patch(path, json={"status": "scheduled", "name": "Again"})
    problem = problem_of(answer, 409, "invalid_session_state")
    assert problem["message"] == "A cancelled session cannot go on sale again"
    assert platform.client.get(path).json()["name"] != "Again"
