"""Members: their list, and the pages to add, change and remove one."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Member, Organization
from holdfast.domain.access.members import (
    USERNAME_LENGTH_MAX,
    USERNAME_PATTERN,
    InvitedMember,
    normal_username,
)
from holdfast.domain.access.roles import MEANING_OF_ROLE, Role
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import MemberId, OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import InvalidValue
from holdfast.entrypoints.admin.actions import ask
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import badge, in_a_row, link, shown_time, table
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.people import two_factor
from holdfast.entrypoints.admin.people.log_in import note_in
from holdfast.entrypoints.admin.people.rights import grantor_of, may, origin_of, require, visible
from holdfast.entrypoints.admin.people.sessions import end_sessions_in, sessions_in
from holdfast.services.access.members import MemberRoll

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxInput as Checkbox
    from django.forms import EmailInput, Select, TextInput
else:
    from unfold.widgets import UnfoldAdminEmailInputWidget as EmailInput
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanWidget as Checkbox

_ROLES = [(role.value, f"{role.value}: {MEANING_OF_ROLE[role]}") for role in Role]
_COLOUR_OF_ROLE = {
    Role.OWNER.value: "warning",
    Role.MANAGER.value: "info",
    Role.SUPPORT.value: "success",
    Role.VIEWER.value: "",
}


class NewMemberForm(forms.Form):
    username = forms.RegexField(
        USERNAME_PATTERN,
        max_length=USERNAME_LENGTH_MAX,
        widget=TextInput(),
        help_text="The name to log in with, usually an e-mail address. If nobody has it yet, an "
        "account is created.",
    )
    email = forms.EmailField(required=False, label="E-mail address", widget=EmailInput())
    role = forms.ChoiceField(choices=_ROLES, initial=Role.VIEWER.value, widget=Select())

    def clean_username(self) -> str:
        try:
            return normal_username(self.cleaned_data["username"])
        except InvalidValue as error:
            raise forms.ValidationError(error.message) from None


class OperatorsNewMemberForm(NewMemberForm):
    existing = forms.BooleanField(
        required=False,
        label="Add an account that has a password already",
        help_text="Its password is not reset. Any organization can have created the account: add "
        "it only if you know whose it is.",
        widget=Checkbox(),
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=_ROLES, widget=Select())


@admin.register(Member)
class MemberAdmin(ReadOnlyAdmin):
    related = ("organization", "user")
    list_display = ("username", "shown_role", "organization", "mode", "last_login", "created_at")
    search_fields = ("user__username",)
    search_help_text = "Part of the username"
    fields = (
        ("username", "email"),
        "shown_role",
        "meaning",
        ("organization", "mode"),
        "account_state",
        "two_factor",
        ("last_login", "created_at"),
        "sessions",
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or not may(request, Scope.MEMBERS_WRITE, obj.organization_id):
            return self.fields
        return (*self.fields, "actions_offered")

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        own = (
            ("new/<uuid:organization_id>/", self.add_person, "new"),
            ("<uuid:member_id>/role/", self.change_role, "role"),
            ("<uuid:member_id>/remove/", self.remove, "remove"),
            ("<uuid:member_id>/sessions/", self.end_all, "sessions"),
        )
        guard = self.admin_site.admin_view
        urls = [
            path(route, never_cache(guard(view)), name=f"holdfast_member_{name}")
            for route, view, name in own
        ]
        return [*urls, *super().get_urls()]

    def add_person(self, request: HttpRequest, organization_id: UUID) -> HttpResponse:
        found = visible(request, Organization.objects.filter(id=organization_id)).first()
        if found is None:
            raise Http404
        require(request, Scope.MEMBERS_WRITE, organization_id)
        back = reverse("admin:holdfast_organization_change", args=[organization_id])
        roll = roll_for(request, organization_id)
        offered = OperatorsNewMemberForm if roll.grantor.is_operator else NewMemberForm
        form = offered(request.POST or None)
        if form.is_valid():
            given = form.cleaned_data
            answer = roll.add(
                given["username"],
                given["email"] or None,
                Role(given["role"]),
                takes_existing=given.get("existing", False),
            )
            if isinstance(answer.outcome, InvitedMember):
                return self._invited(request, answer.outcome)
            if not isinstance(answer.outcome, Refusal):
                messages.success(request, f"{given['username']} is a member.")
                return HttpResponseRedirect(back)
            form.add_error(None, answer.outcome.message)
        consequence = f"Adds a person to the {found.mode} side of {found.name}."
        return ask(
            request, form, title="Add a member", consequence=consequence, button="Add", back=back
        )

    def change_role(self, request: HttpRequest, member_id: UUID) -> HttpResponse:
        member = self._member(request, member_id)
        form = RoleForm(request.POST or None, initial={"role": member.role})
        if form.is_valid():
            roll = roll_for(request, member.organization_id)
            role = Role(form.cleaned_data["role"])
            answer = roll.change_role(MemberId(member.id), role)
            if not isinstance(answer.outcome, Refusal):
                messages.success(request, f"{member} is now {role.value}.")
                return HttpResponseRedirect(_page_of(member))
            form.add_error(None, answer.outcome.message)
        return ask(
            request,
            form,
            title=f"Role of {member}",
            consequence="It takes effect at once, also where this person is logged in.",
            button="Change role",
            back=_page_of(member),
        )

    def remove(self, request: HttpRequest, member_id: UUID) -> HttpResponse:
        member = self._member(request, member_id)
        form = forms.Form(request.POST if request.method == "POST" else None)
        if request.method == "POST":
            roll = roll_for(request, member.organization_id)
            answer = roll.remove(MemberId(member.id))
            if not isinstance(answer.outcome, Refusal):
                messages.success(request, f"{member} is no longer a member.")
                return HttpResponseRedirect(reverse("admin:holdfast_member_changelist"))
            form.is_valid()
            form.add_error(None, answer.outcome.message)
        return ask(
            request,
            form,
            title=f"Remove {member}",
            consequence=f"{member} can no longer see or change anything of {member.organization} "
            f"({member.organization.mode}). The account stays.",
            button="Remove",
            back=_page_of(member),
        )

    def end_all(self, request: HttpRequest, member_id: UUID) -> HttpResponse:
        member = self._member(request, member_id)
        if request.method == "POST":
            ended = end_sessions_in(member.user_id, member.organization_id)
            own = (member.organization_id,)
            note_in(own, request, member.user, "member.session_ended", by=request.user)
            messages.success(request, f"{ended} session(s) of {member} have ended.")
            return HttpResponseRedirect(_page_of(member))
        return ask(
            request,
            forms.Form(),
            title=f"End the sessions of {member}",
            consequence=f"This person is signed out of the API of {member.organization} "
            f"({member.organization.mode}) at once, and can sign in again. To shut them out of the "
            "admin pages, too, remove them.",
            button="End sessions",
            back=_page_of(member),
        )

    def _member(self, request: HttpRequest, member_id: UUID) -> Member:
        """A member whom the person may change. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_queryset(request).filter(id=member_id).first()
        if found is None:
            raise Http404
        require(request, Scope.MEMBERS_WRITE, found.organization_id)
        member: Member = found
        return member

    def _invited(self, request: HttpRequest, invited: InvitedMember) -> HttpResponse:
        path_ = reverse("invitation", args=[invited.invitation])
        context = {
            **self.admin_site.each_context(request),
            "title": "Pass this link on",
            "secret": request.build_absolute_uri(path_),
            "url": reverse("admin:holdfast_member_change", args=[invited.member.id]),
        }
        return TemplateResponse(request, "holdfast/invited.html", context)

    @admin.display(description="Username", ordering="user__username")
    def username(self, member: Member) -> str:
        return member.user.get_username()

    @admin.display(description="E-mail address")
    def email(self, member: Member) -> str:
        return member.user.email or "-"

    @admin.display(description="Role", ordering="role")
    def shown_role(self, member: Member) -> SafeString:
        return badge(member.role, _COLOUR_OF_ROLE[member.role])

    @admin.display(description="May")
    def meaning(self, member: Member) -> str:
        return MEANING_OF_ROLE[Role(member.role)]

    @admin.display(description="Side")
    def mode(self, member: Member) -> str:
        return member.organization.mode

    @admin.display(description="Last login")
    def last_login(self, member: Member) -> str:
        at = member.user.last_login
        return "never" if at is None else shown_time(at)

    @admin.display(description="Account")
    def account_state(self, member: Member) -> SafeString:
        if not member.user.is_active:
            return badge("deactivated", "danger")
        is_invited = not member.user.has_usable_password()
        return badge("invited", "warning") if is_invited else badge("active", "success")

    @admin.display(description="Two-factor authentication")
    def two_factor(self, member: Member) -> SafeString:
        return badge("on", "success") if two_factor.is_on(member.user) else badge("off")

    @admin.display(description="Sessions on the API")
    def sessions(self, member: Member) -> SafeString | str:
        found = sessions_in(member.user_id, member.organization_id)
        if not found:
            return "none"
        return table(
            ("Where", "Device", "Address", "Since", "Last seen"),
            (
                (
                    each.kind,
                    each.device,
                    each.ip or "-",
                    shown_time(each.since),
                    shown_time(each.last_seen_at),
                )
                for each in found
            ),
        )

    @admin.display(description="Actions")
    def actions_offered(self, member: Member) -> SafeString:
        return in_a_row(
            link(reverse(f"admin:holdfast_member_{name}", args=[member.id]), text)
            for name, text in (
                ("role", "Change role"),
                ("sessions", "End sessions"),
                ("remove", "Remove"),
            )
        )


def roll_for(request: HttpRequest, organization_id: UUID) -> MemberRoll:
    """The members of the organization, on behalf of the person who is logged in."""
    return MemberRoll(
        AdminConfig.services.members,
        OrganizationId(organization_id),
        grantor_of(request, organization_id),
        origin_of(request),
    )


def _page_of(member: Member) -> str:
    return reverse("admin:holdfast_member_change", args=[member.id])
