"""Recording the payment of a hold at the desk: what the page says, the order that it makes, and
how it tells of a refusal."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import EventId
from holdfast.domain.orders.order import revival_id
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.values import EmailAddress, Holder, Money
from holdfast.entrypoints.admin.apps import AdminConfig
from tests.contract.asking import placed, waiting
from tests.contract.venues import STRANGER
from tests.pages.conftest import NAME
from tests.pages.desk import PLAN, Desk, opened, text_of
from tests.pages.sales import Sale

ANN = Holder(EmailAddress("ann@example.com"))
PAYMENT = {"payment_reference": "receipt 17"}


@pytest.fixture
def desk(database_url: str, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """After the sale, whose services know no engine."""
    yield from opened(database_url, monkeypatch)


@pytest.fixture
def hold(desk: Desk) -> Hold:
    return placed(desk.engine, desk.venue.seats("Parterre A 1", "Parterre A 2", holder=ANN))


def paid(client: Client, desk: Desk, hold: Hold, **given: Any) -> str:
    return desk.confirm(client, hold, "pay", **{**PAYMENT, **given})


def test_the_consequence_is_stated_before_the_click(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    page = text_of(operator.get(desk.url(hold, "pay")))
    assert "Sells 2 tickets for 90.00 EUR to a***@example.com: 2 seats in Parterre." in page
    assert "Holdfast takes no money: take the payment first." in page
    assert "a***@example.com gets an e-mail, if e-mails are turned on." in page
    assert desk.now(hold) == hold


def test_the_order_is_made_and_shown_with_its_tickets(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    page = paid(operator, desk, hold)
    (order,) = desk.world.orders(desk.venue).values()
    assert (order.hold_ids, order.payment_reference) == ((hold.id,), "receipt 17")
    assert "Sold. The order has 2 tickets." in page
    assert str(order.id) in page
    for seat in ("Parterre, row A, seat 1", "Parterre, row A, seat 2"):
        assert seat in page
    action, actor, _, new = desk.audited(hold)[-1]
    assert (action, actor) == ("hold.converted", f"operator:{NAME}")
    assert new["reason"] == "buyer called"
    assert f"Paid by operator {NAME}: buyer called" in desk.page(operator, hold)


def test_a_payment_that_is_recorded_twice_makes_one_order(
    operator: Client, desk: Desk, hold: Hold
) -> None:
    paid(operator, desk, hold)
    again = paid(operator, desk, hold, seen=1)
    assert "This payment was recorded before. This is its order." in again
    assert "Parterre, row A, seat 1" in again
    other = paid(operator, desk, hold, seen=1, payment_reference="receipt 18")
    assert "Already paid for with another payment reference. Nothing was changed." in other
    assert len(desk.world.orders(desk.venue)) == 1


def test_a_lapsed_hold_is_refused_in_words(operator: Client, desk: Desk, hold: Hold) -> None:
    desk.world.let_pass(desk.venue, 601)
    end = f"{desk.now(hold).expires_at:%Y-%m-%d %H:%M:%S}"
    told = paid(operator, desk, hold)
    # The reaper of another test's server may have recorded it meanwhile.
    assert f"The hold expired at {end} UTC. Nothing was changed." in told or ": expired." in told
    assert not desk.world.orders(desk.venue)


def test_a_payment_just_after_the_end_is_taken_if_the_policy_allows_it(
    operator: Client, desk: Desk
) -> None:
    late = replace(PLAN, policy=HoldPolicy(600, late_payment_seconds=300), event_id=_event())
    desk = replace(desk, venue=desk.world.build(late))
    hold = placed(desk.engine, desk.venue.seats("Parterre A 1", holder=ANN))
    desk.world.let_pass(desk.venue, 601)
    assert "Sold. The order has 1 ticket." in paid(operator, desk, hold)
    (order,) = desk.world.orders(desk.venue).values()
    assert order.hold_ids == (revival_id(hold.id),)


def test_a_late_payment_is_taken_for_the_total_that_was_shown_only(
    operator: Client, desk: Desk
) -> None:
    """The hold was changed after the page was opened, and has lapsed since."""
    late = replace(PLAN, policy=HoldPolicy(600, late_payment_seconds=300), event_id=_event())
    desk = replace(desk, venue=desk.world.build(late))
    hold = placed(desk.engine, desk.venue.fill("basket", {"a": ("Standing", 2)}, holder=ANN))
    shown = hold.total.minor
    desk.ask(desk.venue.fill("basket", {"a": ("Standing", 1)}, holder=ANN))
    desk.world.let_pass(desk.venue, 601)
    told = paid(operator, desk, hold, total_minor=shown)
    assert "Nothing was changed" in told
    assert not desk.world.orders(desk.venue)
    assert "Sold. The order has 1 ticket." in paid(operator, desk, hold)


def _event() -> EventId:
    return EventId(uuid7())


def test_a_hold_that_has_changed_is_shown_again(operator: Client, desk: Desk, hold: Hold) -> None:
    desk.confirm(operator, hold, "extend", minutes=5, reason="slow bank")
    told = paid(operator, desk, hold, seen=1)
    assert "Nothing was changed, because the hold is no longer as you saw it." in told
    assert "Sells 2 tickets for" in told, "the form is shown again"
    assert not desk.world.orders(desk.venue)
    assert "Sold." in paid(operator, desk, hold)


@pytest.mark.parametrize("reference", ["", "  "])
def test_a_payment_needs_a_reference(
    operator: Client, desk: Desk, hold: Hold, reference: str
) -> None:
    assert "This field is required." in paid(operator, desk, hold, payment_reference=reference)
    assert not desk.world.orders(desk.venue)


def test_tickets_that_cost_nothing_need_no_reference(operator: Client, desk: Desk) -> None:
    free = desk.venue.place(desk.venue.some("Standing", 1, price=0), holder=ANN)
    hold = placed(desk.engine, free)
    assert "Sold. The order has 1 ticket." in paid(operator, desk, hold, payment_reference="")


def test_a_payment_that_the_provider_does_not_know_is_told_at_its_field(
    operator: Client, desk: Desk, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Provider:
        is_single_use = is_verified = True

        def problem(self, reference: str | None, total: Money) -> str | None:
            assert total == hold.total
            return f"{reference} is unknown"

    monkeypatch.setattr(AdminConfig.services, "payments", Provider())
    told = paid(operator, desk, hold)
    assert "The payment was refused: receipt 17 is unknown. Nothing was changed." in told
    assert told.index("The payment was refused") > told.index("Payment reference")
    assert desk.now(hold) == hold


def test_a_waiting_or_released_hold_cannot_be_paid_for(operator: Client, desk: Desk) -> None:
    placed(desk.engine, desk.venue.place(("Standing", 4), holder=STRANGER))
    party = waiting(desk.engine, desk.venue.place(("Standing", 1), holder=ANN))
    assert "Nothing was changed" in paid(operator, desk, party)
    desk.ask(desk.venue.release(party.id))
    assert "Nothing was changed" in paid(operator, desk, party)
    assert not desk.world.orders(desk.venue)
