"""The page of a person's own account: sessions and two-factor authentication."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import authenticate
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from holdfast.adapters.postgres.models import Organization
from holdfast.entrypoints.admin.people import two_factor
from holdfast.entrypoints.admin.people.log_in import CodeField, note
from holdfast.entrypoints.admin.people.rights import needs_two_factor, roles_of
from holdfast.entrypoints.admin.people.sessions import end_session, end_sessions, sessions_of

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import PasswordInput
else:
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput


class ConfirmForm(forms.Form):
    otp_token = CodeField(label="Code", help_text="The 6 digits that the app shows now.")


class TurnOffForm(forms.Form):
    password = forms.CharField(
        widget=PasswordInput(attrs={"autocomplete": "current-password"}), strip=False
    )
    otp_token = CodeField(label="Code", help_text="Of your app, or a backup code.")


def account(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    texts = {
        "title": "Your account",
        "sessions": sessions_of(user.pk, request.session.session_key),
        "roles": _shown_roles(request),
        "needs_two_factor": needs_two_factor(request),
        "uses_two_factor": two_factor.is_on(user),
        "backup_codes_left": two_factor.backup_codes_left(user),
    }
    return _page(request, "holdfast/account.html", **texts)


@require_POST
def end_one(request: HttpRequest, session_id: UUID) -> HttpResponse:
    user: Any = request.user
    if not end_session(user.pk, session_id):
        raise Http404
    note(request, user, "member.session_ended")
    messages.success(request, "The session has ended.")
    return HttpResponseRedirect(reverse("account"))


@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    ended = end_sessions(user.pk, but=request.session.session_key)
    note(request, user, "member.session_ended")
    messages.success(request, f"{ended} other session(s) have ended.")
    return HttpResponseRedirect(reverse("account"))


def turn_on(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if two_factor.is_on(user):
        return HttpResponseRedirect(reverse("account"))
    form = ConfirmForm(request.POST or None)
    if form.is_valid():
        codes = two_factor.confirm(user, form.cleaned_data["otp_token"])
        if codes is not None:
            note(request, user, "member.two_factor_on")
            title = "Two-factor authentication is on"
            return _page(request, "holdfast/backup_codes.html", title=title, codes=codes)
        form.add_error("otp_token", "This code is wrong or too old. Enter the one shown now.")
    device = two_factor.device_to_confirm(user)
    return _page(
        request,
        "holdfast/two_factor.html",
        title="Turn on two-factor authentication",
        form=form,
        picture=mark_safe(two_factor.picture_of(device)),  # noqa: S308 -- drawn here
        secret=two_factor.secret_of(device),
        back=reverse("account"),
    )


def turn_off(request: HttpRequest) -> HttpResponse:
    """Needs password and code, like a log-in, and wrong ones count like those of a log-in."""
    user: Any = request.user
    if not two_factor.is_on(user):
        return HttpResponseRedirect(reverse("account"))
    form = TurnOffForm(request.POST or None)
    if form.is_valid():
        if authenticate(request, username=user.get_username(), **form.cleaned_data) is not None:
            two_factor.turn_off(user)
            note(request, user, "member.two_factor_off")
            messages.success(request, "Two-factor authentication is off.")
            return HttpResponseRedirect(reverse("account"))
        form.add_error(None, "The password or the code is wrong.")
    return _page(
        request,
        "holdfast/action.html",
        form=form,
        title="Turn off two-factor authentication",
        consequence="From then on, your password alone lets you in.",
        button="Turn off",
        back=reverse("account"),
    )


def _shown_roles(request: HttpRequest) -> list[tuple[str, str, str]]:
    roles = roles_of(request)
    rows = Organization.objects.filter(id__in=roles).order_by("name", "mode")
    return [(row.name, row.mode, roles[row.id].value) for row in rows]


def _page(request: HttpRequest, template: str, **texts: Any) -> HttpResponse:
    return TemplateResponse(request, template, {**admin.site.each_context(request), **texts})


def _guarded(view: Any) -> Any:
    return never_cache(admin.site.admin_view(view))


ACCOUNT_URLS: list[URLPattern] = [
    path("", _guarded(account), name="account"),
    path("sessions/<uuid:session_id>/end/", _guarded(end_one), name="account-end-session"),
    path("sessions/end/", _guarded(end_others), name="account-end-sessions"),
    path("two-factor/", _guarded(turn_on), name="account-two-factor"),
    path("two-factor/off/", _guarded(turn_off), name="account-two-factor-off"),
]
