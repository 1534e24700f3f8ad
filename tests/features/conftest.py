"""Steps that several features share."""

from collections.abc import Iterator

import pytest
from pytest_bdd import given, parsers, then, when

from tests.e2e.answers import problem_of, seconds_between
from tests.e2e.cart_calls import item
from tests.features.scene import CAPACITY, STATUS_OF_ERROR, Scene, Sent, new_key, scene_on
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.platform import new_platform
from tests.support.servers import RunningServer

UNKNOWN_ID = "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c1b2d"
TTL_SECONDS = 600


@pytest.fixture
def scene(server: RunningServer) -> Scene:
    return scene_on(server)


@pytest.fixture(scope="package")
def unreaped_server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server without a reaper, on its own database so that no other reaper touches it."""
    log = tmp_path_factory.mktemp("unreaped") / "log"
    without_reaper = {"HOLDFAST_DUTIES": "none"}
    with RunningServer(databases.fresh(), log, without_reaper) as running:
        yield running


@given(parsers.parse('session "{name}" has available tickets'))
def session_has_tickets(scene: Scene, name: str) -> None:
    scene.put_on_sale()


@given(parsers.parse('only 1 ticket is available for session "{name}"'))
def only_one_ticket(scene: Scene, name: str) -> None:
    scene.put_on_sale(1)


@given(parsers.parse('an active hold for customer "{email}"'))
def active_hold(scene: Scene, email: str) -> None:
    scene.put_on_sale()
    scene.place(2, customer_email=email)
    assert scene.hold["status"] == "active"


@given("an active hold that expired 1 minute ago")
def hold_that_expired(scene: Scene) -> None:
    scene.put_on_sale()
    scene.place(2)
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + 60)


@when("the expiry worker runs")
def the_worker_runs(scene: Scene, server: RunningServer) -> None:
    """Wait until no expired hold is left, neither of the scenario nor a canary placed just now,
    which makes sure that the worker runs."""
    canary = new_platform(server.base_url, server.database_url)
    assert canary.place(canary.on_sale(1)).status_code == 201
    scene.owner.let_pass(canary.organization_id, TTL_SECONDS + 1)
    organizations = [canary.organization_id, scene.platform.organization_id]
    waiting = (
        "SELECT FROM hold WHERE organization_id = ANY (%s::uuid[])"
        " AND status IN ('waiting', 'active')"
        " AND expires_at <= now()"
    )
    wait_until(lambda: not scene.owner.rows(waiting, organizations), "no expired hold is left")


@when(
    parsers.re(r"(a|another) customer requests a hold for (?P<quantity>-?\d+) tickets?"),
    converters={"quantity": int},
)
def customer_requests(scene: Scene, quantity: int) -> None:
    scene.place(quantity)


@when(
    parsers.re(r"a customer requests a hold for (?P<quantity>\d+) tickets with an idempotency key"),
    converters={"quantity": int},
)
def customer_requests_with_key(scene: Scene, quantity: int) -> None:
    scene.send("/api/holds", scene.body(quantity), {"Idempotency-Key": new_key()})


@given(
    parsers.re(r"another customer holds (?P<quantity>\d+) tickets?"), converters={"quantity": int}
)
@when(
    parsers.re(r"another customer holds (?P<quantity>\d+) tickets?"), converters={"quantity": int}
)
def another_customer_holds(scene: Scene, quantity: int) -> None:
    scene.place(quantity)
    assert scene.answer.status_code == 201, scene.answer.text


@when(
    parsers.re(r"the buyer (puts|changes the cart to) (?P<quantity>\d+) tickets?( into the cart)?"),
    converters={"quantity": int},
)
def the_buyer_fills_the_cart(scene: Scene, quantity: int) -> None:
    body = scene.cart.body(item(scene.sale, quantity))
    scene.repeat(Sent(scene.cart.path, body, {}, "PUT"))


@when("the buyer puts 2 tickets into the cart with an idempotency key")
def with_a_key(scene: Scene) -> None:
    body = scene.cart.body(item(scene.sale, 2))
    scene.repeat(Sent(scene.cart.path, body, {"Idempotency-Key": new_key()}, "PUT"))


@when("the buyer checks out the cart")
def the_buyer_checks_out(scene: Scene) -> None:
    scene.send("/api/checkouts", {"cart_token": scene.cart.name})


@when(parsers.parse("{minutes:d} minutes pass"))
def minutes_pass(scene: Scene, minutes: int) -> None:
    scene.owner.let_pass(scene.platform.organization_id, minutes * 60)


@when("the hold is released")
def the_hold_is_released(scene: Scene) -> None:
    scene.send(f"/api/holds/{scene.hold['hold_id']}/release")


@when("the order is confirmed")
def the_order_is_confirmed(scene: Scene) -> None:
    scene.send(f"/api/holds/{scene.hold['hold_id']}/confirm", {"payment_reference": "pay-1"})


@when(
    parsers.re(r"an operator extends the hold by (?P<minutes>\d+) minutes"),
    converters={"minutes": int},
)
def an_operator_extends(scene: Scene, minutes: int) -> None:
    path = f"/api/holds/{scene.hold['hold_id']}/extend"
    scene.send(path, {"minutes": minutes, "as_operator": True})


@when("the hold is read")
def the_hold_is_read(scene: Scene) -> None:
    scene.answers.append(scene.read(scene.hold["hold_id"]))


@when("the same request is sent again")
def the_same_again(scene: Scene) -> None:
    scene.repeat(scene.sent[-1])


@then(parsers.parse('a hold is created with status "{status}"'))
def a_hold_is_created(scene: Scene, status: str) -> None:
    assert scene.answer.status_code == 201, scene.answer.text
    assert scene.hold["status"] == status
    stored = scene.read(scene.hold["hold_id"]).json()
    assert (stored["status"], stored["quantity"]) == (status, scene.hold["quantity"])


@then("the hold expires in 10 minutes")
def expires_in_ten_minutes(scene: Scene) -> None:
    """Allows a second, because the expiry is rounded up."""
    lasts = seconds_between(scene.hold["created_at"], scene.hold["expires_at"])
    assert 600 <= lasts < 601
    assert scene.hold["expires_in_seconds"] == 600


@then(parsers.re(r"the hold lasts (?P<minutes>\d+) minutes in total"), converters={"minutes": int})
def the_hold_lasts(scene: Scene, minutes: int) -> None:
    """Allows a second, because the expiry is rounded up."""
    hold = scene.read(scene.hold["hold_id"]).json()
    lasts = seconds_between(hold["created_at"], hold["expires_at"])
    assert minutes * 60 <= lasts < minutes * 60 + 1


@then("the hold expires 5 minutes later than before")
def five_minutes_later(scene: Scene) -> None:
    hold = scene.read(scene.hold["hold_id"]).json()
    assert seconds_between(scene.hold["expires_at"], hold["expires_at"]) == 300


@then("both responses are the same")
def both_answers_are_the_same(scene: Scene) -> None:
    first, again = scene.answers[-2:]
    assert first.is_success
    assert (first.status_code, first.content) == (again.status_code, again.content)


@then(
    parsers.re(r"the order has (?P<count>\d+) tickets with (?P=count) different codes"),
    converters={"count": int},
)
def the_order_has_tickets(scene: Scene, count: int) -> None:
    answer = scene.answer.json()
    tickets = answer.get("order", answer)["tickets"]
    assert len(tickets) == len({ticket["code"] for ticket in tickets}) == count


@then(parsers.re(r"the cart holds (?P<quantity>\d+) tickets?"), converters={"quantity": int})
def the_cart_holds(scene: Scene, quantity: int) -> None:
    shown = scene.cart.now()
    assert (shown["status"], shown["quantity"]) == ("active", quantity)


@then(parsers.parse('the hold status is "{status}"'))
def the_hold_status_is(scene: Scene, status: str) -> None:
    assert scene.read(scene.hold["hold_id"]).json()["status"] == status


@then(parsers.re(r"a (?P<kind>hold\.\w+) event is published"))
def an_event_is_published(scene: Scene, kind: str) -> None:
    """Published once, and its payload matches the event schema."""
    facts = scene.owner.facts(scene.hold["hold_id"])
    assert [fact for fact, _ in facts].count(kind) == 1
    payload = {
        "hold_id": scene.hold["hold_id"],
        "session_id": scene.hold["session_id"],
        "ticket_type_id": scene.hold["ticket_type_id"],
        "quantity": scene.hold["quantity"],
    }
    if kind == "hold.created":
        assert scene.sent[-1].body is not None
        payload["customer_email"] = scene.sent[-1].body["customer_email"]
        payload["expires_at"] = scene.hold["expires_at"]
    else:
        payload["freed_quantity"] = scene.hold["quantity"]
    assert dict(facts)[kind] == payload


@then("the inventory is available again")
def inventory_is_available_again(scene: Scene) -> None:
    assert scene.available() == scene.capacity == CAPACITY
    nothing_is_held(scene)


@then(parsers.parse('the request fails with "{error}"'))
def the_request_fails(scene: Scene, error: str) -> None:
    problem_of(scene.answer, STATUS_OF_ERROR[error], error)


@then("the available quantity is returned")
def the_available_quantity_is_returned(scene: Scene) -> None:
    problem = scene.answer.json()
    assert problem["available_quantity"] == 1
    assert problem["message"] == "Only 1 ticket(s) available"


@then(parsers.parse('the message is "{message}"'))
def the_message_is(scene: Scene, message: str) -> None:
    assert scene.answer.json()["message"] == message


@then("nothing is held")
def nothing_is_held(scene: Scene) -> None:
    assert scene.held() == 0


@then(
    parsers.re(r"(?P<quantity>\d+) tickets? (is|are) held in total"), converters={"quantity": int}
)
def held_in_total(scene: Scene, quantity: int) -> None:
    assert scene.held() == quantity
    assert scene.available() == scene.capacity - quantity


@then(parsers.re(r"(?P<quantity>\d+) tickets? (is|are) available"), converters={"quantity": int})
def are_available(scene: Scene, quantity: int) -> None:
    assert scene.available() == quantity
