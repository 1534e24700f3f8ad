"""Staff work on a waitlist in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PASSWORD, PHONE, Visitor, skip_menu, tab_to
from tests.browser.test_pages import log_in, picture
from tests.support.platform import Platform

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


class Waitlist:
    """2 of 4 places are held. Ann waits for 4, so Bob, who waits for 1, is behind her."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.sale = platform.on_sale(4, hold_policy={"waitlist": True})
        self.hold("eve", 2)
        self.ann, self.bob = self.hold("ann", 4), self.hold("bob", 1)
        self.path = f"/admin/holdfast/waitlist/{self.sale.session_id}/change/"

    def hold(self, name: str, quantity: int) -> str:
        body = {
            "session_id": self.sale.session_id,
            "ticket_type_id": self.sale.ticket_type_id,
            "quantity": quantity,
            "customer_email": f"{name}@example.com",
        }
        answer = self.platform.client.post("/api/holds", json=body)
        assert answer.status_code in {201, 202}, answer.text
        return str(answer.json()["hold_id"])

    def reference(self, hold_id: str) -> str:
        return str(self.platform.client.get(f"/api/holds/{hold_id}").json()["reference"])

    def status(self, hold_id: str) -> str:
        return str(self.platform.client.get(f"/api/holds/{hold_id}").json()["status"])


@pytest.fixture
def waitlist(platform: Platform) -> Waitlist:
    return Waitlist(platform)


def look(visitor: Visitor, tmp_path: Path, name: str) -> None:
    picture(visitor, tmp_path, name)
    visitor.assert_fits_the_width()
    visitor.assert_no_errors()


@pytest.mark.parametrize("device", DEVICES)
def test_an_operator_promotes_one_party_and_removes_another(
    visitor: Visitor, operator: str, waitlist: Waitlist, tmp_path: Path, device: str
) -> None:
    visitor.resize(DEVICES[device])
    log_in(visitor, operator, PASSWORD)
    visitor.visit(waitlist.path)
    expect(visitor.page.get_by_text("Needs 4 tickets; 2 are free in").first).to_be_visible()
    look(visitor, tmp_path, f"waitlist-{device}")
    bob, ann = waitlist.reference(waitlist.bob), waitlist.reference(waitlist.ann)
    visitor.page.get_by_role("link", name=f"Promote {bob}").click()
    expect(visitor.page.get_by_text("Gives 1 ticket to b***@example.com")).to_be_visible()
    visitor.page.get_by_label("Reason").fill("She stands at the box office")
    look(visitor, tmp_path, f"promote-{device}")
    visitor.page.get_by_role("button", name="Promote now").click()
    expect(visitor.page.get_by_text(f"{bob} has its tickets until")).to_be_visible()
    assert waitlist.status(waitlist.bob) == "active"
    visitor.page.get_by_role("link", name=f"Remove {ann}").click()
    visitor.page.get_by_label("Reason").fill("He bought elsewhere")
    look(visitor, tmp_path, f"remove-{device}")
    visitor.page.get_by_role("button", name="Remove from the waitlist").click()
    expect(visitor.page.get_by_text(f"{ann} is no longer on the waitlist.")).to_be_visible()
    expect(visitor.page.get_by_text("The waitlist is empty.")).to_be_visible()
    assert waitlist.status(waitlist.ann) == "cancelled"
    look(visitor, tmp_path, f"empty-{device}")


def test_a_party_is_promoted_by_keyboard_alone(
    visitor: Visitor, operator: str, waitlist: Waitlist
) -> None:
    log_in(visitor, operator, PASSWORD)
    visitor.visit(waitlist.path)
    skip_menu(visitor.page)
    reference = waitlist.reference(waitlist.bob)
    tab_to(visitor.page.get_by_role("link", name=f"Promote {reference}"))
    visitor.page.keyboard.press("Enter")
    expect(visitor.page).to_have_url(re.compile("/promote/$"))
    skip_menu(visitor.page)
    tab_to(visitor.page.get_by_label("Reason"))
    visitor.page.keyboard.type("She stands at the box office")
    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_role("button", name="Promote now")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_text("has its tickets until")).to_be_visible()
    assert waitlist.status(waitlist.bob) == "active"


def test_a_refusal_is_shown_in_words(visitor: Visitor, operator: str, waitlist: Waitlist) -> None:
    log_in(visitor, operator, PASSWORD)
    visitor.visit(waitlist.path)
    reference = waitlist.reference(waitlist.ann)
    visitor.page.get_by_role("link", name=f"Promote {reference}").click()
    visitor.page.get_by_label("Reason").fill("He asked nicely")
    visitor.page.get_by_role("button", name="Promote now").click()
    expect(visitor.page.get_by_role("alert")).to_have_text("Only 2 ticket(s) available.")
    assert waitlist.status(waitlist.ann) == "waiting"
