"""Cancelling an order on its page, and recording its refund: what it says before the click, what it
does, and who may."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client

from holdfast.domain.access.roles import Role
from holdfast.domain.orders.order import Order, OrderStatus
from holdfast.domain.values import EmailAddress, Holder
from tests.contract.asking import cancelled, converted, placed, recorded
from tests.pages.conftest import NAME
from tests.pages.desk import Desk, opened, text_of
from tests.pages.sales import Sale, list_of
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff

DESK = "holdfast.entrypoints.admin.orders.desk"
ANN = Holder(EmailAddress("ann@example.com"))


@pytest.fixture
def desk(database_url: str, sale: Sale, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """After the sale, whose services know no engine."""
    yield from opened(database_url, monkeypatch)


@pytest.fixture
def order(desk: Desk) -> Order:
    """Of two seats."""
    seats = desk.venue.seats("Parterre A 1", "Parterre A 2", holder=ANN)
    return converted(desk.engine, desk.venue.convert(placed(desk.engine, seats).id)).order


def url(order: Order, name: str) -> str:
    return f"/admin/holdfast/order/{order.id}/{name}/?organization={order.organization_id}"


def confirm(client: Client, order: Order, **given: Any) -> str:
    tickets = [str(ticket.id) for ticket in order.tickets]
    form = {"reason": "Ann fell ill", "version": order.version, "tickets": tickets, **given}
    answer = client.post(url(order, "cancel"), form, follow=True)
    assert answer.status_code == 200
    return text_of(answer)


def now(desk: Desk, order: Order) -> Order:
    return desk.world.orders(desk.venue)[order.id]


def member(database_url: str, desk: Desk, role: str) -> Client:
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    return browser_of(add_staff(database_url, str(desk.venue.organization_id), role, hashed))


def test_the_consequence_and_the_tickets_are_shown_before_the_click(
    operator: Client, desk: Desk, order: Order
) -> None:
    assert url(order, "cancel") in operator.get(url(order, "change")).content.decode()
    text = text_of(operator.get(url(order, "cancel")))
    assert "their codes become void, and their places are free immediately" in text
    assert "a***@example.com gets an e-mail, if e-mails are turned on." in text
    assert "Holdfast does not refund the money" in text
    assert "1: Parterre, row A, seat 1" in text
    assert "ann@example.com" not in text
    assert now(desk, order) == order


def test_a_whole_order_is_cancelled(operator: Client, desk: Desk, order: Order) -> None:
    text = confirm(operator, order, refund_reference="re_17")
    assert "Cancelled 2 tickets. Refund 90.00 EUR to the buyer." in text
    assert text.count("Ann fell ill, refund re_17") == 2
    after = now(desk, order)
    assert after.status is OrderStatus.CANCELLED
    assert url(order, "cancel") not in operator.get(url(order, "change")).content.decode()
    assert "This order is cancelled already" in text_of(
        operator.get(url(order, "cancel"), follow=True)
    )
    with desk.world.connected() as connection:
        audited = connection.execute(
            "SELECT actor, acting_user FROM audit WHERE organization_id = %s AND action = %s",
            [order.organization_id, "order.cancelled"],
        ).fetchall()
    assert audited == [(f"operator:{NAME}", NAME)]


def test_all_tickets_are_cancelled_with_one_box(operator: Client, desk: Desk, order: Order) -> None:
    html = operator.get(url(order, "cancel")).content.decode()
    assert html.count('name="tickets"') == 2
    assert not re.search(r'name="tickets"[^>]* checked[ >]', html), "nothing is chosen beforehand"
    text = confirm(operator, order, tickets=[], is_whole="on")
    assert "Cancelled 2 tickets." in text


def test_one_ticket_is_cancelled_and_the_other_stays_valid(
    operator: Client, desk: Desk, order: Order
) -> None:
    first, second = order.tickets
    text = confirm(operator, order, tickets=[str(first.id)])
    assert "Cancelled 1 ticket. Refund 45.00 EUR to the buyer." in text
    assert "partly cancelled" in text
    after = now(desk, order)
    assert [ticket.is_void for ticket in after.tickets] == [True, False]
    offered = operator.get(url(order, "cancel")).content.decode()
    assert (str(first.id) in offered, str(second.id) in offered) == (False, True)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"reason": ""}, "This field is required."),
        ({"tickets": []}, "Choose at least one ticket."),
        ({"tickets": ["0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0002"]}, "Select a valid choice."),
        ({"version": ""}, "Open this page again from the page of the order."),
        ({"refund_reference": "x" * 256}, "at most 255 characters"),
    ],
)
def test_a_wrong_form_changes_nothing(
    operator: Client, desk: Desk, order: Order, given: dict[str, Any], problem: str
) -> None:
    assert problem in confirm(operator, order, **given)
    assert now(desk, order) == order


def test_the_second_of_two_people_is_told(operator: Client, desk: Desk, order: Order) -> None:
    first, second = order.tickets
    cancelled(desk.engine, desk.venue.cancel(order.id, first.id))
    text = confirm(operator, order, tickets=[str(second.id)])
    assert "Somebody else has changed this order meanwhile. Nothing was changed." in text
    assert [ticket.is_void for ticket in now(desk, order).tickets] == [True, False]


@pytest.mark.parametrize("role", list(Role))
def test_a_viewer_may_not_cancel(database_url: str, desk: Desk, order: Order, role: Role) -> None:
    client = member(database_url, desk, role)
    is_allowed = role is not Role.VIEWER
    seen = client.get(url(order, "change")).content.decode()
    assert (url(order, "cancel") in seen) is is_allowed
    assert client.get(url(order, "cancel")).status_code == (200 if is_allowed else 403)
    if not is_allowed:
        form = {"reason": "x", "version": 1}
        assert client.post(url(order, "cancel"), form).status_code == 403
    assert now(desk, order) == order


def test_somebody_elses_order_is_not_found(database_url: str, desk: Desk, order: Order) -> None:
    other = desk.world.venue({}, {})
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    client = browser_of(add_staff(database_url, str(other.organization_id), "owner", hashed))
    assert client.get(url(order, "cancel")).status_code == 404
    assert client.post(url(order, "cancel"), {"reason": "x", "version": 1}).status_code == 404
    assert now(desk, order) == order


def test_a_large_order_is_cancelled_as_a_whole(
    operator: Client, desk: Desk, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{DESK}.TICKETS_LISTED_MAX", 1)
    text = text_of(operator.get(url(order, "cancel")))
    assert "Cancels 2 tickets" in text
    assert "Parterre, row A" not in text
    form = {"reason": "Ann fell ill", "version": order.version}
    answer = operator.post(url(order, "cancel"), form, follow=True)
    assert "Cancelled 2 tickets." in text_of(answer)


def record(client: Client, order: Order, **given: Any) -> str:
    form = {"refund_reference": "re_17", "reason": "The provider refunded it", **given}
    answer = client.post(url(order, "refund"), form, follow=True)
    assert answer.status_code == 200
    return text_of(answer)


def is_offered(client: Client, order: Order) -> bool:
    return url(order, "refund") in client.get(url(order, "change")).content.decode()


def test_a_refund_is_recorded_after_the_cancellation(
    operator: Client, desk: Desk, order: Order
) -> None:
    assert not is_offered(operator, order)
    first, second = order.tickets
    cancelled(desk.engine, desk.venue.cancel(order.id))
    assert is_offered(operator, order)
    html = operator.get(url(order, "refund")).content.decode()
    assert "2 tickets were cancelled without a refund reference." in html
    assert len(re.findall(r'name="tickets"[^>]* checked[ >]', html)) == 2, "all of them at first"
    text = record(operator, order, tickets=[str(second.id)])
    assert "Recorded refund re_17 for 1 ticket." in text
    assert [each.refund_reference for each in now(desk, order).tickets] == [None, "re_17"]
    asked = operator.get(url(order, "refund")).content.decode()
    assert (str(first.id) in asked, str(second.id) in asked) == (True, False)
    text = record(operator, order, tickets=[str(first.id)], refund_reference="re_18")
    assert "Ann fell ill, refund re_18" in text
    assert not is_offered(operator, order)
    assert "No void ticket is without a refund." in record(operator, order)
    with desk.world.connected() as connection:
        audited = connection.execute(
            "SELECT actor, acting_user, new ->> 'reason' FROM audit"
            " WHERE organization_id = %s AND action = 'order.refunded'",
            [order.organization_id],
        ).fetchall()
    assert audited == [(f"operator:{NAME}", NAME, "The provider refunded it")] * 2
    assert "Refund of 1 of its tickets recorded" in text_of(
        operator.get(f"/admin/holdfast/hold/{order.hold_ids[0]}/change/")
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"reason": ""}, "This field is required."),
        ({"refund_reference": ""}, "This field is required."),
        ({"refund_reference": "x" * 256}, "at most 255 characters"),
        ({"tickets": []}, "Choose at least one ticket."),
        ({"tickets": ["0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0002"]}, "Select a valid choice."),
    ],
)
def test_a_wrong_refund_is_not_recorded(
    operator: Client, desk: Desk, order: Order, given: dict[str, Any], problem: str
) -> None:
    before = cancelled(desk.engine, desk.venue.cancel(order.id)).order
    tickets = [str(ticket.id) for ticket in order.tickets]
    assert problem in record(operator, order, **{"tickets": tickets} | given)
    assert now(desk, order) == before


def test_the_second_of_two_people_who_record_a_refund_is_told(
    operator: Client, desk: Desk, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other person is quicker after the page has read the tickets."""
    cancelled(desk.engine, desk.venue.cancel(order.id))
    act = import_module(DESK).act

    def act_late(command: Any) -> Any:
        recorded(desk.engine, desk.venue.refund(order.id, reference="re_0"))
        return act(command)

    monkeypatch.setattr(f"{DESK}.act", act_late)
    text = record(operator, order, tickets=[str(order.tickets[0].id)])
    assert "another refund reference already. Nothing was recorded" in text
    assert {each.refund_reference for each in now(desk, order).tickets} == {"re_0"}


