"""axe-core finds no serious or critical fault on any page that Django serves, in light and dark and
on a phone. The pages are those of the table of URLs, and those behind a form."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from playwright.sync_api import Browser, FilePayload, expect

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.admin.people.pages import SCOPE_OF_PAGE
from tests.browser.axe_check import at_axe, faults
from tests.browser.conftest import DESKTOP, PASSWORD, TIMEOUT_MS, Opened, Visitor
from tests.browser.furnished import Address, Furnished, addresses, furnish
from tests.browser.test_find import search
from tests.browser.test_pages import DEVICES, locked_out, log_in, picture
from tests.browser.test_people import shown_code
from tests.browser.test_setup import CSV_WITH_ERRORS, Mouse, SetUp
from tests.support.people import PASSWORD as STAFF_PASSWORD
from tests.support.people import add_staff
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

# "" are the pages of no model.
MODELS = (*SCOPE_OF_PAGE, "user", "")
READ_ONLY = (
    *("organization", "auditentry", "fact", "apikey", "hold", "order", "checkout", "member"),
    *("seat", "waitlist"),
)
FORBIDDEN = "nobody may: the page of the 403 is tested below"
POSTS = "only takes posts"
SCRIPTS = "for scripts"
STEP = "needs a step before: tested below"
# The URLs that show no page, and why.
WITHOUT_A_PAGE = {
    **{f"holdfast_{model}_add": FORBIDDEN for model in READ_ONLY},
    **{f"holdfast_{model}_delete": FORBIDDEN for model in SCOPE_OF_PAGE},
    "auth_user_delete": FORBIDDEN,
    "account-end-session": POSTS,
    "account-end-sessions": POSTS,
    "logout": POSTS,
    "demo-cart": STEP,
    "demo-token": SCRIPTS,
    "account-two-factor-off": STEP,
    "login": STEP,
    "invitation": STEP,
    "invitation-accept": STEP,
    "holdfast_session_hall_block": STEP,
    "holdfast_session_hall_unblock": STEP,
    "holdfast_session_hall_seat": "a part of the page of the hall",
    "holdfast_session_hall_changes": SCRIPTS,
    "dashboard-cards": "a part of the dashboard",
    "search": "a part of the page, which finds pages of the admin",
    "autocomplete": SCRIPTS,
    "jsi18n": SCRIPTS,
    "export-door-list": "a download",
    "export-list": "a download",
    "view_on_site": "no model has another page",
}


@pytest.fixture
def operator_at_axe(visitor: Visitor, operator: str) -> Visitor:
    log_in(at_axe(visitor), operator, PASSWORD)
    expect(visitor.page.locator("#find-box")).to_be_visible()
    return visitor


@pytest.fixture
def stranger(visitor: Visitor) -> Visitor:
    """Nobody is logged in."""
    return at_axe(visitor)


@contextmanager
def visiting(browser: Browser, origin: str) -> Iterator[Visitor]:
    """With a browser of its own."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = at_axe(Visitor(context.new_page(), origin))
    visitor.resize(DESKTOP)
    yield visitor
    context.close()


