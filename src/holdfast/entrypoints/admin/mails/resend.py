"""The page on which staff send a buyer's e-mail again."""

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString

from holdfast.adapters.postgres.models import Hold, Order
from holdfast.domain.access.scopes import Scope
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.resend import RESENDS_MAX
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.actions import ReasonForm, ask, reasoned_origin
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import link
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.mails.consequences import IF_TURNED_ON
from holdfast.entrypoints.admin.people.rights import current_request, may, require, visible
from holdfast.services.mails.resend import MailDesk


class ResendForm(ReasonForm):
    """`mail` is the one that the person was offered: the hold may have changed since. Sent twice, a
    form with the same `form_id` requests one mail."""

    mail = forms.ChoiceField(
        choices=[(kind.value, kind.value) for kind in MailKind], widget=forms.HiddenInput()
    )
    form_id = forms.UUIDField(required=False, widget=forms.HiddenInput())


def resend_link(row: Any) -> SafeString:
    """For the page of a hold or an order with an address, if the person may help buyers."""
    request = current_request.get()
    is_offered = request is not None and may(request, Scope.HOLDS_OPERATE, row.organization_id)
    if not is_offered or row.email is None:
        return SafeString("")
    is_order = isinstance(row, Order)
    hold_id = row.hold_ids[0] if is_order else row.id
    url = reverse("admin:holdfast_mail_resend", args=[row.organization_id, hold_id])
    return link(f"{url}?order={row.id}" if is_order else url, "Resend e-mail")


def resend_mail(request: HttpRequest, organization_id: UUID, hold_id: UUID) -> HttpResponse:
    own = {"organization_id": organization_id, "id": hold_id}
    if not visible(request, Hold.objects.filter(**own)).exists():
        raise Http404
    require(request, Scope.HOLDS_OPERATE, organization_id)
    services = AdminConfig.services
    desk = MailDesk(services.holds, services.orders, services.mail_requests)
    named = (OrganizationId(organization_id), HoldId(hold_id))
    back = _page_of(request, organization_id, hold_id)
    offer = desk.offer(*named)
    if isinstance(offer, Refusal):
        messages.error(request, offer.message)
        return HttpResponseRedirect(back)
    design = MAILS[offer.kind]
    form = ResendForm(request.POST or None, initial={"mail": offer.kind.value, "form_id": uuid4()})
    if form.is_valid():
        given = form.cleaned_data
        origin = reasoned_origin(request, given["reason"])
        refused = desk.resend(*named, MailKind(given["mail"]), origin, given["form_id"])
        if refused is None:
            sent = f"{design.label}: will be sent to {offer.to.redacted}, {IF_TURNED_ON}."
            messages.success(request, sent)
            return HttpResponseRedirect(back)
        form = ResendForm(
            {**request.POST.dict(), "mail": offer.kind.value}, initial={"mail": offer.kind.value}
        )
        form.add_error(None, refused.message)
    return ask(
        request,
        form,
        title="Resend e-mail",
        consequence=f"Sends the e-mail \N{LEFT DOUBLE QUOTATION MARK}{design.label}"
        f"\N{RIGHT DOUBLE QUOTATION MARK} to {offer.to.redacted}, {IF_TURNED_ON}, with the current "
        f"text and state. At most {RESENDS_MAX} in an hour can be sent again.",
        button="Send e-mail",
        back=back,
    )


def _page_of(request: HttpRequest, organization_id: UUID, hold_id: UUID) -> str:
    """The page that the person came from."""
    order_id = uuid_or_none(request.GET.get("order", ""))
    model, row_id = (Hold, hold_id) if order_id is None else (Order, order_id)
    url = reverse(f"admin:holdfast_{model.__name__.lower()}_change", args=[row_id])
    return f"{url}?organization={organization_id}"
