"""The dashboard and the exports in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor
from tests.browser.test_pages import log_in, picture
from tests.support.patience import wait_until
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture
def own(server: RunningServer) -> Platform:
    return new_platform(server.base_url, server.database_url)


@pytest.fixture
def manager(visitor: Visitor, own: Platform, server: RunningServer) -> Visitor:
    """At the dashboard of an organization."""
    staff = add_staff(server.database_url, own.organization_id, "manager")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page.get_by_role("heading", name="On sale now")).to_be_visible()
    return visitor


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_dashboard_shows_a_new_hold_by_itself(
    manager: Visitor, own: Platform, tmp_path: Path, device: str, theme: str
) -> None:
    """Without a reload, and with the keyboard still on the same link."""
    manager.resize(DEVICES[device])
    manager.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    expect(manager.page.get_by_text("No event is on sale.")).to_be_visible()
    expect(manager.page.get_by_role("link", name="Set up a sale")).to_be_visible()
    sale = own.on_sale(40)
    numbers = manager.page.locator(".dash-numbers")
    expect(numbers).to_contain_text("0 sold")
    event = manager.page.get_by_role("link", name="Concert", exact=True)
    event.focus()
    answer = own.client.post("/api/holds", json=own.hold_body(sale, 3))
    assert answer.status_code == 201, answer.text
    expect(numbers).to_contain_text("3 held")
    expect(numbers).to_contain_text("37 free")
    expect(event).to_be_focused()
    expect(manager.page.get_by_text("tickets held")).to_be_visible()
    picture(manager, tmp_path, f"dashboard-{device}-{theme}")
    manager.assert_fits_the_width()
    manager.assert_no_errors()


def test_the_time_left_counts_down(manager: Visitor, own: Platform) -> None:
    sale = own.on_sale(5, hold_policy={"ttl_seconds": 120})
    assert own.client.post("/api/holds", json=own.hold_body(sale)).status_code == 201
    left = manager.page.locator("#dash-expiring ~ .dash-list time")
    expect(left).to_have_text(re.compile(r"1:[0-5]\d"))
    first = left.inner_text()
    expect(left).not_to_have_text(first)
    assert left.inner_text() < first


def test_it_says_when_the_server_cannot_be_reached(manager: Visitor) -> None:
    said = manager.page.locator("#dash-status")
    manager.page.route("**/admin/dashboard/**", lambda route: route.abort())
    expect(said).to_contain_text("Server unreachable since")
    manager.page.unroute("**/admin/dashboard/**")
    expect(said).to_have_text("Updates by itself.")


def test_somebody_who_was_logged_out_is_told(manager: Visitor) -> None:
    manager.page.context.clear_cookies()
    expect(manager.page.get_by_text("You are no longer logged in here.")).to_be_visible()


def test_a_hidden_tab_asks_for_nothing(manager: Visitor) -> None:
    """The page thinks that it is hidden; when it is shown again, it refreshes at once."""
    refreshes = manager.page.locator("#dash-cards")
    expect(refreshes).to_have_attribute("data-updated", "1")
    manager.page.evaluate(
        "Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})"
    )
    manager.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    asked = len([url for url in manager.requested if "/admin/dashboard/" in url])
    manager.page.wait_for_function(
        "begun => performance.now() - begun > 8000", arg=manager.page.evaluate("performance.now()")
    )
    assert len([url for url in manager.requested if "/admin/dashboard/" in url]) == asked
    manager.page.evaluate("delete document.hidden")
    with manager.page.expect_response(lambda answer: "/admin/dashboard/" in answer.url):
        manager.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("device", DEVICES)
def test_a_list_is_downloaded_as_it_is_filtered(
    manager: Visitor, own: Platform, tmp_path: Path, device: str
) -> None:
    manager.resize(DEVICES[device])
    sale = own.on_sale(10)
    made = own.client.post("/api/holds", json=own.hold_body(sale, 2))
    other = own.client.post("/api/holds", json=own.hold_body(sale, 1))
    reference = made.json()["reference"]
    manager.visit(f"/admin/holdfast/hold/?q={reference}")
    link = manager.page.get_by_role("link", name="Export this list as CSV")
    expect(link).to_be_visible()
    picture(manager, tmp_path, f"holds-{device}")
    manager.assert_fits_the_width()
    with manager.page.expect_download() as found:
        link.click()
    assert re.fullmatch(r"holds-[\d-]+\.csv", found.value.suggested_filename)
    saved = tmp_path / "holds.csv"
    found.value.save_as(saved)
    text = saved.read_bytes()
    assert text.startswith(b"\xef\xbb\xbfReference,Status,Tickets,")
    assert reference.encode() in text
    assert other.json()["reference"].encode() not in text


@pytest.mark.parametrize("device", DEVICES)
def test_the_orders_of_a_session_are_downloaded(
    manager: Visitor, own: Platform, tmp_path: Path, device: str
) -> None:
    """From the page of the session by mouse, with its orders alone."""
    manager.resize(DEVICES[device])
    page = manager.page
    sales = own.on_sale(10), own.on_sale(10)
    orders = [paid(own, sale) for sale in sales]
    manager.visit(f"/admin/holdfast/session/{sales[0].session_id}/change/")
    picture(manager, tmp_path, f"session-{device}")
    page.locator("#content").get_by_role("link", name="Orders", exact=True).click()
    page.wait_for_url("**/admin/holdfast/order/?**")
    expect(page.get_by_role("link", name=orders[0]["order_id"])).to_be_visible()
    expect(page.get_by_role("link", name=orders[1]["order_id"])).to_have_count(0)
    picture(manager, tmp_path, f"orders-{device}")
    manager.assert_fits_the_width()
    page.locator("#changelist a", has_text="Filters").first.click()
    expect(page.locator("#changelist-filter").get_by_text("Friday")).to_be_visible()
    picture(manager, tmp_path, f"filters-{device}")
    page.keyboard.press("Escape")
    name, text = exported(manager, tmp_path)
    assert re.fullmatch(r"orders-[\d-]+\.csv", name)
    assert orders[0]["order_id"] in text
    assert orders[1]["order_id"] not in text
    manager.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_refused_attempts_are_downloaded(
    manager: Visitor, own: Platform, tmp_path: Path, device: str
) -> None:
    """Found with the filter of the audit log."""
    manager.resize(DEVICES[device])
    page = manager.page
    sale = own.on_sale(1)
    assert own.place(sale, user_id="ada").status_code == 201
    assert own.place(sale, user_id="grace").status_code == 409
    attempts = {"session_id": sale.session_id, "outcome": "refused"}
    audit = "/api/audit"
    wait_until(
        lambda: bool(own.client.get(audit, params=attempts).json()["data"]), "the entry is written"
    )
    organization = f"organization__id__exact={own.organization_id}"
    manager.visit(f"/admin/holdfast/auditentry/?{organization}")
    page.locator("#changelist a", has_text="Filters").first.click()
    page.locator("input[name=outcome]").fill("refused")
    picture(manager, tmp_path, f"filters-{device}")
    page.get_by_role("button", name="Apply Filters").click()
    page.wait_for_url("**outcome=refused**")
    entries = page.locator("#result_list")
    expect(entries.get_by_text("hold.create_failed")).to_be_visible()
    expect(entries.get_by_text("hold.created")).to_have_count(0)
    picture(manager, tmp_path, f"attempts-{device}")
    manager.assert_fits_the_width()
    name, text = exported(manager, tmp_path)
    assert re.fullmatch(r"audit-[\d-]+\.csv", name)
    assert "Insufficient inventory; asked for 1, available 0" in text
    assert "hold.created," not in text
    manager.assert_no_errors()


def paid(own: Platform, sale: Sale) -> dict[str, Any]:
    hold_id = own.place(sale).json()["hold_id"]
    answer = own.client.post(f"/api/holds/{hold_id}/confirm", json={})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["order"])


def exported(visitor: Visitor, tmp_path: Path) -> tuple[str, str]:
    """The name and the text of the file that the link above the list leads to."""
    with visitor.page.expect_download() as found:
        visitor.page.get_by_role("link", name="Export this list as CSV").click()
    saved = tmp_path / "list.csv"
    found.value.save_as(saved)
    return found.value.suggested_filename, saved.read_text("utf-8-sig")


def test_the_door_list_is_downloaded_from_the_session(
    manager: Visitor, own: Platform, tmp_path: Path
) -> None:
    sale = own.on_sale(10)
    made = own.client.post("/api/holds", json=own.hold_body(sale, 2))
    paid = own.client.post(f"/api/holds/{made.json()['hold_id']}/confirm", json={})
    assert paid.status_code == 200, paid.text
    manager.visit(f"/admin/holdfast/session/{sale.session_id}/change/")
    with manager.page.expect_download() as found:
        manager.page.get_by_role("link", name="Door list (CSV)").click()
    saved = tmp_path / "door.csv"
    found.value.save_as(saved)
    header, *tickets = saved.read_text("utf-8-sig").splitlines()
    assert header.startswith("Block,Row,Seat,Number,Ticket type,Booking reference,Status")
    assert len(tickets) == 2
    assert all(f"{made.json()['reference']},valid" in ticket for ticket in tickets)
