"""Chromium, driven by Playwright."""

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from holdfast.bootstrap.accounts import ensure_admin
from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings
from tests.support import debian
from tests.support.platform import Hall, Platform, Sale
from tests.support.servers import RunningServer

DESKTOP, PHONE = (1280, 900), (390, 844)
TIMEOUT_MS = 120_000  # a busy machine takes half a minute to render the documentation
# From the first control of the content. The menu has a link to pass over it.
TABS_MAX = 20
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
OPERATOR, PASSWORD = "operator-in-the-browser", "a long enough password"


@pytest.fixture(scope="session")
def chromium(request: pytest.FixtureRequest) -> str:
    """The system's Chromium, installed if missing and allowed."""
    found = shutil.which("chromium")
    if found is None:
        debian.announce(request.config, "Installing Chromium for the tests of the pages ...")
        debian.install("chromium")
        found = shutil.which("chromium")
    if found is None:
        debian.unavailable(
            "Chromium is not here and cannot be installed: `apt-get install chromium`"
        )
    return found


@pytest.fixture(scope="package")
def browser(chromium: str, server: RunningServer) -> Iterator[Browser]:
    """Starts after the server and its database, because Playwright's event loop then counts as
    running in the main thread."""
    assert server.process is not None
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield launched
        launched.close()


@dataclass
class Visitor:
    """One person with their own browser window, which records all requests, failures and console
    messages."""

    page: Page
    origin: str
    requested: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._on_request)
        self.page.on("requestfailed", self._on_failure)
        self.page.on("response", self._on_response)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _on_request(self, request: Request) -> None:
        self.requested.append(request.url)

    def _on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the visitor left before it loaded
            self.failed.append(f"{request.failure} {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failed.append(f"{response.status} {response.url}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def visit(self, path: str) -> None:
        answer = self.page.goto(self.origin + path)
        assert answer is not None
        assert answer.status == 200, answer.status

    def resize(self, device: tuple[int, int]) -> None:
        width, height = device
        self.page.set_viewport_size({"width": width, "height": height})

    def assert_no_errors(self) -> None:
        """Check that nothing came from another host, failed to load or logged an error."""
        self.page.wait_for_load_state("networkidle")
        own = urlsplit(self.origin)
        strangers = [url for url in self.requested if not _is_from(own.netloc, url)]
        assert self.requested
        assert not strangers
        assert not self.failed
        assert not self.complaints

    def assert_fits_the_width(self) -> None:
        """Check that nobody has to scroll sideways."""
        content, window = self.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert content <= window, f"{content} px of content in a {window} px window"


def skip_menu(page: Page) -> None:
    """Pass over the menu with the keyboard alone."""
    link = page.get_by_role("link", name="Skip to the content")
    page.wait_for_load_state()
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#content$"))


def tab_to(control: Locator, tabs_max: int = TABS_MAX, key: str = "Tab") -> None:
    """Move the focus with the keyboard alone until this control has it."""
    expect(control).to_be_visible()
    for _ in range(tabs_max):
        if control.evaluate("control => control === document.activeElement"):
            return
        control.page.keyboard.press(key)
    raise AssertionError(f"{tabs_max} tabs do not reach it")


def _is_from(netloc: str, url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "data" or (parts.scheme, parts.netloc) == ("http", netloc)


@pytest.fixture
def visitor(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    """A visitor with their own browser, at desktop size."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), server.base_url)
    visitor.resize(DESKTOP)
    yield visitor
    context.close()


@pytest.fixture(scope="package")
def operator(server: RunningServer) -> str:
    """A user who may log in. Created on another thread: Django refuses to work where Playwright's
    event loop runs."""

    def make() -> None:
        setup_django(Settings(database_url=server.database_url))
        ensure_admin(OPERATOR, PASSWORD)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(make).result()
    return OPERATOR


@pytest.fixture(scope="package")
def shop(
    database_url: str, server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """A server with demo payments, on the other server's database."""
    log = tmp_path_factory.mktemp("shop") / "log"
    with RunningServer(database_url, log, {"HOLDFAST_PAYMENTS": "demo"}) as running:
        yield running


@dataclass
class Tab:
    """A tab with the cart page."""

    visitor: Visitor

    @property
    def page(self) -> Page:
        return self.visitor.page

    def click_add(self, times: int = 1) -> None:
        more = self.page.get_by_role("button", name="Add one Type 0")
        for _ in range(times):
            more.click()

    def freeze_offers(self) -> None:
        """Stop the page from noticing that tickets are taken or freed."""
        with self.page.expect_response(lambda answer: "/availability" in answer.url) as found:
            pass
        body = found.value.body()
        self.page.route(
            "**/availability",
            lambda route: route.fulfill(body=body, content_type="application/json"),
        )

    def requests(self, method: str) -> list[str]:
        """The API requests with this method that the page sends from now on."""
        sent: list[str] = []

        def on_request(request: Request) -> None:
            if "/api/" in request.url and request.method == method:
                sent.append(request.url)

        self.page.on("request", on_request)
        return sent

    def wait_for_refresh(self) -> None:
        """Wait until the page has refreshed its cart and offers by itself."""
        with self.page.expect_response(lambda answer: "/availability" in answer.url):
            pass

    def expect_held(self, quantity: int) -> None:
        tickets = "1 ticket" if quantity == 1 else f"{quantity} tickets"
        expect(self.page.locator("#said")).to_contain_text(f"{tickets} held for you.")

    def check_all_widths(self, pictures: Path) -> None:
        for width, height in (PHONE, DESKTOP):
            self.visitor.resize((width, height))
            self.visitor.assert_fits_the_width()
            self.page.screenshot(path=f"{pictures}-{width}.png", full_page=True)

    def cart(self) -> str:
        name = self.page.evaluate(
            "localStorage.getItem(Object.keys(localStorage).find(k => k.startsWith('holdfast-')))"
        )
        return str(name)


Opened = Callable[[Sale | Hall], Tab]


@pytest.fixture
def opened(browser: Browser, shop: RunningServer, platform: Platform) -> Iterator[Opened]:
    """Opens tabs of one browser."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)

    answer = platform.client.patch("/api/organization", json={"anonymous_holders": True})
    assert answer.status_code == 200, answer.text

    def open_tab(sale: Sale | Hall) -> Tab:
        visitor = Visitor(context.new_page(), shop.base_url)
        visitor.resize(DESKTOP)
        organization = f"organization={platform.organization_id}"
        visitor.visit(f"/demo/cart?{organization}#session={sale.session_id}")
        expect(visitor.page.locator(".type-name").first).to_be_visible()
        return Tab(visitor)

    yield open_tab
    context.close()


def held_by(platform: Platform, cart: str) -> dict[str, object]:
    answer = platform.client.get(f"/api/carts/{cart}/hold")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def all_holds(platform: Platform, sale: Sale) -> list[dict[str, object]]:
    answer = platform.client.get("/api/holds", params={"session_id": sale.session_id})
    return list(answer.json()["data"])
