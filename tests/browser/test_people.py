"""Members, invitations, sessions and two-factor authentication in a real browser."""

import re
import time
from base64 import b32decode
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django_otp.oath import TOTP
from playwright.sync_api import Browser, expect

from tests.browser.conftest import DESKTOP, PHONE, TIMEOUT_MS, Visitor
from tests.browser.test_pages import log_in, picture
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}


def look(visitor: Visitor, tmp_path: Path, name: str) -> None:
    picture(visitor, tmp_path, name)
    visitor.assert_fits_the_width()
    visitor.assert_no_errors()


@pytest.fixture
def guest(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    """Somebody else's browser."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    yield Visitor(context.new_page(), server.base_url)
    context.close()


@pytest.mark.parametrize("device", DEVICES)
def test_an_owner_invites_somebody_who_then_logs_in(
    visitor: Visitor, guest: Visitor, server: RunningServer, tmp_path: Path, device: str
) -> None:
    own = new_platform(server.base_url, server.database_url).organization_id
    head = add_staff(server.database_url, own, "owner")
    visitor.resize(DEVICES[device])
    log_in(visitor, head.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    visitor.visit(f"/admin/holdfast/organization/{own}/change/")
    visitor.page.get_by_role("link", name="Add a member").click()
    name = f"ann-{uuid4().hex[:8]}@river.example"
    visitor.page.get_by_label("Username").fill(name)
    visitor.page.get_by_label("Role").select_option("support")
    look(visitor, tmp_path, f"add-{device}")
    visitor.page.get_by_role("button", name="Add").click()
    link = visitor.page.locator("code").inner_text()
    look(visitor, tmp_path, f"invited-{device}")
    visitor.page.get_by_role("link", name="I have passed it on").click()
    expect(visitor.page.get_by_text("Change role")).to_be_visible()
    look(visitor, tmp_path, f"member-{device}")
    visitor.visit("/admin/holdfast/member/")
    look(visitor, tmp_path, f"members-{device}")

    guest.resize(DEVICES[device])
    guest.page.goto(link)
    for field in ("new_password1", "new_password2"):
        guest.page.locator(f"input[name={field}]").fill("quite another password")
    look(guest, tmp_path, f"invitation-{device}")
    guest.page.get_by_role("button", name="Set password").click()
    expect(guest.page.get_by_text("Your password is set")).to_be_visible()
    look(guest, tmp_path, f"joined-{device}")
    log_in(guest, name, "quite another password")
    expect(guest.page).to_have_url(re.compile("/admin/$"))
    look(guest, tmp_path, f"start-{device}")
    guest.page.goto(f"{server.base_url}/admin/holdfast/apikey/")
    expect(guest.page.get_by_text("Your role does not allow this")).to_be_visible()
    picture(guest, tmp_path, f"forbidden-{device}")
    guest.assert_fits_the_width()


@pytest.mark.parametrize("device", DEVICES)
def test_two_factor_authentication_is_turned_on(
    visitor: Visitor, server: RunningServer, platform: Platform, tmp_path: Path, device: str
) -> None:
    staff = add_staff(server.database_url, platform.organization_id, "support")
    visitor.resize(DEVICES[device])
    visitor.visit("/admin/login/?next=/admin/")
    look(visitor, tmp_path, f"log-in-{device}")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    visitor.visit("/admin/account/")
    look(visitor, tmp_path, f"account-{device}")
    visitor.page.get_by_role("link", name="Turn on").click()
    expect(visitor.page.locator(".account-picture svg")).to_be_visible()
    look(visitor, tmp_path, f"two-factor-{device}")
    visitor.page.get_by_role("textbox", name="Code").fill(shown_code(visitor))
    visitor.page.get_by_role("button", name="Turn on").click()
    expect(visitor.page.get_by_text("Keep these backup codes")).to_be_visible()
    expect(visitor.page.locator(".account-codes li")).to_have_count(10)
    look(visitor, tmp_path, f"backup-codes-{device}")
    visitor.page.get_by_role("link", name="I have stored them").click()
    expect(visitor.page.get_by_text("10 backup codes left")).to_be_visible()
    look(visitor, tmp_path, f"account-on-{device}")
    visitor.page.get_by_role("link", name="Turn off").click()
    look(visitor, tmp_path, f"off-{device}")


def shown_code(visitor: Visitor) -> str:
    """What an app would show that was given the key on the page."""
    app = TOTP(b32decode(visitor.page.locator("form code").inner_text().replace(" ", "")))
    app.time = time.time()
    return f"{app.token():06}"
