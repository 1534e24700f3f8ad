"""People are found by e-mail address or user id. The address is posted, and never in a URL."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client
from django.test.utils import override_settings

from holdfast.adapters.postgres.audit.reader import PostgresAudit
from holdfast.adapters.postgres.holds.reader import Database
from holdfast.domain.holder_hash import NO_HASHES, HolderHashes
from holdfast.domain.ids import OrganizationId
from holdfast.domain.values import EmailAddress
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.ports.privacy.addresses import Addresses
from tests.pages.sales import EMAIL, Sale, list_of, new_sale, page
from tests.pages.staff import browser_of, hire

OLD, NEW = "an old secret of the installation", "a secret of the installation, 32"
HASHES = HolderHashes(NEW, OLD)
LISTS = ("hold", "order", "auditentry")


@pytest.fixture(autouse=True)
def hashes(sale: Sale, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    reader = PostgresAudit(database, HASHES)
    monkeypatch.setattr(AdminConfig.services, "audit", reader, raising=False)
    with override_settings(HOLDFAST_ADDRESSES=Addresses(hashes=HASHES)):
        yield


def key_of(sale: Sale, email: str, hashes: HolderHashes = HASHES) -> str:
    return hashes.address_key(OrganizationId(sale.organization_id).int, email)


def bought(sale: Sale, email: str, hashes: HolderHashes = HASHES, **holder: str) -> dict[str, str]:
    """A paid hold of this person, by what each list shows of it."""
    of_person: dict[str, Any] = {"email_key": key_of(sale, email, hashes), **holder}
    hold = sale.place(email, **of_person)
    order = sale.pay(hold, **of_person)
    return {"hold": str(hold), "order": str(order), "auditentry": str(hold)}


def find(
    browser: Client, model: str, person: str, organization_id: UUID | str | None
) -> HttpResponse:
    posted = {"person": person, "organization": str(organization_id or "")}
    answer = browser.post(f"/admin/holdfast/{model}/", posted)
    assert isinstance(answer, HttpResponse)
    return answer


def found(browser: Client, model: str, person: str, sale: Sale) -> str:
    """The page that the form leads to."""
    answer = find(browser, model, person, sale.organization_id)
    assert answer.status_code == 302, answer.content
    shown = browser.get(answer.headers["Location"])
    assert shown.status_code == 200, shown.content
    return str(shown.content.decode())


@pytest.mark.parametrize("model", LISTS)
def test_a_person_is_found_by_address(operator: Client, sale: Sale, model: str) -> None:
    ada, other = bought(sale, "ada@example.com")[model], bought(sale, EMAIL)[model]
    for address in ("ada@example.com", " ADA@example.com "):
        text = found(operator, model, address, sale)
        assert (ada in text, other in text) == (True, False)
    assert ada not in found(operator, model, "da@example.com", sale), "only whole addresses"


@pytest.mark.parametrize("model", LISTS)
def test_a_person_is_found_by_user_id(operator: Client, sale: Sale, model: str) -> None:
    ada = bought(sale, "ada@example.com", user_id="u 1")[model]
    other = bought(sale, EMAIL, user_id="u 12")[model]
    text = found(operator, model, "u 1", sale)
    assert (ada in text, other in text) == (True, False)


@pytest.mark.parametrize("model", [*LISTS, "waitlist"])
def test_the_url_has_the_hash_alone(operator: Client, sale: Sale, model: str) -> None:
    answer = find(operator, model, "ada@example.com", sale.organization_id)
    url = answer.headers["Location"]
    assert "ada" not in url
    assert "@" not in url
    query = parse_qs(urlsplit(url).query)
    assert query.pop("organization__id__exact") == [str(sale.organization_id)]
    query.pop("status", None)
    ((hashes,),) = query.values()
    own = OrganizationId(sale.organization_id)
    keyed = HASHES.address_keys(own, EmailAddress("ada@example.com"))[:2]
    assert hashes.split(",") == keyed, "without a key, anybody could test guessed addresses"


@pytest.mark.parametrize("model", LISTS)
def test_rows_of_an_older_secret_are_found(operator: Client, sale: Sale, model: str) -> None:
    ada = bought(sale, "ada@example.com", HolderHashes(OLD))[model]
    assert ada in found(operator, model, "ada@example.com", sale)


def test_people_are_found_without_a_secret(operator: Client, sale: Sale) -> None:
    with override_settings(HOLDFAST_ADDRESSES=Addresses(hashes=NO_HASHES)):
        ada = bought(sale, "ada@example.com", NO_HASHES)["hold"]
        assert ada in found(operator, "hold", "ada@example.com", sale)


def test_the_waitlist_shows_the_persons_waiting_holds(operator: Client, sale: Sale) -> None:
    key = key_of(sale, "ada@example.com")
    waits = sale.place("ada@example.com", email_key=key, status="waiting", held_at=None)
    holds = sale.place("ada@example.com", email_key=key)
    text = found(operator, "waitlist", "ada@example.com", sale)
    assert (str(waits) in text, str(holds) in text) == (True, False)


@pytest.mark.parametrize("model", LISTS)
def test_a_search_can_be_narrowed_and_ended(operator: Client, sale: Sale, model: str) -> None:
    bought(sale, "ada@example.com")
    text = found(operator, model, "ada@example.com", sale)
    assert f'href="?organization__id__exact={sale.organization_id}"' in text
    assert "Show everybody" in text
    assert "Show everybody" not in list_of(operator, model, sale)


@pytest.mark.parametrize("person", ["", " ", "ada@", "id of ada@example.com", "x" * 256])
def test_what_is_neither_address_nor_user_id_is_refused(
    operator: Client, sale: Sale, person: str
) -> None:
    answer = find(operator, "hold", person, sale.organization_id)
    assert answer.headers["Location"] == "/admin/holdfast/hold/"
    text = page(operator, "hold/")
    assert "Enter a whole e-mail address or user id" in text
    assert "ada@" not in text


def test_a_person_is_found_within_one_organization(
    operator: Client, sale: Sale, database_url: str
) -> None:
    answer = find(operator, "hold", "ada@example.com", None)
    assert answer.headers["Location"] == "/admin/holdfast/hold/"
    assert "Choose an organization" in page(operator, "hold/")
    member = browser_of(hire(database_url, sale, "support"))
    assert find(member, "hold", "u1", sale.organization_id).status_code == 302
    assert find(member, "hold", "u1", new_sale(sale.owner).organization_id).status_code == 403


def test_the_form_offers_only_own_organizations(
    operator: Client, sale: Sale, database_url: str
) -> None:
    other = new_sale(sale.owner).organization_id
    member = page(browser_of(hire(database_url, sale, "support")), "hold/")
    assert f'name="organization" value="{sale.organization_id}"' in member
    assert str(other) not in member
    # Other tests have organizations too, and not all of them fit into the list.
    assert page(operator, "hold/").count("<option value=") > 1
    assert f'name="organization" value="{sale.organization_id}"' in list_of(operator, "hold", sale)


def test_a_cross_site_search_is_refused(operator: Client, sale: Sale) -> None:
    strict = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert find(strict, "hold", "ada@example.com", sale.organization_id).status_code == 403


@pytest.mark.parametrize("model", [*LISTS, "checkout", "waitlist", "fact"])
def test_the_search_box_does_not_search_by_address(
    operator: Client, sale: Sale, model: str
) -> None:
    ada = bought(sale, "ada@example.com")["hold"]
    assert ada not in list_of(operator, model, sale, q="ada@example.com")


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


def test_no_list_is_searched_or_filtered_by_an_address(operator: Client) -> None:
    for site in admin.site._registry.values():
        named = [*site.search_fields, *map(str, site.list_filter)]
        named += [getattr(each, "parameter_name", "") for each in site.list_filter]
        assert not [name for name in named if "email" in name and "email_key" not in name], site
