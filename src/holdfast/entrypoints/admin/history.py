"""The base of the lists of facts and audit entries."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Hold
from holdfast.entrypoints.admin.display import row_link, seat_link
from holdfast.entrypoints.admin.lists import GrowingTableAdmin
from holdfast.entrypoints.admin.lookups import hold_reference, of_hold_named, seat_name


class HistoryAdmin(GrowingTableAdmin):
    """Newest first within each organization."""

    search_fields = ("hold_id",)
    search_help_text = "A complete hold reference or id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        names = {"seat_name": seat_name(), "hold_reference": hold_reference()}
        rows: QuerySet[Any] = super().get_queryset(request).annotate(**names)
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(of_hold_named(search_term, id_column="hold_id")), False

    @admin.display(description="Hold")
    def hold(self, row: Any) -> SafeString | str:
        """Empty if a seat was blocked or unblocked. After a failed attempt there may be no hold:
        then its id."""
        if row.hold_id is None:
            return "-"
        return row_link(Hold, row.hold_id, row.hold_reference or row.hold_id, row.organization_id)

    @admin.display(description="Seat")
    def of_seat(self, row: Any) -> SafeString | str:
        return seat_link(row)
