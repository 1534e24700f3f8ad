"""The filters of the list of orders by session and by event, which other pages link to."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from holdfast.adapters.postgres.models import Event, Hold, Session
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.people.rights import visible


class SoldIn(admin.SimpleListFilter):
    """Orders with a ticket for the row that the URL names, found by its paid holds."""

    rows: ClassVar[Any]
    column_of_session: ClassVar[str]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The row alone: there are too many others to offer."""
        wanted = self.value()
        if not wanted:
            return []
        named = self.rows.filter(id=uuid_or_none(wanted))
        self._row: Any = visible(request, named).first()
        return [(wanted, "unknown" if self._row is None else self._row.name)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        if self._row is None:
            return queryset.none()
        own = {"organization_id": self._row.organization_id}
        sessions = Session.objects.filter(**own, **{self.column_of_session: self._row.id})
        paid = Hold.objects.filter(**own, session_id__in=sessions.values("id"))
        order_ids = paid.filter(order_id__isnull=False).values("order_id")
        return queryset.filter(**own, id__in=order_ids)


class EventFilter(SoldIn):
    title = "event"
    parameter_name = "event_id"
    rows = Event.objects
    column_of_session = "event_id"


class SessionFilter(SoldIn):
    title = "session"
    parameter_name = "session_id"
    rows = Session.objects
    column_of_session = "id"
