"""Holds."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
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
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.admin.looking import (
    BY_ORGANIZATION,
    GrowingTableAdmin,
    SessionRowAdmin,
    amount,
    badge,
    hold_named,
    in_a_row,
    list_link,
    redacted,
    seat_link,
    seat_name,
    table,
    uuid_or_none,
)
from holdfast.adapters.postgres.models import (
    AuditEntry,
    Fact,
    Hold,
    HoldLine,
)
from holdfast.domain.hold import HoldStatus

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


class HoldList(ChangeList):
    """Clients choose ids of holds, so two organizations may have chosen the same one: the address
    of a hold says whose it is."""

    def url_for_result(self, result: Any) -> str:
        return f"{super().url_for_result(result)}?organization={result.organization_id}"


@admin.register(Hold)
class HoldAdmin(SessionRowAdmin, GrowingTableAdmin):
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
            "Times (UTC)",
            {
                "fields": (
                    ("created_at", "held_at"),
                    ("expires_at", "expired_at"),
                    ("confirmed_at", "cancelled_at"),
                    ("updated_at", "version"),
                )
            },
        ),
    )

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return HoldList

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        hold_id, organization_id = uuid_or_none(object_id), request.GET.get("organization")
        found = self.get_queryset(request).filter(id=hold_id)
        if organization_id is not None:
            found = found.filter(organization_id=uuid_or_none(organization_id))
        return found.first()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        lapsed = When(status=HoldStatus.ACTIVE.value, expires_at__lte=Now(), then=_EXPIRED)
        status_now = Case(lapsed, default=F("status"))
        holds: QuerySet[Any] = super().get_queryset(request).annotate(status_now=status_now)
        return holds

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        return queryset.filter(hold_named(search_term, id_column="id")), False

    @admin.display(description="Status")
    def shown_status(self, hold: Any) -> SafeString:
        return badge(hold.status_now, _COLOUR_OF_STATUS.get(hold.status_now, ""))

    @admin.display(description="Total")
    def total(self, hold: Hold) -> str:
        return amount(hold.total_minor, hold.currency)

    @admin.display(description="Holder")
    def holder(self, hold: Hold) -> SafeString:
        names = (redacted(name) for name in (hold.customer_email, hold.user_id) if name)
        return format_html_join(mark_safe("<br>"), "{}", ((name,) for name in names))

    @admin.display(description="Customer e-mail")
    def email(self, hold: Hold) -> str:
        return redacted(hold.customer_email) if hold.customer_email else "-"

    @admin.display(description="User id")
    def user(self, hold: Hold) -> str:
        return redacted(hold.user_id) if hold.user_id else "-"

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
