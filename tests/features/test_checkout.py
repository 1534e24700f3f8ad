"""Checkout."""

from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.scene import Scene
from tests.support.patience import wait_until

scenarios("checkout.feature")


@given("a hold of 15 minutes, 14 minutes and 50 seconds old")
def an_old_hold(scene: Scene) -> None:
    policy = {"ttl_seconds": 15 * 60}
    scene.sale = scene.platform.on_sale(10, hold_policy=policy)
    scene.place(2)
    scene.owner.let_pass(scene.platform.organization_id, 14 * 60 + 50)
    scene.hold = scene.read(scene.hold["hold_id"]).json()


@given(parsers.parse('customer "{email}" holds 2 tickets twice'))
def holds_twice(scene: Scene, email: str) -> None:
    scene.put_on_sale()
    for _ in range(2):
        scene.place(2, customer_email=email)
        scene.holds.append(scene.hold)


@given(parsers.parse('customer "{email}" has two holds, and the first has lapsed'))
def the_first_has_expired(scene: Scene, email: str) -> None:
    scene.put_on_sale()
    scene.place(2, customer_email=email)
    lapsed = scene.hold
    scene.owner.let_pass(scene.platform.organization_id, 5 * 60)
    scene.place(2, customer_email=email)
    scene.owner.let_pass(scene.platform.organization_id, 6 * 60)
    scene.hold = lapsed


@when("the event is cancelled")
def the_event_is_cancelled(scene: Scene) -> None:
    path = f"/api/events/{scene.sale.event_id}"
    answer = scene.platform.client.patch(path, json={"status": "cancelled"})
    assert answer.status_code == 200, answer.text


@when("the customer starts the checkout")
def goes_to_checkout(scene: Scene) -> None:
    scene.send("/api/checkouts", {"hold_ids": [scene.hold["hold_id"]]})


@when(parsers.parse('"{email}" checks out everything held for the event'))
def goes_to_checkout_with_all(scene: Scene, email: str) -> None:
    scene.send("/api/checkouts", {"event_id": scene.sale.event_id, "customer_email": email})


@when("1 minute passes")
def a_minute_passes(scene: Scene) -> None:
    scene.owner.let_pass(scene.platform.organization_id, 60)


@when("the payment completes")
def the_payment_completes(scene: Scene) -> None:
    _complete(scene, "pay-1")


@when("another payment completes")
def another_payment_completes(scene: Scene) -> None:
    _complete(scene, "pay-2")


def _complete(scene: Scene, reference: str) -> None:
    checkout = next(
        answer.json() for answer in scene.answers if answer.json().get("holds") is not None
    )
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    scene.send(path, {"payment_reference": reference})


@then("an order is created from all holds of the checkout")
def an_order_is_made(scene: Scene) -> None:
    assert scene.answer.status_code == 201, scene.answer.text
    order = scene.answer.json()
    checkout = scene.platform.client.get(f"/api/checkouts/{order['checkout_id']}").json()
    assert checkout["order_id"] == order["order_id"]
    assert [hold["hold_id"] for hold in checkout["holds"]] == order["hold_ids"]
    assert {hold["status"] for hold in checkout["holds"]} == {"converted"}


@then("the error names the lapsed hold")
def the_expired_hold_is_named(scene: Scene) -> None:
    assert scene.answer.json()["lapsed_hold_ids"] == [scene.hold["hold_id"]]


@then("it is the same checkout")
def the_same_checkout(scene: Scene) -> None:
    first, again = scene.answers[-2:]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["checkout_id"] == again.json()["checkout_id"]


@then("it is the same order")
def the_same_order(scene: Scene) -> None:
    first, again = scene.answers[-2:]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content


@then("the audit of the hold shows the second payment")
def the_audit_lists_the_second_payment(scene: Scene) -> None:
    """Waits, because refused attempts are written asynchronously."""

    def errors() -> list[str]:
        query = {"hold_id": scene.hold["hold_id"], "action": "hold.convert_failed"}
        answer = scene.platform.client.get("/api/audit", params=query)
        return [entry["new"]["error"] for entry in answer.json()["data"]]

    wait_until(lambda: bool(errors()), "the attempt is in the audit")
    assert errors() == ["already_paid"]


@then("the checkout has 2 holds with 4 tickets")
def two_holds_to_pay(scene: Scene) -> None:
    checkout = scene.answer.json()
    assert [hold["hold_id"] for hold in checkout["holds"]] == [
        hold["hold_id"] for hold in scene.holds
    ]
    assert checkout["total"] == 4 * 4500
