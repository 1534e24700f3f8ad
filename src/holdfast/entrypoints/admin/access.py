"""Organizations; users and their groups."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Organization
from holdfast.domain.organizations import SETTINGS
from holdfast.entrypoints.admin.catalog import POLICY
from holdfast.entrypoints.admin.display import in_a_row, link
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.people import may_manage
from holdfast.entrypoints.admin.settings import change_settings

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

_RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(DjangoUserAdmin, UnfoldAdmin):
    """Users are deactivated, never deleted: the log keeps their actions under their name."""

    form = PersonForm
    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ()  # two lists side by side would be wider than the page

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only a superuser changes a superuser."""
        is_above = obj is not None and obj.is_superuser and not may_manage(request)
        return not is_above and super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Nobody else hands out rights: that would be a way to become a superuser."""
        known = super().get_readonly_fields(request, obj)
        return known if may_manage(request) else (*known, *_RIGHTS)


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin, UnfoldAdmin):
    """The permissions of its members."""


@admin.register(Organization)
class OrganizationAdmin(ReadOnlyAdmin):
    related = ()
    list_filter = ()
    list_display = ("name", "mode", "id", "ttl_seconds", "quantity_max", "created_at")
    search_fields = ("name",)
    search_help_text = "Part of the name, or an id"
    fields = (
        ("name", "mode"),
        "id",
        "account_id",
        *POLICY,
        *(name for name in SETTINGS if name != "name"),
        "created_at",
        "more",
    )

    @admin.display(description="See also")
    def more(self, row: Organization) -> SafeString:
        lookups = urlencode({"organization__id__exact": row.id})
        return in_a_row(
            link(f"{reverse(f'admin:holdfast_{name}_changelist')}?{lookups}", text)
            for name, text in (
                ("event", "Events"),
                ("hold", "Holds"),
                ("order", "Orders"),
                ("apikey", "API keys"),
            )
        )

    @admin.display(description="Actions")
    def actions_offered(self, row: Organization) -> SafeString:
        return in_a_row(
            link(reverse(f"admin:holdfast_{name}", args=[row.id]), text)
            for name, text in (
                ("apikey_new", "New API key"),
                ("organization_settings", "Change settings"),
            )
        )

    def get_urls(self) -> list[URLPattern]:
        """Ours comes first: the admin takes any other path for the id of a row."""
        view = never_cache(self.admin_site.admin_view(self.settings_page))
        own = path("<uuid:organization_id>/settings/", view, name="holdfast_organization_settings")
        return [own, *super().get_urls()]

    def settings_page(self, request: HttpRequest, organization_id: UUID) -> HttpResponse:
        if not may_manage(request):
            raise PermissionDenied
        if not Organization.objects.filter(id=organization_id).exists():
            raise Http404
        return change_settings(request, organization_id, self.admin_site.each_context(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fields, "actions_offered") if may_manage(request) else self.fields
