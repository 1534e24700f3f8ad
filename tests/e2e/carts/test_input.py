"""Errors in a cart are reported field by field, and change nothing."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.answers import first_error, problem_of
from tests.e2e.cart_calls import Cart, item, path_of, seats
from tests.e2e.owner import Owner
from tests.support.platform import Json, Platform, Sale

UNKNOWN = str(uuid4())
Change = Callable[[Json, Sale], Any]


def items(*changes: Json) -> Change:
    """The cart's two items with these changes; null leaves a field out."""

    def change(body: Json, sale: Sale) -> None:
        body["items"] = [
            {name: value for name, value in (given | each).items() if value is not None}
            for given, each in zip(body["items"], [*changes, {}], strict=False)
        ]

    return change


def fields(**changes: Any) -> Change:
    def change(body: Json, sale: Sale) -> None:
        for name, value in changes.items():
            if value is None:
                del body[name]
            else:
                body[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        (fields(items=None), "items", "required"),
        (fields(items={}), "items", "invalid_value"),
        (fields(items=[{}] * 51), "items", "invalid_value"),
        (fields(items=[3]), "items[0]", "invalid_value"),
        (fields(session_id=None), "session_id", "required"),
        (fields(session_id="friday"), "session_id", "invalid_value"),
        (fields(customer_email="nobody"), "customer_email", "invalid_email"),
        (fields(customer_email=None), "customer_email", "holder_required"),
        (fields(user_id=""), "user_id", "invalid_user_id"),
        (fields(source="telephone"), "source", "invalid_value"),
        (fields(notes=""), "notes", "invalid_value"),
        (fields(cart="another"), "body", "unknown_field"),
        (items({"cart_item_id": None}), "items[0].cart_item_id", "required"),
        (items({"cart_item_id": ""}), "items[0].cart_item_id", "invalid_cart_item_id"),
        (items({"cart_item_id": 7}), "items[0].cart_item_id", "invalid_cart_item_id"),
        (items({"cart_item_id": "x" * 256}), "items[0].cart_item_id", "invalid_cart_item_id"),
        (items({"cart_item_id": "\u2028"}), "items[0].cart_item_id", "invalid_cart_item_id"),
        (items({}, {"cart_item_id": "item-1"}), "items[1].cart_item_id", "duplicate"),
        (items({}, {"quantity": None}), "items[1].quantity", "required"),
        (items({}, {"quantity": 0}), "items[1].quantity", "invalid_quantity"),
        (items({}, {"quantity": 2.5}), "items[1].quantity", "invalid_quantity"),
        (items({"ticket_type_id": None}), "items[0].ticket_type_id", "required"),
        (items({"ticket_type_id": "floor"}), "items[0].ticket_type_id", "invalid_value"),
        (items({"unit_price": -1}), "items[0].unit_price", "invalid_price"),
        (items({"at_least": 0}), "items[0].at_least", "invalid_value"),
        (items({"at_least": 3}), "items[0].at_least", "invalid_value"),
        (items({"accessible": 3}), "items[0].accessible", "invalid_value"),
        (items({"together": "yes"}), "items[0].together", "invalid_value"),
        (items({"block_id": "stalls"}), "items[0].block_id", "invalid_value"),
        (items({"seat_ids": []}), "items[0].seat_ids", "invalid_value"),
        (items({"seat_ids": [UNKNOWN]}), "items[0].quantity", "conflicting_fields"),
        (
            items({"quantity": None, "seat_ids": [UNKNOWN, UNKNOWN]}),
            "items[0].seat_ids[1]",
            "duplicate",
        ),
        (
            items({"quantity": None, "together": True, "seat_ids": [UNKNOWN]}),
            "items[0].together",
            "conflicting_fields",
        ),
        (
            items({"quantity": None, "at_least": 1, "seat_ids": [UNKNOWN]}),
            "items[0].at_least",
            "conflicting_fields",
        ),
        (items({"colour": "red"}), "items[0]", "unknown_field"),
    ],
)
def test_errors_name_the_invalid_field(
    platform: Platform, owner: Owner, change: Change, field: str, code: str
) -> None:
    sale = platform.on_sale(10, 10)
    cart = Cart(platform, sale)
    body = cart.body(item(sale, 2), item(sale, 1, 2))
    change(body, sale)
    before = owner.everything(platform.organization_id)
    assert first_error(platform.client.put(cart.path, json=body)) == (field, code)
    assert owner.everything(platform.organization_id) == before


def test_all_errors_are_reported_at_once(platform: Platform) -> None:
    sale = platform.on_sale(10)
    cart = Cart(platform, sale)
    body = cart.body(item(sale, 2, at_least=3), item(sale, 2), seats(UNKNOWN, UNKNOWN, quantity=2))
    del body["session_id"]
    errors = platform.client.put(cart.path, json=body).json()["errors"]
    assert {(each["field"], each["code"]) for each in errors} == {
        ("session_id", "required"),
        ("items[0].at_least", "invalid_value"),
        ("items[1].cart_item_id", "duplicate"),
        ("items[2].quantity", "conflicting_fields"),
        ("items[2].seat_ids[1]", "duplicate"),
    }


def test_unknown_and_foreign_ids_are_refused(platform: Platform, neighbour: Platform) -> None:
    sale, theirs = platform.on_sale(10), neighbour.on_sale(10)
    cart = Cart(platform, sale)
    unknown = {"cart_item_id": "a", "ticket_type_id": UNKNOWN, "quantity": 1}
    problem_of(cart.put(unknown), 400, "invalid_ticket_type")
    problem_of(cart.put(item(theirs, 1)), 400, "invalid_ticket_type")
    problem_of(cart.put(item(sale, 1), session_id=UNKNOWN), 400, "invalid_session")
    problem_of(cart.put(item(sale, 1), session_id=theirs.session_id), 400, "invalid_session")
    problem_of(cart.put(seats(UNKNOWN)), 400, "invalid_seat")
    problem_of(cart.get(), 404, "hold_not_found")


@pytest.mark.parametrize(
    "name", ["x" * 256, "%0A", "%7F", "%E2%80%A8", "%FF", "a%00b", "%C3%28", "%ED%A0%80"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_unprintable_or_overlong_cart_name_is_refused(
    platform: Platform, name: str, method: str
) -> None:
    body: Json = {"json": {"items": []}} if method == "PUT" else {}
    answer = platform.client.request(method, f"/api/carts/{name}/hold", **body)
    problem_of(answer, 400, "invalid_cart")


@pytest.mark.parametrize(
    "path", ["/api/carts//hold", "/api/carts", "/api/carts/a", "/api/carts/a/b/hold"]
)
def test_other_cart_paths_are_not_found(platform: Platform, path: str) -> None:
    problem_of(platform.client.get(path), 404, "not_found")


def test_other_methods_are_refused(platform: Platform) -> None:
    answer = platform.client.patch(path_of("a"), json={})
    problem_of(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "DELETE, GET, HEAD, PUT"


@pytest.mark.parametrize("key", ["", "x" * 256, "with space"])
def test_a_malformed_idempotency_key_is_refused(platform: Platform, key: str) -> None:
    for call in (platform.client.delete, platform.client.put):
        answer = call(path_of("a"), headers={"Idempotency-Key": key})
        problem_of(answer, 400, "invalid_idempotency_key")
