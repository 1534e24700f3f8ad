"""Cancelling tickets on the page of an order and recording refunds, in a real browser: by mouse, by
keyboard alone, on a phone, and by somebody who may not."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor, skip_menu, tab_to
from tests.browser.test_hold_desk import look
from tests.browser.test_pages import log_in
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture
def platform(server: RunningServer) -> Platform:
    return new_platform(server.base_url, server.database_url)


@pytest.fixture
def order(platform: Platform) -> dict[str, Any]:
    """Of three seats."""
    hall = platform.hall(4, 8)
    wanted = {
        "session_id": hall.session_id,
        "seat_ids": list(hall.seat_ids[:3]),
        "customer_email": "ann@example.com",
    }
    hold = platform.made("/api/holds", wanted)
    answer = platform.client.post(f"/api/holds/{hold['hold_id']}/confirm", json={})
    assert answer.status_code == 200, answer.text
    return now(platform, answer.json()["order"])


def now(platform: Platform, order: dict[str, Any]) -> dict[str, Any]:
    answer = platform.client.get(f"/api/orders/{order['order_id']}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def states(platform: Platform, order: dict[str, Any]) -> list[str]:
    return [ticket["status"] for ticket in now(platform, order)["tickets"]]


@pytest.fixture
def desk(visitor: Visitor, server: RunningServer, platform: Platform) -> Visitor:
    return logged_in(visitor, server, platform, "support")


def logged_in(visitor: Visitor, server: RunningServer, platform: Platform, role: str) -> Visitor:
    staff = add_staff(server.database_url, platform.organization_id, role)
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    return visitor


def open_order(visitor: Visitor, order: dict[str, Any]) -> None:
    visitor.visit(f"/admin/holdfast/order/{order['order_id']}/change/")


@pytest.mark.parametrize("device", DEVICES)
def test_a_ticket_and_then_the_rest_are_cancelled_by_mouse(
    desk: Visitor, platform: Platform, order: dict[str, Any], tmp_path: Path, device: str
) -> None:
    desk.resize(DEVICES[device])
    page = desk.page
    open_order(desk, order)
    page.get_by_role("link", name="Cancel order or tickets").click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    page.get_by_label("2: Stalls").check()
    page.get_by_label("Refund reference").fill("re_1")
    page.get_by_label("Reason").fill("Charles fell ill")
    look(desk, tmp_path, f"cancel-ticket-{device}")
    page.get_by_role("button", name="Cancel these tickets").click()
    expect(page.get_by_text("Cancelled 1 ticket. Refund")).to_be_visible()
    look(desk, tmp_path, f"partly-cancelled-{device}")
    assert states(platform, order) == ["valid", "void", "valid"]

    page.get_by_role("link", name="Cancel order or tickets").click()
    page.get_by_label("All tickets").check()
    page.get_by_label("Reason").fill("All of them")
    page.get_by_role("button", name="Cancel these tickets").click()
    expect(page.get_by_text("Cancelled 2 tickets. Refund")).to_be_visible()
    expect(page.get_by_role("link", name="Cancel order or tickets")).to_have_count(0)
    look(desk, tmp_path, f"cancelled-{device}")
    assert now(platform, order)["status"] == "cancelled"


@pytest.mark.parametrize("device", DEVICES)
def test_a_refund_is_recorded_by_mouse(
    desk: Visitor, platform: Platform, order: dict[str, Any], tmp_path: Path, device: str
) -> None:
    cancelled = {"reason": "The band is ill", "ticket_ids": [order["tickets"][1]["ticket_id"]]}
    path = f"/api/orders/{order['order_id']}"
    for given in (cancelled, {"reason": "All of them"}):
        answer = platform.client.post(f"{path}/cancel", json=given)
        assert answer.status_code == 200, answer.text
    desk.resize(DEVICES[device])
    page = desk.page
    open_order(desk, order)
    look(desk, tmp_path, f"unrefunded-{device}")
    page.get_by_role("link", name="Record refund").click()
    expect(page.get_by_label("2: Stalls")).to_be_checked()
    page.get_by_label("3: Stalls").uncheck()
    page.get_by_label("Refund reference").fill("re_1")
    page.get_by_label("Reason").fill("The provider refunded it")
    look(desk, tmp_path, f"record-refund-{device}")
    page.get_by_role("button", name="Record refund").click()
    expect(page.get_by_text("Recorded refund re_1 for 2 tickets.")).to_be_visible()
    expect(page.get_by_role("link", name="Record refund")).to_be_visible()
    look(desk, tmp_path, f"refunded-{device}")
    refunds = [ticket.get("refund_reference") for ticket in now(platform, order)["tickets"]]
    assert refunds == ["re_1", "re_1", None]


def test_an_order_is_cancelled_with_the_keyboard_alone(
    desk: Visitor, platform: Platform, order: dict[str, Any]
) -> None:
    page = desk.page
    open_order(desk, order)
    skip_menu(page)
    tab_to(page.get_by_role("link", name="Cancel order or tickets"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    skip_menu(page)
    tab_to(page.get_by_label("All tickets"))
    page.keyboard.press("Space")
    tab_to(page.get_by_label("Reason"))
    page.keyboard.type("Ann fell ill")
    tab_to(page.get_by_role("button", name="Cancel these tickets"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cancelled 3 tickets.")).to_be_visible()
    assert states(platform, order) == ["void"] * 3


def test_a_viewer_sees_the_tickets_and_no_button(
    visitor: Visitor, server: RunningServer, platform: Platform, order: dict[str, Any]
) -> None:
    open_order(logged_in(visitor, server, platform, "viewer"), order)
    expect(visitor.page.get_by_text("Stalls, row 1, seat 1").first).to_be_visible()
    expect(visitor.page.get_by_role("link", name="Cancel order or tickets")).to_have_count(0)
    assert states(platform, order) == ["valid"] * 3
