"""The pages that cancel a session, and that release the holds and cancel the orders of a cancelled
event or session, a few in each request."""

import time
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from holdfast.adapters.postgres.models import Event, Hold, Order, Session, Ticket
from holdfast.domain.access.scopes import Scope
from holdfast.domain.catalog.model import SessionStatus
from holdfast.domain.ids import EventId, OrganizationId, SessionId
from holdfast.domain.orders.order import OrderStatus
from holdfast.entrypoints.admin.actions import reasoned_origin
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
)
from holdfast.entrypoints.admin.catalog.offers import Offer, offer_url
from holdfast.entrypoints.admin.mails.consequences import buyers_told
from holdfast.entrypoints.admin.people.rights import require
from holdfast.ports.store import StoreError
from holdfast.services.orders.clearing import Cleared, Clearing, Position

COUNTED_MAX = 10_000
SECONDS_PER_REQUEST = 2.0
PARTIES_TOLD = buyers_told("Parties on it who gave an address")
_FIELDS = ("reason", "position", "all", "holds", "orders", "tickets", "failed")


class CancelSessionForm(CatalogForm):
    is_reason_required = True


class ClearForm(CatalogForm):
    """`position` is where the next request continues; the numbers say what is done so far."""

    is_reason_required = True
    position = forms.CharField(required=False, widget=forms.HiddenInput())
    all = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())
    holds = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())
    orders = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())
    tickets = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())
    failed = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        try:
            given["position"] = Position.read(given.get("position") or "0")
        except ValueError:
            raise forms.ValidationError("Open this page again.") from None
        return given

    def cleared(self) -> Cleared:
        given = self.cleaned_data
        names = ("holds", "orders", "tickets", "failed")
        return Cleared(**{name: given[name] or 0 for name in names})


def cancel_session(request: HttpRequest, session: Session) -> HttpResponse:
    form = CancelSessionForm(request, session)
    if form.is_valid():
        editor = editor_of(request, form, session, "Session cancelled in the admin")
        answer = editor.change_session(
            SessionId(session.id), None, None, None, SessionStatus.CANCELLED
        )
        if form.take(answer) is not None:
            text = f"{session.name} is cancelled. Nothing more is sold for it."
            return done(request, text, next_page(session))
    return show(
        request,
        form,
        title=f"Cancel {session.name}",
        consequence=f"Ends its sale for good; other sessions of {session.event.name} go on. "
        f"{session.name} has {at_stake(session)}. The waitlist ends. {PARTIES_TOLD} Other holds "
        "and orders stay as they are until you cancel them on the next page. This cannot be "
        "undone.",
        button="Cancel session",
        back=page_of(session),
        back_text="Keep the session",
    )


def next_page(row: Event | Session) -> str:
    """After a cancellation: the page that clears it, if there is anything to clear."""
    if any(each.exists() for each in _left(row)):
        return offer_url(type(row), "clear", row.pk)
    return page_of(row)


def clear(request: HttpRequest, row: Any) -> HttpResponse:
    for scope in (Scope.HOLDS_OPERATE, Scope.ORDERS_CANCEL):
        require(request, scope, row.organization_id)
    if not _is_cancelled(row):
        messages.error(request, "Cancel it first: otherwise its places would be sold again.")
        return HttpResponseRedirect(page_of(row))
    form = ClearForm(request)
    if not form.is_valid():
        return _ask(request, row, form)
    cleared, position = form.cleared(), form.cleaned_data["position"]
    if form.cleaned_data["all"] is None:  # the first request
        form.cleaned_data["all"] = sum(each.count() for each in _left(row))
    clearing = _clearing(request, row, form.cleaned_data["reason"])
    started_at = time.monotonic()
    try:
        while position is not None:
            step, position = clearing.step(position)
            cleared = cleared.plus(step)
            if time.monotonic() - started_at > SECONDS_PER_REQUEST:
                break
    except StoreError:
        form.add_error(None, "The database does not answer. Press Continue to try again.")
    if position is None:
        return _finished(request, row, cleared)
    return _go_on(request, row, form, cleared, position)


