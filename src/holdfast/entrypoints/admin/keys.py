"""API keys: their list, and the pages to create, rotate and revoke one."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import ApiKey, Organization
from holdfast.domain.access.keys import OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX, IssuedKey
from holdfast.domain.access.scopes import SCOPE_SETS, Mode, Scope, scopes_named
from holdfast.domain.ids import ApiKeyId, OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.actions import ask
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import badge, in_a_row, link, row_link
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.people.rights import may, origin_of, require, visible
from holdfast.services.access.keys import KeyAnswered, KeyRing

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxSelectMultiple, NumberInput, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminIntegerFieldWidget as NumberInput
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

NAME_LENGTH_MAX = 200
DAYS_MAX = 3650
_SECONDS_PER_HOUR = 3600
_SCOPES = [
    *(
        (name, "all scopes" if name == "all" else f"{name} ({', '.join(scopes)})")
        for name, scopes in SCOPE_SETS.items()
    ),
    *((scope.value, scope.value) for scope in Scope),
]


class NewKeyForm(forms.Form):
    name = forms.CharField(
        max_length=NAME_LENGTH_MAX, widget=TextInput(), help_text="What the key is for."
    )
    scopes = forms.MultipleChoiceField(
        choices=_SCOPES,
        widget=CheckboxSelectMultiple(),
        help_text="Sets of scopes, or single ones. Give a key only what its program needs.",
    )
    days = forms.IntegerField(
        label="Expires after (days)",
        required=False,
        min_value=1,
        max_value=DAYS_MAX,
        widget=NumberInput(),
        help_text="Leave empty for a key that works until it is revoked.",
    )


class RotationForm(forms.Form):
    hours = forms.IntegerField(
        label="Overlap (hours)",
        min_value=0,
        max_value=OVERLAP_SECONDS_MAX // _SECONDS_PER_HOUR,
        initial=OVERLAP_SECONDS_DEFAULT // _SECONDS_PER_HOUR,
        widget=NumberInput(),
        help_text="How long the old key keeps working. 0 stops it at once.",
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

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or not may(request, Scope.KEYS_WRITE, obj.organization_id):
            return self.fields
        return (*self.fields, "actions_offered")

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        own = (
            ("new/<uuid:organization_id>/", self.create, "new"),
            ("<uuid:key_id>/rotate/", self.rotate, "rotate"),
            ("<uuid:key_id>/revoke/", self.revoke, "revoke"),
        )
        guard = self.admin_site.admin_view
        urls = [
            path(route, never_cache(guard(view)), name=f"holdfast_apikey_{name}")
            for route, view, name in own
        ]
        return [*urls, *super().get_urls()]

    def create(self, request: HttpRequest, organization_id: UUID) -> HttpResponse:
        organization = visible(request, Organization.objects.filter(id=organization_id)).first()
        if organization is None:
            raise Http404
        require(request, Scope.KEYS_WRITE, organization_id)
        form = NewKeyForm(request.POST or None)
        if form.is_valid():
            given, expires_at = form.cleaned_data, None
            if given["days"] is not None:
                expires_at = datetime.now(UTC) + timedelta(days=given["days"])
            scopes = [scope.value for scope in scopes_named(given["scopes"])]
            answer = ring_for(request, organization).create(given["name"], scopes, expires_at)
            return self._issued(request, form, answer)
        return ask(
            request,
            form,
            title="New API key",
            consequence=f"Creates a key for the {organization.mode} data of {organization.name}.",
            button="Create key",
            back=reverse("admin:holdfast_organization_change", args=[organization_id]),
        )

    def rotate(self, request: HttpRequest, key_id: UUID) -> HttpResponse:
        key = self._key(request, key_id)
        form = RotationForm(request.POST or None)
        if form.is_valid():
            overlap_seconds = form.cleaned_data["hours"] * _SECONDS_PER_HOUR
            ring = ring_for(request, key.organization)
            return self._issued(request, form, ring.rotate(ApiKeyId(key.id), overlap_seconds, None))
        return ask(
            request,
            form,
            title=f"Rotate {key.name}",
            consequence="Creates a key with the same name, scopes and lifetime. The old one stops "
            "after the overlap.",
            button="Rotate key",
            back=reverse("admin:holdfast_apikey_change", args=[key_id]),
        )

    def revoke(self, request: HttpRequest, key_id: UUID) -> HttpResponse:
        key = self._key(request, key_id)
        if request.method == "POST":
            answer = ring_for(request, key.organization).revoke(ApiKeyId(key.id))
            if isinstance(answer.outcome, Refusal):
                messages.error(request, answer.outcome.message)
            else:
                messages.success(request, f"{key.name} is revoked.")
            return HttpResponseRedirect(reverse("admin:holdfast_apikey_change", args=[key.id]))
        return ask(
            request,
            forms.Form(),
            title=f"Revoke {key.name}",
            consequence="Requests with this key will be refused immediately. This cannot be "
            "undone.",
            button="Revoke key",
            back=reverse("admin:holdfast_apikey_change", args=[key_id]),
        )

    def _key(self, request: HttpRequest, key_id: UUID) -> ApiKey:
        """A key that the person may change. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found: ApiKey | None = self.get_queryset(request).filter(id=key_id).first()
        if found is None:
            raise Http404
        require(request, Scope.KEYS_WRITE, found.organization_id)
        return found

    def _issued(self, request: HttpRequest, form: forms.Form, answer: KeyAnswered) -> HttpResponse:
        if isinstance(answer.outcome, Refusal):
            form.add_error(None, answer.outcome.message)
            return ask(request, form, title="API key", button="Try again")
        assert isinstance(answer.outcome, IssuedKey)
        issued = answer.outcome
        context = {
            **self.admin_site.each_context(request),
            "title": f"{issued.key.name}: copy the key now",
            "secret": issued.secret,
            "url": reverse("admin:holdfast_apikey_change", args=[issued.key.id]),
        }
        return TemplateResponse(request, "holdfast/key_issued.html", context)

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
        return badge("valid", "success") if _is_valid(key) else badge("expired", "warning")

    @admin.display(description="Replaces")
    def predecessor(self, key: ApiKey) -> SafeString | str:
        return "-" if key.replaces is None else row_link(ApiKey, key.replaces, "the rotated key")

    @admin.display(description="Actions")
    def actions_offered(self, key: ApiKey) -> SafeString | str:
        if not _is_valid(key):
            return "-"
        return in_a_row(
            link(reverse(f"admin:holdfast_apikey_{name}", args=[key.id]), text)
            for name, text in (("rotate", "Rotate"), ("revoke", "Revoke"))
        )


def ring_for(request: HttpRequest, organization: Organization) -> KeyRing:
    """The keys of the organization, on behalf of the person who is logged in."""
    mode = Mode(organization.mode)
    return KeyRing(
        AdminConfig.services.keys, OrganizationId(organization.id), mode, None, origin_of(request)
    )


def _is_valid(key: ApiKey) -> bool:
    is_over = key.expires_at is not None and key.expires_at <= timezone.now()
    return key.revoked_at is None and not is_over
