"""Each link of the dashboard leads to a page that shows what its card counts, and only of its own
organization."""

import re
from datetime import UTC, datetime
from html import unescape
from uuid import uuid4

import pytest
from django.test import Client
from uuid_utils.compat import uuid7

from holdfast.domain.access.roles import Role
from tests.pages.sales import Sale, event_of, insert, new_sale
from tests.pages.staff import browser_of, hire
from tests.pages.test_dashboard import refuse, uncached, words
from tests.pages.test_history import badges, mark_all_relayed

__all__ = ["uncached"]


@pytest.fixture
def neighbour(sale: Sale) -> Sale:
    """With the same names, so that a list without its filter shows twice as many."""
    return new_sale(sale.owner)


@pytest.fixture
def client(sale: Sale, database_url: str) -> Client:
    """Of a member."""
    return browser_of(hire(database_url, sale, "support"))


def links(client: Client, sale: Sale, card: str) -> list[str]:
    """The addresses in a card, in order."""
    asked = {"organization": str(sale.organization_id)}
    text = client.get("/admin/dashboard/", asked).content.decode()
    (found,) = re.findall(rf'<section[^>]*="dash-{card}">(.*?)</section>', text, re.DOTALL)
    return [unescape(address) for address in re.findall(r'href="([^"]*)"', found)]


def page_at(client: Client, address: str) -> str:
    """Not after a redirect, as to the list without its filter."""
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.headers)
    return answer.content.decode()


def rows_at(client: Client, address: str, model: str) -> set[str]:
    """The ids of the rows that a list links to."""
    return set(re.findall(rf"/admin/holdfast/{model}/([^/]+)/change/", page_at(client, address)))


def of_own(sale: Sale, model: str, **lookups: str) -> str:
    query = "".join(f"&{name}={value}" for name, value in lookups.items())
    return f"/admin/holdfast/{model}/?organization__id__exact={sale.organization_id}{query}"


def wait_in_line(sale: Sale, length: int) -> None:
    own = {"organization_id": sale.organization_id, "session_id": sale.session_id}
    queue = {"waiting": length, "passes": 0, "served": 0, "opened_at": datetime.now(UTC)}
    insert(sale.owner, "waiting_line", **own, **queue, id=uuid7(), wants=[uuid4()])


def test_on_sale_now_leads_to_the_events_and_their_sessions(
    operator: Client, sale: Sale, neighbour: Sale
) -> None:
    events, event, sessions = links(operator, sale, "on-sale")
    assert events == of_own(sale, "event")
    assert rows_at(operator, events, "event") == {str(event_of(sale))}
    assert event == f"/admin/holdfast/event/{event_of(sale)}/change/"
    assert "Winter concerts" in page_at(operator, event)
    assert sessions == of_own(sale, "session", event_id=str(event_of(sale)))
    assert rows_at(operator, sessions, "session") == {str(sale.session_id)}


def test_today_leads_to_the_orders_and_holds(operator: Client, sale: Sale, neighbour: Sale) -> None:
    neighbour.pay(neighbour.place())
    paid = sale.place()
    order_id, held = sale.pay(paid), sale.place()
    orders, holds = links(operator, sale, "today")
    assert (orders, holds) == (of_own(sale, "order"), of_own(sale, "hold"))
    assert rows_at(operator, orders, "order") == {str(order_id)}
    assert rows_at(operator, holds, "hold") == {str(paid), str(held)}


def test_expiring_soon_leads_to_active_holds(operator: Client, sale: Sale, neighbour: Sale) -> None:
    neighbour.place(expires_in=60)
    sale.pay(sale.place())
    soon = sale.place(expires_in=60, reference="SOONER01")
    active, hold = links(operator, sale, "expiring")
    assert active == of_own(sale, "hold", status="active")
    assert rows_at(operator, active, "hold") == {str(soon)}
    address = f"/admin/holdfast/hold/{soon}/change/?organization={sale.organization_id}"
    assert hold == address
    assert "SOONER01" in page_at(operator, hold)


@pytest.mark.usefixtures("engine")
def test_waitlists_lead_to_the_parties(operator: Client, sale: Sale, neighbour: Sale) -> None:
    for each in (sale, neighbour):
        wait_in_line(each, 7)
    waitlists, waitlist = links(operator, sale, "waiting")
    assert waitlists == of_own(sale, "waitlist")
    assert rows_at(operator, waitlists, "waitlist") == {str(sale.session_id)}
    assert waitlist == f"/admin/holdfast/waitlist/{sale.session_id}/change/"
    assert re.search(r"Waiting 7 ", words(page_at(operator, waitlist)))


def test_refusals_lead_to_the_attempts_of_the_last_hour(
    operator: Client, sale: Sale, neighbour: Sale
) -> None:
    refuse(neighbour, "hold_not_found")
    sale.place()
    refuse(sale, "hold_not_found")
    refuse(sale, "insufficient_inventory")
    refuse(sale, "hold_not_found", minutes_ago=61)
    refusals, *reasons = links(operator, sale, "refusals")
    assert refusals.startswith(of_own(sale, "auditentry", outcome="refused", at_from_0=""))
    assert len(rows_at(operator, refusals, "auditentry")) == 2
    assert len(reasons) == 2
    for reason, code in zip(reasons, ("hold_not_found", "insufficient_inventory"), strict=True):
        assert reason.startswith(of_own(sale, "auditentry", error=code, at_from_0=""))
        assert len(rows_at(operator, reason, "auditentry")) == 1


@pytest.mark.usefixtures("engine")
def test_duties_lead_to_what_they_work_on(
    client: Client, operator: Client, sale: Sale, neighbour: Sale
) -> None:
    """Members see their own organization, operators every one, as the numbers do."""
    holds = {str(each.place(expires_in=3600)) for each in (sale, neighbour)}
    mine = str(sale.place(expires_in=3600))
    for each in (sale, neighbour):
        wait_in_line(each, 7)
    own = links(client, sale, "duties")
    assert own == [of_own(sale, model) for model in ("hold", "waitlist", "fact")]
    reaper, promoter, relay = own
    assert mine in rows_at(client, reaper, "hold")
    assert len(rows_at(client, reaper, "hold") & holds) == 1
    assert rows_at(client, promoter, "waitlist") == {str(sale.session_id)}
    mark_all_relayed(sale)
    sale.place()
    assert badges(page_at(client, relay)) == ["waiting", "relayed", "relayed"]

    everywhere = links(operator, sale, "duties")
    assert everywhere == [f"/admin/holdfast/{model}/" for model in ("hold", "waitlist", "fact")]
    for address in everywhere:
        page_at(operator, address)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("role", list(Role))
def test_nobody_is_sent_to_a_page_that_they_may_not_see(
    sale: Sale, database_url: str, role: Role
) -> None:
    sale.pay(sale.place())
    sale.place(expires_in=60)
    wait_in_line(sale, 7)
    refuse(sale, "hold_not_found")
    browser = browser_of(hire(database_url, sale, role.value))
    asked = {"organization": str(sale.organization_id)}
    text = browser.get("/admin/dashboard/", asked).content.decode()
    addresses = {unescape(each) for each in re.findall(r'href="([^"]*)"', text)}
    assert len(addresses) > 8
    for address in addresses:
        page_at(browser, address)
