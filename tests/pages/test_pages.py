"""The start page and error pages: small, safe and self-contained."""

import re
import runpy
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.template import Engine
from django.test import Client, RequestFactory

from holdfast.bootstrap import django_settings
from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings


@pytest.fixture
def browser() -> Client:
    """None of these pages needs the database."""
    setup_django(Settings())
    return Client(SERVER_NAME="localhost")


def test_the_start_page_links_to_everything(browser: Client) -> None:
    answer = browser.get("/")
    assert answer.status_code == 200
    text = answer.content.decode()
    for address in ("/api/docs", "/api/schema", "/admin/", "/readyz"):
        assert f'href="{address}"' in text


def test_pages_have_the_basics_of_accessibility(browser: Client) -> None:
    for path in ("/", "/no-such-page"):
        text = browser.get(path).content.decode()
        assert '<html lang="en">' in text
        assert 'name="viewport"' in text
        assert text.count("<h1>") == text.count("<main>") == text.count("<title>") == 1
        assert all('alt="' in image for image in re.findall("<img[^>]*>", text))


def test_pages_load_nothing_from_elsewhere(browser: Client) -> None:
    for path in ("/", "/no-such-page", "/static/pages/pages.css", "/static/pages/icon.svg"):
        text = browser.get(path).content.decode()
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//|url\(|@import", text)
    policy = browser.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_the_admin_loads_nothing_from_elsewhere(browser: Client) -> None:
    answer = browser.get("/admin/login/")
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", answer.content.decode())


def test_pages_cannot_be_framed_or_sniffed(browser: Client) -> None:
    headers = browser.get("/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_an_unknown_page_shows_a_plain_404(browser: Client) -> None:
    answer = browser.get("/no-such-page")
    assert answer.status_code == 404
    assert "<h1>Page not found</h1>" in answer.content.decode()


def test_a_failure_shows_no_detail(browser: Client) -> None:
    from holdfast.entrypoints.pages.views import server_error

    answer = server_error(RequestFactory().get("/"))
    assert answer.status_code == 500
    assert "Something went wrong" in answer.content.decode()


SECRET = "postgresql://holdfast:hunter2@db"


def _fail(*_: object, **__: object) -> NoReturn:
    raise RuntimeError(SECRET)


def _assert_is_the_page_for_errors(answer: Any) -> None:
    text = answer.content.decode()
    assert answer.status_code == 500
    assert "This is not your fault." in text
    assert 'href="/static/holdfast/error.css"' in text
    assert "pages.css" not in text, "the look of the public pages"
    for detail in (SECRET, "RuntimeError", "Traceback", "hunter2", "/admin/holdfast/"):
        assert detail not in text


def test_a_failing_page_of_the_admin_has_its_look_and_shows_no_detail(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.raise_request_exception = False
    assert operator.get("/admin/holdfast/event/").status_code == 200
    page = admin.site.get_model_admin(apps.get_model("holdfast.event"))
    monkeypatch.setattr(type(page), "get_queryset", _fail)
    _assert_is_the_page_for_errors(operator.get("/admin/holdfast/event/"))
    _assert_is_the_page_for_errors(operator.post("/admin/holdfast/event/"))


def test_the_admin_tells_of_a_failure_when_everything_fails(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No query succeeds, not even for the session, and no context processor works."""
    operator.raise_request_exception = False
    monkeypatch.setattr(admin.site, "each_context", _fail)
    monkeypatch.setattr(Engine.get_default(), "template_context_processors", (_fail,))
    with connection.execute_wrapper(_fail):
        _assert_is_the_page_for_errors(operator.get("/admin/"))
    style = operator.get("/static/holdfast/error.css")
    assert style.status_code == 200


def test_a_foreign_host_name_is_refused(browser: Client) -> None:
    assert Client(SERVER_NAME="elsewhere.example").get("/").status_code == 400


@pytest.mark.parametrize(
    ("hosts", "secure", "origins"),
    [
        ("127.0.0.1,localhost", False, []),
        ("tickets.example.com", True, ["https://tickets.example.com"]),
        (".example.com", True, ["https://*.example.com"]),
    ],
)
def test_cookies_require_https_unless_a_local_host_is_allowed(
    monkeypatch: pytest.MonkeyPatch, hosts: str, secure: bool, origins: list[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_ALLOWED_HOSTS", hosts)
    settings = runpy.run_path(django_settings.__file__)
    assert settings["SESSION_COOKIE_SECURE"] is settings["CSRF_COOKIE_SECURE"] is secure
    assert settings["CSRF_TRUSTED_ORIGINS"] == origins


def test_static_files_are_served_without_collectstatic(browser: Client) -> None:
    for path, kind in (
        ("pages/pages.css", "text/css"),
        ("unfold/css/styles.css", "text/css"),
        ("admin/js/core.js", "text/javascript"),
    ):
        answer = browser.get(f"/static/{path}")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith(kind)
        again = browser.get(f"/static/{path}", headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert browser.get("/static/../settings.py").status_code == 404


def test_every_pair_of_colors_has_enough_contrast() -> None:
    """WCAG 2 requires 4.5 to 1."""
    from holdfast.entrypoints import pages

    assert pages.__file__ is not None
    style = (Path(pages.__file__).parent / "static/pages/pages.css").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w{6});", scheme))
        for text in ("text", "quiet", "accent"):
            for ground in ("ground", "card"):
                assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_an_unknown_page_of_the_admin_has_its_look(operator: Client) -> None:
    answer = operator.get("/admin/no-such-page/")
    assert answer.status_code == 404
    text = answer.content.decode()
    assert "There is no such page, or it belongs to an organization that you cannot see." in text
    assert 'id="find-box"' in text
    stranger = Client(SERVER_NAME="localhost").get("/admin/no-such-page/")
    assert stranger.status_code == 302, "log in first"


def test_a_form_without_a_token_is_refused_in_words(operator: Client) -> None:
    strict = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    answer = strict.post("/admin/account/sessions/end/")
    assert answer.status_code == 403
    assert "Go back, reload the page and send the form again." in answer.content.decode()
    anonymous = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    assert "send the form again" in anonymous.post("/admin/login/").content.decode()
