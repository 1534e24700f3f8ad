"""The base of the lists of facts and audit entries."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Hold, Seat
from holdfast.entrypoints.admin.display import row_link
from holdfast.entrypoints.admin.lists import GrowingTableAdmin, link_column
from holdfast.entrypoints.admin.lookups import hold_reference, of_hold_named, seat_name


class HistoryAdmin(GrowingTableAdmin):
    """Newest first within each organization."""

    search_fields = ("hold_id",)
    search_help_text = "A complete hold reference or id"
    of_seat = link_column("Seat", Seat, "seat_id", "seat_name")

    def annotations(self) -> dict[str, Any]:
        return {"seat_name": seat_name(), "hold_reference": hold_reference()}

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(of_hold_named(term, id_column="hold_id"))

    @admin.display(description="Hold")
    def hold(self, row: Any) -> SafeString | str:
        """Empty if a seat was blocked or unblocked. After a failed attempt there may be no hold:
        then its id."""
        if row.hold_id is None:
            return "-"
        return row_link(Hold, row.hold_id, row.hold_reference or row.hold_id, row.organization_id)
