"""A buyer's cart in a real browser: the countdown, changes, renewal, payment, and the waitlist."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Request, expect

from tests.browser.conftest import DESKTOP, PHONE, Opened, Visitor, all_holds, held_by
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer

RUNNING = re.compile(r"^\d+:\d\d$")


@pytest.fixture
def platform(shop: RunningServer) -> Platform:
    return new_platform(shop.base_url, shop.database_url)


def test_the_countdown_starts_with_the_first_ticket(platform: Platform, opened: Opened) -> None:
    sale = platform.on_sale(50, hold_policy={"ttl_seconds": 900})
    tab = opened(sale)
    expect(tab.page.get_by_role("timer")).to_be_hidden()
    tab.click_add()
    tab.expect_held(1)
    countdown = tab.page.get_by_role("timer")
    expect(countdown).to_have_text(re.compile(r"^1[45]:\d\d$"))
    first = countdown.inner_text()
    expect(countdown).not_to_have_text(first)
    tab.visitor.assert_no_errors()


def test_a_change_does_not_reset_the_countdown(platform: Platform, opened: Opened) -> None:
    sale = platform.on_sale(50)
    tab = opened(sale)
    tab.click_add()
    tab.expect_held(1)
    before = held_by(platform, tab.cart())
    tab.click_add()
    tab.expect_held(2)
    after = held_by(platform, tab.cart())
    assert (after["hold_id"], after["expires_at"]) == (before["hold_id"], before["expires_at"])
    assert after["quantity"] == 2
    tab.visitor.assert_no_errors()


def test_rapid_clicks_are_combined_with_one_request_at_a_time(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(50)
    tab = opened(sale)
    tab.click_add()
    tab.expect_held(1)
    sent: list[str] = []
    under_way: set[Request] = set()
    crowded: list[str] = []

    def on_request(request: Request) -> None:
        if "/api/" in request.url:
            under_way.add(request)
            sent.append(request.method)
            if len(under_way) > 1:
                crowded.append(request.url)

    def on_finished(request: Request) -> None:
        under_way.discard(request)

    tab.page.on("request", on_request)
    tab.page.on("requestfinished", on_finished)
    # Faster than any hand, whatever the load on this machine.
    tab.page.evaluate("for (let i = 0; i < 7; i++) document.querySelector('.more').click()")
    tab.expect_held(8)
    assert sent.count("PUT") == 1
    assert not crowded
    (hold,) = all_holds(platform, sale)
    assert (hold["quantity"], hold["version"]) == (8, 2)


def test_two_tabs_share_one_cart_and_the_last_change_wins(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(50)
    first = opened(sale)
    first.click_add(3)
    first.expect_held(3)
    second = opened(sale)
    second.expect_held(3)
    second.click_add()
    second.expect_held(4)
    first.expect_held(4)
    for tab in (first, second):
        tab.page.evaluate("document.querySelector('.more').click()")
    for tab in (first, second):
        expect(tab.page.locator("#said")).not_to_contain_text("4 tickets held")
    (hold,) = all_holds(platform, sale)
    # The second tab may or may not have seen the first click, but they never add up to 8.
    assert hold["quantity"] in {5, 6}
    for tab in (first, second):
        tab.expect_held(int(str(hold["quantity"])))


def test_an_expired_cart_can_be_renewed(platform: Platform, opened: Opened) -> None:
    sale = platform.on_sale(5, hold_policy={"ttl_seconds": 2, "warning_seconds": 0})
    tab = opened(sale)
    renew = tab.page.get_by_role("button", name="Hold again")
    expect(renew).to_be_hidden()
    tab.click_add()
    expect(renew).to_be_visible()
    expect(tab.page.get_by_role("timer")).to_be_hidden()
    expired = held_by(platform, tab.cart())
    assert (expired["status"], expired["can_renew"]) == ("expired", True)
    ticket = platform.client.patch(
        f"/api/ticket-types/{sale.ticket_type_id}", json={"hold_policy": {"ttl_seconds": 900}}
    )
    assert ticket.status_code == 200, ticket.text
    renew.click()
    tab.expect_held(1)
    expect(tab.page.get_by_role("timer")).to_have_text(re.compile(r"^1[45]:\d\d$"))
    renewed = held_by(platform, tab.cart())
    assert renewed["hold_id"] != expired["hold_id"]
    tab.visitor.assert_no_errors()


def test_the_countdown_stays_in_the_payment_step(
    platform: Platform, opened: Opened, tmp_path: Path
) -> None:
    sale = platform.on_sale(5)
    tab = opened(sale)
    tab.click_add(2)
    tab.expect_held(2)
    tab.page.get_by_role("button", name="Go to payment").click()
    expect(tab.page.get_by_role("heading", name="Payment")).to_be_visible()
    expect(tab.page.get_by_role("timer")).to_be_visible()
    expect(tab.page.get_by_role("timer")).to_have_text(RUNNING)
    tab.page.screenshot(path=tmp_path / "payment.png", full_page=True)
    tab.page.get_by_role("button", name="Pay now").click()
    expect(tab.page.get_by_text("Your order is confirmed: 2 tickets")).to_be_visible()
    expect(tab.page.get_by_role("timer")).to_be_hidden()
    assert held_by(platform, tab.cart())["status"] == "converted"
    tab.visitor.assert_no_errors()


def test_a_refused_change_leaves_the_cart_as_it_was(
    platform: Platform, opened: Opened, tmp_path: Path
) -> None:
    sale = platform.on_sale(3)
    platform.place(sale, 1)
    tab = opened(sale)
    tab.freeze_offers()
    tab.click_add(2)
    tab.expect_held(2)
    tab.click_add()
    alert = tab.page.get_by_role("alert")
    expect(alert).to_have_text("Sold out.")
    expect(tab.page.locator("output")).to_have_text("2")
    tab.expect_held(2)
    (hold,) = [each for each in all_holds(platform, sale) if "cart_token" in each]
    assert hold["quantity"] == 2
    for _ in range(2):
        tab.wait_for_refresh()
    expect(alert).to_have_text("Sold out.")
    tab.check_all_widths(tmp_path / "refused")
    tab.page.get_by_role("button", name="Remove one Type 0").click()
    expect(alert).to_be_hidden()
    tab.expect_held(1)


def test_a_buyer_who_wants_too_many_sees_how_many_are_left(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(3)
    tab = opened(sale)
    tab.click_add()
    tab.expect_held(1)
    tab.page.evaluate("for (let i = 0; i < 4; i++) document.querySelector('.more').click()")
    expect(tab.page.get_by_role("alert")).to_have_text("Only 2 more left.")
    tab.expect_held(1)


def test_a_refused_click_shows_the_reason_until_the_next(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(1)
    platform.place(sale, 1)
    tab = opened(sale)
    tab.click_add()
    alert = tab.page.get_by_role("alert")
    expect(alert).to_have_text("Sold out.")
    tab.wait_for_refresh()
    expect(alert).to_have_text("Sold out.")
    expect(tab.page.locator("#said")).to_have_text("Your cart is empty.")


def test_rapid_clicks_on_a_sold_out_type_join_only_once(platform: Platform, opened: Opened) -> None:
    """A second request would join again, at the end of the waitlist."""
    sale = platform.on_sale(3, hold_policy={"waitlist": True})
    platform.place(sale, 3)
    tab = opened(sale)
    tab.page.evaluate("for (let i = 0; i < 3; i++) document.querySelector('.more').click()")
    expect(tab.page.locator("#said")).to_contain_text("on the waitlist for 3 tickets")
    (hold,) = [each for each in all_holds(platform, sale) if "cart_token" in each]
    assert (hold["quantity"], hold["version"]) == (3, 1)
    tab.page.get_by_role("button", name="Leave the waitlist").click()
    expect(tab.page.get_by_role("heading", name="Your cart")).to_be_visible()
    assert held_by(platform, tab.cart())["status"] == "cancelled"


def test_every_session_can_be_chosen(platform: Platform, opened: Opened) -> None:
    sale = platform.on_sale(1)
    for number in range(101):
        platform.made("/api/sessions", {"event_id": sale.event_id, "name": f"Night {number}"})
    tab = opened(sale)
    expect(tab.page.locator("#session option")).to_have_count(102)
    tab.page.locator("#session").select_option(label="Night 7")
    tab.page.reload()
    chosen = tab.page.locator("#session option:checked")
    expect(chosen).to_have_text("Night 7")


def test_the_waitlist_shows_the_position_and_then_the_tickets(
    platform: Platform, opened: Opened, tmp_path: Path
) -> None:
    sale = platform.on_sale(2, hold_policy={"waitlist": True})
    holder = platform.place(sale, 2).json()
    ahead = platform.place(sale, 1)
    assert ahead.status_code == 202, ahead.text
    tab = opened(sale)
    tab.click_add()
    said = tab.page.locator("#said")
    expect(said).to_contain_text("You are number 2")
    expect(tab.page.get_by_role("heading", name="Waitlist")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Leave the waitlist")).to_be_visible()
    expect(tab.page.get_by_role("timer")).to_be_hidden()
    tab.check_all_widths(tmp_path / "waiting")
    left = platform.client.post(f"/api/holds/{ahead.json()['hold_id']}/release")
    assert left.status_code == 200, left.text
    expect(said).to_contain_text("You are number 1")
    assert platform.client.post(f"/api/holds/{holder['hold_id']}/release").status_code == 200
    expect(said).to_have_text(
        re.compile(r"Your tickets are ready\. Please pay within \d+ minutes\.")
    )
    expect(tab.page.get_by_role("timer")).to_be_visible()
    tab.visitor.assert_no_errors()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_cart_fits_a_desk_and_a_phone(
    platform: Platform, opened: Opened, tmp_path: Path, size: tuple[int, int]
) -> None:
    sale = platform.on_sale(50, 20)
    tab = opened(sale)
    tab.visitor.resize(size)
    tab.click_add(2)
    tab.expect_held(2)
    tab.page.screenshot(path=tmp_path / "cart.png", full_page=True)
    tab.visitor.assert_fits_the_width()
    tab.visitor.assert_no_errors()


def test_without_a_shop_the_page_says_where_to_find_one(
    visitor: Visitor, shop: RunningServer
) -> None:
    visitor.origin = shop.base_url
    visitor.visit("/demo/cart")
    expect(visitor.page.get_by_role("alert")).to_contain_text("no shop at this address")
    visitor.assert_no_errors()


def test_the_page_has_a_token_and_no_secret_key(opened: Opened, platform: Platform) -> None:
    credentials: set[str] = set()
    sale = platform.on_sale(5)
    tab = opened(sale)
    tab.page.on("request", lambda sent: credentials.add(sent.headers.get("authorization", "")))
    tab.click_add()
    tab.expect_held(1)
    tab.wait_for_refresh()
    assert all(each.startswith("Bearer ht_test_") for each in credentials - {""})
    assert credentials - {""}
    assert platform.secret_key not in tab.page.content()
    (hold,) = all_holds(platform, sale)
    assert held_by(platform, tab.cart())["hold_id"] == hold["hold_id"]


def test_the_page_gets_a_new_token_when_its_own_is_refused(
    opened: Opened, platform: Platform
) -> None:
    tab = opened(platform.on_sale(5))
    tab.click_add()
    tab.expect_held(1)
    users = tab.page.evaluate("Object.keys(localStorage)[0].split('anonymous-')[1]")
    body = {"user_id": f"anonymous-{users}"}
    assert platform.client.post("/api/holder-tokens/revoke", json=body).status_code == 200
    tab.click_add()
    tab.expect_held(2)


def test_a_shop_needs_an_organization_that_allows_it(
    visitor: Visitor, shop: RunningServer, platform: Platform
) -> None:
    visitor.origin = shop.base_url
    answer = visitor.page.request.post(
        f"{shop.base_url}/demo/token?organization={platform.organization_id}"
    )
    assert answer.status == 404


def test_the_cart_page_exists_only_in_the_demo(visitor: Visitor) -> None:
    answer = visitor.page.goto(f"{visitor.origin}/demo/cart")
    assert answer is not None
    assert answer.status == 404
