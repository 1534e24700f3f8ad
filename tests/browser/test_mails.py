"""Writing the texts of mails, and sending a mail again, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor, skip_menu, tab_to
from tests.browser.test_pages import log_in
from tests.browser.test_people import look
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.mark.parametrize("device", DEVICES)
def test_an_owner_writes_previews_saves_and_resets_a_text(
    visitor: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    own = new_platform(server.base_url, server.database_url).organization_id
    head = add_staff(server.database_url, own, "owner")
    visitor.resize(DEVICES[device])
    log_in(visitor, head.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    page = visitor.page
    visitor.visit(f"/admin/holdfast/organization/{own}/change/")
    page.get_by_role("link", name="E-mail texts").click()
    expect(page.get_by_text("Built-in text", exact=True)).to_have_count(7)
    look(visitor, tmp_path, f"texts-{device}")
    page.get_by_role("link", name="Hold about to expire").click()
    preview = page.get_by_role("region", name="Preview with sample data")
    expect(preview).to_contain_text("Booking reference: HF-7K2M")
    look(visitor, tmp_path, f"editor-{device}")
    page.evaluate("localStorage.setItem('adminTheme', '\"dark\"')")
    page.reload()
    expect(page.locator("html")).to_have_class(re.compile("dark"))
    look(visitor, tmp_path, f"editor-dark-{device}")
    page.evaluate("localStorage.removeItem('adminTheme')")
    page.reload()

    page.get_by_label("Subject").fill("Hurry: {{ evnt }}")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("{{ evnt }} is not a placeholder here")).to_be_visible()
    expect(preview).to_contain_text("Correct the text to see a preview")
    look(visitor, tmp_path, f"wrong-{device}")
    # The rest by keyboard alone.
    skip_menu(page)
    tab_to(page.get_by_label("Subject"))
    page.keyboard.press("Control+A")
    page.keyboard.type("Hurry: {{ event }}")
    tab_to(page.get_by_role("button", name="Preview"))
    page.keyboard.press("Enter")
    expect(preview).to_contain_text("Hurry: Winter Gala")
    # The preview is below the form.
    tab_to(page.get_by_label("Reason"), key="Shift+Tab")
    page.keyboard.type("House style")
    tab_to(page.get_by_role("button", name="Save"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("the new text is used from now on")).to_be_visible()
    expect(page.get_by_text("Built-in text", exact=True)).to_have_count(6)

    page.get_by_role("link", name="Hold about to expire").click()
    page.get_by_role("link", name="Reset to the built-in text").click()
    page.get_by_label("Reason").fill("Wrong one")
    look(visitor, tmp_path, f"reset-{device}")
    page.get_by_role("button", name="Reset to the built-in text").click()
    expect(page.get_by_text("This is the built-in text.")).to_be_visible()
    expect(preview).to_contain_text("left to pay for 2 tickets for Winter Gala")


@pytest.mark.parametrize("device", DEVICES)
def test_support_sends_a_mail_again(
    visitor: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    platform = new_platform(server.base_url, server.database_url)
    hold = platform.place(platform.on_sale(10), 2, customer_email="ann@river.example").json()
    helper = add_staff(server.database_url, platform.organization_id, "support")
    visitor.resize(DEVICES[device])
    log_in(visitor, helper.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    page = visitor.page
    place = f"?organization={platform.organization_id}"
    visitor.visit(f"/admin/holdfast/hold/{hold['hold_id']}/change/{place}")
    page.get_by_role("link", name="Resend e-mail").click()
    expect(page.get_by_text("to a***@river.example")).to_be_visible()
    look(visitor, tmp_path, f"resend-{device}")
    page.get_by_label("Reason").fill("She deleted it")
    page.get_by_role("button", name="Send e-mail").click()
    expect(page.get_by_text("will be sent to a***@river.example")).to_be_visible()
    look(visitor, tmp_path, f"resent-{device}")


def test_a_second_click_sends_nothing_until_the_person_comes_back(
    visitor: Visitor, server: RunningServer
) -> None:
    platform = new_platform(server.base_url, server.database_url)
    hold = platform.place(platform.on_sale(10), 2, customer_email="ann@river.example").json()
    helper = add_staff(server.database_url, platform.organization_id, "support")
    log_in(visitor, helper.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    page, sent = visitor.page, list[str]()

    def answer(route: Route) -> None:
        sent.append(route.request.method)
        route.fulfill(status=204)  # the page stays as it is

    own = platform.organization_id
    visitor.visit(f"/admin/holdfast/organization/{own}/holds/{hold['hold_id']}/resend-mail/")
    page.route("**/resend-mail/", answer)
    page.get_by_label("Reason").fill("She deleted it")
    send = page.get_by_role("button", name="Send e-mail")

    def is_shown(*, from_the_cache: bool) -> None:
        event = f"new PageTransitionEvent('pageshow', {{persisted: {str(from_the_cache).lower()}}})"
        page.evaluate(f"window.dispatchEvent({event})")

    send.click()
    is_shown(from_the_cache=False)  # at the end of loading: continue.js sends a form before that
    send.click()
    page.evaluate("fetch(location.href, {method: 'PUT'})")  # arrives behind them
    assert sent == ["POST", "PUT"]
    is_shown(from_the_cache=True)  # the back button
    send.click()
    page.evaluate("fetch(location.href, {method: 'PUT'})")
    assert sent == ["POST", "PUT", "POST", "PUT"]
