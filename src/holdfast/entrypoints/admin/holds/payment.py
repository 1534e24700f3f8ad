"""Recording the payment of a hold: the order is made by the same service as for the API."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.urls import reverse

from holdfast.domain import refusals
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import AlreadyConverted, Converted, Outcome
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.ids import HoldId, OrderId, OrganizationId
from holdfast.domain.orders.order import PAYMENT_REFERENCE_LENGTH_MAX
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import NO_METADATA
from holdfast.entrypoints.admin.actions import act
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.holds.hold_form import HoldForm
from holdfast.services.orders.checkout import Cashier, Payment, Sale

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import TextInput
else:
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

FIELD = "payment_reference"
ABOUT_THE_PAYMENT = {
    RefusalCode.PAYMENT_REFUSED,
    RefusalCode.PAYMENT_ALREADY_USED,
    RefusalCode.ALREADY_PAID,
}


class PaymentForm(HoldForm):
    """With the total that the person saw: a hold may change, and then lapse, before a late payment
    is recorded."""

    payment_reference = forms.CharField(
        max_length=PAYMENT_REFERENCE_LENGTH_MAX,
        widget=TextInput(attrs={"autocomplete": "off"}),
        help_text="Of the payment at your provider, or the number of the receipt. Others can find "
        "the order by it.",
    )
    total_minor = forms.IntegerField(widget=forms.HiddenInput())
    field_order = (FIELD, "reason", "version", "total_minor")

    def __init__(self, hold: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["total_minor"].initial = hold.total_minor
        if not hold.total_minor:
            self.fields[FIELD].required = False


def record_payment(hold: Any, form: PaymentForm, origin: Origin) -> Outcome | Refusal:
    """The engine refuses any other total than the one the person saw. A hold that was paid for
    before leads to its order."""
    given = form.cleaned_data
    if hold.status_now == HoldStatus.ACTIVE and hold.version != given["version"]:
        return refusals.hold_changed(hold.version)
    services = AdminConfig.services
    cashier = Cashier(services.holds, services.orders, services.payments, services.attempts)
    hold_id = HoldId(hold.id)
    payment = Payment(
        OrganizationId(hold.organization_id),
        given[FIELD] or None,
        origin,
        given["total_minor"],
        currency=hold.currency,
    )
    due = cashier.hold_to_confirm(payment, hold_id)
    if isinstance(due, Refusal):
        return due
    outcome = act(cashier.command(payment, Sale(due, (), NO_METADATA), None))
    if isinstance(outcome, AlreadyConverted):
        paid = cashier.paid_order(payment, hold_id, outcome.order_id)
        return paid if isinstance(paid, Refusal) else outcome
    return outcome


def order_url(hold: Any, outcome: Outcome) -> str:
    """The page of the order that the hold became."""
    assert isinstance(outcome, Converted | AlreadyConverted)
    order_id: OrderId = outcome.order.id if isinstance(outcome, Converted) else outcome.order_id
    url = reverse("admin:holdfast_order_change", args=[order_id])
    return f"{url}?organization={hold.organization_id}"


def done(outcome: Outcome) -> str:
    assert isinstance(outcome, Converted | AlreadyConverted)
    if isinstance(outcome, AlreadyConverted):
        return "This payment was recorded before. This is its order."
    count = len(outcome.order.tickets)
    return f"Sold. The order has {count:,} ticket{'' if count == 1 else 's'}."
