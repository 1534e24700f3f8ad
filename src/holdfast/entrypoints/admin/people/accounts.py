"""Everybody's accounts, for operators of the installation."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from holdfast.adapters.postgres.models import Member
from holdfast.entrypoints.admin.actions import ask
from holdfast.entrypoints.admin.display import badge, in_a_row, link, row_link
from holdfast.entrypoints.admin.people import two_factor
from holdfast.entrypoints.admin.people.log_in import note
from holdfast.entrypoints.admin.people.rights import is_operator
from holdfast.entrypoints.admin.people.sessions import end_sessions, sessions_of

if TYPE_CHECKING:  # django-unfold has no types; its classes are Django's with another look
    from django.contrib.auth.forms import (
        AdminPasswordChangeForm,
        AdminUserCreationForm,
        UserChangeForm,
    )

    class UnfoldAdmin: ...

    DjangoUserAdmin = UserAdmin[User]
    PersonForm = UserChangeForm[User]
else:
    from unfold.admin import ModelAdmin as UnfoldAdmin
    from unfold.forms import AdminPasswordChangeForm
    from unfold.forms import UserChangeForm as PersonForm
    from unfold.forms import UserCreationForm as AdminUserCreationForm

    DjangoUserAdmin = UserAdmin

# Roles decide what people may do, so Django's groups mean nothing here; and no page shows the
# secrets of authenticator apps.
for _model in (User, Group, TOTPDevice, StaticDevice):
    admin.site.unregister(_model)
admin.site.login_template = "holdfast/login.html"


@admin.register(User)
class PersonAdmin(DjangoUserAdmin, UnfoldAdmin):
    """Accounts are deactivated, never deleted: the log keeps their actions under their name."""

    form = PersonForm
    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_superuser", "is_active", "last_login")
    list_filter = ("is_superuser", "is_active")
    search_fields = ("username",)  # not the address, which would be in the URL
    search_help_text = "Part of the username"
    readonly_fields = (
        "organizations",
        "two_factor",
        "actions_offered",
        "last_login",
        "date_joined",
    )
    fieldsets = (
        (None, {"fields": ("username", "password", "email", ("first_name", "last_name"))}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "organizations")}),
        (
            "Log-ins",
            {"fields": (("last_login", "date_joined"), "two_factor", "actions_offered")},
        ),
    )

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        guard = self.admin_site.admin_view
        urls = [
            path("<int:user_id>/sessions/", never_cache(guard(self.end_all)), name="user_sessions"),
            path("<int:user_id>/two-factor/", never_cache(guard(self.reset)), name="user_reset"),
        ]
        return [*urls, *super().get_urls()]

    def end_all(self, request: HttpRequest, user_id: int) -> HttpResponse:
        user = self._account(request, user_id)
        if request.method == "POST":
            ended = end_sessions(user.pk)
            note(request, user, "member.session_ended", by=request.user)
            messages.success(request, f"{ended} session(s) of {user} have ended.")
            return HttpResponseRedirect(_page_of(user))
        consequence = "This person is logged out everywhere at once, and can log in again."
        return self._asked(
            request, user, f"End the sessions of {user}", consequence, "End sessions"
        )

    def reset(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """For somebody who has lost both the app and the backup codes."""
        user = self._account(request, user_id)
        if request.method == "POST":
            two_factor.turn_off(user)
            note(request, user, "member.two_factor_off", by=request.user)
            messages.success(request, f"Two-factor authentication of {user} is off.")
            return HttpResponseRedirect(_page_of(user))
        title = f"Turn off two-factor authentication of {user}"
        consequence = "Make sure that it is really this person who asks for it."
        return self._asked(request, user, title, consequence, "Turn off")

    def _account(self, request: HttpRequest, user_id: int) -> User:
        if not is_operator(request):
            raise PermissionDenied
        user = User.objects.filter(pk=user_id).first()
        if user is None:
            raise Http404
        return user

    def _asked(
        self, request: HttpRequest, user: User, title: str, consequence: str, button: str
    ) -> HttpResponse:
        texts = {"title": title, "consequence": consequence, "button": button}
        return ask(request, forms.Form(), **texts, back=_page_of(user))

    @admin.display(description="Member of")
    def organizations(self, user: User) -> SafeString | str:
        rows = Member.objects.filter(user_id=user.pk).select_related("organization", "user")
        names = (
            row_link(
                Member, row.id, f"{row.organization.name} ({row.organization.mode}): {row.role}"
            )
            for row in rows.order_by("organization__name", "organization__mode")
        )
        return in_a_row(names) or "no organization"

    @admin.display(description="Two-factor authentication")
    def two_factor(self, user: User) -> SafeString:
        return badge("on", "success") if two_factor.is_on(user) else badge("off")

    @admin.display(description="Actions")
    def actions_offered(self, user: User) -> SafeString | str:
        offered = []
        if count := len(sessions_of(user.pk)):
            offered.append(("user_sessions", f"End {count} session(s)"))
        if two_factor.is_on(user):
            offered.append(("user_reset", "Turn off two-factor authentication"))
        links = (link(reverse(f"admin:{name}", args=[user.pk]), text) for name, text in offered)
        return in_a_row(links) or "-"


def _page_of(user: User) -> str:
    return reverse("admin:auth_user_change", args=[user.pk])