def _clearing(request: HttpRequest, row: Any, reason: str) -> Clearing:
    services = AdminConfig.services
    is_event = isinstance(row, Event)
    return Clearing(
        services.submit,
        services.holds,
        services.orders,
        services.catalog,
        OrganizationId(row.organization_id),
        reasoned_origin(request, reason),
        event_id=EventId(row.id) if is_event else None,
        session_id=None if is_event else SessionId(row.id),
    )


def _ask(request: HttpRequest, row: Any, form: ClearForm) -> HttpResponse:
    return show(
        request,
        form,
        title=f"Release the holds and cancel the orders of {row.name}",
        consequence=f"It has {at_stake(row)}. Releases the holds, empties the waitlist and makes "
        f"the tickets void. {buyers_told('Buyers of these holds and orders who gave an address')} "
        "Holdfast does not refund the money: do that with your payment provider. This cannot be "
        "undone.",
        button="Release holds and cancel orders",
        back=page_of(row),
        back_text="Not now",
    )


def _go_on(
    request: HttpRequest, row: Any, form: ClearForm, cleared: Cleared, position: Position
) -> HttpResponse:
    so_far = cleared.holds + cleared.orders + cleared.failed
    values = (form.cleaned_data["reason"], position, max(form.cleaned_data["all"], so_far))
    counts = (cleared.holds, cleared.orders, cleared.tickets, cleared.failed)
    return show(
        request,
        form,
        template="holdfast/catalog/batch.html",
        title=f"Release the holds and cancel the orders of {row.name}",
        consequence=f"{_said(cleared)} Leave this page open until it is done.",
        button="Continue",
        back=page_of(row),
        back_text="Stop here",
        rows=[],
        progress={"done": so_far, "all": values[2]},
        is_continued=not form.errors,
        fields=[(name, str(value)) for name, value in zip(_FIELDS, values + counts, strict=True)],
    )


def _finished(request: HttpRequest, row: Any, cleared: Cleared) -> HttpResponse:
    if cleared.failed:
        messages.error(
            request, f"{_said(cleared)} {cleared.failed:,} could not be cancelled. Try again."
        )
        return HttpResponseRedirect(page_of(row))
    return done(request, _said(cleared), page_of(row))


def _said(cleared: Cleared) -> str:
    return (
        f"Released {_counted(cleared.holds, 'hold')} and cancelled "
        f"{_counted(cleared.orders, 'order')} with {_counted(cleared.tickets, 'ticket')}."
    )


def _left(row: Any) -> tuple[QuerySet[Any], QuerySet[Any]]:
    """Its live holds and the orders with valid tickets for it, up to a limit."""
    own: dict[str, Any] = {"organization_id": row.organization_id}
    sessions: Any = [row.id]
    if isinstance(row, Event):
        sessions = Session.objects.filter(**own, event_id=row.id).values("id")
    holds = Hold.objects.filter(**own, session_id__in=sessions)
    live = holds.filter(status__in=("active", "waiting"), expires_at__gt=timezone.now())
    sold = holds.filter(status="converted", order_id__isnull=False).values("order_id")
    valid = Ticket.objects.filter(
        **own, order_id=OuterRef("id"), session_id__in=sessions, voided_at__isnull=True
    )
    orders = Order.objects.filter(Exists(valid), **own, id__in=sold)
    orders = orders.exclude(status=OrderStatus.CANCELLED)
    return live.order_by()[:COUNTED_MAX], orders.order_by()[:COUNTED_MAX]


def at_stake(row: Any) -> str:
    holds, orders = (each.count() for each in _left(row))
    return f"{_counted(holds, 'live hold')} and {_counted(orders, 'order')}"


def _counted(count: int, noun: str) -> str:
    more = " or more" if count >= COUNTED_MAX else ""
    return f"{f'{count:,}' if count else 'no'}{more} {noun}{'' if count == 1 else 's'}"


def _is_cancelled(row: Any) -> bool:
    statuses = (row.status,) if isinstance(row, Event) else (row.status, row.event.status)
    return "cancelled" in statuses


def _is_scheduled(session: Any) -> bool:
    return not _is_cancelled(session)


CLEAR_OFFER = Offer(
    "clear", "Release holds and cancel orders", clear, _is_cancelled, is_dangerous=True
)
CANCEL_SESSION_OFFER = Offer(
    "cancel", "Cancel session", cancel_session, _is_scheduled, is_dangerous=True
)
