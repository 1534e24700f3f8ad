"""Cancelling a session with more holds and orders than one request clears, by mouse: the page goes
on by itself, and its bar moves."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import DESKTOP, PHONE, Visitor
from tests.browser.test_pages import log_in, picture
from tests.support.patience import PATIENCE_SECONDS
from tests.support.people import PASSWORD, add_staff
from tests.support.platform import Platform, Sale, new_platform
from tests.support.servers import RunningServer

DEVICES = {"desktop": DESKTOP, "phone": PHONE}
HOLDS, ORDERS = 110, 12
# Every change of a hold takes this long, so that even the quickest machine needs three requests: a
# request begins no step after two seconds.
SECONDS_PER_HOLD = 0.06
SLOW = """
CREATE FUNCTION slow_hold() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END';
CREATE TRIGGER slow_hold BEFORE UPDATE ON hold FOR EACH ROW
    WHEN (OLD.session_id = '{session_id}') EXECUTE FUNCTION slow_hold();
"""
QUICK = "DROP TRIGGER IF EXISTS slow_hold ON hold; DROP FUNCTION IF EXISTS slow_hold()"
# Keeps what the bar shows whenever a page goes on by itself.
WATCH = """
addEventListener("submit", () => {
    const bar = document.querySelector("#progress");
    if (bar) {
        const seen = JSON.parse(sessionStorage.getItem("bars") ?? "[]");
        sessionStorage.setItem("bars", JSON.stringify([...seen, [bar.value, bar.max]]));
    }
}, true);
"""


@pytest.fixture
def platform(server: RunningServer) -> Platform:
    return new_platform(server.base_url, server.database_url)


@pytest.fixture
def sale(server: RunningServer, platform: Platform) -> Iterator[Sale]:
    """With holds and orders that take long to cancel."""
    sale = platform.on_sale(2 * (HOLDS + ORDERS))
    holds = [platform.place(sale, user_id=f"user-{n}").json() for n in range(HOLDS + ORDERS)]
    for hold in holds[:ORDERS]:
        answer = platform.client.post(f"/api/holds/{hold['hold_id']}/confirm", json={})
        assert answer.status_code == 200, answer.text
    with psycopg.connect(server.database_url, autocommit=True) as owner:
        slow = SLOW.format(seconds=SECONDS_PER_HOLD, session_id=sale.session_id)
        owner.execute(slow.encode())
        try:
            yield sale
        finally:
            owner.execute(QUICK)


@pytest.fixture
def manager(visitor: Visitor, server: RunningServer, platform: Platform) -> Visitor:
    staff = add_staff(server.database_url, platform.organization_id, "manager")
    log_in(visitor, staff.username, PASSWORD)
    expect(visitor.page).to_have_url(re.compile("/admin/$"))
    return visitor


def wait_for(page: Page, sent: list[Route], count: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(sent) < count:
        assert time.monotonic() < deadline, "the page does not go on"
        page.wait_for_timeout(50)


@pytest.mark.parametrize("device", DEVICES)
def test_a_session_is_cancelled_by_mouse(
    manager: Visitor, platform: Platform, sale: Sale, tmp_path: Path, device: str
) -> None:
    visitor, page = manager, manager.page
    visitor.resize(DEVICES[device])
    page.add_init_script(WATCH)
    visitor.visit(f"/admin/holdfast/session/{sale.session_id}/change/")
    page.get_by_role("link", name="Cancel session", exact=True).click()
    expect(page.get_by_text(f"{HOLDS} live holds and {ORDERS} orders")).to_be_visible()
    page.get_by_label("Reason").fill("The band is ill")
    picture(visitor, tmp_path, f"cancel-{device}")
    visitor.assert_fits_the_width()
    page.get_by_role("button", name="Cancel session", exact=True).click()

    page.get_by_label("Reason").fill("The band is ill")
    picture(visitor, tmp_path, f"clear-{device}")
    visitor.assert_fits_the_width()
    sent: list[Route] = []
    page.route("**/clear/", lambda route: sent.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="Release holds and cancel orders").click(no_wait_after=True)
    wait_for(page, sent, 1)
    sent[0].continue_()
    wait_for(page, sent, 2)  # by continue.js
    sent[1].abort("aborted")  # the page stays, to be looked at
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_text(re.compile(rf"^\d+ of {HOLDS + ORDERS} done$"))).to_be_visible()
    picture(visitor, tmp_path, f"bar-{device}")
    visitor.assert_fits_the_width()
    page.unroute("**/clear/")
    page.evaluate("document.querySelector('#progress').closest('form').submit()")

    said = f"Released {HOLDS} holds and cancelled {ORDERS} orders with {ORDERS} tickets."
    expect(page.get_by_text(said)).to_be_visible()
    bars = page.evaluate("JSON.parse(sessionStorage.getItem('bars'))")
    assert {everything for _, everything in bars} == {HOLDS + ORDERS}
    shown = [value for value, _ in bars]
    assert shown == sorted(set(shown)), "the bar rises with every page"
    assert 0 < shown[0] < HOLDS + ORDERS
    assert len(shown) > 1, "pages that nobody has pressed a button on"
    visitor.assert_no_errors()
    own = {"session_id": sale.session_id}
    live = platform.client.get("/api/holds", params=own | {"status": "active"})
    assert live.json()["data"] == []
    orders = platform.client.get("/api/orders", params=own)
    assert {order["status"] for order in orders.json()["data"]} == {"cancelled"}
