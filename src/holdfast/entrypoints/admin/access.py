"""Organizations."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres import models
from holdfast.adapters.postgres.models import Organization
from holdfast.domain.access.scopes import Scope
from holdfast.domain.organizations import SETTINGS
from holdfast.entrypoints.admin.catalog.policies import POLICY
from holdfast.entrypoints.admin.display import in_a_row, link
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.mails.urls import mail_urls
from holdfast.entrypoints.admin.people.rights import current_request, may, require, shows_links_to
from holdfast.entrypoints.admin.settings import change_settings

_ACTIONS = {
    "event_new": ("New event", Scope.CATALOG_WRITE),
    "apikey_new": ("New API key", Scope.KEYS_WRITE),
    "member_new": ("Add a member", Scope.MEMBERS_WRITE),
    "organization_settings": ("Change settings", Scope.SETTINGS_WRITE),
    "mail_texts": ("E-mail texts", Scope.SETTINGS_WRITE),
}


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
        find = link(f"{reverse('find')}?organization={row.id}", "Find in this organization")
        lists = (
            link(
                f"{reverse(f'admin:holdfast_{model.__name__.lower()}_changelist')}?{lookups}", text
            )
            for model, text in (
                (models.Event, "Events"),
                (models.Hold, "Holds"),
                (models.Order, "Orders"),
                (models.ApiKey, "API keys"),
                (models.Member, "Members"),
            )
            if shows_links_to(model, row.id)
        )
        return in_a_row((find, *lists))

    @admin.display(description="Actions")
    def actions_offered(self, row: Organization) -> SafeString:
        request = current_request.get()
        return in_a_row(
            link(reverse(f"admin:holdfast_{name}", args=[row.id]), text)
            for name, (text, scope) in _ACTIONS.items()
            if request is not None and may(request, scope, row.id)
        )

    def get_urls(self) -> list[URLPattern]:
        """Ours comes first: the admin takes any other path for the id of a row."""
        view = never_cache(self.admin_site.admin_view(self.settings_page))
        own = path("<uuid:organization_id>/settings/", view, name="holdfast_organization_settings")
        return [own, *mail_urls(self.admin_site.admin_view), *super().get_urls()]

    def settings_page(self, request: HttpRequest, organization_id: UUID) -> HttpResponse:
        if not self.get_queryset(request).filter(id=organization_id).exists():
            raise Http404
        require(request, Scope.SETTINGS_WRITE, organization_id)
        return change_settings(request, organization_id)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        scopes = (scope for _, scope in _ACTIONS.values())
        offers = obj is not None and any(may(request, scope, obj.id) for scope in scopes)
        return (*self.fields, "actions_offered") if offers else self.fields
