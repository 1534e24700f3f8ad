"""Orders are cancelled, and their places go to the waitlist or back on sale."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_bdd import given, parsers, scenarios, then, when

from tests.features.scene import Scene, new_key
from tests.support.patience import wait_until
from tests.support.platform import CODE_HEADER, Json

scenarios("order_cancellation.feature")

WAITLIST = {"waitlist": True}
BUYER = "buyer@example.com"


@given("a paid order for 2 tickets")
def a_paid_order(scene: Scene) -> None:
    scene.put_on_sale()
    buy(scene, 2)


@given(
    parsers.re(
        r'a sold-out session for which "(?P<first>\w+)"( and then "(?P<second>\w+)")? waits?'
    )
)
def a_sold_out_session(scene: Scene, first: str, second: str | None) -> None:
    scene.put_on_sale(1, hold_policy=WAITLIST)
    buy(scene, 1)
    for name in filter(None, (first, second)):
        wait(scene, user_id=name)


@given("the buyer of the order waits behind her for another ticket")
def the_buyer_waits(scene: Scene) -> None:
    wait(scene, customer_email=BUYER)


def buy(scene: Scene, quantity: int) -> None:
    scene.place(quantity, customer_email=BUYER)
    scene.send(f"/api/holds/{scene.hold['hold_id']}/confirm", {"payment_reference": "pay-1"})
    assert scene.answer.status_code == 200, scene.answer.text


def wait(scene: Scene, **holder: str) -> None:
    body = scene.platform.hold_body(scene.sale, 1) | {"customer_email": None, **holder}
    scene.send("/api/holds", body)
    assert scene.answer.status_code == 202, scene.answer.text
    scene.holds.append(scene.answer.json())


def order_of(scene: Scene) -> Json:
    hold = scene.read(scene.hold["hold_id"]).json()
    answer = scene.platform.client.get(f"/api/orders/{hold['order_id']}")
    return dict(answer.json())


def cancel(scene: Scene, headers: dict[str, str] | None = None, **body: Any) -> None:
    order_id = order_of(scene)["order_id"]
    scene.send(f"/api/orders/{order_id}/cancel", {"reason": "A mistake"} | body, headers)


@when(parsers.parse('the order is cancelled because "{reason}"'))
def the_order_is_cancelled(scene: Scene, reason: str) -> None:
    cancel(scene, reason=reason)


@when(parsers.parse('the first ticket is cancelled because "{reason}"'))
def the_first_ticket_is_cancelled(scene: Scene, reason: str) -> None:
    cancel(scene, reason=reason, ticket_ids=[order_of(scene)["tickets"][0]["ticket_id"]])


@when(parsers.parse('the order is cancelled with the refund "{refund}"'))
def cancelled_with_a_refund(scene: Scene, refund: str) -> None:
    cancel(scene, refund_reference=refund)


@when("the order is cancelled with an idempotency key")
def cancelled_with_a_key(scene: Scene) -> None:
    cancel(scene, {"Idempotency-Key": new_key()})


@when("the event is cancelled")
def the_event_is_cancelled(scene: Scene) -> None:
    change(scene, f"/api/events/{scene.sale.event_id}", {"status": "cancelled"})


@when("the sale ends")
def the_sale_ends(scene: Scene) -> None:
    ended = {"sale_ends_at": moments_ago()}
    change(scene, f"/api/events/{scene.sale.event_id}", ended)


@when("the session starts")
def the_session_starts(scene: Scene) -> None:
    change(scene, f"/api/sessions/{scene.sale.session_id}", {"starts_at": moments_ago()})


def moments_ago() -> str:
    return (datetime.now(UTC) - timedelta(seconds=1)).isoformat()


def change(scene: Scene, path: str, body: Json) -> None:
    answer = scene.platform.client.patch(path, json=body)
    assert answer.status_code == 200, answer.text


@then(parsers.parse('the order status is "{status}"'))
def the_order_status_is(scene: Scene, status: str) -> None:
    assert scene.answer.status_code == 200, scene.answer.text
    assert scene.answer.json()["status"] == order_of(scene)["status"] == status


@then("all its tickets are void")
def all_tickets_are_void(scene: Scene) -> None:
    assert {ticket["status"] for ticket in order_of(scene)["tickets"]} == {"void"}


@then("1 ticket is void and 1 is valid")
def one_is_void(scene: Scene) -> None:
    assert [ticket["status"] for ticket in order_of(scene)["tickets"]] == ["void", "valid"]


@then("order.cancelled is published once, and ticket.voided for 2 tickets")
def both_are_published(scene: Scene) -> None:
    kinds = [kind for kind, _ in scene.owner.facts(scene.hold["hold_id"])]
    assert (kinds.count("order.cancelled"), kinds.count("ticket.voided")) == (1, 2)


@then(parsers.parse('the tickets and the audit log have the refund "{refund}"'))
def the_refund_is_recorded(scene: Scene, refund: str) -> None:
    tickets = order_of(scene)["tickets"]
    assert {ticket["refund_reference"] for ticket in tickets} == {refund}
    query = {"hold_id": scene.hold["hold_id"], "action": "order.cancelled"}
    (entry,) = scene.platform.client.get("/api/audit", params=query).json()["data"]
    assert entry["new"]["refund_reference"] == refund


@then(
    parsers.re(
        r"the code of the (?P<which>first|second) ticket leads to the order,"
        r' where it is "(?P<status>\w+)"'
    )
)
def the_code_leads_to_the_order(scene: Scene, which: str, status: str) -> None:
    order = order_of(scene)
    ticket = order["tickets"][which == "second"]
    headers = {CODE_HEADER: ticket["code"]}
    assert scene.platform.client.get("/api/orders", headers=headers).json()["data"] == [order]
    assert ticket["status"] == status


@then(parsers.parse('"{name}" gets the place'))
def gets_the_place(scene: Scene, name: str) -> None:
    assert scene.answer.status_code == 200, scene.answer.text
    assert scene.read(scene.holds[0]["hold_id"]).json()["status"] == "active"


@then(parsers.re(r'("bob"|the buyer) still waits'))
def still_waits(scene: Scene) -> None:
    assert scene.read(scene.holds[1]["hold_id"]).json()["status"] == "waiting"


@then("nobody waits any more, and nobody got the place")
def nobody_waits(scene: Scene) -> None:
    assert scene.answer.status_code == 200, scene.answer.text
    path = scene.holds[0]["hold_id"]
    wait_until(lambda: scene.read(path).json()["status"] == "cancelled", "the waitlist ends")
    kinds = [kind for kind, _ in scene.owner.facts(path)]
    assert "hold.promoted" not in kinds
