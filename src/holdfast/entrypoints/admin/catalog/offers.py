"""Buttons on the pages of the catalog: what the person may do with a row, and how to add one."""

from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Session
from holdfast.domain.access.scopes import Scope
from holdfast.domain.immutable import immutable
from holdfast.entrypoints.admin.lists import ReadOnlyAdmin
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import may, may_somewhere, require

View = Callable[[HttpRequest, Any], HttpResponse]


def _always(_row: Any) -> bool:
    return True


@immutable
class Offer:
    """A page that changes a row: its path, the text of its button, the rows that it is offered for,
    and the scope that it needs."""

    name: str
    text: str
    view: View
    is_for: Callable[[Any], bool] = _always
    is_dangerous: bool = False
    scope: Scope = Scope.CATALOG_WRITE


class CatalogAdmin(ReadOnlyAdmin):
    """A page with buttons for people who may change the catalog."""

    offers: ClassVar[tuple[Offer, ...]] = ()
    # What a row of this list belongs to, the parameter that names it, and the page that adds a row.
    parent: ClassVar[type[Model]] = Session
    parent_parameter: ClassVar[str] = "session_id"
    new_offer: ClassVar[str] = ""
    change_form_outer_before_template = "holdfast/catalog/offers.html"
    list_before_template = "holdfast/catalog/new.html"

    class Media:
        css: ClassVar[dict[str, tuple[str, ...]]] = {"all": ("holdfast/catalog.css",)}

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        guard = self.admin_site.admin_view
        own = [
            path(
                f"<uuid:row_id>/{offer.name}/",
                never_cache(guard(self._guarded(offer))),
                name=f"holdfast_{self.opts.model_name}_{offer.name}",
            )
            for offer in self.offers
        ]
        return [*own, *super().get_urls()]

    def _guarded(self, offer: Offer) -> Callable[..., HttpResponse]:
        """The page, for people who may change this row. A foreign id is not found, like an unknown
        one."""

        def guarded(request: HttpRequest, row_id: UUID) -> HttpResponse:
            if not self.has_view_permission(request):
                raise PermissionDenied
            row = self.get_queryset(request).filter(id=row_id).first()
            if row is None:
                raise Http404
            require(request, offer.scope, row.organization_id)
            return offer.view(request, row)

        return guarded

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        row = kwargs["obj"]
        name = f"admin:holdfast_{self.opts.model_name}_"
        context["offers"] = [
            {"url": reverse(name + offer.name, args=[row.id]), "offer": offer}
            for offer in self.offers
            if offer.is_for(row) and may(request, offer.scope, row.organization_id)
        ]
        if may(request, Scope.CATALOG_WRITE, row.organization_id):
            context["steps"] = self.steps(row)
        return super().render_change_form(request, context, *args, **kwargs)

    def steps(self, row: Any) -> object:
        """What is still missing before the sale can start, for the template."""
        return None

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        rows = super().get_changelist_instance(request)
        rows.holdfast_new = self.new_url(request)
        return rows

    def new_url(self, request: HttpRequest) -> str | None:
        """The page that adds a row to this list, for people who may."""
        if not may_somewhere(request, Scope.CATALOG_WRITE):
            return None
        lookups = {name: request.GET[name] for name in _CONTEXT if name in request.GET}
        url = reverse(f"admin:holdfast_{self.opts.model_name}_add")
        return f"{url}?{urlencode(lookups)}" if lookups else url

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """On to the form of the session or event that the list is filtered by. Without one, say
        where rows are added."""
        if not may_somewhere(request, Scope.CATALOG_WRITE):
            raise PermissionDenied
        parent_id = uuid_or_none(request.GET.get(self.parent_parameter, ""))
        model = self.parent.__name__.lower()
        if parent_id is not None:
            url = reverse(f"admin:holdfast_{model}_{self.new_offer}", args=[parent_id])
            return HttpResponseRedirect(url)
        kind, parent = self.opts.verbose_name, self.parent.__name__.lower()
        context = {
            **self.admin_site.each_context(request),
            "title": f"New {kind}",
            "text": f"Open the {parent} that the new {kind} belongs to, and add it there.",
            "links": [
                {
                    "url": reverse(f"admin:holdfast_{model}_changelist"),
                    "text": f"Choose the {parent}",
                }
            ],
        }
        return TemplateResponse(request, "holdfast/catalog/choose.html", context)


_CONTEXT = ("session_id", "event_id", "organization__id__exact")


def offer_url(model: type[Model], name: str, row_id: UUID) -> str:
    return reverse(f"admin:holdfast_{model.__name__.lower()}_{name}", args=[row_id])
