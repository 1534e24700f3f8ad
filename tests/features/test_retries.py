"""A repeated request never holds twice."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from uuid import uuid4

from pytest_bdd import parsers, scenarios, then, when

from tests.e2e.cart_calls import in_parallel, item
from tests.features.scene import Scene, Sent, new_key

scenarios("retries.feature")


@when(
    parsers.parse(
        "a customer sends the same request for {quantity:d} tickets {times:d} times at once"
    )
)
def many_times_at_once(scene: Scene, quantity: int, times: int) -> None:
    sent = Sent("/api/holds", scene.body(quantity), {"Idempotency-Key": new_key()})
    with ThreadPoolExecutor(times) as threads:
        scene.answers += threads.map(scene.post, [sent] * times)


@when(
    parsers.parse(
        "a customer sends the same cart of {quantity:d} tickets {times:d} times at once with one"
        " key"
    )
)
def a_cart_many_times_at_once(scene: Scene, quantity: int, times: int) -> None:
    body = scene.cart.body(item(scene.sale, quantity))
    sent = Sent(scene.cart.path, body, {"Idempotency-Key": new_key()}, "PUT")
    scene.answers += in_parallel([partial(scene.post, sent)] * times)


@when(parsers.parse("a hold for {quantity:d} tickets is requested with the same key"))
def another_under_the_same_key(scene: Scene, quantity: int) -> None:
    first = scene.sent[-1]
    assert first.body is not None
    scene.repeat(replace(first, body=first.body | {"quantity": quantity}))


@when(
    parsers.parse("a customer requests a hold for {quantity:d} tickets with a hold id of their own")
)
def with_a_chosen_id(scene: Scene, quantity: int) -> None:
    scene.place(quantity, hold_id=str(uuid4()))


@when(parsers.parse("a hold for {quantity:d} tickets is requested with the same hold id"))
def another_under_the_same_id(scene: Scene, quantity: int) -> None:
    another_under_the_same_key(scene, quantity)


@when("1 more ticket goes on sale")
def one_more_goes_on_sale(scene: Scene) -> None:
    ticket_type = scene.platform.client.get(f"/api/ticket-types/{scene.sale.ticket_type_id}").json()
    (pool_id,) = ticket_type["pool_ids"]
    scene.capacity += 1
    changed = scene.platform.client.patch(
        f"/api/pools/{pool_id}", json={"capacity": scene.capacity}
    )
    assert changed.status_code == 200, changed.text


@when("the first request is sent again")
def the_first_again(scene: Scene) -> None:
    scene.repeat(scene.sent[0])


@when("the hold is released with an idempotency key")
def released_with_a_key(scene: Scene) -> None:
    path = f"/api/holds/{scene.hold['hold_id']}/release"
    scene.send(path, headers={"Idempotency-Key": new_key()})


@then("both responses are the same, byte for byte")
def both_are_the_same(scene: Scene) -> None:
    first, second = scene.answers[-2:]
    assert first.is_success
    assert (second.status_code, second.content) == (first.status_code, first.content)


@then("all responses are the same, byte for byte")
def all_are_the_same(scene: Scene) -> None:
    assert {(answer.status_code, answer.content) for answer in scene.answers} == {
        (201, scene.answer.content)
    }


@then("the response is the first one, byte for byte")
def the_first_one(scene: Scene) -> None:
    first = scene.answers[0]
    assert (scene.answer.status_code, scene.answer.content) == (201, first.content)


@then("the second response is marked as a replay")
def is_marked_as_replayed(scene: Scene) -> None:
    first, second = scene.answers[-2:]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"


@then(parsers.parse("the status of the response is {status:d}"))
def the_status_is(scene: Scene, status: int) -> None:
    assert scene.answer.status_code == status


@then("the hold has the id that was chosen")
def has_the_chosen_id(scene: Scene) -> None:
    assert scene.sent[0].body is not None
    assert scene.answer.json()["hold_id"] == scene.sent[0].body["hold_id"]


@then("the stored response reveals neither the cart nor the customer")
def nothing_can_be_found(scene: Scene) -> None:
    ((kept,),) = scene.owner.rows(
        "SELECT body FROM idempotency WHERE organization_id = %s", scene.platform.organization_id
    )
    hold = scene.cart.now()
    for secret in (scene.cart.name, scene.cart.customer_email, hold["hold_id"], hold["reference"]):
        assert secret.encode() not in bytes(kept)
