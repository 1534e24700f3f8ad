"""Exceptions of Django and Django REST Framework become problems, and none reveals anything."""

import json
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.signals import got_request_exception
from django.http import Http404, HttpResponse

from holdfast.bootstrap.database import setup_django
from holdfast.bootstrap.settings import Settings


@pytest.fixture(autouse=True)
def django(database_url: str) -> None:
    """In this process, Django has Holdfast's own settings."""
    setup_django(Settings(database_url=database_url))


@pytest.fixture
def failures() -> Iterator[list[object]]:
    """What tools for errors, such as Sentry, hear of."""
    heard: list[object] = []

    def hear(**signal: object) -> None:
        heard.append(signal["request"])

    got_request_exception.connect(hear)
    yield heard
    got_request_exception.disconnect(hear)


def handled(error: Exception) -> HttpResponse | None:
    from django.test import RequestFactory
    from rest_framework.request import Request

    from holdfast.entrypoints.drf.problems import problem_response

    request = Request(RequestFactory().get("/api/holds", headers={"X-Request-ID": "mine"}))
    return problem_response(error, {"request": request})


def errors() -> Iterator[tuple[Exception, int, str]]:
    from rest_framework import exceptions

    yield exceptions.NotAuthenticated(), 401, "unauthorized"
    yield exceptions.AuthenticationFailed("of the project"), 401, "unauthorized"
    yield exceptions.PermissionDenied("of the project"), 403, "permission_denied"
    yield PermissionDenied(), 403, "permission_denied"
    yield Http404(), 404, "not_found"
    yield exceptions.NotFound(), 404, "not_found"
    yield exceptions.MethodNotAllowed("PATCH"), 405, "method_not_allowed"
    yield exceptions.ParseError(), 400, "malformed_json"
    yield exceptions.Throttled(wait=7.2), 429, "too_many_requests"


def test_expected_exceptions_have_the_codes_of_the_api(failures: list[object]) -> None:
    for error, status, code in errors():
        response = handled(error)
        assert response is not None
        problem = json.loads(response.content)
        assert (response.status_code, problem["status"]) == (status, status)
        assert (problem["error"], problem["request_id"]) == (code, "mine")
        assert response["Content-Type"] == "application/problem+json"
        assert "of the project" not in response.content.decode()
        assert ("WWW-Authenticate" in response) is (status == 401)
        assert response.get("Retry-After") == ("8" if status == 429 else None)
    assert not failures


def test_an_unexpected_exception_is_reported_and_reveals_nothing(failures: list[object]) -> None:
    response = handled(ZeroDivisionError("a secret"))
    assert response is not None
    assert (response.status_code, json.loads(response.content)["error"]) == (500, "internal_error")
    assert "secret" not in response.content.decode()
    assert len(failures) == 1


def test_django_shows_it_while_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DEBUG", True)
    assert handled(ZeroDivisionError()) is None
