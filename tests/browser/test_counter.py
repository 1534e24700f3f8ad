"""Two tickets sold to a caller, in a real browser: by mouse, by keyboard alone, and on a phone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, TIMEOUT_MS, Visitor, skip_menu, tab_to
from tests.browser.test_hold_desk import DEVICES, look
from tests.browser.test_pages import log_in
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Hall, Platform, new_platform
from tests.support.servers import RunningServer

# From the top of a page, through the menu.
TABS_WITH_MENU_MAX = 100


@pytest.fixture
def platform(server: RunningServer) -> Platform:
    return new_platform(server.base_url, server.database_url)


@pytest.fixture
def hall(platform: Platform) -> Hall:
    return platform.hall(4, 8)


@pytest.fixture
def counter(browser: Browser, server: RunningServer, platform: Platform) -> Iterator[Visitor]:
    """A person of support, at the telephone."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), server.base_url)
    visitor.resize(DESKTOP)
    staff = add_staff(server.database_url, platform.organization_id, "support")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    yield visitor
    context.close()


def open_session(visitor: Visitor, hall: Hall) -> Page:
    visitor.visit(f"/admin/holdfast/session/{hall.session_id}/change/")
    return visitor.page


def press(control: Locator) -> None:
    tab_to(control, TABS_WITH_MENU_MAX)
    control.page.keyboard.press("Enter")


def write(field: Locator, text: str) -> None:
    tab_to(field)
    field.page.keyboard.type(text)


def sold(platform: Platform) -> tuple[str, ...]:
    """The seats of the only order."""
    (order,) = platform.client.get("/api/orders").json()["data"]
    assert order["payment_reference"] == "receipt 17"
    return tuple(ticket["seat"]["seat_id"] for ticket in order["tickets"])


@pytest.mark.parametrize("device", DEVICES)
def test_two_tickets_are_sold_to_a_caller_by_mouse(
    counter: Visitor, platform: Platform, hall: Hall, tmp_path: Path, device: str
) -> None:
    taken = {"session_id": hall.session_id, "seat_ids": [hall.row(1)[3]], "user_id": "bob"}
    assert platform.client.post("/api/holds", json=taken).status_code == 201
    counter.resize(DEVICES[device])
    page = open_session(counter, hall)
    look(counter, tmp_path, f"session-{device}")
    page.get_by_role("link", name="Hold for a customer").click()
    page.get_by_label("Seats by name").fill("Stalls 2 4, 5")
    page.get_by_label("E-mail address of the customer").fill("ann@example.com")
    page.get_by_label("Reason").fill("on the phone")
    look(counter, tmp_path, f"form-{device}")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Holds 2 seats (Stalls 2 4, 5) for a***@example.com")).to_be_visible()
    look(counter, tmp_path, f"consequence-{device}")
    page.get_by_role("button", name="Hold 2 tickets").click()
    refused = page.get_by_text("Seat Stalls 2 4 was held by somebody else until")
    expect(refused).to_be_visible()
    look(counter, tmp_path, f"refused-{device}")
    page.get_by_label("Seats by name").fill("Stalls 2 5, 6")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_label("Seats by name")).to_have_value("Stalls 2 5, 6")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Hold 2 tickets").click()
    expect(page.get_by_text("Held until")).to_be_visible()
    expect(page.get_by_text(re.compile("^Placed by member .* at the desk: on the"))).to_be_visible()
    look(counter, tmp_path, f"held-{device}")

    page.get_by_role("link", name="Record payment").click()
    expect(page.get_by_text("Sells 2 tickets for")).to_be_visible()
    page.get_by_label("Payment reference").fill("receipt 17")
    page.get_by_label("Reason").fill("paid by card")
    look(counter, tmp_path, f"payment-{device}")
    page.get_by_role("button", name="Record payment").click()
    expect(page.get_by_text("Sold. The order has 2 tickets.")).to_be_visible()
    expect(page.get_by_role("link", name="Stalls, row 2, seat 5")).to_be_visible()
    look(counter, tmp_path, f"order-{device}")
    assert sold(platform) == hall.row(1)[4:6]


