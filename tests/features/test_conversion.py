"""Paid holds become orders."""

from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.conftest import TTL_SECONDS
from tests.features.scene import CAPACITY, Scene
from tests.support.patience import wait_until

scenarios("conversion.feature")


@given("late payments are accepted for 2 minutes")
def late_payments_are_accepted(scene: Scene) -> None:
    scene.sale = scene.platform.on_sale(CAPACITY, hold_policy={"late_payment_seconds": 120})


@given("a hold that expired 1 minute ago")
def a_hold_that_expired(scene: Scene) -> None:
    scene.place(2)
    scene.holds.append(scene.hold)
    scene.owner.let_pass(scene.platform.organization_id, TTL_SECONDS + 60)


@when("11 minutes pass")
def eleven_minutes_pass(scene: Scene) -> None:
    scene.owner.let_pass(scene.platform.organization_id, 11 * 60)


@when("the order of the first hold is confirmed")
def the_first_is_confirmed(scene: Scene) -> None:
    scene.send(f"/api/holds/{scene.holds[0]['hold_id']}/confirm", {"payment_reference": "pay-1"})


@when(parsers.parse('the order is confirmed for "{one}" and "{other}"'))
def confirmed_for(scene: Scene, one: str, other: str) -> None:
    attendees = [{"name": one}, {"name": other}]
    scene.send(f"/api/holds/{scene.hold['hold_id']}/confirm", {"attendees": attendees})


@then("a hold.converted event is published with the order")
def the_conversion_is_published(scene: Scene) -> None:
    facts = dict(scene.owner.facts(scene.hold["hold_id"]))
    order_id = scene.answer.json()["order_id"]
    assert facts["hold.converted"]["order_id"] == order_id
    assert facts["order.confirmed"]["order_id"] == order_id


@then("the hold and its order refer to each other")
def they_name_each_other(scene: Scene) -> None:
    hold = scene.read(scene.hold["hold_id"]).json()
    order = scene.platform.client.get(f"/api/orders/{hold['order_id']}").json()
    assert order["hold_ids"] == [hold["hold_id"]]


@then("a new hold replaces the lapsed one and is converted")
def a_new_hold_replaces_it(scene: Scene) -> None:
    assert scene.answer.status_code == 200, scene.answer.text
    answer = scene.answer.json()
    assert (answer["replaces_hold_id"], answer["status"]) == (scene.hold["hold_id"], "converted")
    replacement = scene.read(answer["hold_id"]).json()
    assert replacement["order_id"] == answer["order"]["order_id"]
    status = "expired"
    wait_until(lambda: scene.owner.status(scene.hold["hold_id"]) == status, "it is written down")


@then(parsers.parse('the tickets are for "{one}" and "{other}"'))
def the_tickets_are_for(scene: Scene, one: str, other: str) -> None:
    tickets = scene.answer.json()["order"]["tickets"]
    assert [ticket["attendee_name"] for ticket in tickets] == [one, other]
