"""The page of a hold at the front desk, in a real browser: by mouse, by keyboard alone, on a phone,
and while others act on the same hold."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import (
    DESKTOP,
    PHONE,
    TIMEOUT_MS,
    Opened,
    Visitor,
    held_by,
    skip_menu,
    tab_to,
)
from tests.browser.test_pages import log_in, picture
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Hall, Platform, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.fixture
def platform(shop: RunningServer) -> Platform:
    return new_platform(shop.base_url, shop.database_url)


@pytest.fixture
def hall(platform: Platform) -> Hall:
    return platform.hall(4, 8)


@pytest.fixture
def desks(browser: Browser, shop: RunningServer, platform: Platform) -> Iterator[list[Visitor]]:
    """Two people of the front desk, each with a browser."""
    contexts = [browser.new_context(locale="en-GB") for _ in range(2)]
    visitors = []
    for context in contexts:
        context.set_default_timeout(TIMEOUT_MS)
        visitor = Visitor(context.new_page(), shop.base_url)
        visitor.resize(DESKTOP)
        staff = add_staff(shop.database_url, platform.organization_id, "support")
        log_in(visitor, staff.username, PASSWORD)
        expect(visitor.page).to_have_url(re.compile("/admin/$"))
        visitors.append(visitor)
    yield visitors
    for context in contexts:
        context.close()


def hold_of(platform: Platform, hall: Hall, *seats: int) -> dict[str, Any]:
    body = {
        "session_id": hall.session_id,
        "lines": [{"seat_ids": [hall.seat_ids[number] for number in seats]}],
        "customer_email": "ann@example.com",
    }
    return platform.made("/api/holds", body)


def now(platform: Platform, hold: dict[str, Any]) -> dict[str, Any]:
    answer = platform.client.get(f"/api/holds/{hold['hold_id']}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def open_hold(visitor: Visitor, hold_id: str) -> None:
    visitor.visit(f"/admin/holdfast/hold/{hold_id}/change/")


def look(visitor: Visitor, tmp_path: Path, name: str) -> None:
    picture(visitor, tmp_path, name)
    visitor.assert_fits_the_width()
    visitor.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_each_action_by_mouse(
    desks: list[Visitor], platform: Platform, hall: Hall, tmp_path: Path, device: str
) -> None:
    visitor = desks[0]
    visitor.resize(DEVICES[device])
    page = visitor.page
    hold = hold_of(platform, hall, 0, 1)
    open_hold(visitor, hold["hold_id"])
    actions = page.get_by_role("navigation", name="Actions")
    expect(actions.get_by_role("link")).to_have_count(5)
    look(visitor, tmp_path, f"hold-{device}")

    actions.get_by_role("link", name="Extend").click()
    page.get_by_label("Minutes to add").fill("15")
    page.get_by_label("Reason").fill("slow bank")
    look(visitor, tmp_path, f"extend-{device}")
    page.get_by_role("button", name="Extend").click()
    expect(page.get_by_text("Extended until").first).to_be_visible()

    actions.get_by_role("link", name="Move to other seats").click()
    expect(page.get_by_text("Row 1: 3-8")).to_be_visible()
    page.get_by_label("Seats to get instead").fill("Stalls 2 4-5")
    page.get_by_label("Reason").fill("wants the aisle")
    look(visitor, tmp_path, f"move-{device}")
    page.get_by_role("button", name="Move to other seats").click()
    expect(page.get_by_text("Moved. The hold now has 2 seats in Stalls.")).to_be_visible()
    assert set(now(platform, hold)["seat_ids"]) == set(hall.row(1)[3:5])

    actions.get_by_role("link", name="Expire now").click()
    page.get_by_label("Reason").fill("test")
    look(visitor, tmp_path, f"expire-{device}")
    page.get_by_role("link", name="Cancel").click()

    actions.get_by_role("link", name="Release").click()
    expect(page.get_by_text("Frees 2 seats in Stalls immediately.")).to_be_visible()
    page.get_by_label("Reason").fill("buyer called")
    look(visitor, tmp_path, f"release-{device}")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_text("Released. Its places are free.")).to_be_visible()
    expect(page.get_by_text(re.compile("^Released by member .*: buyer called$"))).to_be_visible()
    expect(actions).to_have_count(0)
    look(visitor, tmp_path, f"released-{device}")
    assert now(platform, hold)["status"] == "cancelled"


def test_extend_and_release_with_the_keyboard_alone(
    desks: list[Visitor], platform: Platform, hall: Hall
) -> None:
    visitor = desks[0]
    page = visitor.page
    hold = hold_of(platform, hall, 0)
    open_hold(visitor, hold["hold_id"])
    skip_menu(page)
    tab_to(page.get_by_role("link", name="Extend"))
    page.keyboard.press("Enter")
    expect(page.get_by_label("Minutes to add")).to_be_visible()
    skip_menu(page)
    tab_to(page.get_by_label("Minutes to add"))
    page.keyboard.press("Control+a")
    page.keyboard.type("20")
    page.keyboard.press("Tab")
    page.keyboard.type("slow bank")
    tab_to(page.get_by_role("button", name="Extend"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Extended until").first).to_be_visible()
    assert now(platform, hold)["version"] == 2

    # After a redirect, the browser is still past the menu.
    tab_to(page.get_by_role("link", name="Release"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Frees 1 seat in Stalls immediately.")).to_be_visible()
    skip_menu(page)
    tab_to(page.get_by_label("Reason"))
    page.keyboard.type("buyer called")
    tab_to(page.get_by_role("button", name="Release"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Released. Its places are free.")).to_be_visible()
    assert now(platform, hold)["status"] == "cancelled"


def test_of_two_people_on_the_same_hold_the_second_is_told(
    desks: list[Visitor], platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    first, second = desks
    hold = hold_of(platform, hall, 0, 1)
    for visitor in desks:
        open_hold(visitor, hold["hold_id"])
        visitor.page.get_by_role("link", name="Release").click()
        visitor.page.get_by_label("Reason").fill("buyer called")
    first.page.get_by_role("button", name="Release").click()
    expect(first.page.get_by_text("Released. Its places are free.")).to_be_visible()
    second.page.get_by_role("button", name="Release").click()
    told = second.page.get_by_text("the hold is no longer as you saw it")
    expect(told).to_contain_text("released by member staff-")
    expect(told).to_contain_text("buyer called")
    look(second, tmp_path, "second")
    second.page.evaluate("document.documentElement.classList.add('dark')")
    look(second, tmp_path, "second-dark")
    assert now(platform, hold)["version"] == 2


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("Release", "Your cart is empty."),
        ("Expire now", "Your time is up. Your tickets have been released."),
    ],
)
def test_a_buyer_notices_that_the_front_desk_ended_the_hold(
    desks: list[Visitor], platform: Platform, opened: Opened, action: str, said: str
) -> None:
    tab = opened(platform.on_sale(5))
    tab.click_add(2)
    tab.expect_held(2)
    hold = held_by(platform, tab.cart())
    page = desks[0].page
    open_hold(desks[0], str(hold["hold_id"]))
    page.get_by_role("link", name=action).click()
    page.get_by_label("Reason").fill("buyer called")
    page.get_by_role("button", name=action).click()
    expect(page.get_by_text("Its places are free.")).to_be_visible()
    expect(tab.page.locator("#said")).to_have_text(said)
    desks[0].assert_no_errors()


def test_a_viewer_sees_no_actions(
    browser: Browser, shop: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    hold = hold_of(platform, hall, 0)
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), shop.base_url)
    staff = add_staff(shop.database_url, platform.organization_id, "viewer")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    open_hold(visitor, hold["hold_id"])
    expect(visitor.page.get_by_role("navigation", name="Actions")).to_have_count(0)
    look(visitor, tmp_path, "viewer")
    answer = visitor.page.goto(f"{shop.base_url}/admin/holdfast/hold/{hold['hold_id']}/release/")
    assert answer is not None
    assert answer.status == 403
    expect(visitor.page.get_by_text("Your role does not allow this")).to_be_visible()
    context.close()
