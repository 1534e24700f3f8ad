"""Holder tokens through a real server: what belongs to another holder, event or organization looks
unknown, and nothing changes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from holdfast.domain.access.scopes import Mode
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.api.http.route import Route
from holdfast.entrypoints.api.routes import ROUTES
from tests.e2e.answers import first_error, problem_of, without
from tests.e2e.owner import Owner
from tests.support.patience import wait_until
from tests.support.platform import Hall, Json, Platform, new_platform
from tests.support.servers import INSTALLATION_SECRET, RunningServer
from tests.support.tokens import made_token

OPEN_WITH_ID = [route for route in ROUTES if route.is_for_holders and "{" in route.path]
BODIES: dict[str, Json] = {
    "/api/holds/{hold_id}/extend": {"minutes": 1},
    "/api/checkouts/{checkout_id}/complete": {"payment_reference": "pay-1"},
}
# The catalog is the same for every holder.
OF_CATALOG = ("/api/events/", "/api/sessions/", "/api/ticket-types/", "/api/blocks/")


def sold(platform: Platform, hall: Hall, user: str) -> dict[str, str]:
    """Everything that a buyer can have: a hold, a cart, a checkout and an order, in that hall."""

    def held(seat: int, **more: Any) -> str:
        body = {"session_id": hall.session_id, "seat_ids": [hall.seat_ids[seat]], "user_id": user}
        return str(platform.made("/api/holds", body | more)["hold_id"])

    hold_id, cart = held(0), f"cart-{uuid4().hex}"
    item = {"cart_item_id": "1", "seat_ids": [hall.seat_ids[1]]}
    filled = {"session_id": hall.session_id, "user_id": user, "items": [item]}
    assert platform.client.put(f"/api/carts/{cart}/hold", json=filled).status_code == 201
    checkout = platform.made("/api/checkouts", {"hold_ids": [held(2)]})
    order = platform.client.post(f"/api/holds/{held(3)}/confirm", json={}).json()
    return {
        "hold_id": hold_id,
        "cart_token": cart,
        "checkout_id": checkout["checkout_id"],
        "order_id": order["order_id"],
        "event_id": hall.event_id,
        "session_id": hall.session_id,
        "seat_id": hall.seat_ids[4],
        "block_id": hall.block_id,
        "ticket_type_id": hall.ticket_type_id,
    }


def attempt(browser: httpx.Client, route: Route[Any], ids: dict[str, str]) -> httpx.Response:
    body: Json | None = BODIES.get(route.path, {}) if route.is_unsafe else None
    if route.is_of_cart and route.method == "PUT":
        body = {"items": []}
    return browser.request(route.method, route.path.format(**ids), json=body)


def assert_unknown(
    browser: httpx.Client, ids: dict[str, str], is_meant: Callable[[Route[Any]], bool]
) -> int:
    """Every route answers to these ids as to ids that do not exist."""
    nothing = {name: str(uuid4()) for name in ids}
    tried = [route for route in OPEN_WITH_ID if is_meant(route)]
    for route in tried:
        foreign, unknown = attempt(browser, route, ids), attempt(browser, route, nothing)
        assert foreign.status_code == unknown.status_code, route
        shown = [without(each, "request_id", "cart_token") for each in (foreign, unknown)]
        assert shown[0] == shown[1], route
        if not route.is_of_cart and "complete" not in route.path:
            assert foreign.status_code == 404, route
    return len(tried)


@pytest.mark.parametrize(
    "holder",
    [{"user_id": "grace"}, {"customer_email": "ada@example.com"}, {"user_id": "ADA"}],
    ids=["another user", "only an address", "other letters"],
)
def test_another_holders_ids_look_unknown(
    platform: Platform, owner: Owner, holder: dict[str, str]
) -> None:
    hall = platform.hall(1, 6)
    theirs = sold(platform, hall, "ada")
    before = owner.everything(platform.organization_id)
    browser = platform.buyer(**holder)
    tried = assert_unknown(browser, theirs, lambda route: not route.path.startswith(OF_CATALOG))
    assert tried == 11
    assert browser.get("/api/holds").json()["data"] == []
    assert browser.get("/api/orders").json()["data"] == []
    for cart in (theirs["cart_token"], f"cart-{uuid4().hex}"):
        problem_of(browser.post("/api/checkouts", json={"cart_token": cart}), 400, "empty_cart")
    item = {"cart_item_id": "1", "seat_ids": [hall.seat_ids[5]]}
    body = {"session_id": hall.session_id, "items": [item]}
    taken = browser.put(f"/api/carts/{theirs['cart_token']}/hold", json=body)
    problem_of(taken, 409, "cart_of_another_holder")
    assert owner.everything(platform.organization_id) == before


def test_the_same_ids_are_there_for_their_own_holder(platform: Platform) -> None:
    """The control: without it, the test above would pass for a token that sees nothing."""
    hall = platform.hall(1, 6)
    own = sold(platform, hall, "ada")
    browser = platform.buyer(user_id="ada")
    for route in OPEN_WITH_ID:
        if not route.is_unsafe:
            assert attempt(browser, route, own).status_code == 200, route
    assert len(browser.get("/api/holds").json()["data"]) == 4
    assert [each["order_id"] for each in browser.get("/api/orders").json()["data"]] == [
        own["order_id"]
    ]
    path = f"/api/holds/{own['hold_id']}"
    assert browser.post(f"{path}/extend", json={"minutes": 1}).status_code == 200
    assert browser.post(f"{path}/release").status_code == 200
    assert browser.delete(f"/api/carts/{own['cart_token']}/hold").status_code == 200


def test_an_address_alone_does_not_open_the_holds_of_a_user(platform: Platform) -> None:
    sale = platform.on_sale(5)
    both: dict[str, Any] = {"customer_email": "ada@example.com", "user_id": "ada"}
    held = platform.place(sale, **both).json()["hold_id"]
    own = platform.place(sale, customer_email="Ada@example.com").json()["hold_id"]
    listed = platform.buyer(customer_email="ada@example.com").get("/api/holds").json()["data"]
    assert [each["hold_id"] for each in listed] == [own]
    listed = platform.buyer(**both).get("/api/holds").json()["data"]
    assert [each["hold_id"] for each in listed] == [held]


@pytest.mark.parametrize("limit", ["event_id", "session_id"])
def test_a_limited_token_finds_nothing_elsewhere(
    platform: Platform, owner: Owner, limit: str
) -> None:
    here, there = platform.hall(1, 6), platform.hall(1, 6)
    own_there = sold(platform, there, "ada")
    own_here = sold(platform, here, "ada")
    before = owner.everything(platform.organization_id)
    browser = platform.buyer(user_id="ada", **{limit: getattr(here, limit)})
    assert assert_unknown(browser, own_there, lambda _: True) == len(OPEN_WITH_ID)
    assert owner.everything(platform.organization_id) == before
    for path in ("/api/events", "/api/sessions"):
        assert len(browser.get(path).json()["data"]) == 1
    for path in ("/api/ticket-types", "/api/blocks"):
        elsewhere = {"session_id": there.session_id}
        assert browser.get(path, params=elsewhere).json()["data"] == []
        assert len(browser.get(path, params={"session_id": here.session_id}).json()["data"]) == 1
    assert len(browser.get("/api/holds").json()["data"]) == 4
    assert browser.get("/api/holds", params={limit: getattr(there, limit)}).json()["data"] == []
    (order,) = browser.get("/api/orders").json()["data"]
    assert order["order_id"] == own_here["order_id"]
    for cart in (own_there["cart_token"], f"cart-{uuid4().hex}"):
        problem_of(browser.post("/api/checkouts", json={"cart_token": cart}), 400, "empty_cart")
    for event_id in (there.event_id, str(uuid4())):
        asked = browser.post("/api/checkouts", json={"event_id": event_id})
        problem_of(asked, 400, "invalid_event")
    for hold_id in (own_there["hold_id"], str(uuid4())):
        asked = browser.post("/api/checkouts", json={"hold_ids": [hold_id]})
        problem_of(asked, 404, "hold_not_found")
    body = {"session_id": there.session_id, "seat_ids": [there.seat_ids[5]]}
    problem_of(browser.post("/api/holds", json=body), 400, "invalid_session")
    for route in OPEN_WITH_ID:
        if not route.is_unsafe:
            assert attempt(browser, route, own_here).status_code == 200, route


def test_drafts_are_not_shown_to_tokens(platform: Platform) -> None:
    sale = platform.on_sale(5)
    draft = platform.made("/api/events", {"name": "Secret", "currency": "EUR", "status": "draft"})
    session = platform.made("/api/sessions", {"event_id": draft["event_id"], "name": "Friday"})
    browser = platform.buyer()
    events = browser.get("/api/events").json()["data"]
    assert [each["event_id"] for each in events] == [sale.event_id]
    sessions = browser.get("/api/sessions").json()["data"]
    assert [each["session_id"] for each in sessions] == [sale.session_id]
    problem_of(browser.get(f"/api/events/{draft['event_id']}"), 404, "event_not_found")
    problem_of(browser.get(f"/api/sessions/{session['session_id']}"), 404, "session_not_found")
    assert first_error(browser.get("/api/ticket-types")) == ("session_id", "required")
    of_session = {"session_id": session["session_id"]}
    made = {**of_session, "name": "Standing", "price": 100, "capacity": 5}
    ticket_type = platform.made("/api/ticket-types", made)["ticket_type_id"]
    for part in ("availability", "seats"):
        path = f"/api/sessions/{session['session_id']}/{part}"
        assert platform.client.get(path).status_code == 200
        problem_of(browser.get(path), 404, "session_not_found")
    assert browser.get("/api/ticket-types", params=of_session).json()["data"] == []
    path = f"/api/ticket-types/{ticket_type}"
    problem_of(browser.get(path), 404, "ticket_type_not_found")
    hold = {**of_session, "ticket_type_id": ticket_type, "quantity": 1}
    problem_of(browser.post("/api/holds", json=hold), 400, "invalid_session")
    of_event = {"event_id": draft["event_id"]}
    problem_of(browser.post("/api/checkouts", json=of_event), 400, "invalid_event")
    seat = f"/api/events/{draft['event_id']}/seats/{session['session_id']}"
    problem_of(browser.get(seat), 404, "event_not_found")
    problem_of(browser.post(f"{seat}/reserve", json={}), 404, "event_not_found")
    status = {"status": "published"}
    assert platform.client.patch(f"/api/events/{draft['event_id']}", json=status).status_code == 200
    assert browser.get(path).status_code == 200


def test_a_token_carries_its_limit_of_tickets(platform: Platform) -> None:
    sale = platform.on_sale(10)
    issued = platform.made("/api/holder-tokens", {"user_id": "ada", "quantity_max": 3})
    assert issued["quantity_max"] == 3
    browser = Platform(platform.base_url, issued["token"], platform.organization_id).client
    hold = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_ids[0]}
    assert browser.post("/api/holds", json={**hold, "quantity": 2}).status_code == 201
    refused = browser.post("/api/holds", json={**hold, "quantity": 2})
    problem = problem_of(refused, 409, "holder_limit_reached")
    assert (problem["limit"], problem["current"]) == (3, 2)
    for wrong in (0, 501, "3", 1.5):
        body = {"user_id": "ada", "quantity_max": wrong}
        answer = platform.client.post("/api/holder-tokens", json=body)
        assert answer.status_code == 400, wrong


@pytest.mark.parametrize("status", ["archived", "cancelled"])
def test_a_draft_that_is_given_up_was_never_shown_to_tokens(
    platform: Platform, status: str
) -> None:
    """One that was on sale still is."""
    browser = platform.buyer()
    for first, is_shown in (("draft", False), ("published", True)):
        made = {"name": "Secret", "currency": "EUR", "status": first}
        path = f"/api/events/{platform.made('/api/events', made)['event_id']}"
        session = platform.made("/api/sessions", {"event_id": path[-36:], "name": "Friday"})
        assert platform.client.patch(path, json={"status": status}).status_code == 200
        assert platform.client.patch(path, json={"name": "Renamed"}).status_code == 200
        shown = browser.get("/api/events").json()["data"]
        assert (path[-36:] in {each["event_id"] for each in shown}) is is_shown
        assert browser.get(path).status_code == (200 if is_shown else 404)
        of_session = f"/api/sessions/{session['session_id']}"
        assert browser.get(of_session).status_code == (200 if is_shown else 404)
        listed = browser.get("/api/sessions").json()["data"]
        assert (session in listed) is is_shown
        hold = {"session_id": session["session_id"], "ticket_type_id": path[-36:], "quantity": 1}
        codes = {True: {"event_not_available", "event_unavailable"}, False: {"invalid_session"}}
        assert browser.post("/api/holds", json=hold).json()["error"] in codes[is_shown]


def test_another_organizations_token_is_a_stranger(
    platform: Platform, neighbour: Platform, owner: Owner
) -> None:
    hall = platform.hall(1, 6)
    theirs = sold(platform, hall, "ada")
    before = owner.everything(platform.organization_id)
    assert assert_unknown(neighbour.buyer(user_id="ada"), theirs, lambda _: True)
    assert owner.everything(platform.organization_id) == before
    # Correctly sealed, but its key is not that organization's.
    token = made_token(platform, organization_id=OrganizationId(UUID(neighbour.organization_id)))
    problem_of(platform.buyer(token).get("/api/holds"), 401, "unauthorized")


def test_a_token_is_no_secret_key_and_works_only_as_one_credential(platform: Platform) -> None:
    token = platform.token(user_id="ada")
    assert token.startswith("ht_test_")
    for authorization in (f"Basic {token}", token, f"Bearer {token}, Bearer {token}"):
        headers = {"Authorization": authorization}
        answer = httpx.get(f"{platform.base_url}/api/holds", headers=headers)
        problem_of(answer, 401, "unauthorized")
    browser = platform.buyer(token)
    for method, path in (
        ("GET", "/api/keys"),
        ("POST", "/api/holder-tokens"),
        ("GET", "/api/audit"),
    ):
        problem_of(browser.request(method, path), 403, "secret_key_required")


def test_a_token_is_not_logged(platform: Platform, server: RunningServer) -> None:
    token = platform.token(customer_email="canary-7731@example.com")
    browser = platform.buyer(token)
    browser.get("/api/keys")
    browser.get(f"/api/holds/{uuid4()}")
    browser.get("/api/holds", params={"access_token": token})
    log = server.log.read_text()
    assert token not in log
    assert "canary-7731" not in log


def test_issuing_and_revoking_are_audited(platform: Platform) -> None:
    issued = platform.made("/api/holder-tokens", {"customer_email": "ada@example.com"})
    platform.client.post("/api/holder-tokens/revoke", json={"customer_email": "ada@example.com"})
    entries = platform.client.get("/api/audit").json()["data"]
    assert [each["action"] for each in entries] == ["tokens.revoked", "token.issued"]
    assert entries[1]["new"]["token_id"] == issued["token_id"]
    assert "ada@" not in str(entries)


def test_issuing_is_repeatable(platform: Platform) -> None:
    headers = {"Idempotency-Key": "visit-1"}
    first, second = (
        platform.client.post("/api/holder-tokens", json={"user_id": "ada"}, headers=headers)
        for _ in range(2)
    )
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"


def test_unknown_events_and_sessions_are_refused(platform: Platform, neighbour: Platform) -> None:
    foreign = neighbour.on_sale(1)
    for event_id in (foreign.event_id, str(uuid4())):
        body = {"user_id": "ada", "event_id": event_id}
        problem_of(platform.client.post("/api/holder-tokens", json=body), 400, "invalid_event")
    body = {"user_id": "ada", "session_id": foreign.session_id}
    problem_of(platform.client.post("/api/holder-tokens", json=body), 400, "invalid_session")


def test_origins_take_effect_without_a_restart(platform: Platform) -> None:
    origin = f"https://shop-{uuid4().hex}.example"
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}

    def is_allowed() -> bool:
        asked = httpx.options(f"{platform.base_url}/api/holds", headers=headers)
        return bool(asked.headers.get("access-control-allow-origin") == origin)

    assert not is_allowed()
    changed = platform.client.patch("/api/organization", json={"allowed_origins": [origin]})
    assert changed.json()["allowed_origins"] == [origin]
    wait_until(is_allowed, "the origin is allowed")
    shown = platform.buyer().get("/api/events", headers={"Origin": origin})
    assert shown.headers["access-control-allow-origin"] == origin
    cleared = platform.client.patch("/api/organization", json={"allowed_origins": []})
    assert "allowed_origins" not in cleared.json()
    wait_until(lambda: not is_allowed(), "the origin is not allowed any more")


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*.example.com", "https://a.example/", "a.example", "null", "https://A.example"],
)
def test_an_origin_is_checked(platform: Platform, origin: str) -> None:
    answer = platform.client.patch("/api/organization", json={"allowed_origins": [origin]})
    assert first_error(answer)[0].startswith("allowed_origins")


def test_holder_and_mode_come_from_the_token(platform: Platform) -> None:
    """A live token for a test organization cannot be issued; a forged prefix does not open."""
    holder = Holder(EmailAddress("ada@example.com"))
    live = made_token(platform, mode=Mode.LIVE, holder=holder)
    test = live.replace("ht_live_", "ht_test_")
    problem_of(platform.buyer(test).get("/api/holds"), 401, "unauthorized")


def test_a_server_that_made_up_its_secret_issues_no_tokens(
    fresh_database_url: str, tmp_path: Path
) -> None:
    """They would end with its next restart, and on every other server."""
    unset = {"HOLDFAST_SECRET_KEY": "", "HOLDFAST_DUTIES": "none"}
    with RunningServer(fresh_database_url, tmp_path / "log", unset) as running:
        platform = new_platform(running.base_url, running.database_url)
        answer = platform.client.post("/api/holder-tokens", json={"user_id": "ada"})
        problem = problem_of(answer, 503, "tokens_unavailable")
        assert "HOLDFAST_SECRET_KEY" in problem["message"]


def test_tokens_survive_a_rotation_of_the_secret(fresh_database_url: str, tmp_path: Path) -> None:
    with RunningServer(fresh_database_url, tmp_path / "old") as server:
        platform = new_platform(server.base_url, server.database_url)
        rotate_the_secret(platform, server, tmp_path)


def rotate_the_secret(platform: Platform, server: RunningServer, tmp_path: Path) -> None:
    token, sale = platform.token(user_id="ada"), platform.on_sale(5)
    body = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_id, "quantity": 1}
    headers = {"Idempotency-Key": "click-1"}
    first = platform.buyer(token).post("/api/holds", json=body, headers=headers)
    rotated = {
        "HOLDFAST_SECRET_KEY": "the next secret of this installation",
        "HOLDFAST_SECRET_KEY_FALLBACKS": INSTALLATION_SECRET,
        "HOLDFAST_DUTIES": "none",
    }
    with RunningServer(server.database_url, tmp_path / "log", rotated) as running:
        after = Platform(running.base_url, platform.secret_key, platform.organization_id)
        assert after.buyer(token).get("/api/holds").status_code == 200
        renewed = after.buyer(user_id="ada")
        again = renewed.post("/api/holds", json=body, headers=headers)
        assert again.content == first.content
    refused = platform.buyer(renewed.headers["Authorization"].removeprefix("Bearer "))
    problem_of(refused.get("/api/holds"), 401, "unauthorized")
