"""The orders of a session and of an event: links from their pages, and what the lists read."""

import re
from urllib.parse import parse_qsl
from uuid import uuid4

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from uuid_utils.compat import uuid7

from tests.pages.exports import download, rows_of, text_of
from tests.pages.sales import Sale, another_session, event_of, insert, list_of, page
from tests.pages.staff import browser_of
from tests.support.people import PASSWORD, add_staff


def another_event(sale: Sale) -> Sale:
    event_id = uuid7()
    own = {"organization_id": sale.organization_id}
    insert(sale.owner, "event", **own, id=event_id, name="Summer concerts", currency="EUR")
    return another_session(sale, event_id)


def link_to_orders(text: str) -> str:
    found = re.search(r'href="(/admin/holdfast/order/\?[^"]+)">Orders</a>', text)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_the_pages_of_a_session_and_an_event_lead_to_their_orders(
    operator: Client, sale: Sale
) -> None:
    event_id = event_of(sale)
    friday = sale.pay(sale.place())
    saturday = another_session(sale, event_id)
    on_saturday = saturday.pay(saturday.place())
    elsewhere = another_event(sale)
    both = sale.pay(sale.place(), elsewhere.place())
    orders = {str(friday), str(on_saturday), str(both)}
    for path, name, expected in (
        (f"session/{sale.session_id}", "Friday", {friday, both}),
        (f"session/{saturday.session_id}", "Saturday", {on_saturday}),
        (f"event/{event_id}", "Winter concerts", {friday, on_saturday, both}),
        (f"event/{event_of(elsewhere)}", "Summer concerts", {both}),
    ):
        url = link_to_orders(page(operator, f"{path}/change/"))
        answer = operator.get(url)
        assert answer.status_code == 200
        listed = answer.content.decode()
        assert {each for each in orders if each in listed} == set(map(str, expected)), path
        assert name in listed, "the filter says what is shown"
        filters = dict(parse_qsl(url.partition("?")[2]))
        rows = rows_of(text_of(download(operator, "orders", **filters)))
        assert {row["Order id"] for row in rows} == set(map(str, expected)), path


def test_filters_narrow_each_other(operator: Client, sale: Sale) -> None:
    order = str(sale.pay(sale.place(), status="cancelled"))
    other = str(sale.pay(sale.place()))
    listed = list_of(operator, "order", sale, session_id=sale.session_id, status="cancelled")
    assert (order in listed, other in listed) == (True, False)
    elsewhere = another_event(sale)
    listed = list_of(
        operator, "order", sale, session_id=sale.session_id, event_id=event_of(elsewhere)
    )
    assert order not in listed


@pytest.mark.parametrize("name", ["session_id", "event_id"])
@pytest.mark.parametrize("value", ["x", "0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0002"])
def test_an_unknown_session_or_event_has_no_orders(
    operator: Client, sale: Sale, name: str, value: str
) -> None:
    order = str(sale.pay(sale.place()))
    assert order in list_of(operator, "order", sale)
    assert order not in list_of(operator, "order", sale, **{name: value})


def test_somebody_elses_session_is_unknown(database_url: str, operator: Client, sale: Sale) -> None:
    sale.pay(sale.place())
    organization = uuid4()
    insert(sale.owner, "organization", id=organization, name="Other Hall")
    hashed = MD5PasswordHasher().encode(PASSWORD, "s" * 32)
    client = browser_of(add_staff(database_url, str(organization), "owner", hashed))
    text = page(client, "order/", session_id=sale.session_id)
    assert "Friday" not in text
    assert "unknown" in text
