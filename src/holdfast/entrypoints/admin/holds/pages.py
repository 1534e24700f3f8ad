"""Holds."""

from typing import Any

from django.contrib import admin
from django.db.models import Case, F, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from holdfast.adapters.postgres.models import AuditEntry, Checkout, Fact, Hold, Order, Waitlist
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId
from holdfast.domain.orders.order import revival_id
from holdfast.entrypoints.admin.display import (
    badge,
    in_a_row,
    list_link,
    row_link,
    shown_time,
    wrapped,
)
from holdfast.entrypoints.admin.exports.lists import ExportedAdmin
from holdfast.entrypoints.admin.find.people import attempts_link
from holdfast.entrypoints.admin.holds.desk import HoldDeskAdmin, is_waiting
from holdfast.entrypoints.admin.holds.lines import (
    former_lines_table,
    has_former_lines,
    lines_table,
)
from holdfast.entrypoints.admin.holds.person_search import PersonSearchAdmin
from holdfast.entrypoints.admin.holds.timeline import timeline
from holdfast.entrypoints.admin.lists import (
    BY_ORGANIZATION,
    AddressedList,
    ChoiceFilter,
    HolderRowAdmin,
    SessionRowAdmin,
    link_column,
    text_column,
)
from holdfast.entrypoints.admin.lookups import of_hold_named
from holdfast.entrypoints.admin.mails.resend import resend_link
from holdfast.entrypoints.admin.waitlist.positions import shown_positions

_COLOUR_OF_STATUS = {
    HoldStatus.PENDING.value: "primary",
    HoldStatus.FAILED.value: "danger",
    HoldStatus.WAITING.value: "primary",
    HoldStatus.ACTIVE.value: "info",
    HoldStatus.CONVERTED.value: "success",
    HoldStatus.EXPIRED.value: "warning",
    HoldStatus.CANCELLED.value: "",
}
_WITH_AN_END = (HoldStatus.WAITING.value, HoldStatus.ACTIVE.value)
# In the list, a cart token fits into one row of text on a phone.
CART_LENGTH_MAX = 24
_ON_WAITLIST = ("queue_position", "waitlist")
_EXPIRED = Value(HoldStatus.EXPIRED.value, output_field=TextField())


class HoldStatusFilter(ChoiceFilter):
    """A lapsed hold counts as expired, whatever its row says."""

    title = parameter_name = column = "status"
    choices_offered = tuple(status.value for status in HoldStatus)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = self.value()
        if wanted in _WITH_AN_END:
            return queryset.filter(status=wanted, expires_at__gt=Now())
        if wanted == HoldStatus.EXPIRED:
            lapsed = Q(status__in=_WITH_AN_END, expires_at__lte=Now())
            return queryset.filter(Q(status=wanted) | lapsed)
        return super().queryset(request, queryset)


def hold_status_now() -> Case:
    """A lapsed hold counts as expired, by the database's clock."""
    lapsed = When(status__in=_WITH_AN_END, expires_at__lte=Now(), then=_EXPIRED)
    return Case(lapsed, default=F("status"))


def status_badge(hold: Any) -> SafeString:
    return badge(hold.status_now, _COLOUR_OF_STATUS.get(hold.status_now, ""))