def test_two_tickets_are_sold_to_a_caller_with_the_keyboard_alone(
    counter: Visitor, platform: Platform, hall: Hall
) -> None:
    page = open_session(counter, hall)
    press(page.get_by_role("link", name="Hold for a customer"))
    seats = page.get_by_label("Seats by name")
    expect(seats).to_be_visible()  # the first Tab shall not reach the page before
    skip_menu(page)
    write(seats, "Stalls 1 1-2")
    write(page.locator("[name=email]"), "ann@example.com")
    write(page.locator("[name=reason]"), "on the phone")
    press(page.get_by_role("button", name="Continue"))
    expect(page.get_by_text("Holds 2 seats (Stalls 1 1, 2)")).to_be_visible()
    press(page.get_by_role("button", name="Hold 2 tickets"))
    expect(page.get_by_text("Held until")).to_be_visible()
    press(page.get_by_role("link", name="Record payment"))
    expect(page.get_by_text("Sells 2 tickets for")).to_be_visible()
    skip_menu(page)
    write(page.locator("[name=payment_reference]"), "receipt 17")
    write(page.locator("[name=reason]"), "paid by card")
    press(page.get_by_role("button", name="Record payment"))
    expect(page.get_by_text("Sold. The order has 2 tickets.")).to_be_visible()
    assert sold(platform) == hall.row(0)[:2]
    counter.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_seats_are_picked_in_the_hall(
    counter: Visitor, platform: Platform, hall: Hall, tmp_path: Path, device: str
) -> None:
    counter.resize(DEVICES[device])
    taken = {"session_id": hall.session_id, "seat_ids": [hall.row(1)[3]], "user_id": "bob"}
    assert platform.client.post("/api/holds", json=taken).status_code == 201
    counter.visit(f"/admin/holdfast/session/{hall.session_id}/hall/")
    page = counter.page
    button = page.get_by_role("button", name="Hold for a customer")
    expect(button).to_be_disabled()
    for number in (4, 5, 6):
        page.get_by_role("option", name=re.compile(f"^Stalls, row 2, seat {number},")).click()
    expect(button).to_be_disabled()
    page.get_by_role("option", name=re.compile("^Stalls, row 2, seat 4,")).click()
    expect(button).to_be_enabled()
    look(counter, tmp_path, f"hall-{device}")
    button.click()
    expect(page.get_by_label("Seats by name")).to_have_value("Stalls 2 5, 6")
    counter.assert_no_errors()


def test_a_double_click_makes_one_hold(counter: Visitor, platform: Platform, hall: Hall) -> None:
    page = open_session(counter, hall)
    page.get_by_role("link", name="Hold for a customer").click()
    page.get_by_label("Seats by name").fill("Stalls 1 1")
    page.get_by_label("User id of the customer").fill("caller-7")
    page.get_by_label("Reason").fill("on the phone")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Hold 1 ticket").dblclick()
    expect(page.get_by_text("Held until")).to_be_visible()
    page.reload()
    holds = platform.client.get("/api/holds", params={"session_id": hall.session_id}).json()
    assert len(holds["data"]) == 1


def test_a_sold_out_caller_joins_the_waitlist_if_asked(
    counter: Visitor, platform: Platform, tmp_path: Path
) -> None:
    sale = platform.on_sale(2, hold_policy={"waitlist": True})
    assert platform.place(sale, 2, user_id="bob").status_code == 201
    counter.resize(PHONE)
    counter.visit(f"/admin/holdfast/session/{sale.session_id}/hold/")
    page = counter.page
    page.get_by_label("Type 0").fill("1")
    page.get_by_label("User id of the customer").fill("caller-7")
    page.get_by_label("Reason").fill("on the phone")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Hold 1 ticket").click()
    expect(page.get_by_text("but it was sold out")).to_be_visible()
    page.get_by_label("Join the waitlist if there is nothing left").check()
    look(counter, tmp_path, "waitlist-phone")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Hold 1 ticket").click()
    expect(page.get_by_text("There is nothing left. On the waitlist until")).to_be_visible()
