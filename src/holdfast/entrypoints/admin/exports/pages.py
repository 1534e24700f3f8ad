"""The addresses of the exports. Each takes the same parameters as the list that it exports."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_GET

from holdfast.adapters.postgres.models import Organization, Session
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import OrganizationId
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.audit import SEARCHES, InvalidSearch, asked_searches, search_of
from holdfast.entrypoints.admin.display import redacted
from holdfast.entrypoints.admin.exports.audit_search import found_pages
from holdfast.entrypoints.admin.exports.door_list import DoorList
from holdfast.entrypoints.admin.exports.download import Download, Page
from holdfast.entrypoints.admin.exports.slots import OF_ORGANIZATION_MAX, Slots
from holdfast.entrypoints.admin.exports.tables import AUDIT, TABLES, Table
from holdfast.entrypoints.admin.holds.person_search import ORGANIZATION
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import (
    is_operator,
    may,
    origin_of,
    require,
    roles_of,
    scope_of,
    visible,
)
from holdfast.ports.audit.exports import Export
from holdfast.ports.store import StoreError

# People who help buyers need their addresses.
CLEAR_SCOPE = Scope.HOLDS_OPERATE
# A file with all codes admits as many people as the hall has places.
CODES_SCOPE = Scope.CATALOG_WRITE
RETRY_SECONDS = 30
FILTERS_RECORDED_MAX = 20
FILTER_LENGTH_MAX = 200
# The audit log must not say whose user id was searched for.
PERSONAL_FILTERS = frozenset({"user", "user_id__exact"})

slots = Slots()


@require_GET
def export_list(request: HttpRequest, what: str) -> HttpResponseBase:
    table = TABLES.get(what)
    if table is None:
        raise Http404
    organization = _organization(request, table)
    back = reverse(f"admin:holdfast_{table.model.__name__.lower()}_changelist")
    if organization is None:
        messages.warning(request, f"Choose an organization to export its {table.name}.")
        return HttpResponseRedirect(f"{back}?{request.GET.urlencode()}")
    in_clear = may(request, CLEAR_SCOPE, organization.id)
    export = Export(OrganizationId(organization.id), table.name, _filters(request), in_clear)
    try:
        rows = _rows(request, table, organization.id)
    except (IncorrectLookupParameters, InvalidSearch):
        messages.warning(request, "These filters are not valid. Choose others to export the list.")
        return HttpResponseRedirect(back)
    pages = (table.cells(page, in_clear=in_clear) for page in rows)
    return _download(request, organization, export, tuple(table.columns), pages)


@require_GET
def export_door_list(request: HttpRequest, session_id: UUID) -> HttpResponseBase:
    session = visible(request, Session.objects.filter(id=session_id))
    found = session.select_related("organization").first()
    if found is None:
        raise Http404
    own = found.organization_id
    require(request, Scope.ORDERS_READ, own)
    in_clear, has_codes = may(request, CLEAR_SCOPE, own), may(request, CODES_SCOPE, own)
    filters = {"session_id": str(session_id)}
    export = Export(OrganizationId(own), "door list", filters, in_clear, has_codes)
    tickets = DoorList(found, in_clear=in_clear, has_codes=has_codes)
    return _download(request, found.organization, export, tickets.headers, tickets.pages())


def _organization(request: HttpRequest, table: Table) -> Organization | None:
    """The one of the URL, or the only one in which the person may open the list."""
    scope = scope_of(table.model)
    wanted = uuid_or_none(request.GET.get(ORGANIZATION, ""))
    if wanted is None and not is_operator(request):
        own = [id_ for id_ in roles_of(request) if may(request, scope, id_)]
        if not own:
            raise PermissionDenied
        wanted = own[0] if len(own) == 1 else None
    if wanted is None:
        return None
    if not may(request, scope, wanted):
        raise PermissionDenied
    return Organization.objects.filter(id=wanted).first()


def _rows(request: HttpRequest, table: Table, organization_id: UUID) -> Iterator[list[Any]]:
    """The pages of the list that these parameters show."""
    asked = asked_searches(request) if table is AUDIT else {}
    query = request.GET.copy()
    query[ORGANIZATION] = str(organization_id)
    # The page of the list does not matter, and the searches are read page by page.
    for name in ("p", *(SEARCHES if asked else ())):
        query.pop(name, None)
    request.GET = query  # type: ignore[assignment]
    rows = admin.site.get_model_admin(table.model).get_changelist_instance(request).queryset
    if asked:
        return found_pages(table.lean(rows), organization_id, search_of(asked))
    return table.pages(rows, organization_id)


def _filters(request: HttpRequest) -> dict[str, str]:
    given = [(name, str(value)) for name, value in request.GET.items() if value and name != "p"]
    return {
        name[:FILTER_LENGTH_MAX]: "(given)"
        if name in PERSONAL_FILTERS
        else redacted(value)[:FILTER_LENGTH_MAX]
        for name, value in given[:FILTERS_RECORDED_MAX]
    }


def _download(
    request: HttpRequest,
    organization: Organization,
    export: Export,
    headers: tuple[str, ...],
    pages: Iterator[Page],
) -> HttpResponseBase:
    slot = slots.take(organization.id)
    if slot is None:
        said = (
            f"{OF_ORGANIZATION_MAX} exports of this organization, or several of others, are "
            "running. Try again in half a minute."
        )
        return _refused(request, 429, "Too many exports at once", said)
    origin = origin_of(request)
    try:
        AdminConfig.services.exports.started(export, origin)
    except StoreError:
        slots.free(slot)
        said = "The export could not be recorded in the audit log, so it was not made. Try again."
        return _refused(request, 503, "Export not possible now", said)
    zone = ZoneInfo(organization.time_zone)
    download = Download(
        export,
        origin,
        headers=headers,
        pages=pages,
        zone=zone,
        on_close=lambda: slots.free(slot),
    )
    return download.response(export.what.replace(" ", "-"))


def _refused(request: HttpRequest, status: int, title: str, said: str) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, "said": said}
    response = render(request, "holdfast/export_refused.html", context, status=status)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _view(page: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    return admin.site.admin_view(page)


EXPORT_URLS = [
    path("door-list/<uuid:session_id>/", _view(export_door_list), name="export-door-list"),
    path("<slug:what>/", _view(export_list), name="export-list"),
]
