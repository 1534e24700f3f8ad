"""The demo payment provider: only payments that it took can pay for an order."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.answers import first_error, problem_of
from tests.e2e.owner import Owner
from tests.e2e.paying import (
    checked_out,
    completed,
    confirmed,
    held,
    hold_now,
    keyed,
    ok,
    post,
    read,
)
from tests.support.databases import DatabaseFactory
from tests.support.patience import wait_until
from tests.support.platform import Json, Platform, new_platform
from tests.support.servers import RunningServer

TTL_SECONDS = 600
DECLINED_CARD = "4000000000000002"


@pytest.fixture(scope="module")
def demo_server(
    databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    log = tmp_path_factory.mktemp("demo") / "log"
    with RunningServer(databases.fresh(), log, {"HOLDFAST_PAYMENTS": "demo"}) as running:
        yield running


@pytest.fixture
def shop(demo_server: RunningServer) -> Platform:
    return new_platform(demo_server.base_url, demo_server.database_url)


def paid(shop: Platform, amount: int, currency: str = "EUR", **body: str) -> str:
    request = {"amount": amount, "currency": currency} | body
    return str(ok(post(shop, "/api/demo/payments", request), 201)["payment_reference"])


def test_a_taken_payment_pays_for_a_hold(shop: Platform) -> None:
    sale = shop.on_sale(5)
    reference = paid(shop, 9000, card="4242424242424242")
    answer = ok(confirmed(shop, held(shop, sale, 2), payment_reference=reference))
    assert answer["order"]["payment_reference"] == reference
    checkout = ok(checked_out(shop, held(shop, sale)), 201)
    assert ok(completed(shop, checkout, paid(shop, 4500)), 201)["total"] == 4500


def test_a_forged_or_mismatched_payment_is_refused(shop: Platform) -> None:
    hold = held(shop, shop.on_sale(5), 2)
    checkout = ok(checked_out(shop, hold), 201)
    good = paid(shop, 9000)
    forged = good[:-1] + ("0" if good[-1] != "0" else "1")
    raised = paid(shop, 1).replace("demo_1_", "demo_9000_")
    for reference in (paid(shop, 8999), paid(shop, 9000, "USD"), forged, raised, "pay-1"):
        for answer in (
            confirmed(shop, hold, payment_reference=reference),
            completed(shop, checkout, reference),
        ):
            problem = problem_of(answer, 402, "payment_refused")
            assert problem["message"].startswith("The payment was refused: ")
            assert reference not in answer.text
    problem_of(confirmed(shop, hold), 402, "payment_refused")
    assert hold_now(shop, hold)["status"] == "active"
    # The same request may be retried once it is paid: the refusal is not stored.
    assert ok(completed(shop, checkout, good), 201)["payment_reference"] == good


def test_an_expired_hold_is_refused_as_expired_before_its_payment_is_checked(
    shop: Platform, demo_server: RunningServer
) -> None:
    owner = Owner(demo_server.database_url)
    hold = held(shop, shop.on_sale(5, hold_policy={"checkout_extension_seconds": 0}))
    checkout = ok(checked_out(shop, hold), 201)
    owner.let_pass(shop.organization_id, TTL_SECONDS + 1)
    for answer in (
        confirmed(shop, hold),
        confirmed(shop, hold, payment_reference="pay-1"),
        completed(shop, checkout, "pay-1"),
    ):
        problem = problem_of(answer, 409, "hold_expired")
        assert problem["lapsed_hold_ids"] == [hold["hold_id"]]


def test_a_hold_on_the_waitlist_is_refused_before_its_payment_is_checked(shop: Platform) -> None:
    sale = shop.on_sale(1, hold_policy={"waitlist": True})
    held(shop, sale)
    party = ok(shop.place(sale), 202)
    problem = problem_of(confirmed(shop, party), 409, "invalid_hold_state")
    assert problem["current_status"] == "waiting"


def test_the_taken_the_stated_and_the_due_amount_must_match(shop: Platform) -> None:
    hold = held(shop, shop.on_sale(5), 2)
    for amount, taken, status, code in (
        (4500, 4500, 409, "amount_changed"),
        (0, 0, 409, "amount_changed"),
        (9000, 4500, 402, "payment_refused"),
        (4500, 9000, 402, "payment_refused"),
    ):
        answer = confirmed(shop, hold, payment_reference=paid(shop, taken), amount=amount)
        problem_of(answer, status, code)
    assert hold_now(shop, hold)["status"] == "active"
    ok(confirmed(shop, hold, payment_reference=paid(shop, 9000), amount=9000))


def test_a_paid_order_is_not_verified_again(shop: Platform) -> None:
    hold = held(shop, shop.on_sale(5))
    checkout = ok(checked_out(shop, hold), 201)
    reference = paid(shop, 4500)
    order = ok(completed(shop, checkout, reference), 201)
    assert ok(completed(shop, checkout, reference)) == order
    problem_of(completed(shop, checkout, paid(shop, 1)), 409, "already_paid")
    assert ok(confirmed(shop, hold))["order"] == order


def test_a_late_order_is_not_verified_again(shop: Platform, demo_server: RunningServer) -> None:
    hold = held(shop, shop.on_sale(5, hold_policy={"late_payment_seconds": 60}))
    Owner(demo_server.database_url).let_pass(shop.organization_id, TTL_SECONDS + 10)
    problem_of(confirmed(shop, hold), 402, "payment_refused")
    order = ok(confirmed(shop, hold, payment_reference=paid(shop, 4500)))["order"]
    assert ok(confirmed(shop, hold))["order"] == order
    problem_of(confirmed(shop, hold, payment_reference="pay-2"), 409, "already_paid")


def test_one_payment_pays_for_one_order(shop: Platform) -> None:
    sale = shop.on_sale(50)
    first, second, third = (held(shop, sale) for _ in range(3))
    reference = paid(shop, 4500)
    order = ok(confirmed(shop, first, payment_reference=reference))["order"]
    problem = problem_of(
        confirmed(shop, second, payment_reference=reference), 409, "payment_already_used"
    )
    assert problem["order_id"] == order["order_id"]
    assert reference not in str(problem)
    checkout = ok(checked_out(shop, third), 201)
    problem_of(completed(shop, checkout, reference), 409, "payment_already_used")
    assert {hold_now(shop, hold)["status"] for hold in (second, third)} == {"active"}
    # Repeating it for its own order is no second use, and another payment pays the rest.
    assert ok(confirmed(shop, first, payment_reference=reference))["order"] == order
    ok(confirmed(shop, second, payment_reference=paid(shop, 4500)))


def test_a_reused_payment_is_refused_for_good(shop: Platform) -> None:
    sale = shop.on_sale(5)
    first, second = held(shop, sale), held(shop, sale)
    reference, key = paid(shop, 4500), keyed()
    ok(confirmed(shop, first, payment_reference=reference))
    path, body = f"/api/holds/{second['hold_id']}/confirm", {"payment_reference": reference}
    answer, again = (post(shop, path, body, key) for _ in range(2))
    problem_of(answer, 409, "payment_already_used")
    assert again.content == answer.content
    assert again.headers["idempotent-replayed"] == "true"


def test_a_refused_payment_is_in_the_audit(shop: Platform, demo_server: RunningServer) -> None:
    sale = shop.on_sale(5)
    first, second = held(shop, sale), held(shop, sale)
    problem_of(confirmed(shop, first, payment_reference="made-up"), 402, "payment_refused")
    reference = paid(shop, 4500)
    ok(confirmed(shop, first, payment_reference=reference))
    problem_of(confirmed(shop, first, payment_reference=paid(shop, 4500)), 409, "already_paid")
    problem_of(confirmed(shop, second, payment_reference=reference), 409, "payment_already_used")

    def failed() -> list[tuple[str, str]]:
        entries = read(shop, "/api/audit", action="hold.convert_failed")["data"]
        return [(entry["hold_id"], entry["new"]["error"]) for entry in entries]

    wait_until(lambda: len(failed()) == 3, "the attempts are in the audit")
    assert set(failed()) == {
        (first["hold_id"], "payment_refused"),
        (first["hold_id"], "already_paid"),
        (second["hold_id"], "payment_already_used"),
    }
    lines = [
        json.loads(line)
        for line in demo_server.log.read_text().splitlines()
        if "payment.refused" in line and shop.organization_id in line
    ]
    assert [(line["hold_id"], line["code"], line["level"]) for line in lines] == [
        (first["hold_id"], "payment_refused", "warning"),
        (first["hold_id"], "already_paid", "warning"),
        (second["hold_id"], "payment_already_used", "warning"),
    ]
    assert reference not in str(lines)


def test_free_tickets_need_no_payment(shop: Platform) -> None:
    sale = shop.on_sale(9)
    order = ok(confirmed(shop, held(shop, sale, unit_price=0)))["order"]
    assert (order["total"], order.get("payment_reference")) == (0, None)
    # Nor is a payment used up: two free checkouts may name the same one.
    for _ in range(2):
        checkout = ok(checked_out(shop, held(shop, sale, unit_price=0)), 201)
        assert ok(completed(shop, checkout, "free"), 201)["total"] == 0
    problem_of(confirmed(shop, held(shop, sale)), 402, "payment_refused")


def test_the_declined_card_is_declined(shop: Platform) -> None:
    body: Json = {"amount": 4500, "currency": "EUR", "card": DECLINED_CARD}
    answer = post(shop, "/api/demo/payments", body)
    problem_of(answer, 402, "payment_refused")
    assert DECLINED_CARD not in answer.text


def test_a_repeated_key_returns_the_same_payment(shop: Platform) -> None:
    body, key = {"amount": 4500, "currency": "EUR"}, keyed()
    first, again = (post(shop, "/api/demo/payments", body, key) for _ in range(2))
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert paid(shop, 4500) != paid(shop, 4500)


@pytest.mark.parametrize(
    ("change", "field", "code"),
    [
        ({"amount": -1}, "amount", "invalid_price"),
        ({"amount": "1"}, "amount", "invalid_price"),
        ({"amount": None}, "amount", "invalid_price"),
        ({"currency": "euro"}, "currency", "invalid_currency"),
        ({"card": "4242"}, "card", "invalid_value"),
        ({"card": "4242 4242 4242 4242"}, "card", "invalid_value"),
        ({"cvc": "1"}, "body", "unknown_field"),
    ],
)
def test_errors_name_the_bad_field(shop: Platform, change: Json, field: str, code: str) -> None:
    body = {"amount": 4500, "currency": "EUR"} | change
    assert first_error(post(shop, "/api/demo/payments", body)) == (field, code)


def test_the_openapi_document_includes_the_demo_payments(shop: Platform) -> None:
    assert "/api/demo/payments" in shop.client.get("/api/schema").json()["paths"]
