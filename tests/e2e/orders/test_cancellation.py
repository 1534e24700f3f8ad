"""Orders are cancelled over HTTP, as a whole or by ticket, and found by what a buyer knows of
them."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from holdfast.domain.access.scopes import SCOPE_SETS
from tests.e2e.answers import first_error, moment, problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import checked_out, completed, confirmed, held, keyed, ok, post, read
from tests.support.platform import Json, Platform, new_platform


def bought(platform: Platform, quantity: int = 2, **more: Any) -> Json:
    order: Json = ok(confirmed(platform, held(platform, platform.on_sale(5), quantity, **more)))[
        "order"
    ]
    return order


def cancel(
    platform: Platform, order: Json, headers: dict[str, str] | None = None, **body: Any
) -> httpx.Response:
    path = f"/api/orders/{order['order_id']}/cancel"
    return post(platform, path, {"reason": "The buyer fell ill", **body}, headers)


def refund(
    platform: Platform, order: Json, headers: dict[str, str] | None = None, **body: Any
) -> httpx.Response:
    path = f"/api/orders/{order['order_id']}/refunds"
    return post(platform, path, {"refund_reference": "re_1", **body}, headers)


def ids(order: Json) -> list[str]:
    return [ticket["ticket_id"] for ticket in order["tickets"]]


def test_a_new_order_is_confirmed_and_its_tickets_are_valid(platform: Platform) -> None:
    sale = platform.on_sale(5)
    hold = held(platform, sale, 2, user_id="ada")
    order = ok(confirmed(platform, hold))["order"]
    assert (order["status"], order["version"], order["user_id"]) == ("confirmed", 1, "ada")
    assert order["references"] == [hold["reference"]]
    assert (order["event_ids"], order["session_ids"]) == ([sale.event_id], [sale.session_id])
    assert "cancelled_at" not in order
    assert [ticket["status"] for ticket in order["tickets"]] == ["valid", "valid"]
    assert read(platform, f"/api/orders/{order['order_id']}") == order


def test_a_cancelled_order_is_void_and_its_places_are_free(
    platform: Platform, owner: Owner
) -> None:
    order = bought(platform, 2)
    answer = ok(cancel(platform, order, refund_reference="re_1"))
    assert (answer["status"], answer["version"]) == ("cancelled", 2)
    assert answer["total"] == order["total"], "what was paid stays what it was"
    for ticket in answer["tickets"]:
        assert (ticket["status"], ticket["refund_reference"]) == ("void", "re_1")
        assert moment(ticket["voided_at"]) == moment(answer["cancelled_at"])
    assert read(platform, f"/api/orders/{order['order_id']}") == answer
    assert owner.counters(platform.organization_id) == [(5, 0, 0)]


def test_one_ticket_is_cancelled_and_the_others_stay_valid(
    platform: Platform, owner: Owner
) -> None:
    order = bought(platform, 3)
    answer = ok(cancel(platform, order, ticket_ids=ids(order)[1:2]))
    assert (answer["status"], answer["version"]) == ("partly_cancelled", 2)
    assert "cancelled_at" not in answer
    assert [ticket["status"] for ticket in answer["tickets"]] == ["valid", "void", "valid"]
    assert owner.counters(platform.organization_id) == [(5, 0, 2)]


def test_what_is_cancelled_is_not_cancelled_again(platform: Platform, owner: Owner) -> None:
    order = bought(platform, 2)
    first, second = ids(order)
    ok(cancel(platform, order, ticket_ids=[first]))
    again = cancel(platform, order, ticket_ids=[first, second])
    assert problem_of(again, 409, "ticket_already_void")["ticket_ids"] == [first]
    assert owner.counters(platform.organization_id) == [(5, 0, 1)]
    ok(cancel(platform, order))
    problem_of(cancel(platform, order), 409, "order_already_cancelled")


def test_a_retry_gets_the_first_answer(platform: Platform) -> None:
    order = bought(platform)
    headers = keyed()
    first = cancel(platform, order, headers)
    again = cancel(platform, order, headers)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["idempotent-replayed"] == "true"


def test_an_order_that_changed_meanwhile_is_not_cancelled(platform: Platform) -> None:
    order = bought(platform)
    ok(cancel(platform, order, ticket_ids=ids(order)[:1], version=1))
    problem = problem_of(cancel(platform, order, version=1), 409, "order_changed")
    assert problem["version"] == 2


def test_wrong_tickets_and_fields_are_refused_and_change_nothing(
    platform: Platform, owner: Owner
) -> None:
    order, other = bought(platform), bought(platform)
    before = owner.counters(platform.organization_id)
    answer = cancel(platform, order, ticket_ids=[ids(order)[0], ids(other)[0]])
    problem_of(answer, 400, "invalid_ticket")
    assert first_error(answer) == ("ticket_ids[1]", "invalid_ticket")
    twice = cancel(platform, order, ticket_ids=ids(order)[:1] * 2)
    assert first_error(twice) == ("ticket_ids[1]", "duplicate")
    wrong_fields: tuple[Json, ...] = (
        {"reason": " "},
        {"reason": None},
        {"ticket_ids": []},
        {"refund_reference": ""},
        {"version": 0},
        {"amount": 5},
    )
    for wrong in wrong_fields:
        assert cancel(platform, order, **wrong).status_code == 400
    unknown = {"order_id": str(uuid4())}
    problem_of(cancel(platform, unknown), 404, "order_not_found")
    assert owner.counters(platform.organization_id) == before


def test_cancelling_needs_its_own_scope(platform: Platform, database_url: str) -> None:
    seller = new_platform(
        platform.base_url, database_url, scopes=("catalog:write", *SCOPE_SETS["holds"])
    )
    order = bought(seller)
    problem_of(cancel(seller, order), 403, "insufficient_scope")
    operator = new_platform(
        platform.base_url, database_url, scopes=("catalog:write", *SCOPE_SETS["operate"])
    )
    ok(cancel(operator, bought(operator)))


def test_a_refused_cancellation_is_audited(platform: Platform) -> None:
    order = bought(platform)
    ok(cancel(platform, order, refund_reference="re_1"))
    problem_of(cancel(platform, order), 409, "order_already_cancelled")
    hold_id = order["hold_ids"][0]
    page = read(platform, "/api/audit", hold_id=hold_id, action="order.cancelled")
    (entry,) = page["data"]
    assert entry["new"]["reason"] == "The buyer fell ill"
    assert (entry["new"]["refund_reference"], entry["new"]["quantity"]) == ("re_1", 2)
    assert (entry["old"]["status"], entry["new"]["status"]) == ("confirmed", "cancelled")


def test_a_refund_is_recorded_after_the_cancellation(platform: Platform) -> None:
    order = bought(platform, 3)
    void = ok(cancel(platform, order, ticket_ids=ids(order)[:2]))
    assert not any("refund_reference" in ticket for ticket in void["tickets"])
    headers = keyed()
    person = {**headers, "X-Acting-User": "ann"}
    first = refund(platform, order, person, ticket_ids=ids(order)[1:2])
    answer = ok(first)
    assert [ticket.get("refund_reference") for ticket in answer["tickets"]] == [None, "re_1", None]
    assert (answer["status"], answer["version"]) == ("partly_cancelled", 3)
    again = refund(platform, order, person, ticket_ids=ids(order)[1:2])
    assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
    answer = ok(refund(platform, order, refund_reference="re_2"))
    assert [each.get("refund_reference") for each in answer["tickets"]] == ["re_2", "re_1", None]
    assert read(platform, f"/api/orders/{order['order_id']}") == answer
    page = read(platform, "/api/audit", hold_id=order["hold_ids"][0], action="order.refunded")
    second, entry = page["data"]
    assert (entry["acting_user"], entry["new"]["refund_reference"]) == ("ann", "re_1")
    assert (entry["new"]["quantity"], entry["new"]["ticket_ids"]) == (1, ids(order)[1:2])
    assert (second["new"]["refund_reference"], second["new"]["order_version"]) == ("re_2", 4)


def test_a_refused_refund_changes_nothing(platform: Platform) -> None:
    order, other = bought(platform, 3), bought(platform, 1)
    problem_of(refund(platform, order), 409, "ticket_not_void")
    void, valid, _ = ids(order)
    before = ok(cancel(platform, order, ticket_ids=[void], refund_reference="re_0"))
    answer = refund(platform, order, ticket_ids=[valid])
    assert problem_of(answer, 409, "ticket_not_void")["ticket_ids"] == [valid]
    answer = refund(platform, order, ticket_ids=[void])
    assert problem_of(answer, 409, "already_refunded")["ticket_ids"] == [void]
    problem_of(refund(platform, order), 409, "already_refunded")
    answer = refund(platform, order, ticket_ids=[void, ids(other)[0]])
    assert first_error(answer) == ("ticket_ids[1]", "invalid_ticket")
    assert first_error(refund(platform, order, ticket_ids=[void] * 2)) == (
        "ticket_ids[1]",
        "duplicate",
    )
    wrong_fields: tuple[Json, ...] = (
        {"refund_reference": ""},
        {"refund_reference": " "},
        {"refund_reference": None},
        {"refund_reference": "x" * 256},
        {"ticket_ids": []},
        {"reason": "no such field"},
    )
    for wrong in wrong_fields:
        assert refund(platform, order, **wrong).status_code == 400
    problem_of(refund(platform, {"order_id": str(uuid4())}), 404, "order_not_found")
    assert read(platform, f"/api/orders/{order['order_id']}") == before


def test_recording_a_refund_needs_the_scope_to_cancel(
    platform: Platform, database_url: str
) -> None:
    seller = new_platform(
        platform.base_url, database_url, scopes=("catalog:write", *SCOPE_SETS["holds"])
    )
    problem_of(refund(seller, bought(seller)), 403, "insufficient_scope")


def test_orders_are_found_by_status_and_by_ticket_code(platform: Platform) -> None:
    sale = platform.on_sale(9)
    orders = [ok(confirmed(platform, held(platform, sale, 2)))["order"] for _ in range(3)]
    partly = ok(cancel(platform, orders[1], ticket_ids=ids(orders[1])[:1]))
    over = ok(cancel(platform, orders[2]))
    expected = {"confirmed": orders[0], "partly_cancelled": partly, "cancelled": over}
    for status, order in expected.items():
        for more in ({}, {"session_id": sale.session_id}, {"event_id": sale.event_id}):
            assert read(platform, "/api/orders", status=status, **more)["data"] == [order]
    for order in expected.values():
        code = order["tickets"][0]["code"]
        assert read(platform, "/api/orders", ticket_code=code)["data"] == [order]
        assert read(platform, "/api/orders", ticket_code=code, status="cancelled")["data"] == (
            [order] if order is over else []
        )
        both = {"ticket_code": code, "session_id": sale.session_id}
        assert read(platform, "/api/orders", **both)["data"] == [order]
    assert read(platform, "/api/orders", ticket_code="0" * 26)["data"] == []


def test_the_code_of_a_ticket_is_not_sent_in_a_url(platform: Platform) -> None:
    """It admits people, and URLs end up in logs."""
    answer = platform.client.get("/api/orders", params={"ticket_code": "0" * 26})
    assert "X-Ticket-Code" in problem_of(answer, 400, "validation_error")["message"]


@pytest.mark.parametrize("wrong", [{"amount": 1}, {"currency": "USD"}, {"currency": "eur"}])
def test_a_payment_of_another_amount_or_currency_sells_nothing(
    platform: Platform, owner: Owner, wrong: Json
) -> None:
    hold = held(platform, platform.on_sale(5), 2)
    right: Json = {"amount": 9000, "currency": "EUR"}
    answer = confirmed(platform, hold, **right | wrong)
    if wrong == {"currency": "eur"}:
        problem_of(answer, 400, "invalid_currency")
    else:
        assert problem_of(answer, 409, "amount_changed")["total"] == 9000
    assert owner.counters(platform.organization_id) == [(5, 2, 0)]
    checkout = ok(checked_out(platform, hold), 201)
    if wrong != {"currency": "eur"}:
        paid = completed(platform, checkout, payment_reference="pay-1", **right | wrong)
        problem_of(paid, 409, "amount_changed")
    ok(confirmed(platform, hold, **right))


def test_a_cancelled_place_goes_to_the_first_on_the_waitlist(platform: Platform) -> None:
    sale = platform.on_sale(1, hold_policy={"waitlist": True})
    order = ok(confirmed(platform, held(platform, sale, 1)))["order"]
    body = platform.hold_body(sale, 1, user_id="waiting")
    party = ok(post(platform, "/api/holds", body), 202)
    ok(cancel(platform, order))
    assert read(platform, f"/api/holds/{party['hold_id']}")["status"] == "active"