class HoldList(AddressedList):
    """Counts queue positions only for the holds on the page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        holds: list[Any] = list(self.result_list)
        positions = shown_positions(filter(is_waiting, holds))
        for hold in holds:
            hold.position = positions.get((hold.organization_id, hold.id), "-")
        self.result_list = holds


@admin.register(Hold)
class HoldAdmin(ExportedAdmin, PersonSearchAdmin, SessionRowAdmin, HolderRowAdmin, HoldDeskAdmin):
    export = "holds"
    changelist = HoldList
    waitlist = link_column("Waitlist", Waitlist, "session_id", "session")
    checkout = link_column("Checkout", Checkout, "checkout_id", has_shared_id=True)
    order = link_column("Order", Order, "order_id", has_shared_id=True)
    revived = link_column("Replaces expired hold", Hold, "revives", has_shared_id=True)
    remarks = text_column("Notes", "notes")
    list_display = (
        "reference",
        "state",
        "quantity",
        "total",
        "holder_and_cart",
        "of_session",
        "organization",
        "created_at",
        "expires_at",
    )
    list_filter = (*BY_ORGANIZATION, HoldStatusFilter)
    ordering = ("-organization_id", "-created_at", "-id")
    search_fields = ("reference",)
    search_help_text = "A complete reference or hold id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("reference", "shown_status"),
                    _ON_WAITLIST,
                    ("of_session", "expires_at"),
                    ("email", "user"),
                    ("quantity", "total"),
                    "lines",
                    "former_lines",
                    ("organization", "id"),
                    ("source", "cart"),
                    "remarks",
                    "more",
                )
            },
        ),
        ("History (UTC)", {"fields": ("history",)}),
        (
            "Payment",
            {"fields": (("checkout", "order"), ("revived", "revived_by"))},
        ),
        (
            "Times (UTC)",
            {
                "fields": (
                    ("created_at", "held_at"),
                    ("expired_at", "due"),
                    "warn_at",
                    ("confirmed_at", "cancelled_at"),
                    ("updated_at", "version"),
                )
            },
        ),
    )

    class Media:
        css = {"all": ("holdfast/hold.css",)}

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the fields of changed and of waiting holds from others."""
        left_out: set[object] = set()
        if obj is None or not is_waiting(obj):
            left_out.add(_ON_WAITLIST)
        if obj is None or not (obj.is_cart or has_former_lines(obj)):
            left_out.add("former_lines")
        (title, first), *rest = super().get_fieldsets(request, obj)
        shown = tuple(field for field in first["fields"] if field not in left_out)
        return [(title, {**first, "fields": shown}), *rest]

    def annotations(self) -> dict[str, Any]:
        return {"status_now": hold_status_now()}

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        return rows.filter(of_hold_named(term, id_column="id"))

    @admin.display(description="Status")
    def shown_status(self, hold: Any) -> SafeString:
        return status_badge(hold)

    @admin.display(description="Status")
    def state(self, hold: Any) -> SafeString:
        """With the queue position of a party on the waitlist."""
        place = f"position {hold.position}" if is_waiting(hold) else ""
        return format_html("{} {}", status_badge(hold), place)

    @admin.display(description="Position")
    def queue_position(self, hold: Any) -> str:
        return shown_positions([hold]).get((hold.organization_id, hold.id), "-")

    @admin.display(description="Lines")
    def lines(self, hold: Hold) -> SafeString | str:
        return lines_table(hold)

    @admin.display(description="What happened")
    def history(self, hold: Hold) -> SafeString:
        return timeline(hold)

    @admin.display(description="Earlier lines")
    def former_lines(self, hold: Hold) -> SafeString | str:
        """The lines that were removed or replaced."""
        return former_lines_table(hold)

    @admin.display(description="Replaced by hold")
    def revived_by(self, hold: Hold) -> SafeString | str:
        own = {"organization_id": hold.organization_id, "id": revival_id(HoldId(hold.id))}
        stand_in = Hold.objects.filter(**own).first()
        if stand_in is None:
            return "-"
        return row_link(Hold, stand_in.id, stand_in, hold.organization_id)

    @admin.display(description="Next due at")
    def due(self, hold: Any) -> str:
        """An ended hold has no due time."""
        return shown_time(hold.due_at) if hold.status_now in _WITH_AN_END else "-"

    @admin.display(description="Holder")
    def holder_and_cart(self, hold: Hold) -> SafeString:
        holder = self.holder(hold)
        if not hold.is_cart or hold.cart_token is None:
            return holder
        cart = wrapped(Truncator(hold.cart_token).chars(CART_LENGTH_MAX))
        # One box: on a phone, the parts of a cell are shown side by side.
        return format_html('<span class="block py-2">{}<br>cart {}</span>', holder, cart)

    @admin.display(description="Cart")
    def cart(self, hold: Hold) -> SafeString | str:
        if hold.cart_token is None:
            return "-"
        said = hold.cart_token if hold.is_cart else f"{hold.cart_token} (not a cart)"
        return wrapped(said)

    @admin.display(description="See also")
    def more(self, hold: Hold) -> SafeString:
        lists = [
            list_link(model, text, hold, hold_id=hold.id)
            for model, text in ((Fact, "Facts"), (AuditEntry, "Audit"))
        ]
        attempts = attempts_link(hold, "Refused attempts")
        return in_a_row((*lists, attempts, resend_link(hold)))
