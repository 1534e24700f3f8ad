"""Authenticates callers: with a key or holder token of Holdfast, or as a user of the project."""

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from holdfast.entrypoints.api.http.codes import ProblemCode
from holdfast.entrypoints.api.http.problems import Problem
from holdfast.entrypoints.drf.backends.backend import backend
from holdfast.entrypoints.drf.problems import CHALLENGE, CredentialRefused, Refused
from holdfast.entrypoints.drf.requests import call_of

SECRET_PREFIX = "hk_"  # noqa: S105
_PREFIXES = (SECRET_PREFIX, "ht_")
_SCHEME = "bearer "


class Credential(str):
    """A valid key or holder token: `request.auth`."""

    __slots__ = ()


class CredentialOwner:
    """`request.user` of a call with a credential: not a user of the project."""

    pk = None
    is_active = is_authenticated = True
    is_anonymous = is_staff = is_superuser = False


class HoldfastKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer hk_...` or `ht_...`. Other tokens are left to other classes."""

    def authenticate(self, request: Request) -> tuple[CredentialOwner, Credential] | None:
        sent = request.META.get("HTTP_AUTHORIZATION", "")
        secret = sent[len(_SCHEME) :].strip()
        if sent[: len(_SCHEME)].lower() != _SCHEME or not secret.startswith(_PREFIXES):
            return None
        django_request: HttpRequest = request._request  # noqa: SLF001
        try:
            backend().authenticate(call_of(django_request, ["holds"], None, secret))
        except Problem as problem:
            is_wrong = problem.code is ProblemCode.UNAUTHORIZED
            raise (CredentialRefused if is_wrong else Refused)(problem) from None
        return CredentialOwner(), Credential(secret)

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class ProjectUserAuthentication(SessionAuthentication):
    """The user of the project's session, with a CSRF token for every change."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except PermissionDenied:
            message = "Send the token of the cookie csrftoken as the header X-CSRFToken"
            raise Refused(Problem(ProblemCode.CSRF_FAILED, message)) from None
