"""The waitlist serves parties in the order in which they joined."""

from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.answers import seconds_between
from tests.features.scene import Scene
from tests.support.patience import wait_until
from tests.support.platform import Json, sent

scenarios("waitlist.feature")

TICKETS = r"(?P<quantity>\d+) tickets?"


def hold_of(scene: Scene, name: str) -> Json:
    """The newest hold of a person."""
    query = sent(customer_email=f"{name}@example.com")
    (newest, *_) = scene.platform.client.get("/api/holds", **query).json()["data"]
    return dict(scene.read(newest["hold_id"]).json())


@given(parsers.parse('session "{name}" has {capacity:d} tickets and a waitlist'))
def keeps_a_line(scene: Scene, name: str, capacity: int) -> None:
    scene.put_on_sale(capacity, hold_policy={"waitlist": True})


@given('another customer has released 1 ticket while "ada" waits for 3')
def one_is_free(scene: Scene) -> None:
    """One person held four; now three are held and one is free."""
    scene.send(f"/api/holds/{scene.hold['hold_id']}/release")
    scene.place(3)
    assert scene.answer.status_code == 201
    asks(scene, "ada", 3)
    assert scene.answer.status_code == 202


@when(parsers.re(rf'"(?P<name>\w+)" asks for {TICKETS}'), converters={"quantity": int})
def asks(scene: Scene, name: str, quantity: int) -> None:
    scene.place(quantity, customer_email=f"{name}@example.com")


@when(parsers.parse('"{name}" asks for 1 ticket {times:d} times'))
def asks_often(scene: Scene, name: str, times: int) -> None:
    for _ in range(times):
        asks(scene, name, 1)
        assert scene.answer.status_code == 202, scene.answer.text


@when("the other customer releases the hold")
def releases_the_hold(scene: Scene) -> None:
    scene.send(f"/api/holds/{scene.hold['hold_id']}/release")
    assert scene.answer.status_code == 200, scene.answer.text


@when(parsers.parse('"{name}" leaves the waitlist'))
def leaves(scene: Scene, name: str) -> None:
    scene.send(f"/api/holds/{hold_of(scene, name)['hold_id']}/release")


@when(parsers.parse("{count:d} more tickets go on sale"))
def more_go_on_sale(scene: Scene, count: int) -> None:
    client = scene.platform.client
    (pool_id,) = client.get(f"/api/ticket-types/{scene.sale.ticket_type_id}").json()["pool_ids"]
    scene.capacity += count
    changed = client.patch(f"/api/pools/{pool_id}", json={"capacity": scene.capacity})
    assert changed.status_code == 200, changed.text


@when("the organizer pauses the sale")
def pauses(scene: Scene) -> None:
    change_event(scene, sale_starts_at="2040-01-01T00:00:00Z")


@when("the organizer resumes the sale")
def resumes(scene: Scene) -> None:
    change_event(scene, sale_starts_at=None)


@when("the organizer ends the sale")
def ends(scene: Scene) -> None:
    change_event(scene, sale_ends_at="2020-01-01T00:00:00Z")


@when("the session starts")
def starts(scene: Scene) -> None:
    path = f"/api/sessions/{scene.sale.session_id}"
    changed = scene.platform.client.patch(path, json={"starts_at": "2020-01-01T00:00:00Z"})
    assert changed.status_code == 200, changed.text


def change_event(scene: Scene, **change: object) -> None:
    path = f"/api/events/{scene.sale.event_id}"
    changed = scene.platform.client.patch(path, json=change)
    assert changed.status_code == 200, changed.text


@then(parsers.parse('"{name}" is no longer on the waitlist'))
def is_off_the_waitlist(scene: Scene, name: str) -> None:
    wait_until(lambda: hold_of(scene, name)["status"] == "cancelled", f"{name} is not served")
    facts = scene.owner.facts(hold_of(scene, name)["hold_id"])
    assert facts[-1][0] == "hold.cancelled"


@then(parsers.parse('"{name}" waits at position {position:d}'))
def waits_at(scene: Scene, name: str, position: int) -> None:
    hold = hold_of(scene, name)
    assert (hold["status"], hold["position"]) == ("waiting", position)
    assert hold.get("held_at") is None


@then(parsers.re(rf'"(?P<name>\w+)" has {TICKETS}'), converters={"quantity": int})
def has(scene: Scene, name: str, quantity: int) -> None:
    wait_until(lambda: hold_of(scene, name)["status"] == "active", f"{name} is served")
    assert hold_of(scene, name)["quantity"] == quantity
    scene.owner.assert_counters_add_up(scene.platform.organization_id)


@then(parsers.parse('"{name}" has 10 minutes to pay'))
def has_time_to_pay(scene: Scene, name: str) -> None:
    hold = hold_of(scene, name)
    assert 600 <= seconds_between(hold["held_at"], hold["expires_at"]) < 601


@then(parsers.parse('a fact reports the promotion of "{name}"'))
def the_promotion_is_reported(scene: Scene, name: str) -> None:
    facts = scene.owner.facts(hold_of(scene, name)["hold_id"])
    assert [kind for kind, _ in facts] == ["hold.waiting", "hold.promoted"]


@then(parsers.parse("the cart waits at position {position:d}"))
def the_cart_waits(scene: Scene, position: int) -> None:
    shown = scene.cart.now()
    assert (shown["status"], shown["position"]) == ("waiting", position)
