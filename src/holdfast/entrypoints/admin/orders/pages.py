"""Orders with their tickets, and checkouts."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from holdfast.adapters.postgres import models
from holdfast.domain.orders.order import OrderStatus
from holdfast.entrypoints.admin.display import (
    amount,
    badge,
    in_a_row,
    list_link,
    redacted,
    row_link,
    seat_link,
    shown_time,
    table,
    wrapped,
)
from holdfast.entrypoints.admin.exports.lists import ExportedAdmin
from holdfast.entrypoints.admin.holds.pages import hold_status_now, status_badge
from holdfast.entrypoints.admin.holds.person_search import PersonSearchAdmin
from holdfast.entrypoints.admin.lists import (
    BY_ORGANIZATION,
    AddressedList,
    ChoiceFilter,
    HolderRowAdmin,
    SharedIdAdmin,
    link_column,
)
from holdfast.entrypoints.admin.lookups import holds_named, seat_name, uuid_or_none
from holdfast.entrypoints.admin.mails.resend import resend_link
from holdfast.entrypoints.admin.orders.desk import OrderDeskAdmin
from holdfast.entrypoints.admin.orders.filters import EventFilter, SessionFilter


def holds_table(row: models.Order | models.Checkout, hold_ids: Sequence[UUID]) -> SafeString:
    """The holds in the given order."""
    holds = models.Hold.objects.filter(organization_id=row.organization_id, id__in=hold_ids)
    found = {hold.id: hold for hold in holds.annotate(status_now=hold_status_now())}
    return table(
        ("Hold", "Status", "Quantity", "Total", "Expires at"),
        (
            (
                row_link(models.Hold, hold.id, hold, row.organization_id),
                status_badge(hold),
                hold.quantity,
                amount(hold.total_minor, hold.currency),
                hold.expires_at.strftime("%Y-%m-%d %H:%M:%S"),
            )
            for hold in (found[hold_id] for hold_id in hold_ids if hold_id in found)
        ),
    )


# Per order in the list: fits into two rows of text on a phone.
REFERENCES_SHOWN_MAX = 3
PAYMENT_LENGTH_MAX = 24


class OrderList(AddressedList):
    """Adds the hold references, which buyers know, with one query for the page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        orders: list[Any] = list(self.result_list)
        holds = models.Hold.objects.filter(
            organization_id__in={order.organization_id for order in orders},
            id__in={hold_id for order in orders for hold_id in order.hold_ids},
        ).values_list("organization_id", "id", "reference")
        found = {(organization_id, hold_id): name for organization_id, hold_id, name in holds}
        for order in orders:
            names = (found.get((order.organization_id, hold_id)) for hold_id in order.hold_ids)
            order.references = [name for name in names if name]


_COLOUR_OF_STATUS = {
    OrderStatus.CONFIRMED.value: "success",
    OrderStatus.PARTLY_CANCELLED.value: "warning",
    OrderStatus.CANCELLED.value: "",
}


class OrderStatusFilter(ChoiceFilter):
    title = parameter_name = column = "status"
    choices_offered = tuple(status.value for status in OrderStatus)