@pytest.fixture
def guest(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    with visiting(browser, server.base_url) as visitor:
        yield visitor


def on_another_thread(work: Callable[..., Any], *given: Any) -> Any:
    """Django refuses to work where Playwright's event loop runs."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work, *given).result()


@pytest.fixture(scope="module")
def own(server: RunningServer) -> Furnished:
    return furnish(new_platform(server.base_url, server.database_url), server.database_url)


@pytest.fixture(scope="module")
def all_pages(own: Furnished, server: RunningServer) -> list[Address]:
    return list(on_another_thread(addresses, own, server.database_url))


def test_every_url_belongs_to_a_model_or_to_none(all_pages: list[Address]) -> None:
    assert {each.model for each in all_pages} == set(MODELS)
    assert set(WITHOUT_A_PAGE) <= {each.name for each in all_pages}


@pytest.mark.timeout(600)  # two dozen pages, three times each
@pytest.mark.parametrize("model", MODELS)
def test_the_pages_of_a_model_have_no_grave_fault(
    operator_at_axe: Visitor, all_pages: list[Address], model: str
) -> None:
    found = {}
    for each in all_pages:
        if each.model == model and each.name not in WITHOUT_A_PAGE:
            operator_at_axe.visit(each.path)
            assert operator_at_axe.page.url == operator_at_axe.origin + each.path
            found[each.path] = faults(operator_at_axe)
    assert len(found) > 2
    assert not {path: each for path, each in found.items() if each}


def test_what_is_said_to_show_no_page_shows_none(
    operator_at_axe: Visitor, all_pages: list[Address]
) -> None:
    """A page with that excuse would never be looked at."""
    shown = []
    for each in all_pages:
        if each.name in WITHOUT_A_PAGE:
            answer = operator_at_axe.page.request.get(
                operator_at_axe.origin + each.path, max_redirects=0
            )
            if answer.status == 200 and "<title>" in answer.text():
                shown.append(each.name)
    assert not shown


Step = Callable[[Visitor, Furnished], None]


def submit(visitor: Visitor, button: str) -> None:
    """Without the browser's own checks, so that the server finds the errors."""
    visitor.page.evaluate("for (const each of document.forms) each.noValidate = true")
    visitor.page.get_by_role("button", name=button, exact=True).click()


def show_rule(visitor: Visitor, own: Furnished, last_day: str = "2030-08-04") -> None:
    visitor.visit(f"/admin/holdfast/event/{own.rows['event'][0]}/sessions/")
    form = SetUp(visitor, Mouse(visitor.page))
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"):
        form.check(day)
    form.fill("First day", "2030-08-01")
    form.fill("Last day", last_day)
    form.fill("Times of day", "20:00")
    form.button("Show the list")
    expect(visitor.page.get_by_text(re.compile("^Adds [0-9]+ sessions"))).to_be_visible()


def show_progress(visitor: Visitor, own: Furnished) -> None:
    """The script that goes on at once is not loaded."""
    visitor.page.route("**/continue.js", lambda route: route.abort())
    show_rule(visitor, own, "2030-09-30")
    submit(visitor, "Create 61 sessions")
    expect(visitor.page.get_by_text("50 of 61 done")).to_be_visible()


def show_design(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/session/{own.session_id}/design/")
    form = SetUp(visitor, Mouse(visitor.page))
    wanted = {"Block": "Circle", "Rows from": "A", "Rows to": "C", "Seats per row": "5"}
    for label, text in wanted.items():
        form.fill(label, text)
    form.button("Preview")
    expect(visitor.page.get_by_text("15 seats in 3 rows")).to_be_visible()


def show_errors_of_a_design(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/session/{own.session_id}/design/")
    submit(visitor, "Preview")
    expect(visitor.page.get_by_text("This field is required.").first).to_be_visible()


def show_errors_of_a_file(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/session/{own.session_id}/upload/")
    file = FilePayload(name="seats.csv", mimeType="text/csv", buffer=CSV_WITH_ERRORS.encode())
    visitor.page.get_by_label("CSV file").set_input_files(file)
    submit(visitor, "Check the file")
    expect(visitor.page.get_by_text("2 error(s)")).to_be_visible()


def show_errors_of_an_event(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/event/new/{own.platform.organization_id}/")
    submit(visitor, "Create event")
    expect(visitor.page.get_by_text("This field is required.").first).to_be_visible()


def show_error_of_an_action(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/hold/{own.rows['hold'][0]}/release/")
    submit(visitor, "Release")
    expect(visitor.page.get_by_text("This field is required.")).to_be_visible()


def show_error_of_a_mail(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/organization/{own.platform.organization_id}/mails/warning/")
    visitor.page.get_by_label("Subject").fill("Hurry: {{ evnt }}")
    submit(visitor, "Preview")
    expect(visitor.page.get_by_text("{{ evnt }} is not a placeholder here")).to_be_visible()


def show_a_seat(visitor: Visitor, own: Furnished) -> None:
    """A held one, whose details the page loads."""
    visitor.visit(f"/admin/holdfast/session/{own.session_id}/hall/")
    visitor.page.get_by_role("option", name=re.compile("^Stalls, row 1, seat 1, held")).click()
    expect(visitor.page.locator("#hall-details")).to_contain_text("a***@example.com")


def show_rows_of_the_hall(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/session/{own.session_id}/hall/")
    visitor.page.get_by_role("button", name="List of rows").click()
    visitor.page.get_by_text("Row 2 3 available, 1 blocked").click()
    expect(visitor.page.get_by_role("button", name="Select row 2")).to_be_visible()


def show_blocking(visitor: Visitor, own: Furnished) -> None:
    show_a_seat(visitor, own)
    submit(visitor, "Block 1 seat")
    expect(visitor.page.get_by_text("Takes 1 seat off sale")).to_be_visible()


def show_a_new_key(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/apikey/new/{own.platform.organization_id}/")
    visitor.page.locator("input[name=name]").fill("Box office")
    visitor.page.locator("input[name=scopes][value='holds:read']").check()
    submit(visitor, "Create key")
    key = visitor.page.get_by_text("hk_test_").first
    expect(key).to_be_visible()
    # Keys are random, and a browser wraps them at hyphens anyway.
    key.evaluate("key => { key.textContent = key.textContent.replaceAll('-', 'x') }")


def show_that_nothing_was_found(visitor: Visitor, own: Furnished) -> None:
    visitor.visit("/admin/")
    search(visitor.page, "nobody@example.com")
    expect(visitor.page.get_by_text("Nothing found for")).to_be_visible()


def show_an_empty_list(visitor: Visitor, own: Furnished) -> None:
    visitor.visit("/admin/holdfast/hold/?q=NOSUCH00")
    expect(visitor.page.get_by_role("heading", name="Nothing found")).to_be_visible()


def show_an_unknown_page(visitor: Visitor, own: Furnished) -> None:
    visitor.page.goto(f"{visitor.origin}/admin/no-such-page/")
    expect(visitor.page.get_by_text("There is no such page")).to_be_visible()


def show_a_refused_form(visitor: Visitor, own: Furnished) -> None:
    visitor.visit(f"/admin/holdfast/hold/{own.rows['hold'][0]}/release/")
    visitor.page.evaluate(
        "document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach((each) => each.remove())"
    )
    submit(visitor, "Release")
    expect(visitor.page.get_by_text("send the form again")).to_be_visible()


STEPS: tuple[Step, ...] = (
    show_rule,
    show_progress,
    show_design,
    show_errors_of_a_design,
    show_errors_of_a_file,
    show_errors_of_an_event,
    show_error_of_an_action,
    show_error_of_a_mail,
    show_a_seat,
    show_rows_of_the_hall,
    show_blocking,
    show_a_new_key,
    show_that_nothing_was_found,
    show_an_empty_list,
    show_an_unknown_page,
    show_a_refused_form,
)


@pytest.mark.parametrize("step", STEPS)
def test_a_page_after_a_step_has_no_grave_fault(
    operator_at_axe: Visitor, own: Furnished, step: Step
) -> None:
    step(operator_at_axe, own)
    assert not faults(operator_at_axe)


def test_what_staff_find_and_may_not_see_has_no_grave_fault(
    stranger: Visitor, own: Furnished
) -> None:
    log_in(stranger, own.staff.username, STAFF_PASSWORD)
    expect(stranger.page.locator("#find-box")).to_be_visible()
    search(stranger.page, "Stalls 1 1")
    expect(stranger.page.get_by_role("link", name="Stalls, row 1, seat 1")).to_have_count(2)
    assert not faults(stranger)
    stranger.page.goto(f"{stranger.origin}/admin/holdfast/apikey/")
    expect(stranger.page.get_by_text("Your role does not allow this")).to_be_visible()
    assert not faults(stranger)


def test_an_invitation_has_no_grave_fault(
    operator_at_axe: Visitor, guest: Visitor, own: Furnished
) -> None:
    operator_at_axe.visit(f"/admin/holdfast/member/new/{own.platform.organization_id}/")
    operator_at_axe.page.get_by_label("Username").fill(f"bob-{uuid4().hex[:8]}@river.example")
    submit(operator_at_axe, "Add")
    link = operator_at_axe.page.locator("code").inner_text()
    assert not faults(operator_at_axe)
    guest.page.goto(link)
    expect(guest.page.get_by_text("You will log in as")).to_be_visible()
    assert not faults(guest)
    submit(guest, "Set password")
    expect(guest.page.get_by_text("This field is required.").first).to_be_visible()
    assert not faults(guest)
    for field in ("new_password1", "new_password2"):
        guest.page.locator(f"input[name={field}]").fill("quite another password")
    submit(guest, "Set password")
    expect(guest.page.get_by_text("Your password is set")).to_be_visible()
    assert not faults(guest)


def test_the_pages_of_two_factor_authentication_have_no_grave_fault(
    stranger: Visitor, own: Furnished, server: RunningServer
) -> None:
    staff = add_staff(server.database_url, own.platform.organization_id, "viewer")
    log_in(stranger, staff.username, STAFF_PASSWORD)
    expect(stranger.page.locator("#find-box")).to_be_visible()
    stranger.visit("/admin/account/two-factor/")
    submit(stranger, "Turn on")
    expect(stranger.page.get_by_text("This field is required.")).to_be_visible()
    assert not faults(stranger)
    stranger.page.get_by_role("textbox", name="Code").fill(shown_code(stranger))
    submit(stranger, "Turn on")
    expect(stranger.page.get_by_text("Keep these backup codes")).to_be_visible()
    assert not faults(stranger)
    stranger.visit("/admin/account/two-factor/off/")
    expect(stranger.page.get_by_label("Password")).to_be_visible()
    assert not faults(stranger)


def test_the_log_in_has_no_grave_fault(stranger: Visitor, server: RunningServer) -> None:
    stranger.visit("/admin/login/?next=/admin/")
    assert not faults(stranger)
    log_in(stranger, "nobody", "a wrong password")
    expect(stranger.page.get_by_text("Please enter the correct username")).to_be_visible()
    assert not faults(stranger)
    log_in(stranger, locked_out(server.database_url), PASSWORD)
    expect(stranger.page.get_by_text("for 10 minutes")).to_be_visible()
    assert not faults(stranger)


def test_the_pages_of_the_shop_have_no_grave_fault(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(5))
    at_axe(tab.visitor).page.reload()
    expect(tab.page.locator(".type-name").first).to_be_visible()
    assert not faults(tab.visitor)
    tab.click_add(2)
    tab.expect_held(2)
    assert not faults(tab.visitor)
    tab.page.get_by_role("button", name="Go to payment").click()
    expect(tab.page.get_by_role("heading", name="Payment")).to_be_visible()
    assert not faults(tab.visitor)
    tab.page.get_by_role("button", name="Pay now").click()
    expect(tab.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert not faults(tab.visitor)
    tab.visitor.visit("/demo/cart")
    expect(tab.page.get_by_text("There is no shop at this address")).to_be_visible()
    assert not faults(tab.visitor)


def test_an_unknown_public_page_has_no_grave_fault(stranger: Visitor) -> None:
    stranger.page.goto(f"{stranger.origin}/no-such-page")
    expect(stranger.page.get_by_text("The address may be mistyped")).to_be_visible()
    assert not faults(stranger)


@pytest.mark.parametrize("name", ["server_error", "login_busy", "form_refused"])
def test_a_page_of_trouble_has_no_grave_fault(
    stranger: Visitor, server: RunningServer, name: str
) -> None:
    """Nothing on the server's side can be made to fail for a moment, so the browser gets the page
    from here."""

    def rendered() -> str:
        setup_django(Settings(database_url=server.database_url))
        from django.template.loader import render_to_string

        texts = {"title": "The form was not accepted", "what": "Too old.", "advice": "Go back."}
        return render_to_string(f"pages/{name}.html", {"at": datetime.now(UTC), **texts})

    body = on_another_thread(rendered)
    stranger.page.route(f"{stranger.origin}/", lambda route: route.fulfill(body=body))
    stranger.visit("/")
    expect(stranger.page.locator(".code")).to_be_visible()
    assert not faults(stranger)


def test_the_failure_of_an_admin_page_has_no_grave_fault(
    browser: Browser,
    make_server: Callable[..., RunningServer],
    fresh_database_url: str,
    tmp_path: Path,
) -> None:
    """The table of sessions is gone, so every page of the admin fails for people with a session."""
    with psycopg.connect(fresh_database_url) as owner:
        owner.execute("ALTER TABLE login_session RENAME TO gone")
    broken = make_server(fresh_database_url).start()
    with visiting(browser, broken.base_url) as visitor:
        cookie = {"name": "holdfast_session", "value": "a" * 32, "url": broken.base_url}
        visitor.page.context.add_cookies([cookie])  # type: ignore[list-item]
        answer = visitor.page.goto(f"{visitor.origin}/admin/")
        assert answer is not None
        assert answer.status == 500
        expect(visitor.page.get_by_text("This is not your fault.")).to_be_visible()
        assert not faults(visitor)
        for device, size in DEVICES.items():
            visitor.resize(size)
            picture(visitor, tmp_path, device)


def test_axe_finds_a_fault(stranger: Visitor) -> None:
    """The control: without a label, the field of the log-in is a grave fault."""
    stranger.visit("/admin/login/?next=/admin/")
    stranger.page.evaluate("for (const each of document.querySelectorAll('label')) each.remove()")
    found = faults(stranger)
    for where in ("light: label: ", "dark: label: ", "phone: light: label: "):
        assert [fault for fault in found if fault.startswith(where)]
