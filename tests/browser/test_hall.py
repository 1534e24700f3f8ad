"""The hall in the admin in a real browser: blocking by mouse and by keyboard alone, seeing who has
a seat, filters, a phone, two operators, a viewer, and a server that cannot be reached."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, TIMEOUT_MS, Visitor, skip_menu, tab_to
from tests.browser.test_pages import DEVICES, log_in, picture
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Hall, Platform
from tests.support.servers import RunningServer


@pytest.fixture
def colleague(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    """Another person with their own browser."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), server.base_url)
    visitor.resize(DESKTOP)
    yield visitor
    context.close()


@pytest.fixture
def hall(platform: Platform) -> Hall:
    return platform.hall(6, 10)


def enter(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, role: str = "support"
) -> str:
    """Log in and open the hall. Returns the person's name."""
    staff = add_staff(server.database_url, platform.organization_id, role)
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    open_hall(visitor, hall)
    return staff.username


def open_hall(visitor: Visitor, hall: Hall) -> None:
    visitor.visit(f"/admin/holdfast/session/{hall.session_id}/hall/")
    expect(visitor.page.get_by_role("option")).to_have_count(len(hall.seat_ids))


def seat(page: Page, row: int, number: int, state: str = "") -> Locator:
    name = re.compile(f"^Stalls, row {row}, seat {number}, {state}")
    return page.get_by_role("option", name=name)


def chosen(page: Page) -> Locator:
    return page.locator("#hall-chosen")


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, start: Locator, end: Locator) -> None:
    """From the upper left of one seat to the lower right of another."""
    (left, top), (right, bottom) = middle(start), middle(end)
    page.mouse.move(left - 8, top - 8)
    page.mouse.down()
    page.mouse.move(right + 8, bottom + 8, steps=5)
    page.mouse.up()


def hold(platform: Platform, hall: Hall, *seat_ids: str) -> dict[str, object]:
    wanted = {"session_id": hall.session_id, "seat_ids": seat_ids}
    return platform.made("/api/holds", wanted | {"customer_email": "bartholomew@example.com"})


def submit(page: Page, button: str, reason: str) -> None:
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=button, exact=True).click()


