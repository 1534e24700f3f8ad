"""Users and groups, in the style of the other admin pages."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

if TYPE_CHECKING:  # django-unfold has no types; its classes are restyled Django classes
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
    filter_horizontal = ()  # its two lists are wider than the page

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin, UnfoldAdmin):
    """Groups with the permissions of their members."""