@admin.register(models.Order)
class OrderAdmin(ExportedAdmin, PersonSearchAdmin, HolderRowAdmin, OrderDeskAdmin):
    """Ticket codes admit people, so no page shows them."""

    export = "orders"
    changelist = OrderList
    checkout = link_column("Checkout", models.Checkout, "checkout_id", has_shared_id=True)
    list_display = (
        "id",
        "shown_status",
        "bookings",
        "total",
        "holder",
        "short_payment",
        "organization",
        "created_at",
    )
    list_filter = (*BY_ORGANIZATION, OrderStatusFilter, EventFilter, SessionFilter)
    ordering = ("-organization_id", "-created_at", "-id")
    search_fields = ("payment_reference",)
    search_help_text = "A complete order id, payment reference, hold reference or hold id"
    fields = (
        ("id", "shown_status"),
        "created_at",
        "organization",
        ("email", "user"),
        ("total", "payment"),
        "checkout",
        "holds",
        "tickets",
        "more",
    )

    class Media:
        css = {"all": ("holdfast/hold.css",)}

    @admin.display(description="Status")
    def shown_status(self, order: models.Order) -> SafeString:
        return badge(order.status.replace("_", " "), _COLOUR_OF_STATUS[order.status])

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        order_id = uuid_or_none(term)
        named = Q(pk=order_id) if order_id else Q(payment_reference=term)
        for hold in holds_named(term):
            named |= Q(organization_id=hold.organization_id, id=hold.order_id)
        return rows.filter(named)

    @admin.display(description="Booking references")
    def bookings(self, order: Any) -> str:
        more = len(order.references) - REFERENCES_SHOWN_MAX
        shown = ", ".join(order.references[:REFERENCES_SHOWN_MAX])
        return f"{shown} and {more} more" if more > 0 else shown

    @admin.display(description="Payment reference")
    def payment(self, order: models.Order) -> SafeString | str:
        return wrapped(order.payment_reference) if order.payment_reference else "-"

    @admin.display(description="Payment reference")
    def short_payment(self, order: models.Order) -> str:
        """Shortened; the order's page shows all of it."""
        whole = redacted(order.payment_reference or "-")
        cut = f"{whole[:PAYMENT_LENGTH_MAX]}\N{HORIZONTAL ELLIPSIS}"
        return cut if len(whole) > PAYMENT_LENGTH_MAX else whole

    @admin.display(description="Holds")
    def holds(self, order: models.Order) -> SafeString:
        return holds_table(order, order.hold_ids)

    @admin.display(description="Tickets")
    def tickets(self, order: models.Order) -> SafeString:
        own = {"organization_id": order.organization_id, "order_id": order.id}
        tickets: QuerySet[Any] = models.Ticket.objects.filter(**own).annotate(seat_name=seat_name())
        return table(
            ("Ticket", "Status", "Ticket type", "Session", "Seat", "Price"),
            (
                (
                    ticket.position + 1,
                    _ticket_status(ticket),
                    row_link(models.TicketType, ticket.ticket_type_id, ticket.ticket_type),
                    row_link(models.Session, ticket.session_id, ticket.session),
                    seat_link(ticket),
                    amount(ticket.unit_price_minor, order.currency),
                )
                for ticket in tickets.select_related("ticket_type", "session").order_by("position")
            ),
        )

    @admin.display(description="See also")
    def more(self, order: models.Order) -> SafeString:
        """Facts and audit entries of an order are listed with its first hold."""
        links = (
            list_link(model, text, order, hold_id=order.hold_ids[0])
            for model, text in ((models.Fact, "Facts"), (models.AuditEntry, "Audit"))
        )
        return in_a_row((*links, resend_link(order)))


def _ticket_status(ticket: models.Ticket) -> SafeString:
    if ticket.voided_at is None:
        return badge("valid", "success")
    refund = f", refund {redacted(ticket.refund_reference)}" if ticket.refund_reference else ""
    reason = redacted(ticket.void_reason or "no reason given")
    return format_html(
        "{} {} UTC: {}{}", badge("void"), shown_time(ticket.voided_at), reason, refund
    )


@admin.register(models.Checkout)
class CheckoutAdmin(SharedIdAdmin):
    """Its holds show whether it is complete. Its id derives from theirs, so the order of the list
    means nothing; users search."""

    list_display = ("id", "organization", "created_at")
    ordering = ("organization_id", "id")
    search_fields = ("id",)
    search_help_text = "A complete checkout id, hold reference or hold id"
    fields = (("id", "created_at"), "organization", "holds", "order")

    def found(self, rows: QuerySet[Any], term: str) -> QuerySet[Any]:
        checkout_id = uuid_or_none(term)
        named = Q(pk__in=[checkout_id] if checkout_id else [])
        for hold in holds_named(term):
            named |= Q(organization_id=hold.organization_id, id=hold.checkout_id)
        return rows.filter(named)

    @admin.display(description="Holds")
    def holds(self, checkout: models.Checkout) -> SafeString:
        return holds_table(checkout, checkout.hold_ids)

    @admin.display(description="Order")
    def order(self, checkout: models.Checkout) -> SafeString | str:
        own = {"organization_id": checkout.organization_id, "checkout_id": checkout.id}
        order = models.Order.objects.filter(**own).first()
        if order is None:
            return "not paid"
        return row_link(models.Order, order.id, order.id, order.organization_id)