def test_seats_are_blocked_by_dragging_over_them(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    held = hold(platform, hall, *hall.row(1)[2:4])
    enter(visitor, server, platform, hall)
    page = visitor.page
    drag(page, seat(page, 1, 3), seat(page, 2, 5))
    expect(chosen(page)).to_have_text("6 seats selected: Stalls 1 3, 4, 5; 2 3, 4, 5.")
    picture(visitor, tmp_path, "dragged")
    page.get_by_role("button", name="Block 6 seats").click()
    expect(page.get_by_text("Takes 6 seats off sale: Stalls 1 3, 4, 5; 2 3, 4, 5.")).to_be_visible()
    ended = f"Ends 1 hold at once ({held['reference']}), because of Stalls 2 3, 4."
    expect(page.get_by_text(ended)).to_be_visible()
    picture(visitor, tmp_path, "consequence")
    visitor.assert_fits_the_width()
    submit(page, "Block", "Camera position")
    expect(page.get_by_text("Blocked 6 seats: Stalls 1 3, 4, 5; 2 3, 4, 5.")).to_be_visible()
    expect(page.get_by_role("option", name=re.compile(", blocked,"))).to_have_count(6)
    expect(page.locator("[data-count=blocked]")).to_have_text("6")
    visitor.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_a_seat_is_unblocked_by_mouse(
    visitor: Visitor,
    server: RunningServer,
    platform: Platform,
    hall: Hall,
    device: str,
) -> None:
    block = f"/api/sessions/{hall.session_id}/seats/block"
    answer = platform.client.post(block, json={"reason": "Camera", "seat_ids": hall.row(2)[4:6]})
    assert answer.status_code == 200, answer.text
    visitor.resize(DEVICES[device])
    enter(visitor, server, platform, hall)
    page = visitor.page
    seat(page, 3, 5, "blocked").scroll_into_view_if_needed()
    page.mouse.click(*middle(seat(page, 3, 5, "blocked")))
    expect(chosen(page)).to_have_text("1 seat selected: Stalls 3 5.")
    page.get_by_role("button", name="Unblock 1 seat").click()
    expect(page.get_by_text("Puts 1 seat back on sale: Stalls 3 5.")).to_be_visible()
    visitor.assert_fits_the_width()
    submit(page, "Unblock", "Camera moved")
    expect(page.get_by_text("Unblocked 1 seat: Stalls 3 5.")).to_be_visible()
    expect(seat(page, 3, 5, "available")).to_be_attached()
    expect(page.get_by_role("option", name=re.compile(", blocked,"))).to_have_count(1)
    hold(platform, hall, hall.row(2)[4])
    visitor.assert_no_errors()


def test_seats_are_unblocked_by_keyboard_alone(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall
) -> None:
    block = f"/api/sessions/{hall.session_id}/seats/block"
    seats = [*hall.row(1)[3:6], hall.row(2)[5]]
    answer = platform.client.post(block, json={"reason": "Camera", "seat_ids": seats})
    assert answer.status_code == 200, answer.text
    enter(visitor, server, platform, hall)
    page = visitor.page
    press = page.keyboard.press
    skip_menu(page)
    tab_to(seat(page, 1, 1))
    expect(page.locator(".hall-ring")).to_be_visible()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        press(key)
    expect(seat(page, 2, 4, "blocked")).to_be_focused()
    expect(page.locator("#hall-pointed")).to_contain_text("Stalls, row 2, seat 4, blocked")
    for key in ("Space", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown"):
        press(key)
    expect(chosen(page)).to_have_text("4 seats selected: Stalls 2 4, 5, 6; 3 6.")
    press("Escape")
    expect(chosen(page)).to_have_text("No seat selected.")
    press("Shift+Space")
    expect(chosen(page)).to_contain_text("10 seats selected")
    for key in ("Escape", "ArrowUp", "Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowDown"):
        press(key)
    expect(chosen(page)).to_have_text("4 seats selected: Stalls 2 4, 5, 6; 3 4.")
    press("Tab")
    expect(page.get_by_role("button", name="Block 1 seat")).to_be_focused()
    press("Tab")
    expect(page.get_by_role("button", name="Unblock 3 seats")).to_be_focused()
    press("Enter")
    expect(page.get_by_text("Puts 3 seats back on sale: Stalls 2 4, 5, 6.")).to_be_visible()
    skip_menu(page)
    tab_to(page.get_by_label("Reason"))
    page.keyboard.type("Camera moved")
    press("Tab")
    press("Enter")
    expect(page.get_by_text("Unblocked 3 seats: Stalls 2 4, 5, 6.")).to_be_visible()
    expect(page.get_by_role("option", name=re.compile(", blocked,"))).to_have_count(1)
    visitor.assert_no_errors()


def test_who_has_this_seat(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    held = hold(platform, hall, *hall.row(2)[4:6])
    enter(visitor, server, platform, hall)
    page = visitor.page
    for name, size in DEVICES.items():
        visitor.resize(size)
        open_hall(visitor, hall)
        page.mouse.click(*middle(seat(page, 3, 5, "held until")))
        details = page.locator("#hall-details")
        for shown in ("Stalls, row 3, seat 5", "Held", "b***@example.com", "45.00", "Last changes"):
            expect(details).to_contain_text(shown)
        picture(visitor, tmp_path, f"who-{name}")
        visitor.assert_fits_the_width()
        assert "bartholomew" not in page.content()
        details.get_by_role("link", name=str(held["reference"])).click()
        page.wait_for_url(f"**/hold/{held['hold_id']}/change/**")
    visitor.assert_no_errors()


def test_other_seats_are_dimmed_and_left_out(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    hold(platform, hall, *hall.row(0)[2:5])
    enter(visitor, server, platform, hall)
    page = visitor.page
    page.get_by_role("button", name="Held 3").click()
    expect(page.locator(".hall-seats .is-dimmed")).to_have_count(57)
    expect(seat(page, 1, 3)).not_to_have_class(re.compile("is-dimmed"))
    drag(page, seat(page, 1, 1), seat(page, 2, 10))
    expect(chosen(page)).to_have_text("3 seats selected: Stalls 1 3, 4, 5.")
    picture(visitor, tmp_path, "filtered")
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Held 3").click()
    expect(page.locator(".hall-seats .is-dimmed")).to_have_count(0)
    page.locator(".hall-rows text", has_text="2").first.click()
    expect(chosen(page)).to_contain_text("10 seats selected: Stalls 2 1, 2")
    page.locator(".hall-blocks text").click()
    expect(chosen(page)).to_contain_text("60 seats selected")
    visitor.assert_no_errors()


def test_the_list_of_rows_on_a_phone(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    hold(platform, hall, hall.row(1)[0])
    visitor.resize(PHONE)
    enter(visitor, server, platform, hall)
    page = visitor.page
    page.get_by_role("button", name="List of rows").click()
    page.get_by_text("Row 2 9 available, 1 held").click()
    page.get_by_role("button", name=re.compile("^Stalls, row 2, seat 4, available")).click()
    expect(chosen(page)).to_have_text("1 seat selected: Stalls 2 4.")
    page.get_by_role("button", name="Select row 2").click()
    expect(chosen(page)).to_contain_text("10 seats selected")
    picture(visitor, tmp_path, "rows")
    visitor.assert_fits_the_width()
    page.get_by_role("button", name="Drawing").click()
    page.get_by_role("button", name="Zoom in").click()
    visitor.assert_fits_the_width()
    picture(visitor, tmp_path, "zoomed")
    page.get_by_role("button", name="Block 10 seats").click()
    visitor.assert_fits_the_width()
    submit(page, "Block", "Band needs the row")
    expect(page.get_by_text("Blocked 10 seats")).to_be_visible()
    visitor.assert_no_errors()


def test_the_second_of_two_operators_is_told(
    visitor: Visitor, colleague: Visitor, server: RunningServer, platform: Platform, hall: Hall
) -> None:
    """The hall of the second refreshes and keeps the selection and the focus."""
    enter(visitor, server, platform, hall)
    enter(colleague, server, platform, hall)
    second = colleague.page
    for page in (visitor.page, second):
        page.mouse.click(*middle(seat(page, 4, 4)))
        page.mouse.click(*middle(seat(page, 4, 5)))
    second.get_by_role("button", name="Block 2 seats").click()
    expect(second.get_by_text("Takes 2 seats off sale")).to_be_visible()
    visitor.page.get_by_role("button", name="Block 2 seats").click()
    submit(visitor.page, "Block", "Camera")
    expect(visitor.page.get_by_text("Blocked 2 seats")).to_be_visible()
    submit(second, "Block", "Camera")
    told = "Nothing to do: Stalls 4 4, 5 are blocked already."
    expect(second.get_by_text(told)).to_be_visible()

    second.mouse.click(*middle(seat(second, 5, 5)))
    expect(seat(second, 5, 5)).to_be_focused()
    hold(platform, hall, hall.row(4)[4])
    expect(seat(second, 5, 5, "held until")).to_be_focused()
    expect(chosen(second)).to_have_text("1 seat selected: Stalls 5 5.")
    expect(second.locator("#hall-details")).to_contain_text("b***@example.com")
    for each in (visitor, colleague):
        each.assert_no_errors()


def test_a_viewer_sees_the_hall_without_tools(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall, tmp_path: Path
) -> None:
    hold(platform, hall, hall.row(0)[0])
    enter(visitor, server, platform, hall, "viewer")
    page = visitor.page
    expect(
        page.get_by_role("button", name=re.compile("^(Block|Unblock|Clear)( |$)"))
    ).to_have_count(0)
    page.mouse.click(*middle(seat(page, 1, 1)))
    expect(page.locator("#hall-details")).to_contain_text("Held")
    page.mouse.click(*middle(seat(page, 2, 2)))
    expect(page.get_by_role("option", selected=True)).to_have_count(1)
    picture(visitor, tmp_path, "viewer")
    visitor.assert_no_errors()


def test_the_page_says_when_the_server_cannot_be_reached(
    visitor: Visitor, server: RunningServer, platform: Platform, hall: Hall
) -> None:
    enter(visitor, server, platform, hall)
    page = visitor.page
    live = page.locator("#hall-live")
    page.mouse.click(*middle(seat(page, 2, 2)))
    page.route("**/changes/**", lambda route: route.abort())
    expect(live).to_contain_text("The server cannot be reached.")
    hold(platform, hall, hall.row(0)[0])
    page.unroute("**/changes/**")
    expect(live).to_have_text("Up to date. Refreshes by itself.")
    expect(seat(page, 1, 1, "held until")).to_be_attached()
    expect(chosen(page)).to_have_text("1 seat selected: Stalls 2 2.")
    page.context.clear_cookies()
    expect(live).to_have_text("You have been logged out. Reload the page.")
