"""Limits on the seats that one buyer can reserve within a few minutes."""

import re

import httpx
from pytest_bdd import given, parsers, scenarios, then, when

from tests.e2e.cart_calls import seats
from tests.features.hall_scene import HallScene, hall_scene, names_in
from tests.features.scene import Scene, Sent, new_key
from tests.support.patience import wait_until
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

scenarios("rate_limits.feature")

BUYER = "ann@example.com"
MINUTES = 5


@given(
    parsers.parse(
        "a hall with {rows:d} rows of {seats:d} seats where seats are reserved for "
        "{minutes:d} minutes"
    ),
    target_fixture="hall",
)
def a_hall(scene: Scene, rows: int, seats: int, minutes: int) -> HallScene:
    return hall_scene(scene, rows, seats, {"hold_policy": {"ttl_seconds": minutes * 60}})


@given("tickets are on sale")
def tickets_on_sale(scene: Scene) -> None:
    scene.put_on_sale(100)


@given("only 1 ticket is on sale")
def one_ticket_on_sale(scene: Scene) -> None:
    scene.put_on_sale(1)


@given(
    parsers.re(r"the organization allows each buyer (?P<count>\d+) seats? in 5 minutes"),
    converters={"count": int},
)
def seats_are_limited(scene: Scene, count: int) -> None:
    limit_seats(scene.platform, f"{count}/{MINUTES * 60}")


def limit_seats(platform: Platform, rate: str) -> None:
    """Wait until the limit applies: all limits of an organization change at once, and the one on
    requests shows in every answer."""
    rates = {"rate_seats_per_holder": rate, "rate_requests_per_key": "100000/60"}
    answer = platform.client.patch("/api/organization", json=rates)
    assert answer.status_code == 200, answer.text
    assert answer.json()["rate_seats_per_holder"] == rate

    def is_in_effect() -> bool:
        return "RateLimit-Policy" in platform.client.get("/api/organization").headers

    wait_until(is_in_effect, "the limit is in effect")


@when(
    parsers.re(r"a user reserves (?P<count>\d+) seats? one by one"),
    converters={"count": int},
)
def reserves_one_by_one(hall: HallScene, count: int) -> None:
    for name in list(hall.hall.seat_ids)[:count]:
        hall.reserve(hall.hall.seat_path(name), "user")


@when("the same user reserves another seat")
def reserves_another(hall: HallScene) -> None:
    hall.reserve(hall.hall.seat_path(last_seat(hall)), "user")


@when("another user reserves that seat")
def another_user_reserves(hall: HallScene) -> None:
    hall.reserve(hall.hall.seat_path(last_seat(hall)), "another")


@when("the same user reserves the same seat")
def reserves_the_same(hall: HallScene) -> None:
    hall.scene.repeat(hall.scene.sent[-1])


@when(parsers.re(r"the buyer (puts|changes the cart to) the seats (?P<named>.+?)( into the cart)?"))
def cart_of_seats(hall: HallScene, named: str) -> None:
    items = [seats(*hall.hall.seats(*names_in(named)))]
    body = {"session_id": hall.hall.session_id, "customer_email": BUYER, "items": items}
    hall.scene.repeat(Sent("/api/carts/exchange/hold", body, {}, "PUT"))


def last_seat(hall: HallScene) -> str:
    return list(hall.hall.seat_ids)[-1]


@when(
    parsers.re(r"(a|the same) buyer holds (?P<quantity>\d+) tickets"),
    converters={"quantity": int},
)
def buyer_holds(scene: Scene, quantity: int) -> None:
    scene.place(quantity, customer_email=BUYER)


@when("a buyer holds 10 tickets with an idempotency key")
def holds_with_a_key(scene: Scene) -> None:
    body = scene.body(10, customer_email=BUYER)
    scene.repeat(Sent("/api/holds", body, {"Idempotency-Key": new_key()}))


@when("the same buyer holds 10 tickets of another organization", target_fixture="elsewhere")
def holds_elsewhere(server: RunningServer) -> httpx.Response:
    other = new_platform(server.base_url, server.database_url)
    return other.place(other.on_sale(100), 10, customer_email=BUYER)


@then("the hold has no limit")
def no_limit(elsewhere: httpx.Response) -> None:
    assert elsewhere.status_code == 201, elsewhere.text
    assert "RateLimit" not in elsewhere.headers


@then("all of them are reserved")
def all_reserved(scene: Scene) -> None:
    assert {answer.status_code for answer in scene.answers} == {201}


@then("it is reserved")
def it_is_reserved(scene: Scene) -> None:
    assert scene.answer.status_code == 201, scene.answer.text


@then("the response is the existing reservation")
def existing_reservation(scene: Scene) -> None:
    first, again = scene.answers[-2:]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["data"]["hold_id"] == again.json()["data"]["hold_id"]


@then("the response says when to try again")
def says_when(scene: Scene) -> None:
    seconds = scene.answer.json()["retry_after_seconds"]
    assert 0 < seconds <= MINUTES * 60 + 10
    assert scene.answer.headers["Retry-After"] == str(seconds)


@then(
    parsers.re(r"the response says that (?P<rest>\d+) of (?P<count>\d+) are left"),
    converters={"rest": int, "count": int},
)
def says_what_is_left(scene: Scene, rest: int, count: int) -> None:
    headers = scene.answer.headers
    assert f'"seats_per_holder";q={count};w={MINUTES * 60}' in headers["RateLimit-Policy"]
    assert re.search(rf'"seats_per_holder";r={rest};t=\d+', headers["RateLimit"])
