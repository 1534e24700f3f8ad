"""Cancelling an order, or some of its tickets, on its page."""

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
from holdfast.domain.group.outcomes import OrderCancelled
from holdfast.domain.group.transitions import FactType
from holdfast.domain.ids import OrderId, OrganizationId, TicketId
from holdfast.domain.orders.cancel_order import CancelOrder
from holdfast.domain.orders.order import REFUND_REFERENCE_LENGTH_MAX, OrderStatus
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


class OrderDeskAdmin(SharedIdAdmin):
    change_form_outer_before_template = "holdfast/hold_actions.html"

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        view = never_cache(self.admin_site.admin_view(self.cancel))
        own = path("<uuid:order_id>/cancel/", view, name="holdfast_order_cancel")
        return [own, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        order = self.get_object(request, object_id)
        links = []
        if order is not None and _can_be_cancelled(request, order):
            links.append((_url(order, "cancel"), "Cancel order or tickets"))
        context = {**(extra_context or {}), "hold_actions": links}
        return super().change_view(request, object_id, form_url, context)

    def cancel(self, request: HttpRequest, order_id: UUID) -> HttpResponse:
        order = self._order(request, order_id)
        if order.status == OrderStatus.CANCELLED:
            messages.error(request, "This order is cancelled already. Nothing was changed.")
            return HttpResponseRedirect(_url(order, "change"))
        choices = _choices(order)
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
            assert isinstance(outcome, Refusal)
            if outcome.code is not RefusalCode.SERVICE_UNAVAILABLE:
                # The order is not as the person saw it: show what it has become.
                messages.error(request, _in_words(outcome))
                return HttpResponseRedirect(_url(order, "change"))
            form.add_error(None, outcome.message)
        return ask(
            request,
            form,
            title=f"Cancel order {order.id}",
            consequence=_consequence(order, choices),
            button="Cancel these tickets" if choices else "Cancel the order",
            back=_url(order, "change"),
            back_text="Keep the order",
        )

    def _order(self, request: HttpRequest, order_id: UUID) -> Any:
        """An order that the person may cancel. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        order = self.get_object(request, str(order_id))
        if order is None:
            raise Http404
        require(request, Scope.ORDERS_CANCEL, order.organization_id)
        return order


def _can_be_cancelled(request: HttpRequest, order: Any) -> bool:
    is_left = order.status != OrderStatus.CANCELLED
    return is_left and may(request, Scope.ORDERS_CANCEL, order.organization_id)


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


def _valid_tickets(order: Any) -> QuerySet[Any]:
    own = {"organization_id": order.organization_id, "order_id": order.id}
    return Ticket.objects.filter(**own, voided_at=None)


def _choices(order: Any) -> list[tuple[str, str]]:
    tickets = _valid_tickets(order).annotate(seat_name=seat_name())
    rows = list(
        tickets.select_related("ticket_type", "session").order_by("position")[
            : TICKETS_LISTED_MAX + 1
        ]
    )
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
