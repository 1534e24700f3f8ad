"""The log-in form, and the audit entries of log-ins."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from holdfast.adapters.postgres.access.passwords import account_named, is_worth_noting
from holdfast.adapters.postgres.models import LoginSession, Member
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.people.rights import origin_of
from holdfast.ports.store import StoreError

if TYPE_CHECKING:  # django-unfold has no types
    from django.contrib.admin.forms import AdminAuthenticationForm as AuthenticationForm
    from django.forms import TextInput
else:
    from unfold.forms import AuthenticationForm
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

_CODE_LENGTH_MAX = 40

_log = structlog.get_logger("holdfast.admin")


class CodeField(forms.CharField):
    """The code of an authenticator app, or a backup code."""

    def __init__(self, **options: Any) -> None:
        attrs = {"autocomplete": "one-time-code"}
        super().__init__(max_length=_CODE_LENGTH_MAX, widget=TextInput(attrs=attrs), **options)


class LogInForm(AuthenticationForm):
    otp_token = CodeField(
        label="Code",
        required=False,
        help_text="Only if you use two-factor authentication.",
    )
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "Please enter the correct username and password, and the code of your "
        "authenticator app if you have set one up.",
    }

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        username, password = given.get("username"), given.get("password")
        if username and password:
            self.user_cache = authenticate(
                self.request,
                username=username,
                password=password,
                otp_token=given.get("otp_token", ""),
            )
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return given


def note(request: HttpRequest, user: Any, action: str, *, by: Any = None) -> None:
    """Write an audit entry into each organization of this person. `by` is the person who
    did it, if it was somebody else."""
    if user.is_superuser:
        _log_operator(request, user, action, by or user)
    own = Member.objects.filter(user_id=user.pk).values_list("organization_id", flat=True)
    note_in(own, request, user, action, by=by)


def _log_operator(request: HttpRequest, user: Any, action: str, by: Any) -> None:
    """Operators belong to no organization, and every audit entry belongs to one."""
    write = _log.warning if action.endswith("failed") else _log.info
    name = action.replace("member.", "operator.")
    write(name, username=user.get_username(), actor=origin_of(request, by).actor)


def note_in(
    organization_ids: Iterable[UUID], request: HttpRequest, user: Any, action: str, *, by: Any
) -> None:
    origin = origin_of(request, by or user)
    try:
        AdminConfig.services.members.note(
            [OrganizationId(each) for each in organization_ids],
            action,
            origin,
            user.pk,
            user.get_username(),
        )
    except StoreError as error:
        _log.error("audit.failed", action=action, problem=error.problem)


# The API signs people in without a session of the pages, and writes its own entries.
def _is_of_pages(request: HttpRequest | None) -> bool:
    return request is not None and hasattr(request, "session")


@receiver(user_logged_in)
def _logged_in(request: HttpRequest, user: Any, **_: Any) -> None:
    if _is_of_pages(request):
        LoginSession.objects.filter(expire_date__lt=timezone.now()).delete()
        note(request, user, "member.logged_in")


@receiver(user_logged_out)
def _logged_out(request: HttpRequest, user: Any, **_: Any) -> None:
    if _is_of_pages(request) and user is not None:
        note(request, user, "member.logged_out")


@receiver(user_login_failed)
def _login_failed(credentials: dict[str, Any], request: HttpRequest | None, **_: Any) -> None:
    if request is None or not _is_of_pages(request):
        return
    username = credentials.get("username") or ""
    user = account_named(username)
    if user is not None and is_worth_noting(request, username):
        note(request, user, "member.login_failed")
