"""The front desk finds a buyer's booking, and tells her why she was refused: by mouse, by keyboard
alone, and on a phone."""

import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor
from tests.browser.test_pages import log_in, picture
from tests.support.patience import wait_until
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, Sale
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture
def desk(visitor: Visitor, server: RunningServer, platform: Platform) -> Visitor:
    """Somebody of the support staff, logged in."""
    staff = add_staff(server.database_url, platform.organization_id, "support")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    return visitor


def search(page: Page, text: str) -> None:
    """By mouse."""
    page.locator("#find-box").click()
    page.locator("#find-box").fill(text)
    page.locator(".find-box button").click()


def look(desk: Visitor, tmp_path: Path, name: str) -> None:
    """In both themes."""
    for theme in ("light", "dark"):
        desk.page.evaluate(f"document.documentElement.className = '{theme}'")
        picture(desk, tmp_path, f"{name}-{theme}")
    desk.assert_fits_the_width()


def refused_buyer(platform: Platform, sale: Sale) -> str:
    """She asks for too many, then for fewer, and pays. Returns her address."""
    ann = f"ann-{uuid4().hex[:8]}@example.com"
    assert platform.place(sale, 4, customer_email=ann).status_code == 409
    hold = platform.place(sale, 2, customer_email=ann).json()
    platform.made("/api/checkouts", {"hold_ids": [hold["hold_id"]]})
    return ann


@pytest.mark.parametrize("device", DEVICES)
def test_every_kind_is_found(
    desk: Visitor, platform: Platform, tmp_path: Path, device: str
) -> None:
    desk.resize(DEVICES[device])
    sale, hall = platform.on_sale(9), platform.hall(2, 4)
    ann = f"ann-{uuid4().hex[:8]}@example.com"
    hold = platform.place(sale, 2, customer_email=ann).json()
    paid = platform.place(sale, 1, customer_email=ann, user_id="buyer 7").json()
    checkout = platform.made("/api/checkouts", {"hold_ids": [paid["hold_id"]]})
    url = f"/api/checkouts/{checkout['checkout_id']}/complete"
    order = platform.made(url, {"payment_reference": "pi_77"})
    page = desk.page
    search(page, hold["reference"].lower())
    expect(page).to_have_url(re.compile(f"/hold/{hold['hold_id']}/change/"))
    look(desk, tmp_path, f"hold-{device}")
    for text in (order["order_id"], order["tickets"][0]["code"], "pi_77"):
        search(page, text)
        expect(page).to_have_url(re.compile(f"/order/{order['order_id']}/change/"))
    search(page, "Stalls 2 3")
    expect(page).to_have_url(re.compile(f"/seat/{hall.row(1)[2]}/change/"))
    search(page, ann)
    expect(page).to_have_url(re.compile("/admin/find/person/"))
    expect(page.get_by_role("link", name=hold["reference"])).to_be_visible()
    look(desk, tmp_path, f"person-{device}")
    search(page, "buyer 7")
    expect(page).to_have_url(re.compile("/admin/find/person/"))
    search(page, "nobody@example.com")
    expect(page.get_by_text("Nothing found for “n***@example.com”")).to_be_visible()
    look(desk, tmp_path, f"nothing-{device}")
    secrets = ("example.com", "%40", "nobody", order["tickets"][0]["code"])
    assert not [url for url in desk.requested if any(text in url for text in secrets)]
    desk.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_results_are_still_there_after_going_back(
    desk: Visitor, platform: Platform, tmp_path: Path, device: str
) -> None:
    desk.resize(DEVICES[device])
    halls = [platform.hall(2, 4) for _ in range(2)]
    page = desk.page
    search(page, "2 3")
    seats = page.get_by_role("link", name="Stalls, row 2, seat 3")
    expect(seats).to_have_count(2)
    look(desk, tmp_path, f"results-{device}")
    seats.first.click()
    expect(page).to_have_url(re.compile(f"/seat/({halls[0].row(1)[2]}|{halls[1].row(1)[2]})/"))
    page.go_back()
    expect(seats).to_have_count(2)
    page.reload()
    expect(seats).to_have_count(2)
    desk.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_the_desk_sees_why_she_was_refused(
    desk: Visitor, platform: Platform, tmp_path: Path, device: str
) -> None:
    desk.resize(DEVICES[device])
    sale = platform.on_sale(3)
    ann = refused_buyer(platform, sale)
    page = desk.page
    search(page, ann)
    page.get_by_role("link", name="Refused attempts").click()
    attempt = page.locator(".attempts li")
    wait_until(lambda: page.reload() is not None and attempt.count() == 1, "the attempt is shown")
    expect(attempt).to_contain_text("Asked for 4 \N{MULTIPLICATION SIGN} Type 0, 3 were left.")
    expect(attempt).to_contain_text("Got 2 tickets at")
    look(desk, tmp_path, f"attempts-{device}")
    desk.visit(f"/admin/holdfast/session/{sale.session_id}/change/")
    page.get_by_role("link", name="Refused attempts").click()
    expect(attempt).to_contain_text("3 were left.")
    look(desk, tmp_path, f"session-attempts-{device}")
    page.get_by_role("link", name="Only this customer").click()
    expect(page.get_by_role("link", name="Show everybody")).to_be_visible()
    assert not [url for url in desk.requested if "example.com" in url or "%40" in url]
    desk.assert_no_errors()


def test_the_keyboard_alone_finds_the_reason(desk: Visitor, platform: Platform) -> None:
    ann = refused_buyer(platform, platform.on_sale(3))
    page, keyboard = desk.page, desk.page.keyboard
    keyboard.press("/")
    expect(page.locator("#find-box")).to_be_focused()
    keyboard.type(ann)
    keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/admin/find/person/"))
    for _ in range(100):
        keyboard.press("Tab")
        if "Refused" in str(page.evaluate("document.activeElement.textContent")):
            break
    keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/admin/find/attempts/"))
    expect(page.get_by_role("heading", name="Refused attempts")).to_be_visible()
    desk.assert_no_errors()


def test_a_slash_can_be_typed_into_a_field(desk: Visitor) -> None:
    desk.visit("/admin/holdfast/hold/")
    field = desk.page.locator("#searchbar")
    field.focus()
    desk.page.keyboard.type("a/b")
    expect(field).to_have_value("a/b")
    expect(field).to_be_focused()
