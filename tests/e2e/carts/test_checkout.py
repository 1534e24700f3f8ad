"""Paying for a cart."""

from tests.e2e.answers import first_error, problem_of
from tests.e2e.cart_calls import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import completed, confirmed, hold_now, keyed, ok, post
from tests.support.platform import Json, Platform

AGES = 601


def checked_out(platform: Platform, cart: Cart, **more: str) -> Json:
    return ok(post(platform, "/api/checkouts", {"cart_token": cart.name} | more), 201)


def test_paying_for_a_cart_sells_its_places(platform: Platform, owner: Owner) -> None:
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


def test_a_cart_checkout_includes_every_hold_with_its_token(platform: Platform) -> None:
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


def test_an_expired_cart_cannot_be_paid(unreaped: Platform, unreaped_owner: Owner) -> None:
    sale = unreaped.on_sale(10)
    cart = Cart(unreaped, sale)
    hold = cart.new(item(sale, 2))
    unreaped_owner.let_pass(unreaped.organization_id, AGES)
    answer = post(unreaped, "/api/checkouts", {"cart_token": cart.name})
    problem = problem_of(answer, 409, "expired_before_checkout")
    assert problem["lapsed_hold_ids"] == [hold["hold_id"]]


def test_a_cart_on_the_waitlist_cannot_be_paid(platform: Platform) -> None:
    sale = platform.on_sale(1, hold_policy={"waitlist": True})
    ok(platform.place(sale), 201)
    cart = Cart(platform, sale)
    cart.filled(item(sale, 1), status=202)
    answer = post(platform, "/api/checkouts", {"cart_token": cart.name})
    assert problem_of(answer, 409, "invalid_hold_state")["current_status"] == "waiting"


def test_an_empty_cart_cannot_be_paid(platform: Platform, neighbour: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    problem_of(post(platform, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")
    cart.new(item(sale, 1))
    problem_of(post(neighbour, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")
    ok(cart.delete())
    problem_of(post(platform, "/api/checkouts", {"cart_token": cart.name}), 400, "empty_cart")


def test_a_stranger_cannot_pay_for_a_cart(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 1))
    body = {"cart_token": cart.name, "customer_email": "stranger@example.com"}
    problem_of(post(platform, "/api/checkouts", body), 404, "hold_not_found")


def test_a_retry_after_payment_gets_the_first_answer(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 1))
    body, key = {"cart_token": cart.name}, keyed()
    first = post(platform, "/api/checkouts", body, key)
    ok(completed(platform, ok(first, 201)), 201)
    again = post(platform, "/api/checkouts", body, key)
    assert (again.status_code, again.content) == (201, first.content)


def test_a_checkout_names_holds_an_event_or_a_cart_but_only_one_of_them(platform: Platform) -> None:
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


def test_a_cart_can_still_change_during_checkout(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    cart.new(item(sale, 2))
    checkout = checked_out(platform, cart)
    hold = cart.filled(item(sale, 3))
    assert hold["checkout_id"] == checkout["checkout_id"]
    order = ok(completed(platform, checkout), 201)
    assert (order["total"], len(order["tickets"])) == (3 * 4500, 3)


def test_a_payment_of_another_amount_sells_nothing(platform: Platform, owner: Owner) -> None:
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
    # A paid order is returned, whatever amount a repetition names.
    assert ok(completed(platform, checkout, amount=9000)) == order


def test_the_paid_amount_must_be_valid(platform: Platform) -> None:
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


def test_a_cart_hold_is_confirmed_and_released_like_any_other(platform: Platform) -> None:
    sale = platform.on_sale(10)
    paid, released = Cart(platform, sale), Cart(platform, sale)
    assert ok(confirmed(platform, paid.new(item(sale, 1))))["cart_token"] == paid.name
    hold = released.new(item(sale, 1))
    ok(post(platform, f"/api/holds/{hold['hold_id']}/release", {}))
    assert released.now()["status"] == hold_now(platform, hold)["status"] == "cancelled"
