"""The cart page, also with a keyboard, a screen reader or a phone."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Opened, held_by
from tests.support.platform import Platform, new_platform
from tests.support.servers import RunningServer


@pytest.fixture
def platform(shop: RunningServer) -> Platform:
    return new_platform(shop.base_url, shop.database_url)


def test_the_first_click_sends_one_request(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(50))
    puts = tab.requests("PUT")
    tab.click_add()
    tab.expect_held(1)
    tab.wait_for_refresh()
    assert len(puts) == 1


def test_a_first_click_after_the_last_ticket_says_sold_out(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(1)
    tab = opened(sale)
    tab.freeze_offers()
    platform.place(sale, 1)
    puts = tab.requests("PUT")
    tab.click_add()
    alert = tab.page.get_by_role("alert")
    expect(alert).to_have_text("Sold out.")
    for _ in range(2):
        tab.wait_for_refresh()
    expect(alert).to_have_text("Sold out.")
    assert len(puts) == 1


@pytest.mark.parametrize(
    ("currency", "price", "shown"),
    [
        ("JPY", 4500, ("\N{YEN SIGN}4,500", "\N{YEN SIGN}9,000")),
        # Browsers omit the hundredths, but prices include them.
        ("HUF", 450_000, ("HUF\N{NO-BREAK SPACE}4,500.00", "HUF\N{NO-BREAK SPACE}9,000.00")),
    ],
)
def test_amounts_have_the_digits_of_their_currency(
    platform: Platform, opened: Opened, currency: str, price: int, shown: tuple[str, str]
) -> None:
    of_one, of_two = shown
    tab = opened(platform.on_sale(5, price=price, currency=currency))
    expect(tab.page.locator(".price")).to_have_text(of_one, use_inner_text=True)
    tab.click_add(2)
    tab.expect_held(2)
    expect(tab.page.locator("#total")).to_have_text(f"Total {of_two}", use_inner_text=True)
    tab.page.get_by_role("button", name="Go to payment").click()
    expect(tab.page.locator("#amount")).to_have_text(of_two, use_inner_text=True)


def test_the_keyboard_focus_follows_each_step(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(5))

    def press(button: str) -> None:
        found = tab.page.get_by_role("button", name=button)
        found.focus()
        found.press("Enter")

    def expect_focused(heading: str) -> None:
        expect(tab.page.get_by_role("heading", name=heading, exact=True)).to_be_focused()

    tab.click_add(2)
    tab.expect_held(2)
    press("Go to payment")
    expect_focused("Payment")
    press("Back to the cart")
    expect_focused("Tickets")
    press("Remove all")
    expect_focused("Your cart")
    tab.click_add()
    tab.expect_held(1)
    press("Go to payment")
    expect_focused("Payment")
    press("Pay now")
    expect_focused("Thank you")
    press("Buy more tickets")
    expect_focused("Tickets")


def test_a_disabled_button_keeps_the_focus(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(2))
    tab.click_add()
    tab.expect_held(1)
    less = tab.page.get_by_role("button", name="Remove one Type 0")
    less.focus()
    less.press("Enter")
    expect(tab.page.locator("#said")).to_have_text("Your cart is empty.")
    expect(less).to_be_disabled()
    expect(less).to_be_focused()


def test_the_status_is_announced_once(platform: Platform, opened: Opened) -> None:
    """Screen readers announce a live region again whenever it is rewritten."""
    tab = opened(platform.on_sale(5))
    tab.click_add()
    tab.expect_held(1)
    tab.page.evaluate(
        """() => {
            window.writes = 0;
            const watch = new MutationObserver((seen) => (window.writes += seen.length));
            for (const id of ["said", "problem"])
                watch.observe(document.getElementById(id), { childList: true, subtree: true });
        }"""
    )
    for _ in range(2):
        tab.wait_for_refresh()
    assert tab.page.evaluate("window.writes") == 0


def test_sessions_of_events_that_are_not_on_sale_are_not_offered(
    platform: Platform, opened: Opened
) -> None:
    cancelled, sale = platform.on_sale(1), platform.on_sale(1)
    changed = platform.client.patch(
        f"/api/events/{cancelled.event_id}", json={"status": "cancelled"}
    )
    assert changed.status_code == 200, changed.text
    live = platform.client.patch(f"/api/events/{sale.event_id}", json={"status": "live"})
    assert live.status_code == 200, live.text
    for asked in (sale, cancelled):
        tab = opened(asked)
        options = tab.page.locator("#session option")
        expect(options).to_have_count(1)
        expect(options).to_have_attribute("value", sale.session_id)
    expect(tab.page.get_by_role("alert")).to_have_text("That session is not on sale.")


def test_a_buyer_of_seats_sees_which_before_and_after_paying(
    platform: Platform, opened: Opened, tmp_path: Path
) -> None:
    tab = opened(platform.hall(1, 6))
    more = tab.page.get_by_role("button", name="Add one Seat")
    more.click()
    more.click()
    tab.expect_held(2)
    lines = held_by(platform, tab.cart())["lines"]
    assert isinstance(lines, list)
    seats = [f"Stalls, row 1, seat {line['seat']['seat_number']}" for line in lines]
    expect(tab.page.locator("#lines li")).to_contain_text(seats)
    tab.page.get_by_role("button", name="Go to payment").click()
    expect(tab.page.locator("#lines li")).to_contain_text(seats)
    tab.page.get_by_role("button", name="Pay now").click()
    expect(tab.page.locator("#tickets li")).to_contain_text(seats)
    tab.check_all_widths(tmp_path / "bought")
    tab.visitor.assert_no_errors()


def test_a_sold_out_type_without_a_waitlist_cannot_be_added_again(
    platform: Platform, opened: Opened
) -> None:
    sale = platform.on_sale(1)
    holder = platform.place(sale, 1).json()
    tab = opened(sale)
    more = tab.page.get_by_role("button", name="Add one Type 0")
    more.click()
    expect(tab.page.get_by_role("alert")).to_have_text("Sold out.")
    expect(more).to_be_disabled()
    assert platform.client.post(f"/api/holds/{holder['hold_id']}/release").status_code == 200
    expect(more).to_be_enabled()


def test_a_cart_with_tickets_cannot_add_a_sold_out_type(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(1, 5))
    tab.click_add()
    tab.expect_held(1)
    expect(tab.page.get_by_role("button", name="Add one Type 0")).to_be_disabled()
    expect(tab.page.get_by_role("button", name="Add one Type 1")).to_be_enabled()


def test_a_phone_shows_the_countdown_above_the_tickets(platform: Platform, opened: Opened) -> None:
    tab = opened(platform.on_sale(5, 5, 5))
    tab.visitor.resize(PHONE)
    tab.click_add()
    tab.expect_held(1)
    countdown = tab.page.get_by_role("timer").bounding_box()
    types = tab.page.locator("#types").bounding_box()
    assert countdown
    assert types
    assert countdown["y"] < types["y"]


def test_an_unsent_click_does_not_affect_another_cart(platform: Platform, opened: Opened) -> None:
    """The buyer clicks in one session and switches to the next at once."""
    left, chosen = platform.on_sale(50), platform.on_sale(50)
    tab = opened(chosen)
    tab.click_add()
    tab.expect_held(1)
    tab.page.select_option("#session", left.session_id)
    tab.wait_for_refresh()
    puts = tab.requests("PUT")
    tab.click_add()  # sent at once
    tab.expect_held(1)
    tab.click_add()  # sent after a moment
    tab.page.select_option("#session", chosen.session_id)
    tab.expect_held(1)
    tab.wait_for_refresh()
    tab.expect_held(1)
    assert len(puts) == 1
