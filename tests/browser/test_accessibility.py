"""axe-core finds no serious or critical fault on any admin page, in light and dark. The pages are
those of the admin's registry."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from playwright.sync_api import expect

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from holdfast.entrypoints.admin.people.pages import SCOPE_OF_PAGE
from tests.browser.conftest import PASSWORD, Visitor
from tests.browser.test_pages import log_in
from tests.support.people import add_staff
from tests.support.platform import Platform
from tests.support.servers import RunningServer

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PAID = {"payment_reference": "pi_7"}
GRAVE = {"serious", "critical"}
MODELS = (*SCOPE_OF_PAGE, "user")
STANDARD = {"add", "change", "changelist", "delete", "history", "password_change"}
RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
OTHERS = (
    *("/admin/", "/admin/account/", "/admin/account/two-factor/", "/admin/find/"),
    "/admin/find/person/?organization={organization}&user=buyer-7",
    "/admin/find/attempts/?organization={organization}&user=buyer-7",
    "/admin/find/attempts/?organization={organization}&session={session}",
)


@pytest.fixture
def operator_at_axe(visitor: Visitor, operator: str) -> Visitor:
    """The script is added by the browser, so the pages' policy does not apply to it."""
    visitor.page.add_init_script(path=AXE)
    log_in(visitor, operator, PASSWORD)
    expect(visitor.page.locator("#find-box")).to_be_visible()
    return visitor


@pytest.fixture
def furnished(platform: Platform, server: RunningServer) -> Platform:
    """An organization with a row for each page."""
    sale, hall = platform.on_sale(3), platform.hall(2, 4)
    platform.place(sale, 4, user_id="buyer-7")
    hold = platform.place(sale, 2, user_id="buyer-7").json()
    seats = {"session_id": hall.session_id, "seat_ids": [hall.row(0)[0]], "user_id": "buyer-7"}
    assert platform.client.post("/api/holds", json=seats).status_code == 201
    checkout = platform.made("/api/checkouts", {"hold_ids": [hold["hold_id"]]})
    platform.made(f"/api/checkouts/{checkout['checkout_id']}/complete", PAID)
    add_staff(server.database_url, platform.organization_id, "support")
    return platform


def faults(visitor: Visitor) -> list[str]:
    """In both themes."""
    found = []
    for theme in ("light", "dark"):
        visitor.page.evaluate(f"document.documentElement.className = '{theme}'")
        for each in visitor.page.evaluate(RUN):
            if each["impact"] in GRAVE:
                found += [f"{theme}: {each['id']}: {node['html']}" for node in each["nodes"]]
    return found


def on_another_thread(work: Any) -> Any:
    """Django refuses to work where Playwright's event loop runs."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()


def pages_of(name: str, platform: Platform, server: RunningServer) -> list[str]:
    """The list of a model, a row of it, and the pages of its actions."""

    def found() -> list[str]:
        setup_django(Settings(database_url=server.database_url))
        from django.contrib import admin
        from django.urls import reverse

        ours = {model.__name__.lower(): site for model, site in admin.site._registry.items()}
        assert set(ours) - {"group"} == set(MODELS)
        site = ours[name]
        row = row_of(site.model._meta.db_table, name)
        label = f"{site.model._meta.app_label}_{name}"
        urls = [reverse(f"admin:{label}_changelist")]
        if row is not None:
            urls.append(reverse(f"admin:{label}_change", args=[row]))
        for pattern in site.get_urls():
            is_own = pattern.name and pattern.name.removeprefix(f"{label}_") not in STANDARD
            if is_own:
                given = {
                    each: platform.organization_id if each == "organization_id" else row
                    for each in pattern.pattern.converters
                }
                urls.append(reverse(f"admin:{pattern.name}", kwargs=given))
        return urls

    def row_of(table: str, model: str) -> Any:
        column = {"fact": "seq", "auditentry": "seq", "waitlist": "session_id"}.get(model, "id")
        own = {"organization": "WHERE id = %s", "user": "WHERE %s::text IS NOT NULL"}
        where = own.get(model, "WHERE organization_id = %s")
        with psycopg.connect(server.database_url) as owner:
            sql = f"SELECT {column} FROM {table} {where} LIMIT 1"
            answer = owner.execute(sql.encode(), [platform.organization_id]).fetchone()
        return None if answer is None else answer[0]

    pages = on_another_thread(found)
    assert len(pages) > 1, f"no row of {name}"
    return list(pages)


@pytest.mark.parametrize("name", MODELS)
def test_the_pages_of_a_model_have_no_grave_fault(
    operator_at_axe: Visitor, furnished: Platform, server: RunningServer, name: str
) -> None:
    seen = {}
    for path in pages_of(name, furnished, server):
        answer = operator_at_axe.page.goto(operator_at_axe.origin + path)
        assert answer is not None
        # Pages that only take posts, and downloads, show nothing.
        if answer.status == 200 and "html" in answer.headers["content-type"]:
            seen[path] = faults(operator_at_axe)
    assert len(seen) > 1
    assert not {path: found for path, found in seen.items() if found}


@pytest.mark.parametrize("path", OTHERS)
def test_other_pages_have_no_grave_fault(
    operator_at_axe: Visitor, furnished: Platform, path: str
) -> None:
    session = furnished.client.get("/api/sessions").json()["data"][0]["session_id"]
    filled = path.format(organization=furnished.organization_id, session=session)
    operator_at_axe.visit(filled)
    assert not faults(operator_at_axe)


def test_an_unknown_page_has_no_grave_fault(operator_at_axe: Visitor) -> None:
    operator_at_axe.page.goto(f"{operator_at_axe.origin}/admin/no-such-page/")
    expect(operator_at_axe.page.get_by_text("There is no such page")).to_be_visible()
    operator_at_axe.assert_fits_the_width()
    assert not faults(operator_at_axe)


@pytest.fixture
def stranger(visitor: Visitor) -> Visitor:
    visitor.page.add_init_script(path=AXE)
    return visitor


def test_the_log_in_has_no_grave_fault(stranger: Visitor) -> None:
    stranger.visit("/admin/login/?next=/admin/")
    assert not faults(stranger)


def test_axe_finds_a_fault(stranger: Visitor) -> None:
    """The control: without a label, the field of the log-in is a grave fault."""
    stranger.visit("/admin/login/?next=/admin/")
    stranger.page.evaluate("for (const each of document.querySelectorAll('label')) each.remove()")
    assert [fault for fault in faults(stranger) if ": label: " in fault]
