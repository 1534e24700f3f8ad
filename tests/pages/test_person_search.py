"""No list is searched by an address: the search box of all pages finds people."""

from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages.sales import EMAIL, Sale, list_of
from tests.pages.staff import hire

LISTS = ("hold", "order", "auditentry")


@pytest.mark.parametrize("model", [*LISTS, "checkout", "waitlist", "fact"])
def test_the_search_box_does_not_search_by_address(
    operator: Client, sale: Sale, model: str
) -> None:
    hold_id = sale.place(EMAIL)
    sale.pay(hold_id)
    assert str(hold_id) not in list_of(operator, model, sale, q=EMAIL)


def test_members_and_accounts_are_not_searched_by_address(
    operator: Client, sale: Sale, database_url: str
) -> None:
    staff, tag = hire(database_url, sale, "support"), uuid4().hex
    users = get_user_model().objects.filter(pk=staff.user_id)
    users.update(email=f"{tag}@example.com")
    for path in ("/admin/holdfast/member/", "/admin/auth/user/"):
        for term, is_found in ((tag, False), (staff.username, True)):
            text = operator.get(path, {"q": term}).content.decode()
            assert ("1 result" in text) is is_found, (path, term)


@pytest.mark.parametrize("lookup", ["email", "customer_email", "email_key__startswith"])
@pytest.mark.parametrize("model", LISTS)
def test_an_address_in_a_url_is_refused(
    operator: Client, sale: Sale, model: str, lookup: str
) -> None:
    answer = operator.get(f"/admin/holdfast/{model}/", {lookup: "ada@example.com"})
    assert answer.status_code == 400
