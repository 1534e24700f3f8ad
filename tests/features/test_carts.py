"""A cart has exactly the hold it shows."""

from functools import partial

import httpx
from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.answers import seconds_between
from tests.e2e.cart_calls import Cart, in_parallel, item
from tests.features.scene import Scene, Sent

scenarios("carts.feature")

RAISED_PRICE = 9900


def first_answer(scene: Scene) -> httpx.Response:
    """The answer to the first request of the cart."""
    paths = [sent.path for sent in scene.sent]
    return scene.answers[paths.index(scene.cart.path)]


@given(parsers.parse('session "{name}" has {capacity:d} tickets'))
def session_has(scene: Scene, name: str, capacity: int) -> None:
    scene.put_on_sale(capacity)


@when(parsers.parse("the buyer asks for {quantity:d} tickets, or at least {at_least:d}"))
def as_many_as_there_are(scene: Scene, quantity: int, at_least: int) -> None:
    body = scene.cart.body(item(scene.sale, quantity, at_least=at_least))
    scene.repeat(Sent(scene.cart.path, body, {}, "PUT"))


@when("the ticket price rises")
def the_price_rises(scene: Scene) -> None:
    path = f"/api/ticket-types/{scene.sale.ticket_type_id}"
    assert scene.platform.client.patch(path, json={"price": RAISED_PRICE}).status_code == 200


@when("the buyer sends 2, 3, 4 and 5 tickets from four tabs at once")
def four_tabs(scene: Scene) -> None:
    wanted = [item(scene.sale, quantity) for quantity in (2, 3, 4, 5)]
    scene.answers += in_parallel([partial(scene.cart.put, each) for each in wanted])


@when("the buyer empties the cart")
def takes_everything_out(scene: Scene) -> None:
    scene.repeat(Sent(scene.cart.path, {"items": []}, {}, "PUT"))


@when("the buyer renews the cart")
def renews(scene: Scene) -> None:
    scene.send(f"{scene.cart.path}/renew")


@when("a stranger puts 1 ticket into the same cart")
def a_stranger(scene: Scene) -> None:
    stranger = Cart(scene.platform, scene.sale, scene.cart.name)
    scene.answers.append(stranger.put(item(scene.sale, 1)))


@when("the payment is made")
def the_payment_is_made(scene: Scene) -> None:
    checkout_id = scene.answer.json()["checkout_id"]
    scene.send(f"/api/checkouts/{checkout_id}/complete", {"payment_reference": "pay-1"})


@then("it is still the same hold, with the same expiry")
def the_same_hold(scene: Scene) -> None:
    first, now = first_answer(scene).json(), scene.cart.now()
    assert (now["hold_id"], now["expires_at"]) == (first["hold_id"], first["expires_at"])


@then("the hold is unchanged")
def nothing_changed(scene: Scene) -> None:
    assert scene.cart.now()["version"] == 1
    assert len(scene.owner.facts(scene.cart.now()["hold_id"])) == 1


@then("the cart has the old price of 1 ticket")
def costs_the_same_as_before(scene: Scene) -> None:
    assert scene.cart.now()["total"] == 4500


@then("the tickets held match the cart")
def never_the_sum(scene: Scene) -> None:
    shown = scene.cart.now()
    assert all(answer.is_success for answer in scene.answers)
    assert {answer.json()["hold_id"] for answer in scene.answers} == {shown["hold_id"]}
    assert scene.held() == shown["quantity"]
    assert shown["quantity"] in {2, 3, 4, 5}


@then("the cart is empty")
def the_cart_is_empty(scene: Scene) -> None:
    assert scene.answer.status_code == 200
    assert scene.answer.json()["status"] == "empty"


@then("the cart can be renewed")
def can_be_renewed(scene: Scene) -> None:
    shown = scene.cart.now()
    assert (shown["status"], shown["can_renew"]) == ("expired", True)


@then("it is a new hold with the full time")
def a_new_hold(scene: Scene) -> None:
    now = scene.cart.now()
    assert now["hold_id"] != first_answer(scene).json()["hold_id"]
    assert 600 <= seconds_between(now["created_at"], now["expires_at"]) < 601


@then("the cart was paid for")
def was_paid_for(scene: Scene) -> None:
    assert scene.cart.now()["status"] == "converted"
    assert scene.held() == 0
