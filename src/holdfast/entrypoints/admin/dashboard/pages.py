"""The front page, and the fragment with which it refreshes itself."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from holdfast.adapters.postgres.models import Event, Organization
from holdfast.domain.access.scopes import Scope
from holdfast.domain.catalog.model import EventStatus
from holdfast.entrypoints.admin.dashboard.counts import (
    EXPIRING_MINUTES,
    REASONS_SHOWN_MAX,
    SESSIONS_WAITING_MAX,
    Numbers,
    in_time,
    numbers_of,
)
from holdfast.entrypoints.admin.dashboard.duties import Duty, duties
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import is_operator, may, needs_two_factor, roles_of
from holdfast.entrypoints.admin.snapshots import Busy, Snapshots

ORGANIZATIONS_OFFERED_MAX = 100
REFRESH_SECONDS = 5
RETRY_SECONDS = 5

_numbers: Snapshots[Numbers] = Snapshots()
_duties: Snapshots[tuple[Duty, ...] | bool] = Snapshots()


def with_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The context of the front page."""
    organizations = _offered(request)
    chosen = _chosen(request, organizations)
    shown = None if chosen is None else _shown(request, chosen)
    return {
        **context,
        "title": "Dashboard",
        "organizations": organizations,
        "chosen": chosen,
        "needs_two_factor": not organizations and needs_two_factor(request),
        "dashboard": shown,
        "refresh_seconds": REFRESH_SECONDS,
    }


@never_cache
@require_safe
def fragment(request: HttpRequest) -> HttpResponse:
    organization_id = uuid_or_none(request.GET.get("organization", ""))
    if organization_id is None or not may(request, Scope.CATALOG_READ, organization_id):
        raise PermissionDenied
    organization = Organization.objects.filter(id=organization_id).first()
    if organization is None:
        raise PermissionDenied
    shown = _shown(request, organization)
    if shown is None:
        busy = HttpResponse("The server is busy.\n", status=503, content_type="text/plain")
        busy.headers["Retry-After"] = str(RETRY_SECONDS)
        return busy
    return render(request, "holdfast/dashboard_cards.html", {"dashboard": shown})


def _offered(request: HttpRequest) -> list[Organization]:
    """The first ones by name, and the one that the URL names."""
    rows = Organization.objects.all()
    if not is_operator(request):
        rows = rows.filter(
            id__in=[id_ for id_ in roles_of(request) if may(request, Scope.CATALOG_READ, id_)]
        )
    offered = list(rows.order_by("name", "mode")[:ORGANIZATIONS_OFFERED_MAX])
    wanted = uuid_or_none(request.GET.get("organization", ""))
    if wanted is not None and all(each.id != wanted for each in offered):
        offered += rows.filter(id=wanted)
    return offered


def _chosen(request: HttpRequest, offered: list[Organization]) -> Organization | None:
    """The organization of the URL, or else the first with an event on sale."""
    wanted = uuid_or_none(request.GET.get("organization", ""))
    by_id = {each.id: each for each in offered}
    if wanted is not None:
        if wanted not in by_id:
            raise PermissionDenied
        return by_id[wanted]
    statuses = [status.value for status in EventStatus if status.is_on_sale]
    sold = Event.objects.filter(organization_id=OuterRef("id"), status__in=statuses)
    selling = set(
        Organization.objects.filter(Exists(sold), id__in=by_id).values_list("id", flat=True)
    )
    return next((each for each in offered if each.id in selling), next(iter(offered), None))


def _shown(request: HttpRequest, organization: Organization) -> dict[str, Any] | None:
    """None while too many are counted at once."""
    own = organization.id
    try:
        numbers = _numbers.get(own, lambda: numbers_of(organization))
        of_installation = _duties.get("duties", lambda: in_time("duties", duties) or False)
    except Busy:
        return None
    return {
        "numbers": numbers,
        "duties": of_installation or (),
        "organization": organization,
        "is_operator": is_operator(request),
        "now": timezone.now(),
        "zone": ZoneInfo(organization.time_zone),
        "minutes": EXPIRING_MINUTES,
        "sees_refusals": may(request, Scope.AUDIT_READ, own),
        "may_set_up": may(request, Scope.CATALOG_WRITE, own),
        "waiting_shown": (numbers.waiting or ())[:SESSIONS_WAITING_MAX],
        "waiting_total": sum(each.waiting for each in numbers.waiting or ()),
        "links": _links(own, numbers),
        "reasons": _reasons(own, numbers),
    }


def _links(own: UUID, numbers: Numbers) -> dict[str, str]:
    return {
        "events": _list_url("event", own),
        "orders": _list_url("order", own),
        "holds": _list_url("hold", own),
        "active": _list_url("hold", own, status="active"),
        "waitlists": _list_url("waitlist", own),
        "refusals": _list_url(
            "auditentry",
            own,
            outcome="refused",
            **({} if numbers.refusals is None else _since(numbers.refusals.since)),
        ),
    }


def _reasons(own: UUID, numbers: Numbers) -> list[dict[str, Any]]:
    """The most frequent ones, each with the list of its attempts."""
    if numbers.refusals is None:
        return []
    since = _since(numbers.refusals.since)
    return [
        {"refused": each, "url": _list_url("auditentry", own, error=each.code, **since)}
        for each in numbers.refusals.reasons[:REASONS_SHOWN_MAX]
    ]


def _since(moment: datetime) -> dict[str, str]:
    """As the filter of the audit log takes it, in UTC."""
    return {"at_from_0": f"{moment:%Y-%m-%d}", "at_from_1": f"{moment:%H:%M:%S}"}


def _list_url(model: str, organization_id: UUID, **lookups: str) -> str:
    query = urlencode({"organization__id__exact": organization_id, **lookups})
    return f"{reverse(f'admin:holdfast_{model}_changelist')}?{query}"


fragment_view = admin.site.admin_view(fragment)