@pytest.mark.parametrize("role", list(Role))
def test_a_viewer_may_not_record_a_refund(
    database_url: str, desk: Desk, order: Order, role: Role
) -> None:
    cancelled(desk.engine, desk.venue.cancel(order.id))
    client = member(database_url, desk, role)
    is_allowed = role is not Role.VIEWER
    assert is_offered(client, order) is is_allowed
    assert client.get(url(order, "refund")).status_code == (200 if is_allowed else 403)
    if not is_allowed:
        form = {"refund_reference": "re_17", "reason": "x"}
        assert client.post(url(order, "refund"), form).status_code == 403


def test_a_refund_of_a_large_order_is_recorded_for_all_tickets(
    operator: Client, desk: Desk, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{DESK}.TICKETS_LISTED_MAX", 1)
    cancelled(desk.engine, desk.venue.cancel(order.id))
    assert b'name="tickets"' not in operator.get(url(order, "refund")).content
    assert "Recorded refund re_17 for 2 tickets." in record(operator, order)


def test_orders_are_listed_by_their_status(operator: Client, desk: Desk, order: Order) -> None:
    sale: Any = desk.venue
    for status, is_listed in (("confirmed", True), ("cancelled", False)):
        assert (str(order.id) in list_of(operator, "order", sale, status=status)) is is_listed
    cancelled(desk.engine, desk.venue.cancel(order.id))
    for status, is_listed in (("confirmed", False), ("cancelled", True)):
        assert (str(order.id) in list_of(operator, "order", sale, status=status)) is is_listed
