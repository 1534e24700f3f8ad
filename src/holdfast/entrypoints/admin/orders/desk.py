"""Cancelling an order or some of its tickets, and recording their refund, on its page."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from holdfast.adapters.postgres.models import Ticket
from holdfast.domain.access.scopes import Scope
from holdfast.domain.amounts import written
from holdfast.domain.group.outcomes import OrderCancelled, Outcome, RefundRecorded
from holdfast.domain.group.transitions import FactType
from holdfast.domain.ids import OrderId, OrganizationId, TicketId
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.order import REFUND_REFERENCE_LENGTH_MAX, OrderStatus
from holdfast.domain.orders.record_refund import RecordRefund
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.entrypoints.admin.actions import ReasonForm, act, ask, reasoned_origin
from holdfast.entrypoints.admin.display import amount
from holdfast.entrypoints.admin.lists import SharedIdAdmin
from holdfast.entrypoints.admin.lookups import seat_name
from holdfast.entrypoints.admin.mails.consequences import buyer_told
from holdfast.entrypoints.admin.people.rights import may, require

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxInput as Switch
    from django.forms import CheckboxSelectMultiple, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanSwitchWidget as Switch

# A larger order can only be cancelled as a whole here; the API takes up to 1,000 tickets at a time.
TICKETS_LISTED_MAX = 200


class CancelForm(ReasonForm):
    """The tickets to cancel. A large order has no list of them."""

    is_whole = forms.BooleanField(required=False, label="All tickets", widget=Switch())
    tickets = forms.MultipleChoiceField(required=False, widget=CheckboxSelectMultiple())
    refund_reference = forms.CharField(
        required=False,
        max_length=REFUND_REFERENCE_LENGTH_MAX,
        widget=TextInput(),
        help_text="Of the refund at your payment provider, if you know it already.",
    )
    field_order = ("is_whole", "tickets", "refund_reference", "reason", "version")

    def __init__(self, tickets: list[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if tickets:
            field = self.fields["tickets"]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = tickets
        else:
            del self.fields["tickets"], self.fields["is_whole"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("version") is None:
            raise forms.ValidationError("Open this page again from the page of the order.")
        if "tickets" in self.fields and not (given.get("tickets") or given.get("is_whole")):
            self.add_error("tickets", "Choose at least one ticket.")
        return given

    def chosen(self) -> tuple[TicketId, ...]:
        """Empty for all of them."""
        if self.cleaned_data.get("is_whole"):
            return ()
        return tuple(TicketId(UUID(each)) for each in self.cleaned_data.get("tickets", ()))


class RefundForm(ReasonForm):
    """The refunded tickets, all of them at first. A large order has no list of them."""

    tickets = forms.MultipleChoiceField(
        widget=CheckboxSelectMultiple(),
        error_messages={"required": "Choose at least one ticket."},
    )
    refund_reference = forms.CharField(
        max_length=REFUND_REFERENCE_LENGTH_MAX,
        widget=TextInput(),
        help_text="Of the refund at your payment provider.",
    )
    field_order = ("tickets", "refund_reference", "reason", "version")

    def __init__(self, tickets: list[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if tickets:
            field = self.fields["tickets"]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = tickets
            field.initial = [ticket_id for ticket_id, _ in tickets]
        else:
            del self.fields["tickets"]

    def chosen(self) -> tuple[TicketId, ...]:
        """None for all of them."""
        return tuple(TicketId(UUID(each)) for each in self.cleaned_data.get("tickets", ()))


class OrderDeskAdmin(SharedIdAdmin):
    change_form_outer_before_template = "holdfast/hold_actions.html"

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        own = [
            path(
                f"<uuid:order_id>/{name}/",
                never_cache(self.admin_site.admin_view(view)),
                name=f"holdfast_order_{name}",
            )
            for name, view in (("cancel", self.cancel), ("refund", self.refund))
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        order = self.get_object(request, object_id)
        links = []
        if order is not None and may(request, Scope.ORDERS_CANCEL, order.organization_id):
            if order.status != OrderStatus.CANCELLED:
                links.append((_url(order, "cancel"), "Cancel order or tickets"))
            if _unrefunded(order).exists():
                links.append((_url(order, "refund"), "Record refund"))
        context = {**(extra_context or {}), "hold_actions": links}
        return super().change_view(request, object_id, form_url, context)

    def cancel(self, request: HttpRequest, order_id: UUID) -> HttpResponse:
        order = self._order(request, order_id)
        if order.status == OrderStatus.CANCELLED:
            messages.error(request, "This order is cancelled already. Nothing was changed.")
            return HttpResponseRedirect(_url(order, "change"))
        choices = _choices(order, _valid_tickets(order))
        data = request.POST if request.method == "POST" else None
        form = CancelForm(choices, data, initial={"version": order.version})
        if form.is_valid():
            outcome = act(_command(order, form, request))
            if isinstance(outcome, OrderCancelled):
                count = _counted(len(outcome.ticket_ids))
                messages.success(
                    request, f"Cancelled {count}. Refund {written(outcome.amount)} to the buyer."
                )
                return HttpResponseRedirect(_url(order, "change"))
            if not _can_be_repeated(request, form, outcome):
                return HttpResponseRedirect(_url(order, "change"))
        return ask(
            request,
            form,
            title=f"Cancel order {order.id}",
            consequence=_consequence(order, choices),
            button="Cancel these tickets" if choices else "Cancel the order",
            back=_url(order, "change"),
            back_text="Keep the order",
        )

    def refund(self, request: HttpRequest, order_id: UUID) -> HttpResponse:
        order = self._order(request, order_id)
        count = _unrefunded(order).count()
        if not count:
            messages.error(request, "No void ticket is without a refund. Nothing was changed.")
            return HttpResponseRedirect(_url(order, "change"))
        seen = {"version": order.version}
        form = RefundForm(_choices(order, _unrefunded(order)), request.POST or None, initial=seen)
        if form.is_valid():
            reference = form.cleaned_data["refund_reference"]
            outcome = act(
                RecordRefund(
                    OrganizationId(order.organization_id),
                    OrderId(order.id),
                    reference,
                    form.chosen(),
                    reasoned_origin(request, form.cleaned_data["reason"]),
                    version=form.cleaned_data["version"],
                )
            )
            if isinstance(outcome, RefundRecorded):
                recorded = _counted(len(outcome.ticket_ids))
                messages.success(request, f"Recorded refund {reference} for {recorded}.")
                return HttpResponseRedirect(_url(order, "change"))
            if not _can_be_repeated(request, form, outcome):
                return HttpResponseRedirect(_url(order, "change"))
        return ask(
            request,
            form,
            title=f"Record the refund of order {order.id}",
            consequence=f"{_counted(count)} {'was' if count == 1 else 'were'} cancelled without a "
            "refund reference. Keeps the reference with the tickets, for good. It moves no money, "
            "and the buyer gets no e-mail.",
            button="Record refund",
            back=_url(order, "change"),
            back_text="Back to the order",
        )

    def _order(self, request: HttpRequest, order_id: UUID) -> Any:
        """An order that the person may change. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        order = self.get_object(request, str(order_id))
        if order is None:
            raise Http404
        require(request, Scope.ORDERS_CANCEL, order.organization_id)
        return order


