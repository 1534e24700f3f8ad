"""The people who may log in, and their groups, in the look of the other admin pages."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest

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
    """People are made inactive, never deleted: what they did stays in the log under their name."""

    form = PersonForm
    add_form = AdminUserCreationForm
    change_password_form = AdminPasswordChangeForm
    filter_horizontal = ()  # two lists side by side are wider than the page

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Group)
class PeopleGroupAdmin(GroupAdmin, UnfoldAdmin):
    """What the members may look at."""
