"""Holds."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import (
    Case,
    F,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.admin.looking import (
    BY_ORGANIZATION,
    HolderRowAdmin,
    SessionRowAdmin,
    SharedIdAdmin,
    amount,
    badge,
    in_a_row,
    list_link,
    of_hold_named,
    redacted,
    row_link,
    seat_link,
    seat_name,
    table,
)
from holdfast.adapters.postgres.models import (
    AuditEntry,
    Checkout,
    Fact,
    Hold,
    HoldLine,
    Order,
)
from holdfast.domain.hold import HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.order import revival_id

_COLOUR_OF_STATUS = {
    HoldStatus.ACTIVE.value: "info",
    HoldStatus.CONVERTED.value: "success",
    HoldStatus.EXPIRED.value: "warning",
    HoldStatus.CANCELLED.value: "",
}
_EXPIRED = Value(HoldStatus.EXPIRED.value, output_field=TextField())


class HoldStatusFilter(admin.SimpleListFilter):
    """A lapsed hold is expired, whatever its row still says."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, status.value) for status in HoldStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Hold]) -> QuerySet[Hold]:
        wanted = self.value()
        active = Q(status=HoldStatus.ACTIVE.value)
        if wanted == HoldStatus.ACTIVE:
            return queryset.filter(active, expires_at__gt=Now())
        if wanted == HoldStatus.EXPIRED:
            return queryset.filter(Q(status=wanted) | (active & Q(expires_at__lte=Now())))
        return queryset.filter(status=wanted) if wanted else queryset


def hold_status_now() -> Case:
    """A lapsed hold is expired, by the database's clock."""
    lapsed = When(status=HoldStatus.ACTIVE.value, expires_at__lte=Now(), then=_EXPIRED)
    return Case(lapsed, default=F("status"))


def status_badge(hold: Any) -> SafeString:
    return badge(hold.status_now, _COLOUR_OF_STATUS.get(hold.status_now, ""))


@admin.register(Hold)
class HoldAdmin(SessionRowAdmin, HolderRowAdmin, SharedIdAdmin):
    list_display = (
        "reference",
        "shown_status",
        "quantity",
        "total",
        "holder",
        "of_session",
        "organization",
        "created_at",
        "expires_at",
    )
    list_filter = (*BY_ORGANIZATION, HoldStatusFilter)
    ordering = ("-organization_id", "-created_at", "-id")
    search_fields = ("reference",)
    search_help_text = "A whole reference or hold id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("reference", "shown_status"),
                    "id",
                    ("organization", "of_session"),
                    ("email", "user"),
                    ("quantity", "total"),
                    "lines",
                    ("source", "cart"),
                    "remarks",
                    "more",
                )
            },
        ),
        (
            "Payment",
            {"fields": (("checkout", "order"), ("revived", "revived_by"))},
        ),
        (
            "Times (UTC)",
            {
                "fields": (
                    ("created_at", "held_at"),
                    ("expires_at", "expired_at"),
                    ("due", "warn_at"),
                    ("confirmed_at", "cancelled_at"),
                    ("updated_at", "version"),
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        holds: QuerySet[Any] = rows.annotate(status_now=hold_status_now())
        return holds

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(of_hold_named(search_term, id_column="id")), False

    @admin.display(description="Status")
    def shown_status(self, hold: Any) -> SafeString:
        return status_badge(hold)

    @admin.display(description="Lines")
    def lines(self, hold: Hold) -> SafeString:
        own = {"organization_id": hold.organization_id, "hold_id": hold.id}
        lines = HoldLine.objects.filter(**own).annotate(seat_name=seat_name())
        return table(
            ("Ticket type", "Seat", "Quantity", "Unit price", "Total"),
            (
                (
                    line.ticket_type.name,
                    seat_link(line),
                    line.quantity,
                    amount(line.unit_price_minor, hold.currency),
                    amount(line.quantity * line.unit_price_minor, hold.currency),
                )
                for line in lines.select_related("ticket_type").order_by("position")
            ),
        )

    @admin.display(description="Checkout")
    def checkout(self, hold: Hold) -> SafeString | str:
        if hold.checkout_id is None:
            return "-"
        return row_link(Checkout, hold.checkout_id, hold.checkout_id, hold.organization_id)

    @admin.display(description="Order")
    def order(self, hold: Hold) -> SafeString | str:
        if hold.order_id is None:
            return "-"
        return row_link(Order, hold.order_id, hold.order_id, hold.organization_id)

    @admin.display(description="Stands for the lapsed hold")
    def revived(self, hold: Hold) -> SafeString | str:
        if hold.revives is None:
            return "-"
        return row_link(Hold, hold.revives, hold.revives, hold.organization_id)

    @admin.display(description="Paid late, as the hold")
    def revived_by(self, hold: Hold) -> SafeString | str:
        own = {"organization_id": hold.organization_id, "id": revival_id(HoldId(hold.id))}
        stand_in = Hold.objects.filter(**own).first()
        if stand_in is None:
            return "-"
        return row_link(Hold, stand_in.id, stand_in, hold.organization_id)

    @admin.display(description="Next due at")
    def due(self, hold: Any) -> datetime | None:
        """Nothing is due of a hold that has ended."""
        due_at: datetime = hold.due_at
        return due_at if hold.status_now == HoldStatus.ACTIVE else None

    @admin.display(description="Cart token")
    def cart(self, hold: Hold) -> str:
        return redacted(hold.cart_token) if hold.cart_token else "-"

    @admin.display(description="Notes")
    def remarks(self, hold: Hold) -> str:
        return redacted(hold.notes) if hold.notes else "-"

    @admin.display(description="See also")
    def more(self, hold: Hold) -> SafeString:
        return in_a_row(
            list_link(model, text, hold, hold_id=hold.id)
            for model, text in ((Fact, "Facts"), (AuditEntry, "Audit"))
        )
