"""Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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

from holdfast.bootstrap.database import ensure_admin, setup_django
from holdfast.bootstrap.settings import Settings
from tests.support import debian
from tests.support.servers import RunningServer

DESKTOP, PHONE = (1280, 900), (390, 844)
TIMEOUT_MS = 20_000
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
