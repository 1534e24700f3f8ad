"""Paying for what a cart holds."""

from tests.e2e.answers import first_error, problem_of
from tests.e2e.carts import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import completed, confirmed, hold_now, keyed, ok, post
from tests.support.platform import Json, Platform

AGES = 601


def checked_out(platform: Platform, cart: Cart, **more: str) -> Json:
    return ok(post(platform, "/api/checkouts", {"cart_token": cart.name} | more), 201)


def test_a_cart_is_paid_and_its_places_are_sold(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    hold = cart.new(item(sale, 2))
    checkout = checked_out(platform, cart, customer_email=cart.customer_email)
    assert [each["hold_id"] for each in checkout["holds"]] == [hold["hold_id"]]
    assert checkout["total"] == 9000
    order = ok(completed(platform, checkout), 201)
    assert len(order["tickets"]) == 2
    assert cart.now()["status"] == "converted"
    assert owner.counters(platform.organization_id) == [(10, 0, 2)]
    problem_of(post(platform, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")
    assert cart.new(item(sale, 1))["hold_id"] != hold["hold_id"]


def test_whatever_is_held_under_its_name_is_paid_together(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    apart = ok(
        platform.place(sale, 1, cart_token=cart.name, customer_email=cart.customer_email), 201
    )
    hold = cart.new(item(sale, 2))
    checkout = checked_out(platform, cart)
    paid = [each["hold_id"] for each in checkout["holds"]]
    assert sorted(paid) == sorted([apart["hold_id"], hold["hold_id"]])
    assert checkout["total"] == 3 * 4500


def test_a_cart_whose_time_is_up_is_not_paid(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(10)
    cart = Cart(unreaped, sale)
    hold = cart.new(item(sale, 2))
    unreaped_owner.let_pass(unreaped.organization_id, AGES)
    answer = post(unreaped, "/api/checkouts", {"cart_token": cart.name})
    problem = problem_of(answer, 409, "expired_before_checkout")
    assert problem["lapsed_hold_ids"] == [hold["hold_id"]]


def test_a_cart_that_waits_is_not_paid(platform: Platform) -> None:
    sale = platform.on_sale(1, hold_policy={"waitlist": True})
    ok(platform.place(sale), 201)
    cart = Cart(platform, sale)
    cart.filled(item(sale, 1), status=202)
    answer = post(platform, "/api/checkouts", {"cart_token": cart.name})
    assert problem_of(answer, 409, "invalid_hold_state")["current_status"] == "waiting"


def test_an_empty_cart_is_not_paid(platform: Platform, neighbour: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    problem_of(post(platform, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")
    cart.new(item(sale, 1))
    problem_of(post(neighbour, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")
    ok(cart.delete())
    problem_of(post(platform, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")


def test_a_stranger_cannot_pay_for_it(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 1))
    body = {"cart_token": cart.name, "customer_email": "stranger@example.com"}
    problem_of(post(platform, "/api/checkouts", body), 404, "hold_not_found")


def test_a_retry_after_it_was_paid_gets_the_first_answer(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 1))
    body, key = {"cart_token": cart.name}, keyed()
    first = post(platform, "/api/checkouts", body, key)
    ok(completed(platform, ok(first, 201)), 201)
    again = post(platform, "/api/checkouts", body, key)
    assert (again.status_code, again.content) == (201, first.content)


def test_exactly_one_of_three_says_what_is_paid(platform: Platform) -> None:
    sale = platform.on_sale(10)
    for body, code in (
        ({}, "required"),
        ({"cart_token": "a", "event_id": sale.event_id}, "conflicting_fields"),
        ({"cart_token": "a", "hold_ids": [sale.event_id]}, "conflicting_fields"),
    ):
        assert first_error(post(platform, "/api/checkouts", body)) == ("hold_ids", code)
    for wrong in ("", "x" * 256, 7):
        field, _ = first_error(post(platform, "/api/checkouts", {"cart_token": wrong}))
        assert field == "cart_token"


def test_a_cart_can_still_change_on_its_way_to_pay(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 2))
    checkout = checked_out(platform, cart)
    hold = cart.filled(item(sale, 3))
    assert hold["checkout_id"] == checkout["checkout_id"]
    order = ok(completed(platform, checkout), 201)
    assert (order["total"], len(order["tickets"])) == (3 * 4500, 3)


def test_who_says_how_much_was_taken_sells_nothing_else(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 2))
    checkout = checked_out(platform, cart)
    hold = cart.filled(item(sale, 4))
    for answer in (
        completed(platform, checkout, amount=9000),
        confirmed(platform, hold, payment_reference="pay-1", amount=9000),
    ):
        problem = problem_of(answer, 409, "amount_changed")
        assert (problem["total"], problem["currency"]) == (18_000, "EUR")
    assert cart.now()["status"] == "active"
    assert owner.counters(platform.organization_id) == [(10, 4, 0)]
    order = ok(completed(platform, checkout, amount=18_000), 201)
    assert (order["total"], len(order["tickets"])) == (18_000, 4)
    # What is paid is shown, whatever is said of it afterwards.
    assert ok(completed(platform, checkout, amount=9000)) == order


def test_what_was_taken_is_an_amount(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    hold = cart.new(item(sale, 2))
    checkout = checked_out(platform, cart)
    for wrong in (-1, 90.5, "9000"):
        for answer in (
            completed(platform, checkout, amount=wrong),
            confirmed(platform, hold, amount=wrong),
        ):
            assert first_error(answer) == ("amount", "invalid_price")
    assert ok(confirmed(platform, hold, amount=9000))["order"]["total"] == 9000


def test_a_hold_of_a_cart_is_confirmed_and_released_like_any_other(platform: Platform) -> None:
    sale = platform.on_sale(10)
    paid, let_go = Cart(platform, sale), Cart(platform, sale)
    assert ok(confirmed(platform, paid.new(item(sale, 1))))["cart_token"] == paid.name
    hold = let_go.new(item(sale, 1))
    ok(post(platform, f"/api/holds/{hold['hold_id']}/release", {}))
    assert let_go.now()["status"] == hold_now(platform, hold)["status"] == "cancelled"
