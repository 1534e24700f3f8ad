"""Exceptions of Django REST Framework as problems, with the codes and statuses of the API."""

from collections.abc import Mapping
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.signals import got_request_exception
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions

from holdfast.entrypoints.api.http.codes import KINDS, ProblemCode
from holdfast.entrypoints.api.http.exchange import Reply
from holdfast.entrypoints.api.http.problems import Headers, Problem, unexpected_reply
from holdfast.entrypoints.drf.requests import request_id_of, response_to

CHALLENGE = 'Bearer realm="holdfast"'
_LOG_IN = "Log in, or send a secret key or holder token as Authorization: Bearer"

_log = structlog.get_logger("holdfast.drf")


class Refused(exceptions.APIException):
    """A problem that any exception handler of Django REST Framework understands."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message, problem.code.value)
        self.status_code = KINDS[problem.code].status
        self.problem = problem


class CredentialRefused(Refused, exceptions.AuthenticationFailed):
    """A key or holder token that is not valid."""


def problem_response(error: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """An EXCEPTION_HANDLER. With DEBUG, it leaves unexpected errors to Django's error page."""
    request: HttpRequest = context["request"]._request  # noqa: SLF001
    problem = _problem_of(error)
    if problem is not None:
        return response_to(request, problem.reply(request_id_of(request)))
    if settings.DEBUG:
        return None
    got_request_exception.send(sender=None, request=request)
    _log.exception("request.failed", request_id=request_id_of(request))
    return response_to(request, _unexpected(request))


def _unexpected(request: HttpRequest) -> Reply:
    return unexpected_reply(request_id_of(request))


def _problem_of(error: Exception) -> Problem | None:
    match error:
        case Problem():
            return error
        case Refused():
            return error.problem
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            challenge: Headers = ((b"www-authenticate", CHALLENGE.encode()),)
            return Problem(ProblemCode.UNAUTHORIZED, _LOG_IN, headers=challenge)
        case exceptions.PermissionDenied() | DjangoPermissionDenied():
            return Problem(ProblemCode.PERMISSION_DENIED, "You may not do this")
        case exceptions.Throttled():
            return _throttled(error)
        case exceptions.MethodNotAllowed():
            return Problem(ProblemCode.METHOD_NOT_ALLOWED, "This method is not allowed here")
        case exceptions.NotFound() | Http404():
            return Problem(ProblemCode.NOT_FOUND, "There is nothing at this address")
        case exceptions.ParseError():
            return Problem(ProblemCode.MALFORMED_JSON, "The body is not valid JSON")
    return None


def _throttled(error: exceptions.Throttled) -> Problem:
    wait: float | None = getattr(error, "wait", None)
    seconds = b"%d" % max(1, wait or 1)
    message = "Too many requests. Wait a moment and try again."
    return Problem(ProblemCode.TOO_MANY_REQUESTS, message, headers=((b"retry-after", seconds),))
