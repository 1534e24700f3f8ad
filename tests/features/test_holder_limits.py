"""Limits per holder."""

from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.cart_calls import item, path_of
from tests.features.scene import Scene, Sent

scenarios("holder_limits.feature")

CUSTOMER = r'"(?P<email>[^"]+)"'
QUANTITY = r"(?P<quantity>\d+) tickets?"


@given(parsers.parse('a sale with "{name}" {value:d}'))
def a_sale_with_a_limit(scene: Scene, name: str, value: int) -> None:
    scene.put_on_sale(hold_policy={name: value})


@given(parsers.parse('a sale of 4 tickets with a waitlist and "{name}" {value:d}'))
def a_small_sale(scene: Scene, name: str, value: int) -> None:
    scene.put_on_sale(4, hold_policy={name: value, "waitlist": True})


@given("a second session of the same event", target_fixture="second")
def a_second_session(scene: Scene) -> dict[str, str]:
    event = {"event_id": scene.sale.event_id, "name": "Saturday"}
    session = scene.platform.made("/api/sessions", event)
    limited = {"holder_units_max": 4}
    ticket_type = scene.platform.made(
        "/api/ticket-types",
        {
            "session_id": session["session_id"],
            "name": "Standing",
            "price": 4500,
            "capacity": 10,
            "hold_policy": limited,
        },
    )
    return {
        "session_id": session["session_id"],
        "ticket_type_id": ticket_type["ticket_type_id"],
    }


@when(parsers.re(rf"{CUSTOMER} (holds|asks to wait for) {QUANTITY}"), converters={"quantity": int})
def a_customer_holds(scene: Scene, email: str, quantity: int) -> None:
    scene.place(quantity, customer_email=email)


@when(
    parsers.re(rf"{CUSTOMER} holds {QUANTITY} of the second session"), converters={"quantity": int}
)
def a_customer_holds_elsewhere(
    scene: Scene, second: dict[str, str], email: str, quantity: int
) -> None:
    scene.place(quantity, customer_email=email, **second)


@when(
    parsers.re(rf'{CUSTOMER} puts {QUANTITY} into the cart "(?P<cart>[^"]+)"'),
    converters={"quantity": int},
)
def a_customer_fills_a_cart(scene: Scene, email: str, quantity: int, cart: str) -> None:
    body = scene.cart.body(item(scene.sale, quantity), customer_email=email)
    scene.repeat(Sent(path_of(cart), body, {}, "PUT"))


@when("the customer extends the hold by 1 minute")
def the_customer_extends(scene: Scene) -> None:
    path = f"/api/holds/{scene.hold['hold_id']}/extend"
    scene.send(path, {"minutes": 1, "customer_email": "fan@example.com"})


@then("the request succeeds")
def the_request_succeeds(scene: Scene) -> None:
    assert scene.answer.is_success, scene.answer.text


@then(parsers.parse("the response says that the limit is {limit:d} and the customer has {has:d}"))
def the_response_says_how_much(scene: Scene, limit: int, has: int) -> None:
    problem = scene.answer.json()
    assert (problem["limit"], problem["current"]) == (limit, has)


@then("the response says when to try again")
def the_response_says_when(scene: Scene) -> None:
    seconds = scene.answer.json()["retry_after_seconds"]
    assert 0 < seconds <= 601  # expiries are rounded up
    assert scene.answer.headers["Retry-After"] == str(seconds)
