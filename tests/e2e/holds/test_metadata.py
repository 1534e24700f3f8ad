"""The platform's own texts on events, sessions, ticket types, holds and orders."""

from typing import Any

import httpx
import pytest

from tests.e2e.answers import first_error, problem_of
from tests.e2e.cart_calls import WAITLIST, Cart, item
from tests.e2e.halls import build_hall
from tests.e2e.owner import Owner
from tests.e2e.paying import checked_out, completed, confirmed, held, hold_now, keyed, ok, read
from tests.support.platform import Json, Platform

CAMPAIGN = {"campaign": "spring", "Größe": "", "note": 'a "quoted" {text}, \\ and all'}
LARGEST = {f"{number:040}": "ä" * 500 for number in range(20)}
UNFIT: list[Any] = [
    {"": "x"},
    {"k" * 41: "x"},
    {"key": "v" * 501},
    {str(number): "" for number in range(21)},
    {"key": 1},
    {"key": None},
    {"key": {"nested": "x"}},
    ["key"],
    "key",
]


def created(platform: Platform, kind: str, **more: Any) -> Json:
    sale = platform.on_sale()
    bodies: dict[str, Json] = {
        "events": {"currency": "EUR"},
        "sessions": {"event_id": sale.event_id},
        "ticket-types": {"session_id": sale.session_id, "price": 1, "capacity": 1},
    }
    return platform.made(f"/api/{kind}", bodies[kind] | {"name": "Gala"} | more)


def path_to(kind: str, made: Json) -> str:
    return f"/api/{kind}/{made[kind.removesuffix('s').replace('-', '_') + '_id']}"


every_kind = pytest.mark.parametrize("kind", ["events", "sessions", "ticket-types"])


@every_kind
def test_the_catalog_keeps_metadata_until_it_is_replaced_or_cleared(
    platform: Platform, kind: str
) -> None:
    made = created(platform, kind, metadata=CAMPAIGN)
    path = path_to(kind, made)
    assert made["metadata"] == CAMPAIGN
    assert read(platform, path) == made
    assert made in read(platform, f"/api/{kind}")["data"]
    renamed = ok(platform.client.patch(path, json={"name": "Ball"}))
    assert renamed["metadata"] == CAMPAIGN
    replaced = ok(platform.client.patch(path, json={"metadata": {"other": "x"}}))
    assert replaced["metadata"] == {"other": "x"}
    assert read(platform, path) == replaced
    again = ok(platform.client.patch(path, json={"metadata": {"other": "x"}}))
    assert again == replaced, "the same metadata changes nothing"
    cleared = ok(platform.client.patch(path, json={"metadata": {}}))
    assert "metadata" not in cleared
    assert read(platform, path) == cleared


@every_kind
def test_a_change_of_metadata_is_audited_with_the_old_and_the_new_texts(
    platform: Platform, owner: Owner, kind: str
) -> None:
    made = created(platform, kind, metadata={"a": "1", "b": "2"})
    ok(platform.client.patch(path_to(kind, made), json={"metadata": {"b": "3"}}))
    ((old, new),) = owner.rows(
        "SELECT old, new FROM audit WHERE organization_id = %s AND action LIKE '%%.changed'",
        platform.organization_id,
    )
    assert old == {"metadata": {"a": "1", "b": "2"}}
    assert new["metadata"] == {"b": "3"}


@pytest.mark.parametrize("metadata", UNFIT, ids=lambda metadata: repr(metadata)[:20])
def test_metadata_that_does_not_fit_is_refused(platform: Platform, metadata: Any) -> None:
    sale = platform.on_sale(2)
    event = f"/api/events/{sale.event_id}"
    calls: list[httpx.Response] = [
        platform.client.post(
            "/api/events", json={"name": "Gala", "currency": "EUR", "metadata": metadata}
        ),
        platform.client.patch(event, json={"metadata": metadata}),
        platform.place(sale, 1, metadata=metadata),
        Cart(platform, sale).put(item(sale, 1), metadata=metadata),
        confirmed(platform, held(platform, sale), metadata=metadata),
    ]
    for answer in calls:
        problem = problem_of(answer, 400, "invalid_metadata")
        assert first_error(answer) == ("metadata", "invalid_metadata")
        assert "at most 20" in problem["message"]


def test_a_change_does_not_take_null_for_metadata(platform: Platform) -> None:
    path = path_to("events", created(platform, "events"))
    answer = platform.client.patch(path, json={"metadata": None})
    problem_of(answer, 400, "invalid_metadata")


def test_control_characters_are_refused_in_metadata(platform: Platform) -> None:
    answer = platform.place(platform.on_sale(1), 1, metadata={"key": "two\nlines"})
    problem_of(answer, 400, "invalid_characters")


def test_a_hold_keeps_the_largest_metadata(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, metadata=LARGEST)
    assert hold["metadata"] == LARGEST
    assert hold_now(platform, hold)["metadata"] == LARGEST
    (listed,) = read(platform, "/api/holds", session_id=sale.session_id)["data"]
    assert listed["metadata"] == LARGEST
    released = ok(platform.client.post(f"/api/holds/{hold['hold_id']}/release"))
    assert released["metadata"] == LARGEST


