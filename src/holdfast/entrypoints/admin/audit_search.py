"""Filters of the audit list that search like the API: in one organization, with its bounds."""

from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from holdfast.domain.ids import OrganizationId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.values import EmailAddress
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.ports.audit.reader import AuditFilter, AuditOutcome
from holdfast.services.audit import trail

if TYPE_CHECKING:  # django-unfold has no types; what we use of it is what Django declares
    TextFilter = admin.SimpleListFilter
else:
    from unfold.contrib.filters.admin import TextFilter

ENTRIES_FOUND_MAX = 500
ORGANIZATION = "organization__id__exact"


def _uuid(text: str) -> object:
    found = uuid_or_none(text)
    if found is None:
        raise ValueError(text)
    return found


# By the name in the URL: the title, the field of the reader's filter, and how to read the text.
SEARCHES: dict[str, tuple[str, str, Callable[[str], object]]] = {
    "session": ("session id", "session_id", _uuid),
    "event": ("event id", "event_id", _uuid),
    "ticket_type": ("ticket type id", "ticket_type_id", _uuid),
    "order": ("order id", "order_id", _uuid),
    "cart": ("cart (whole)", "cart_token", str),
    "email": ("customer's e-mail (whole)", "email", EmailAddress),
    "user": ("customer's user id (whole)", "user_id", str),
    "acting_user": ("acting user (whole)", "acting_user", str),
    "request": ("request id", "request_id", str),
    "ip": ("IP address", "ip", lambda text: str(ip_address(text))),
    "error": ("error code", "error", str),
    "outcome": ("outcome: done or refused", "outcome", AuditOutcome),
}


class SearchFilter(TextFilter):
    """The first that is used searches for all of them."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = {name: text for name in SEARCHES if (text := request.GET.get(name, "").strip())}
        if next(iter(asked), None) != self.parameter_name:
            return queryset
        organization_id = uuid_or_none(request.GET.get(ORGANIZATION, ""))
        if organization_id is None:
            messages.warning(request, "Choose an organization to search its audit log.")
            return queryset.none()
        only: dict[str, Any] = {}
        for name, text in asked.items():
            title, field, parse = SEARCHES[name]
            try:
                only[field] = parse(text)
            except ValueError:
                messages.warning(request, f"That is not a valid value for: {title}.")
                return queryset.none()
        reader, own = AdminConfig.services.audit, OrganizationId(organization_id)
        found = trail.entries(reader, own, AuditFilter(**only), ENTRIES_FOUND_MAX, None)
        if isinstance(found, Refusal):
            messages.error(request, "The audit log could not be searched. Please try again.")
            return queryset.none()
        if found.next is not None:
            messages.info(request, "There may be older entries: narrow the search to see them.")
        numbers = [entry.seq for entry in found.entries]
        times = [entry.at for entry in found.entries]
        if not times:
            return queryset.none()
        # The times tell which partitions to read.
        return queryset.filter(
            organization_id=organization_id,
            seq__in=numbers,
            at__gte=min(times),
            at__lte=max(times),
        )


def _filter(name: str, title: str) -> type[SearchFilter]:
    return type("Filter", (SearchFilter,), {"parameter_name": name, "title": title})


SEARCH_FILTERS = tuple(_filter(name, title) for name, (title, _, _) in SEARCHES.items())
