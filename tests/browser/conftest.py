"""Chromium, driven by Playwright."""

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
TIMEOUT_MS = 120_000  # a busy machine takes half a minute to draw the documentation
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
    """The system's Chromium, installed where it is missing and may be."""
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
    """For these tests only: while Playwright runs, its event loop counts as the running one of the
    main thread. So the server, and its migrated database, come first."""
    assert server.process is not None
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield launched
        launched.close()


@dataclass
class Visitor:
    """One person with an own browser window. It writes down everything that is loaded and all that
    the pages complain about."""

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
        if request.failure != "net::ERR_ABORTED":  # the visitor went on before it was there
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

    def take(self, device: tuple[int, int]) -> None:
        width, height = device
        self.page.set_viewport_size({"width": width, "height": height})

    def assert_all_went_well(self) -> None:
        """Nothing came from elsewhere, nothing was missing, nothing was complained about."""
        self.page.wait_for_load_state("networkidle")
        own = urlsplit(self.origin)
        strangers = [url for url in self.requested if not _is_of(own.netloc, url)]
        assert self.requested
        assert not strangers
        assert not self.failed
        assert not self.complaints

    def assert_fits_the_width(self) -> None:
        """Nobody has to scroll sideways."""
        content, window = self.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert content <= window, f"{content} px of content in a window of {window} px"


def _is_of(netloc: str, url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "data" or (parts.scheme, parts.netloc) == ("http", netloc)


@pytest.fixture
def visitor(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    """With a browser of their own, at a desk."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)
    visitor = Visitor(context.new_page(), server.base_url)
    visitor.take(DESKTOP)
    yield visitor
    context.close()


@pytest.fixture(scope="package")
def operator(server: RunningServer) -> str:
    """Somebody who may log in. On another thread: Django refuses to work where Playwright's event
    loop runs."""

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
    """A server with the demo's payments, on the tables of the other one."""
    log = tmp_path_factory.mktemp("shop") / "log"
    with RunningServer(database_url, log, {"HOLDFAST_PAYMENTS": "demo"}) as running:
        yield running


@dataclass
class Tab:
    """One tab with the page of the cart."""

    visitor: Visitor

    @property
    def page(self) -> Page:
        return self.visitor.page

    def click_more(self, times: int = 1) -> None:
        more = self.page.get_by_role("button", name="Add one Type 0")
        for _ in range(times):
            more.click()

    def freeze_offers(self) -> None:
        """The page no longer hears that tickets are taken or freed."""
        with self.page.expect_response(lambda answer: "/availability" in answer.url) as found:
            pass
        body = found.value.body()
        self.page.route(
            "**/availability",
            lambda route: route.fulfill(body=body, content_type="application/json"),
        )

    def requests(self, method: str) -> list[str]:
        """The API requests that the page sends with that method from now on."""
        sent: list[str] = []

        def on_request(request: Request) -> None:
            if "/api/" in request.url and request.method == method:
                sent.append(request.url)

        self.page.on("request", on_request)
        return sent

    def wait_for_a_look(self) -> None:
        """Until the page has looked at its cart and the offers by itself."""
        with self.page.expect_response(lambda answer: "/availability" in answer.url):
            pass

    def expect_held(self, quantity: int) -> None:
        tickets = "1 ticket" if quantity == 1 else f"{quantity} tickets"
        expect(self.page.locator("#said")).to_contain_text(f"{tickets} held for you.")

    def look_at_all_widths(self, pictures: Path) -> None:
        for width, height in (PHONE, DESKTOP):
            self.visitor.take((width, height))
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
    """Tabs of one browser."""
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(TIMEOUT_MS)

    def open_tab(sale: Sale | Hall) -> Tab:
        visitor = Visitor(context.new_page(), shop.base_url)
        visitor.take(DESKTOP)
        visitor.visit(f"/demo/cart#key={platform.secret_key}&session={sale.session_id}")
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
