"""Payment providers that are unavailable, refuse, or are asked too often."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import revival_id
from holdfast.domain.values import Money
from holdfast.entrypoints.api.app import create_api
from holdfast.ports.payments import PaymentUnavailable
from tests.api.world import FLOOR, ORGANIZATION, SESSION, World


@dataclass
class StubPayments:
    """A provider whose every answer the test controls."""

    is_single_use: bool = False
    is_verified: bool = True
    is_away: bool = False
    says: str | None = None
    meanwhile: Callable[[], object] | None = None
    asked: list[tuple[str | None, Money]] = field(default_factory=list)

    def problem(self, reference: str | None, total: Money) -> str | None:
        self.asked.append((reference, total))
        if self.meanwhile is not None:
            self.meanwhile()
        if self.is_away:
            raise PaymentUnavailable
        return self.says


@dataclass
class Shop:
    world: World
    payments: StubPayments

    def post(self, path: str, **body: Any) -> Any:
        return self.world.call("POST", path, json=body)

    def hold(self) -> str:
        return str(self.world.place().json()["hold_id"])

    def status(self, hold_id: str) -> str:
        return str(self.world.call("GET", f"/api/holds/{hold_id}").json()["status"])


@pytest.fixture
def shop() -> Iterator[Shop]:
    world = World()
    payments = StubPayments()
    world.api.close()
    world.api = create_api(replace(world.container, payments=payments))
    yield Shop(world, payments)
    world.close()


def test_nothing_is_sold_while_the_provider_is_unavailable(shop: Shop) -> None:
    hold_id = shop.hold()
    checkout_id = shop.post("/api/checkouts", hold_ids=[hold_id]).json()["checkout_id"]
    shop.payments.is_away = True
    for answer in (
        shop.post(f"/api/holds/{hold_id}/confirm", payment_reference="pay-1"),
        shop.post(f"/api/checkouts/{checkout_id}/complete", payment_reference="pay-1"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (503, "service_unavailable")
        assert answer.headers["retry-after"] == "1"
    assert shop.status(hold_id) == "active"
    shop.payments.is_away = False
    answer = shop.post(f"/api/checkouts/{checkout_id}/complete", payment_reference="pay-1")
    assert answer.status_code == 201


def test_a_refused_payment_names_the_reason_and_sells_nothing(shop: Shop) -> None:
    hold_id = shop.hold()
    shop.payments.says = "the bank said no"
    answer = shop.post(f"/api/holds/{hold_id}/confirm", payment_reference="pay-1")
    assert (answer.status_code, answer.json()["error"]) == (402, "payment_refused")
    assert answer.json()["message"] == "The payment was refused: the bank said no"
    assert shop.status(hold_id) == "active"


def test_refusals_before_the_engine_are_recorded_as_attempts(shop: Shop) -> None:
    hold_id = shop.hold()
    checkout = shop.post("/api/checkouts", hold_ids=[hold_id]).json()
    complete = f"/api/checkouts/{checkout['checkout_id']}/complete"
    assert shop.post(complete, payment_reference="pay-2").status_code == 201
    shop.post(complete, payment_reference="pay-3")
    shop.post(f"/api/holds/{hold_id}/confirm", payment_reference="pay-3")
    kept = shop.world.attempts.kept
    assert [each.code for each in kept] == ["already_paid"] * 2
    assert {(each.action, str(each.hold_id)) for each in kept} == {("hold.convert_failed", hold_id)}
    assert all(each.origin.actor.startswith("key:") for each in kept)


def test_an_unavailable_provider_records_no_attempt(shop: Shop) -> None:
    hold_id = shop.hold()
    shop.payments.is_away = True
    shop.post(f"/api/holds/{hold_id}/confirm", payment_reference="pay-1")
    assert shop.world.attempts.kept == []


@pytest.mark.parametrize("is_single_use", [True, False])
def test_the_provider_decides_if_payments_are_single_use(shop: Shop, is_single_use: bool) -> None:
    shop.payments.is_single_use = is_single_use
    answers = [
        shop.post(f"/api/holds/{shop.hold()}/confirm", payment_reference="pay-1") for _ in range(2)
    ]
    expected = [200, 409] if is_single_use else [200, 200]
    assert [answer.status_code for answer in answers] == expected


def test_the_provider_checks_the_whole_amount_and_only_once(shop: Shop) -> None:
    first, second = shop.hold(), shop.hold()
    checkout = shop.post("/api/checkouts", hold_ids=[first, second]).json()
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    made = shop.post(path, payment_reference="pay-1")
    assert made.status_code == 201
    assert shop.payments.asked == [("pay-1", Money(4 * 4500, "EUR"))]
    shop.payments.is_away = True
    assert shop.post(path, payment_reference="pay-1").content == made.content
    again = shop.post(f"/api/holds/{second}/confirm")
    assert again.json()["order"] == made.json()
    assert len(shop.payments.asked) == 1


def test_unknown_holds_and_checkouts_never_reach_the_provider(shop: Shop) -> None:
    unknown = "0198f1c0-0000-7000-8000-0000000000ff"
    confirmed = shop.post(f"/api/holds/{unknown}/confirm")
    completed = shop.post(f"/api/checkouts/{unknown}/complete", payment_reference="pay-1")
    assert (confirmed.status_code, completed.status_code) == (404, 404)
    assert shop.payments.asked == []


@pytest.mark.parametrize("is_replacement", [False, True])
def test_only_a_replacement_of_the_hold_shows_that_it_was_paid_for(
    shop: Shop, is_replacement: bool
) -> None:
    """The id of the hold that replaces an expired one can be computed. Earlier versions let anybody
    take it."""
    hold_id = HoldId(UUID(shop.hold()))
    holds, past = shop.world.store.stored_holds, datetime.now(UTC) - timedelta(minutes=1)
    held = replace(holds[ORGANIZATION, hold_id], expires_at=past)
    same_id = revival_id(hold_id)
    holds[held.key] = held
    other = replace(held, id=same_id, revives=hold_id if is_replacement else None)
    holds[other.key] = other
    shop.payments.says = "the bank said no"
    shop.post(f"/api/holds/{hold_id}/confirm", payment_reference="pay-1")
    assert bool(shop.payments.asked) is not is_replacement


def test_a_cart_changed_during_the_payment_check_is_not_sold(shop: Shop) -> None:
    def fill(quantity: int) -> Any:
        body = {
            "session_id": str(SESSION),
            "customer_email": "user@example.com",
            "items": [{"cart_item_id": "a", "ticket_type_id": str(FLOOR), "quantity": quantity}],
        }
        return shop.world.call("PUT", "/api/carts/c/hold", json=body)

    assert fill(2).status_code == 201
    checkout = shop.post("/api/checkouts", cart_token="c").json()
    path = f"/api/checkouts/{checkout['checkout_id']}/complete"
    shop.payments.meanwhile = partial(fill, 3)
    answer = shop.post(path, payment_reference="pay-1")
    assert (answer.status_code, answer.json()["error"]) == (409, "amount_changed")
    assert (answer.json()["total"], answer.json()["currency"]) == (13_500, "EUR")
    shop.payments.meanwhile = None
    assert shop.post(path, payment_reference="pay-2").json()["total"] == 13_500
    assert shop.payments.asked[-1] == ("pay-2", Money(13_500, "EUR"))