def test_a_hold_without_metadata_has_no_such_field(platform: Platform) -> None:
    sale = platform.on_sale(5)
    nothing: tuple[Json | None, ...] = ({}, None)
    for metadata in nothing:
        hold = held(platform, sale, metadata=metadata)
        assert "metadata" not in hold
        assert "metadata" not in hold_now(platform, hold)


def test_a_reserved_seat_keeps_metadata(platform: Platform) -> None:
    hall = build_hall(platform)
    refused = hall.reserve("Stalls A 1", user_id="ada", metadata={"": "x"})
    assert first_error(refused) == ("metadata", "invalid_metadata")
    hold = ok(hall.reserve("Stalls A 1", user_id="ada", metadata=CAMPAIGN), 201)["data"]
    assert hold_now(platform, hold)["metadata"] == CAMPAIGN


def test_a_repeated_request_is_the_same_whatever_the_order_of_keys(platform: Platform) -> None:
    sale = platform.on_sale(5)
    body: Json = {"session_id": sale.session_id, "ticket_type_id": sale.ticket_type_id}
    body |= {"quantity": 1, "user_id": "ada"}
    key = keyed()

    def send(metadata: dict[str, str]) -> httpx.Response:
        return platform.client.post("/api/holds", json=body | {"metadata": metadata}, headers=key)

    first = send({"a": "1", "b": "2"})
    assert first.status_code == 201
    assert send({"b": "2", "a": "1"}).content == first.content
    problem_of(send({"a": "1", "b": "3"}), 422, "idempotency_key_reused")


def test_a_cart_keeps_its_metadata_unless_a_call_brings_other(platform: Platform) -> None:
    sale = platform.on_sale(5)
    cart = Cart(platform, sale)
    first = cart.new(item(sale, 1), metadata=CAMPAIGN)
    assert first["metadata"] == CAMPAIGN
    assert cart.filled(item(sale, 2))["metadata"] == CAMPAIGN
    assert cart.filled(item(sale, 2), metadata=CAMPAIGN)["version"] == 2, "nothing changes"
    other = cart.filled(item(sale, 2), metadata={"other": "x"})
    assert (other["metadata"], other["version"]) == ({"other": "x"}, 3)
    assert cart.now()["metadata"] == other["metadata"]
    cleared = cart.filled(item(sale, 2), metadata={})
    assert "metadata" not in cleared
    assert "metadata" not in cart.now()


def test_a_waiting_cart_keeps_its_metadata(platform: Platform) -> None:
    sale = platform.on_sale(1, hold_policy=WAITLIST)
    held(platform, sale)
    cart = Cart(platform, sale)
    cart.filled(item(sale, 1), status=202, metadata=CAMPAIGN)
    assert cart.now()["metadata"] == CAMPAIGN
    other = cart.filled(item(sale, 1), status=202, metadata={"other": "x"})
    assert other["metadata"] == {"other": "x"}
    assert cart.now()["metadata"] == {"other": "x"}


def test_an_order_has_metadata_of_its_own(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, metadata=CAMPAIGN)
    answer = ok(confirmed(platform, hold, metadata={"invoice": "17"}))
    assert (answer["metadata"], answer["order"]["metadata"]) == (CAMPAIGN, {"invoice": "17"})
    order = read(platform, f"/api/orders/{answer['order_id']}")
    assert order == answer["order"]
    assert read(platform, "/api/orders")["data"] == [order]
    plain = ok(confirmed(platform, held(platform, sale, metadata=CAMPAIGN)))
    assert "metadata" not in plain["order"]


def test_completing_a_checkout_takes_metadata_for_the_order(platform: Platform) -> None:
    hold = held(platform, platform.on_sale(5), metadata=CAMPAIGN)
    checkout = ok(checked_out(platform, hold), 201)
    assert checkout["holds"][0]["metadata"] == CAMPAIGN
    order = ok(completed(platform, checkout, metadata={"invoice": "18"}), 201)
    assert order["metadata"] == {"invoice": "18"}
    again = completed(platform, checkout, metadata={"invoice": "19"})
    assert ok(again) == order, "the order was made before"


def test_the_facts_of_a_hold_and_an_order_tell_metadata_and_the_audit_does_not(
    platform: Platform, owner: Owner
) -> None:
    hold = held(platform, platform.on_sale(5), metadata={"guest": "Ada Lovelace"})
    ok(confirmed(platform, hold, metadata={"invoice": "Ada 17"}))
    told = [(kind, payload.get("metadata")) for kind, payload in owner.facts(hold["hold_id"])]
    assert told == [
        ("hold.created", {"guest": "Ada Lovelace"}),
        ("hold.converted", None),
        ("order.confirmed", {"invoice": "Ada 17"}),
    ]
    rows = owner.rows(
        "SELECT old, new FROM audit WHERE organization_id = %s AND hold_id IS NOT NULL",
        platform.organization_id,
    )
    assert len(rows) == 2
    assert "Ada" not in str(rows)
