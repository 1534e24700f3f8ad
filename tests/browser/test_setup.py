"""From nothing to an event on sale in a real browser: by mouse, by keyboard, and on a phone."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor, tab_to
from tests.browser.test_pages import log_in, picture
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}
# Through the menu, too, and round to the top of the page.
TABS_MAX = 200
HEADER = "block,row,number,accessible\n"
CSV_WITH_ERRORS = HEADER + "Stalls,A,1,yes\nStalls,A,1,\nStalls,,2,\n"
CSV = HEADER + "Stalls,A,1,yes\nStalls,A,2,\nStalls,B,1,\nStalls,B,2,\n"


@dataclass
class Mouse:
    page: Page

    def fill(self, field: Locator, text: str) -> None:
        field.fill(text)

    def press(self, control: Locator) -> None:
        control.click()

    def check(self, box: Locator) -> None:
        box.check()


@dataclass
class Keyboard:
    """Reaches every control with the Tab key."""

    page: Page

    def fill(self, field: Locator, text: str) -> None:
        tab_to(field, TABS_MAX)
        typed = text
        if field.get_attribute("type") == "date":
            year, month, day = text.split("-")
            typed = f"{month}{day}{year}"  # in the order of the browser's own language
        self.page.keyboard.type(typed)
        expect(field).to_have_value(text)

    def press(self, control: Locator) -> None:
        tab_to(control, TABS_MAX)
        self.page.keyboard.press("Enter")

    def check(self, box: Locator) -> None:
        tab_to(box, TABS_MAX)
        self.page.keyboard.press("Space")
        expect(box).to_be_checked()


@dataclass
class SetUp:
    """A manager who sets up a sale."""

    visitor: Visitor
    hand: Mouse | Keyboard
    pictures: Path | None = None
    taken: int = 0

    @property
    def page(self) -> Page:
        return self.visitor.page

    def look(self, name: str) -> None:
        if self.pictures is None:
            return
        self.taken += 1
        picture(self.visitor, self.pictures, f"{self.taken:02}-{name}")
        self.visitor.assert_fits_the_width()
        self.visitor.assert_no_errors()

    def link(self, name: str) -> None:
        self.hand.press(self.page.get_by_role("link", name=name, exact=True).first)

    def button(self, name: str) -> None:
        self.hand.press(self.page.get_by_role("button", name=name, exact=True))

    def fill(self, label: str, text: str) -> None:
        self.hand.fill(self.page.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).first, text)

    def check(self, label: str) -> None:
        self.hand.check(self.page.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).first)

    def create_event(self) -> None:
        self.visitor.visit("/admin/holdfast/event/")
        self.look("events")
        self.link("New event")
        self.fill("Name", "River Stage")
        self.fill("Currency", "EUR")
        self.look("new-event")
        self.button("Create event")
        expect(self.page.get_by_text("Draft: buyers cannot see it")).to_be_visible()
        self.look("event")

    def create_sessions(self) -> None:
        self.link("Several by rule")
        self.check("Friday")
        self.check("Saturday")
        self.check("Sunday")
        self.fill("First day", "2030-08-02")
        self.fill("Last day", "2030-08-04")
        self.fill("Times of day", "20:00")
        self.look("rule")
        self.button("Show the list")
        expect(self.page.get_by_text("Adds 3 sessions")).to_be_visible()
        self.look("rule-list")
        self.button("Create 3 sessions")
        expect(self.page.get_by_text("3 sessions without one")).to_be_visible()
        self.look("event-with-sessions")

    def create_ticket_type(self) -> None:
        self.link("New ticket type of Fri 2030-08-02 20:00")
        self.fill("Name", "Adult")
        self.fill("Price", "25.50")
        self.check("Seated")
        self.look("new-ticket-type")
        self.button("Create ticket type")
        expect(self.page.get_by_text("Adult is created")).to_be_visible()
        self.look("session")

    def design_hall(self) -> None:
        self.link("Design rows of seats")
        self.fill("Block", "Stalls")
        self.fill("Rows from", "A")
        self.fill("Rows to", "D")
        self.fill("Seats per row", "10")
        self.fill("Accessible seats", "A1, A10")
        self.look("designer")
        self.button("Preview")
        expect(self.page.get_by_text("40 seats in 4 rows")).to_be_visible()
        expect(self.page.locator(".hall-available circle")).to_have_count(40)
        self.look("preview")
        self.button("Add 40 seats")
        expect(self.page.get_by_text("40 seats are added")).to_be_visible()
        self.look("session-with-hall")

    def copy_hall(self) -> None:
        self.link("Copy to other sessions")
        self.check("Sat 2030-08-03 20:00")
        self.check("Sun 2030-08-04 20:00")
        self.look("copy")
        self.button("Show what will be copied")
        self.look("copy-list")
        self.button("Copy to 2 sessions")
        expect(self.page.get_by_text("is copied")).to_be_visible()

    def publish(self) -> None:
        self.link("Publish")
        self.look("publish")
        self.button("Publish")
        expect(self.page.get_by_role("heading", name="On sale.")).to_be_visible()
        self.look("on-sale")

    def pause_and_resume(self) -> None:
        self.link("Pause")
        self.fill("Reason", "The payment provider is down")
        self.look("pause")
        self.button("Pause the sale")
        expect(self.page.get_by_role("heading", name="Not on sale until")).to_be_visible()
        self.look("paused")
        self.link("Resume (open the sale now)")
        self.look("resume")
        self.button("Open the sale now")
        expect(self.page.get_by_role("heading", name="On sale.")).to_be_visible()

    def cancel(self) -> None:
        self.link("Cancel event")
        expect(self.page.get_by_text("has 3 live holds and no orders")).to_be_visible()
        self.fill("Reason", "The river flooded the stage")
        self.look("cancel")
        self.button("Cancel event")
        self.fill("Reason", "The river flooded the stage")
        self.look("clear")
        self.button("Release holds and cancel orders")
        done = "Released 3 holds and cancelled no orders with no tickets."
        expect(self.page.get_by_text(done)).to_be_visible()
        expect(self.page.get_by_role("heading", name="Cancelled")).to_be_visible()
        self.look("cancelled")


def manager(server: RunningServer, visitor: Visitor) -> Platform:
    """An empty organization, with its manager logged in."""
    own = new_platform(server.base_url, server.database_url)
    staff = add_staff(server.database_url, own.organization_id, "manager")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    return own


def assert_on_sale(own: Platform) -> None:
    """Three sessions with 40 seats each, of which a buyer gets one."""
    sessions = own.client.get("/api/sessions").json()["data"]
    assert len(sessions) == 3
    for session in sessions:
        path = f"/api/sessions/{session['session_id']}/availability"
        (offered,) = own.client.get(path).json()["ticket_types"]
        assert (offered["available"], offered["price"]) == (40, 2550)
        wanted = {
            "session_id": session["session_id"],
            "user_id": "ann",
            "ticket_type_id": offered["ticket_type_id"],
            "quantity": 1,
        }
        assert own.client.post("/api/holds", json=wanted).status_code == 201


@pytest.mark.parametrize("device", DEVICES)
def test_a_sale_is_set_up_by_mouse(
    visitor: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    visitor.resize(DEVICES[device])
    own = manager(server, visitor)
    setting_up = SetUp(visitor, Mouse(visitor.page), tmp_path)
    setting_up.create_event()
    setting_up.create_sessions()
    setting_up.create_ticket_type()
    setting_up.design_hall()
    setting_up.copy_hall()
    setting_up.publish()
    setting_up.pause_and_resume()
    assert_on_sale(own)
    setting_up.cancel()


@pytest.mark.timeout(600)  # hundreds of keys
def test_a_sale_is_set_up_by_keyboard(visitor: Visitor, server: RunningServer) -> None:
    own = manager(server, visitor)
    setting_up = SetUp(visitor, Keyboard(visitor.page))
    setting_up.create_event()
    setting_up.create_sessions()
    setting_up.create_ticket_type()
    setting_up.design_hall()
    setting_up.copy_hall()
    setting_up.publish()
    visitor.assert_no_errors()
    assert_on_sale(own)


@pytest.mark.parametrize("device", DEVICES)
def test_an_event_is_archived_by_mouse(
    visitor: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    visitor.resize(DEVICES[device])
    own = manager(server, visitor)
    sale = own.on_sale(5)
    assert own.place(sale).status_code == 201
    visitor.visit(f"/admin/holdfast/event/{sale.event_id}/change/")
    archiving = SetUp(visitor, Mouse(visitor.page), tmp_path)
    archiving.link("Archive")
    expect(visitor.page.get_by_text("Concert has 1 live hold and no orders")).to_be_visible()
    archiving.fill("Reason", "The tour is over")
    archiving.look("archive")
    archiving.button("Archive event")
    expect(visitor.page.get_by_text("Concert is archived.")).to_be_visible()
    archiving.look("archived")
    expect(visitor.page.get_by_role("link", name="Archive", exact=True)).to_have_count(0)
    assert own.client.get(f"/api/events/{sale.event_id}").json()["status"] == "archived"
    assert own.place(sale).json()["error"] == "event_not_available"


@pytest.mark.parametrize("device", DEVICES)
def test_a_file_with_errors_is_corrected(
    visitor: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    visitor.resize(DEVICES[device])
    # The theme follows the system.
    visitor.page.emulate_media(color_scheme="dark" if device == "phone" else "light")
    own = manager(server, visitor)
    event = own.client.post("/api/events", json={"name": "Opening", "currency": "EUR"}).json()
    asked = {"event_id": event["event_id"], "name": "First night"}
    session = own.client.post("/api/sessions", json=asked).json()["session_id"]
    setting_up = SetUp(visitor, Mouse(visitor.page), tmp_path)
    visitor.visit(f"/admin/holdfast/session/{session}/change/")
    setting_up.link("Upload seats (CSV)")
    for content, shown in ((CSV_WITH_ERRORS, "2 error(s)"), (CSV, "4 seats in 2 rows")):
        upload = FilePayload(name="seats.csv", mimeType="text/csv", buffer=content.encode())
        visitor.page.get_by_label("CSV file").set_input_files(upload)
        setting_up.button("Check the file")
        expect(visitor.page.get_by_text(shown)).to_be_visible()
        setting_up.look("file")
    setting_up.button("Add 4 seats")
    expect(visitor.page.get_by_text("Added the seats")).to_be_visible()
    setting_up.look("session")
