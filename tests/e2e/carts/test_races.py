"""Concurrent and repeated cart requests."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import httpx
import pytest

from tests.e2e.answers import problem_of
from tests.e2e.cart_calls import Cart, assert_held, in_parallel, item, path_of
from tests.e2e.owner import Owner
from tests.e2e.paying import keyed
from tests.support.platform import Platform

AGES = 601


def test_concurrent_changes_of_a_cart_never_add_up(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(1000)
    cart = Cart(platform, sale)
    wanted = [1, 2, 3, 4, 5, 6, 7, 8]
    answers = in_parallel([partial(cart.put, item(sale, quantity)) for quantity in wanted])
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert [answer.status_code for answer in answers].count(201) == 1
    shown = cart.now()
    assert {answer.json()["hold_id"] for answer in answers} == {shown["hold_id"]}
    last = max((answer.json() for answer in answers), key=lambda hold: int(hold["version"]))
    assert (shown["version"], shown["quantity"]) == (last["version"], last["quantity"])
    assert_held(platform, cart, shown["quantity"])
    owner.assert_counters_add_up(platform.organization_id)


def test_only_one_of_two_people_gets_the_last_ticket(platform: Platform) -> None:
    sale = platform.on_sale(1)
    carts = [Cart(platform, sale) for _ in range(6)]
    answers = in_parallel([partial(cart.put, item(sale, 1)) for cart in carts])
    assert sorted(answer.status_code for answer in answers) == [201] + 5 * [409]


@pytest.mark.parametrize("route", ["fill", "empty", "renew", "checkout"])
def test_a_retry_storm_has_one_effect_and_one_answer(
    unreaped: Platform, unreaped_owner: Owner, route: str
) -> None:
    sale = unreaped.on_sale(10)
    cart, key = Cart(unreaped, sale), uuid4().hex
    if route != "fill":
        cart.new(item(sale, 2))
    if route == "renew":
        unreaped_owner.let_pass(unreaped.organization_id, AGES)
    calls: dict[str, Callable[[], httpx.Response]] = {
        "fill": partial(cart.put, item(sale, 2), key=key),
        "empty": partial(cart.delete, key),
        "renew": partial(cart.renew, key),
        "checkout": partial(
            unreaped.client.post,
            "/api/checkouts",
            json={"cart_token": cart.name},
            headers=keyed(key),
        ),
    }
    call = calls[route]
    answers = in_parallel([call] * 5)
    again = call()
    assert len({(answer.status_code, answer.content) for answer in (*answers, again)}) == 1
    assert answers[0].is_success
    replayed = [answer.headers.get("idempotent-replayed") for answer in (*answers, again)]
    assert replayed.count("true") == 5
    rows = unreaped_owner.rows(
        "SELECT max(version) FROM hold WHERE cart_token = %s GROUP BY id", cart.name
    )
    expected = {"fill": [1], "empty": [2], "renew": [1, 2], "checkout": [2]}
    assert sorted(version for (version,) in rows) == expected[route]


def test_an_idempotency_key_belongs_to_one_cart(platform: Platform) -> None:
    sale = platform.on_sale(10)
    key = uuid4().hex
    upper, lower = Cart(platform, sale, f"A{key}"), Cart(platform, sale, f"a{key}")
    upper.new(item(sale, 1), key=key)
    body = upper.body(item(sale, 1))
    answer = platform.client.put(path_of(lower.name), json=body, headers={"Idempotency-Key": key})
    problem_of(answer, 422, "idempotency_key_reused")
    problem_of(lower.get(), 404, "hold_not_found")
