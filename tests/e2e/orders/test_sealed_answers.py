"""Stored idempotent answers reveal nothing to a reader of the database."""

from uuid import uuid4

from tests.e2e.answers import problem_of
from tests.e2e.cart_calls import Cart, item
from tests.e2e.owner import Owner
from tests.e2e.paying import keyed, ok
from tests.support.platform import Json, Platform

SEALED = 1  # the first byte, which names the method


def stored(owner: Owner, platform: Platform) -> list[bytes]:
    rows = owner.rows(
        "SELECT body FROM idempotency WHERE organization_id = %s", platform.organization_id
    )
    return [bytes(body) for (body,) in rows]


def bought(platform: Platform, cart: Cart, sent: Json) -> list[tuple[str, str, Json, bytes]]:
    """Buy tickets from cart to order, with a key for each request; return all bodies sent and
    received."""
    exchanges = []
    for method, path, body in (
        ("PUT", cart.path, sent),
        ("POST", "/api/checkouts", {"cart_token": cart.name}),
    ):
        answer = platform.client.request(method, path, json=body, headers=keyed(path))
        assert answer.is_success, answer.text
        exchanges.append((method, path, body, answer.content))
    path = f"/api/checkouts/{answer.json()['checkout_id']}/complete"
    body = {"payment_reference": "pay-4711", "attendees": [{"name": "Ada Lovelace"}]}
    paid = platform.client.post(path, json=body, headers=keyed(path))
    ok(paid, 201)
    return [*exchanges, ("POST", path, body, paid.content)]


def test_stored_answers_reveal_neither_people_nor_tickets(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale, name="cart-of-ada")
    sent = cart.body(item(sale, 2), user_id="user-ada", notes="Wheelchair")
    exchanges = bought(platform, cart, sent)
    bodies = stored(owner, platform)
    assert len(bodies) == len(exchanges) == 3
    assert {body[0] for body in bodies} == {SEALED}
    order = platform.client.get("/api/orders").json()["data"][0]
    codes = [ticket["code"] for ticket in order["tickets"]]
    secrets = [cart.customer_email, "user-ada", "Wheelchair", "Ada", cart.name, order["order_id"]]
    for secret in (*secrets, *codes, "hold_id", "active"):
        assert not any(secret.encode() in body for body in bodies), secret


def test_a_repeated_request_gets_its_answer_byte_for_byte(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    exchanges = bought(platform, cart, cart.body(item(sale, 2)))
    before = stored(owner, platform)
    for method, path, body, first in exchanges:
        again = platform.client.request(method, path, json=body, headers=keyed(path))
        assert again.content == first
        assert again.headers["idempotent-replayed"] == "true"
    assert stored(owner, platform) == before


def test_equal_answers_are_stored_differently(platform: Platform, owner: Owner) -> None:
    cart = Cart(platform, platform.on_sale(10))
    assert ok(cart.delete("one")) == ok(cart.delete("two"))
    first, second = stored(owner, platform)
    assert first != second


def test_answers_to_catalog_changes_are_sealed_too(platform: Platform, owner: Owner) -> None:
    body = {"name": "Secret gala", "currency": "EUR"}
    first, again = (
        platform.client.post("/api/events", json=body, headers=keyed("gala")) for _ in range(2)
    )
    assert (first.status_code, first.content) == (again.status_code, again.content)
    (kept,) = stored(owner, platform)
    assert b"Secret gala" not in kept


def test_an_answer_stored_before_sealing_is_replayed(platform: Platform, owner: Owner) -> None:
    sale = platform.on_sale(10)
    cart, key = Cart(platform, sale), uuid4().hex
    cart.new(item(sale, 2), key=key)
    owner.run(
        "UPDATE idempotency SET body = %s WHERE organization_id = %s",
        b'201{"hold_id":"old"}',
        platform.organization_id,
    )
    again = cart.put(item(sale, 2), key=key)
    assert (again.status_code, again.content) == (201, b'{"hold_id":"old"}')


def test_a_tampered_answer_is_not_replayed(platform: Platform, owner: Owner) -> None:
    """Nor is another request's answer put in its place."""
    sale = platform.on_sale(10)
    cart, other = Cart(platform, sale), Cart(platform, sale)
    cart.new(item(sale, 2), key="mine")
    other.new(item(sale, 1), key="theirs")
    owner.run(
        "UPDATE idempotency i SET body = o.body FROM idempotency o"
        " WHERE i.organization_id = %s AND o.organization_id = i.organization_id"
        " AND o.digest <> i.digest",
        platform.organization_id,
    )
    problem_of(cart.put(item(sale, 2), key="mine"), 500, "internal_error")
