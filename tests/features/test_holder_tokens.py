"""Holder tokens, on two servers that share a database."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_bdd import given, parsers, scenarios, then, when

from holdfast.domain.access.tokens import TOKEN_SCOPES
from holdfast.domain.values import Holder
from tests.e2e.answers import problem_of
from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json, Sale
from tests.support.servers import RunningServer
from tests.support.tokens import made_token

scenarios("holder_tokens.feature")


@pytest.fixture(scope="module")
def second_server(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("second") / "server.log"
    with RunningServer(database_url, Path(log)) as running:
        yield running


@dataclass
class Browser:
    servers: tuple[str, ...]
    token: str = ""
    other_token: str = ""
    key_id: str = ""
    checkout_id: str = ""
    other_sale: Sale | None = None
    answers: list[httpx.Response] = field(default_factory=list)

    def call(self, method: str, path: str, body: Json | None = None, key: str = "") -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        headers |= {"Idempotency-Key": key} if key else {}
        url = self.servers[0] + path
        answer = httpx.request(method, url, json=body, headers=headers, timeout=60)
        self.answers.append(answer)
        return answer

    def statuses(self, token: str) -> set[int]:
        """What every server answers to the token."""
        headers = {"Authorization": f"Bearer {token}"}
        urls = [f"{server}/api/holds" for server in self.servers]
        return {httpx.get(url, headers=headers, timeout=60).status_code for url in urls}


@pytest.fixture
def browser(server: RunningServer, second_server: RunningServer, scene: Scene) -> Browser:
    scene.put_on_sale()
    return Browser((server.base_url, second_server.base_url))


def hold_of(scene: Scene, quantity: int, **more: Any) -> Json:
    sale = scene.sale
    asked = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_id}
    return {**asked, "quantity": quantity, **more}


@given(parsers.parse('a token for the user "{user}"'))
@when(parsers.parse('the browser gets a new token for "{user}"'))
def a_token(scene: Scene, browser: Browser, user: str) -> None:
    browser.token = scene.platform.token(user_id=user)
    browser.other_token = scene.platform.token(user_id="grace")


@given(parsers.parse('a token for the user "{user}" with {seconds:d} seconds left'))
def an_old_token(scene: Scene, browser: Browser, user: str, seconds: int) -> None:
    """The shortest that the API gives out lasts a minute."""
    browser.token = made_token(scene.platform, seconds, holder=Holder(user_id=user))


@given(parsers.parse('a token for the user "{user}", limited to the first event'))
def a_limited_token(scene: Scene, browser: Browser, user: str) -> None:
    browser.token = scene.platform.token(user_id=user, event_id=scene.sale.event_id)


@given(parsers.parse('a token for the user "{user}" from a key of its own'))
def a_token_of_another_key(scene: Scene, browser: Browser, user: str) -> None:
    scopes = [*sorted(TOKEN_SCOPES), "tokens:write"]
    made = scene.platform.made("/api/keys", {"name": "shop", "scopes": scopes})
    browser.key_id = made["key_id"]
    headers = {"Authorization": f"Bearer {made['secret_key']}"}
    body = {"user_id": user}
    answer = scene.platform.client.post("/api/holder-tokens", json=body, headers=headers)
    browser.token = answer.json()["token"]


@given("another event on sale")
def another_event(scene: Scene, browser: Browser) -> None:
    browser.other_sale = scene.platform.on_sale(5)


@given(parsers.parse('the platform holds 2 tickets for the user "{user}"'))
def the_platform_holds(scene: Scene, browser: Browser, user: str) -> None:
    scene.place(2, customer_email=None, user_id=user)


@given("the browser has started a checkout of 2 tickets")
def a_checkout(scene: Scene, browser: Browser) -> None:
    held = browser.call("POST", "/api/holds", hold_of(scene, 2)).json()
    started = browser.call("POST", "/api/checkouts", {"hold_ids": [held["hold_id"]]})
    assert started.status_code == 201, started.text
    browser.checkout_id = started.json()["checkout_id"]


@given("the token has been used on every server")
def used_everywhere(browser: Browser) -> None:
    assert browser.statuses(browser.token) == {200}


@when("the browser holds 2 tickets")
def browser_holds(scene: Scene, browser: Browser) -> None:
    scene.answers.append(browser.call("POST", "/api/holds", hold_of(scene, 2)))


@when(parsers.parse('the browser holds 2 tickets as the user "{user}"'))
def browser_holds_as(scene: Scene, browser: Browser, user: str) -> None:
    body = hold_of(scene, 2, user_id=user)
    scene.answers.append(browser.call("POST", "/api/holds", body))
    assert scene.answer.json()["errors"][0]["field"] == "user_id"


@when("the browser holds 2 tickets for 1 cent each")
def browser_holds_for_a_cent(scene: Scene, browser: Browser) -> None:
    scene.answers.append(browser.call("POST", "/api/holds", hold_of(scene, 2, unit_price=1)))
    assert scene.answer.json()["errors"][0]["field"] == "unit_price"


@when(parsers.parse('the browser holds 2 tickets with the idempotency key "{key}"'))
def browser_holds_with_key(scene: Scene, browser: Browser, key: str) -> None:
    scene.answers.append(browser.call("POST", "/api/holds", hold_of(scene, 2), key))


@when("the browser completes the checkout")
def browser_completes(scene: Scene, browser: Browser) -> None:
    path = f"/api/checkouts/{browser.checkout_id}/complete"
    scene.answers.append(browser.call("POST", path, {"payment_reference": "paid"}))


@when("its time is over")
def time_is_over(browser: Browser) -> None:
    wait_until(lambda: browser.statuses(browser.token) == {401}, "the token expires")


@when(parsers.parse('the platform revokes the tokens of "{user}"'))
def the_platform_revokes(scene: Scene, browser: Browser, user: str) -> None:
    answer = scene.platform.client.post("/api/holder-tokens/revoke", json={"user_id": user})
    assert answer.status_code == 200, answer.text


@when("that key is revoked")
def key_is_revoked(scene: Scene, browser: Browser) -> None:
    answer = scene.platform.client.post(f"/api/keys/{browser.key_id}/revoke")
    assert answer.status_code == 200


@when("the platform asks for a token without a holder")
def no_holder(scene: Scene, browser: Browser) -> None:
    scene.answers.append(scene.platform.client.post("/api/holder-tokens", json={}))
    browser.token = scene.answer.json().get("token", "")


@when("the platform turns on anonymous holders")
def anonymous_holders(scene: Scene, browser: Browser) -> None:
    answer = scene.platform.client.patch("/api/organization", json={"anonymous_holders": True})
    assert answer.json()["anonymous_holders"] is True


@then(parsers.parse('the hold belongs to the user "{user}"'))
def belongs_to(scene: Scene, user: str) -> None:
    found = scene.platform.client.get("/api/holds", params={"user_id": user}).json()["data"]
    assert [each["hold_id"] for each in found] == [scene.answer.json()["hold_id"]]


@then("the browser can read, extend and release its hold")
def can_use(scene: Scene, browser: Browser) -> None:
    path = f"/api/holds/{scene.answer.json()['hold_id']}"
    assert browser.call("GET", path).json()["status"] == "active"
    assert browser.call("POST", f"{path}/extend", {"minutes": 1}).status_code == 200
    assert browser.call("POST", f"{path}/release").json()["status"] == "cancelled"
    (listed,) = browser.call("GET", "/api/holds").json()["data"]
    assert listed["status"] == "cancelled"


@then("nothing is held")
def nothing_held(scene: Scene) -> None:
    assert scene.held() == 0


@then("2 tickets are held")
def two_held(scene: Scene) -> None:
    assert scene.held() == 2


@then("the browser cannot see, extend, release or check out that hold")
def cannot_touch(scene: Scene, browser: Browser) -> None:
    hold_id = scene.hold["hold_id"]
    path = f"/api/holds/{hold_id}"
    for method, url, body in (
        ("GET", path, None),
        ("POST", f"{path}/extend", {"minutes": 1}),
        ("POST", f"{path}/release", {}),
        ("DELETE", path, None),
        ("POST", "/api/checkouts", {"hold_ids": [hold_id]}),
    ):
        problem_of(browser.call(method, url, body), 404, "hold_not_found")
    assert browser.call("GET", "/api/holds").json()["data"] == []


@then(parsers.parse('the hold of "{user}" is unchanged'))
def unchanged(scene: Scene, user: str) -> None:
    now = scene.read(scene.hold["hold_id"]).json()
    same = ("status", "expires_at", "quantity", "total")
    assert [now[name] for name in same] == [scene.hold[name] for name in same]


@then("the browser sees only the first event")
def sees_one_event(scene: Scene, browser: Browser) -> None:
    other = browser.other_sale
    assert other is not None
    events = browser.call("GET", "/api/events").json()["data"]
    assert [each["event_id"] for each in events] == [scene.sale.event_id]
    sessions = browser.call("GET", "/api/sessions").json()["data"]
    assert [each["session_id"] for each in sessions] == [scene.sale.session_id]
    problem_of(browser.call("GET", f"/api/events/{other.event_id}"), 404, "event_not_found")
    path = f"/api/sessions/{other.session_id}/availability"
    problem_of(browser.call("GET", path), 404, "session_not_found")


@then("the browser cannot hold a ticket of the other event")
def cannot_hold_other(browser: Browser) -> None:
    other = browser.other_sale
    assert other is not None
    body = {"session_id": other.session_id, "ticket_type_id": other.ticket_type_id, "quantity": 1}
    problem_of(browser.call("POST", "/api/holds", body), 400, "invalid_session")


@then("the platform can complete the checkout")
def platform_completes(scene: Scene, browser: Browser) -> None:
    path = f"/api/checkouts/{browser.checkout_id}/complete"
    answer = scene.platform.client.post(path, json={"payment_reference": "paid"})
    assert answer.status_code == 201, answer.text


@then("no server accepts the token")
def nobody_accepts(browser: Browser) -> None:
    wait_until(lambda: browser.statuses(browser.token) == {401}, "every server refuses it")


@then(parsers.parse('a new token for "{user}" works on every server'))
def new_token_works(scene: Scene, browser: Browser, user: str) -> None:
    assert browser.statuses(scene.platform.token(user_id=user)) == {200}


@then('the token of the user "grace" works on every server')
def other_token_works(browser: Browser) -> None:
    assert browser.statuses(browser.other_token) == {200}


@then("both answers are the same")
def same_answers(scene: Scene) -> None:
    first, second = scene.answers[-2:]
    assert first.status_code == second.status_code == 201, second.text
    assert first.content == second.content
    assert second.headers["idempotent-replayed"] == "true"


@then("the browser can hold tickets with it")
def anonymous_holds(scene: Scene, browser: Browser) -> None:
    assert scene.answer.json()["user_id"].startswith("anonymous-")
    assert browser.call("POST", "/api/holds", hold_of(scene, 1)).status_code == 201