def _can_be_repeated(request: HttpRequest, form: ReasonForm, outcome: Outcome) -> bool:
    """Otherwise the order is not as the person saw it: show what it has become."""
    assert isinstance(outcome, Refusal)
    if outcome.code is not RefusalCode.SERVICE_UNAVAILABLE:
        messages.error(request, _in_words(outcome))
        return False
    form.add_error(None, outcome.message)
    return True


def _command(order: Any, form: CancelForm, request: HttpRequest) -> CancelOrder:
    given = form.cleaned_data
    return CancelOrder(
        OrganizationId(order.organization_id),
        OrderId(order.id),
        form.chosen(),
        reasoned_origin(request, given["reason"]),
        given["refund_reference"] or None,
        given["version"],
    )


def _tickets(order: Any) -> QuerySet[Any]:
    return Ticket.objects.filter(organization_id=order.organization_id, order_id=order.id)


def _valid_tickets(order: Any) -> QuerySet[Any]:
    return _tickets(order).filter(voided_at=None)


def _unrefunded(order: Any) -> QuerySet[Any]:
    return _tickets(order).filter(voided_at__isnull=False, refund_reference=None)


def _choices(order: Any, tickets: QuerySet[Any]) -> list[tuple[str, str]]:
    named = tickets.annotate(seat_name=seat_name()).select_related("ticket_type", "session")
    rows = list(named.order_by("position")[: TICKETS_LISTED_MAX + 1])
    if len(rows) > TICKETS_LISTED_MAX:
        return []
    return [(str(ticket.id), _shown(ticket, order.currency)) for ticket in rows]


def _shown(ticket: Any, currency: str) -> str:
    place = ticket.seat_name or ticket.ticket_type.name
    price = amount(ticket.unit_price_minor, currency)
    return f"{ticket.position + 1}: {place}, {ticket.session.name}, {price}"


def _consequence(order: Any, choices: list[tuple[str, str]]) -> str:
    what = "the tickets that you choose" if choices else _counted(_valid_tickets(order).count())
    notified = buyer_told(order, FactType.ORDER_CANCELLED)
    return (
        f"Cancels {what}: their codes become void, and their places are free immediately. Parties "
        f"on the waitlist come first. This cannot be undone. {notified} Holdfast does not refund "
        "the money: do that with your payment provider."
    )


def _in_words(refusal: Refusal) -> str:
    if refusal.code is RefusalCode.ORDER_CHANGED:
        return "Somebody else has changed this order meanwhile. Nothing was changed."
    return f"{refusal.message}. Nothing was changed."


def _counted(tickets: int) -> str:
    return f"{tickets:,} ticket{'' if tickets == 1 else 's'}"


def _url(order: Any, name: str) -> str:
    url = reverse(f"admin:holdfast_order_{name}", args=[order.id])
    return f"{url}?organization={order.organization_id}"
