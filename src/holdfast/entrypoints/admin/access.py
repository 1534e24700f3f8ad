"""Organizations and their keys; users and their groups."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import ApiKey, Organization
from holdfast.entrypoints.admin.catalog import POLICY
from holdfast.entrypoints.admin.display import badge, in_a_row, link, row_link
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin

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
    fields = (("name", "mode"), "id", "account_id", *POLICY, "created_at", "more")

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


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = (
        *("name", "beginning", "scope_list", "state", "organization"),
        *("last_used_at", "created_at"),
    )
    search_fields = ("name", "prefix")
    search_help_text = "Part of the name, start of the key, or an id"
    fields = (
        ("name", "beginning"),
        "organization",
        "id",
        "scope_list",
        "state",
        ("created_at", "last_used_at"),
        ("expires_at", "revoked_at"),
        "predecessor",
    )

    @admin.display(description="Prefix", ordering="prefix")
    def beginning(self, key: ApiKey) -> str:
        return f"{key.prefix}\N{HORIZONTAL ELLIPSIS}"

    @admin.display(description="Scopes")
    def scope_list(self, key: ApiKey) -> str:
        return ", ".join(key.scopes) or "-"

    @admin.display(description="State", ordering="revoked_at")
    def state(self, key: ApiKey) -> SafeString:
        if key.revoked_at is not None:
            return badge("revoked", "danger")
        if key.expires_at is not None and key.expires_at <= timezone.now():
            return badge("expired", "warning")
        return badge("valid", "success")

    @admin.display(description="Replaces")
    def predecessor(self, key: ApiKey) -> SafeString | str:
        return "-" if key.replaces is None else row_link(ApiKey, key.replaces, "the rotated key")
