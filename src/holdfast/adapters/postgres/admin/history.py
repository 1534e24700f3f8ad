"""What happened to holds and seats: facts, and the audit."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.admin.looking import (
    BY_ORGANIZATION,
    GrowingTableAdmin,
    hold_named,
    pretty_json,
    redacted,
    row_link,
    seat_link,
    seat_name,
)
from holdfast.adapters.postgres.models import AuditEntry, Fact, Hold
from holdfast.domain.transitions import FactType


class HistoryAdmin(GrowingTableAdmin):
    """Newest first within each organization."""

    list_filter = BY_ORGANIZATION
    ordering = ("-organization_id", "-seq")
    search_fields = ("hold_id",)
    search_help_text = "The whole reference or id of a hold"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).annotate(seat_name=seat_name())
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(hold_named(search_term, id_column="hold_id")), False

    @admin.display(description="Hold")
    def hold(self, row: Fact | AuditEntry) -> SafeString | str:
        """None where a seat was blocked or unblocked."""
        if row.hold_id is None:
            return "-"
        return row_link(Hold, row.hold_id, row.hold_id, row.organization_id)

    @admin.display(description="Seat")
    def of_seat(self, row: Fact | AuditEntry) -> SafeString | str:
        return seat_link(row)


class FactTypeFilter(admin.SimpleListFilter):
    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, kind.value) for kind in FactType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        wanted = self.value()
        return queryset.filter(type=wanted) if wanted else queryset


@admin.register(Fact)
class FactAdmin(HistoryAdmin):
    list_display = ("seq", "type", "hold", "of_seat", "version", "organization", "occurred_at")
    list_filter = (*BY_ORGANIZATION, FactTypeFilter)
    fields = (
        ("type", "occurred_at"),
        ("hold", "version"),
        "of_seat",
        "organization",
        "event_id",
        ("seq", "xid"),
        "content",
    )

    @admin.display(description="Payload")
    def content(self, fact: Fact) -> str | SafeString:
        return pretty_json(fact.payload)


@admin.register(AuditEntry)
class AuditEntryAdmin(HistoryAdmin):
    list_display = (
        "seq",
        "action",
        "hold",
        "of_seat",
        "who",
        "request_id",
        "ip",
        "organization",
        "at",
    )
    fields = (
        ("action", "at"),
        ("hold", "of_seat"),
        "organization",
        ("who", "request_id"),
        "ip",
        "agent",
        "seq",
        "before",
        "after",
    )

    @admin.display(description="Actor")
    def who(self, entry: AuditEntry) -> str:
        return redacted(entry.actor)

    @admin.display(description="User agent")
    def agent(self, entry: AuditEntry) -> str:
        return redacted(entry.user_agent) if entry.user_agent else "-"

    @admin.display(description="Before")
    def before(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.old)

    @admin.display(description="After")
    def after(self, entry: AuditEntry) -> str | SafeString:
        return pretty_json(entry.new)
