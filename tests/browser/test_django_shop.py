"""The cart and the countdown of the sample Django project."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import DESKTOP, PHONE, TIMEOUT_MS, Visitor
from tests.drf.shops import PASSWORD, RunningShop, against
from tests.support.platform import new_platform
from tests.support.servers import RunningServer

BRIEF, TTL_SECONDS = "Type 0", 2
USUAL = "Standing"
TWO = f"2 \N{MULTIPLICATION SIGN} {USUAL}"


@pytest.fixture(scope="module")
def django_shop(
    server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningShop]:
    """Sells tickets that are held for ten minutes, and some for two seconds."""
    platform = new_platform(server.base_url, server.database_url)
    sale = platform.on_sale(10, hold_policy={"ttl_seconds": TTL_SECONDS})
    usual = {"session_id": sale.session_id, "name": USUAL, "price": 2500, "capacity": 10}
    platform.made("/api/ticket-types", usual)
    directory = tmp_path_factory.mktemp("django-shop")
    environment = against(server.base_url)
    with RunningShop(platform, server.database_url, sale, directory, environment) as running:
        yield running


@pytest.fixture
def buyer(browser: Browser, django_shop: RunningShop) -> Iterator[Visitor]:
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), django_shop.base_url)
    visitor.resize(DESKTOP)
    visitor.visit("/log-in")
    page = visitor.page
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{django_shop.base_url}/")
    yield visitor
    context.close()


def seconds_of(clock: Locator) -> int:
    expect(clock).to_have_text(re.compile(r"\d+:\d\d"))
    minutes, seconds = clock.inner_text().split(":")
    return 60 * int(minutes) + int(seconds)


def test_a_buyer_fills_the_cart_and_pays_in_time(buyer: Visitor, tmp_path: Path) -> None:
    page = buyer.page
    cart, clock = page.locator("#cart"), page.get_by_role("timer")
    for _ in range(3):
        page.get_by_role("button", name=f"Add one {USUAL}").click()
    page.get_by_role("button", name=f"Remove one {USUAL}").click()
    expect(cart).to_contain_text(TWO)
    expect(cart).to_contain_text("€50.00")
    expect(page.get_by_text("8 left")).to_be_visible()
    shown = seconds_of(clock)
    assert shown <= 600
    expect(clock).not_to_have_text(f"{shown // 60}:{shown % 60:02}")
    assert seconds_of(clock) < shown
    # It comes from the server, so a new page goes on where the last one was.
    page.reload()
    expect(cart).to_contain_text(TWO)
    assert 0 < seconds_of(clock) < shown
    for device in (PHONE, DESKTOP):
        buyer.resize(device)
        buyer.assert_fits_the_width()
        page.screenshot(path=tmp_path / f"cart-{device[0]}.png", full_page=True)
    page.get_by_role("button", name="Go to checkout").click()
    expect(page.get_by_role("heading", name="Checkout")).to_be_visible()
    assert seconds_of(clock) > shown, "a checkout gives more time"
    page.get_by_role("button", name=re.compile("^Pay")).click()
    expect(page.get_by_role("heading", name="Enjoy the show!")).to_be_visible()
    expect(page.locator(".ticket")).to_have_count(2)
    buyer.assert_no_errors()


def test_a_cart_whose_time_is_up_says_so_and_can_be_held_again(
    buyer: Visitor, tmp_path: Path
) -> None:
    page = buyer.page
    page.get_by_role("button", name=f"Add one {BRIEF}").click()
    expect(page.get_by_text("Your time is up.")).to_be_visible()
    page.screenshot(path=tmp_path / "expired.png", full_page=True)
    expect(page.get_by_text("10 left").first).to_be_visible()
    with page.expect_response(lambda answer: answer.url.endswith("/hold/renew")) as renewed:
        page.get_by_role("button", name="Hold them again").click()
    assert renewed.value.status == 201
    buyer.assert_no_errors()
