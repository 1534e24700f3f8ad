"""Holding tickets for a customer at the counter or on the phone, from the page of a session."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_text_list

from holdfast.adapters.postgres.models import Hold, Session
from holdfast.domain.access.scopes import Scope
from holdfast.domain.amounts import written
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.domain.group.outcomes import Placed, Waiting
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import JsonValue, Money
from holdfast.domain.waitlist.entry import WORTH_WAITING
from holdfast.entrypoints.admin.actions import act, ask, reasoned_origin
from holdfast.entrypoints.admin.catalog.forms import page_of
from holdfast.entrypoints.admin.catalog.offers import Offer
from holdfast.entrypoints.admin.display import redacted, shown_time
from holdfast.entrypoints.admin.find.names import Names
from holdfast.entrypoints.admin.find.refusal_words import reason
from holdfast.entrypoints.admin.holds.counter_form import QUANTITY, CounterForm
from holdfast.entrypoints.admin.holds.session_offers import has_waitlist, seconds_held
from holdfast.ports.audit.reader import AuditEntry

# The fields that a refusal is about.
_ABOUT_SEATS = ("seats",)
_ABOUT_PLACES = (QUANTITY, "seats")
_ABOUT_CUSTOMER = ("email", "user_id")
_FIELDS_OF_CODE = {
    RefusalCode.INVALID_SEAT: _ABOUT_SEATS,
    RefusalCode.INVALID_TICKET_TYPE: _ABOUT_SEATS,
    RefusalCode.SEAT_HELD_BY_ANOTHER_USER: _ABOUT_SEATS,
    RefusalCode.SEAT_NOT_AVAILABLE: _ABOUT_SEATS,
    RefusalCode.LOCK_NOT_AVAILABLE: _ABOUT_SEATS,
    RefusalCode.ORPHAN_SEAT: _ABOUT_SEATS,
    RefusalCode.BLOCK_AT_CAPACITY: _ABOUT_PLACES,
    RefusalCode.INSUFFICIENT_INVENTORY: _ABOUT_PLACES,
    RefusalCode.NO_AVAILABLE_SEATS: _ABOUT_PLACES,
    RefusalCode.OTHERS_ARE_WAITING: _ABOUT_PLACES,
    RefusalCode.QUANTITY_ABOVE_MAXIMUM: _ABOUT_PLACES,
    RefusalCode.ACTIVE_HOLD_EXISTS: _ABOUT_CUSTOMER,
    RefusalCode.ALREADY_WAITING: _ABOUT_CUSTOMER,
    RefusalCode.HOLDER_LIMIT_REACHED: _ABOUT_CUSTOMER,
    RefusalCode.HOLDER_COOLDOWN: _ABOUT_CUSTOMER,
    RefusalCode.WAITING_PLACES_EXCEEDED: _ABOUT_CUSTOMER,
}
_TOO_FEW = {RefusalCode.INSUFFICIENT_INVENTORY, RefusalCode.NO_AVAILABLE_SEATS}


def hold_for_customer(request: HttpRequest, session: Session) -> HttpResponse:
    """The form, then the page that says what will happen, then the hold. The hall sends only the
    seats that a person has picked there."""
    is_filled_in = "hold_id" in request.POST
    picked = "" if is_filled_in else request.POST.get("seats", "")
    form = CounterForm(session, request.POST if is_filled_in else None, picked)
    if not form.is_valid() or "change" in request.POST:
        return _show_form(request, form)
    if "confirm" not in request.POST:
        return _show_consequence(request, form)
    command = form.command(reasoned_origin(request, form.cleaned_data["reason"]))
    outcome = act(command)
    if isinstance(outcome, Refusal):
        _refuse(form, command, outcome)
        return _show_form(request, form)
    assert isinstance(outcome, Placed | Waiting)
    messages.success(request, _done(outcome))
    url = reverse("admin:holdfast_hold_change", args=[outcome.hold.id])
    return HttpResponseRedirect(f"{url}?organization={outcome.hold.organization_id}")


def _show_form(request: HttpRequest, form: CounterForm) -> HttpResponse:
    return ask(
        request,
        form,
        title=_title(form),
        consequence="The next page says what will be held, until when, and what it costs.",
        button="Continue",
        back=page_of(form.session),
        free=form.seats.free() if form.offers.seated else None,
    )


def _show_consequence(request: HttpRequest, form: CounterForm) -> HttpResponse:
    quantity = sum(each.quantity for each in form.offered)
    return ask(
        request,
        form,
        template="holdfast/hold_preview.html",
        title=_title(form),
        consequence=_consequence(form),
        button=f"Hold {_counted(quantity, 'ticket')}",
        back=page_of(form.session),
    )


def _title(form: CounterForm) -> str:
    return f"Hold for a customer: {form.session.event}, {form.session}"


def _consequence(form: CounterForm) -> str:
    offered = form.offered
    seconds = seconds_held(offered)
    prices = [each.total_minor for each in offered]
    known = [price for price in prices if price is not None]
    total = "The price depends on the seats, and is shown with the hold."
    if len(known) == len(prices):
        total = f"Price: {written(Money(sum(known), form.offers.currency))}."
    holds = f"Holds {_places(form)} for {_customer(form)} until {_until(seconds)}"
    said = (
        f"{holds} ({_duration(seconds)}). {total} Without a payment by then, the hold lapses, and"
        " its places are free again. The customer gets no e-mail about this."
    )
    if form.cleaned_data.get("may_wait"):
        said += " If there is nothing left, the customer joins the waitlist instead."
    return said


def _places(form: CounterForm) -> str:
    """For example `2 seats (Parterre B 12, 13) and 3 tickets (Standing)`."""
    types = form.offers.types
    said = [
        f"the best {count} seats side by side ({types[id_].name})"
        if types[id_].is_seated and count > 1
        else f"{_counted(count, 'seat' if types[id_].is_seated else 'ticket')} ({types[id_].name})"
        for id_, count in form.quantities.items()
    ]
    if form.named:
        names = form.seats.written(form.named)
        said.append(f"{_counted(len(form.named), 'seat')} ({names})")
    return get_text_list(said, "and")


def _customer(form: CounterForm) -> str:
    return redacted(form.cleaned_data["email"] or form.cleaned_data["user_id"])


def _until(seconds: int) -> str:
    now = timezone.now()
    end = now + timedelta(seconds=seconds)
    is_today = end.astimezone(UTC).date() == now.astimezone(UTC).date()
    return f"{end.astimezone(UTC):%H:%M} UTC" if is_today else f"{shown_time(end)} UTC"


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    parts = [_counted(minutes, "minute")] if minutes else []
    return " and ".join([*parts, _counted(rest, "second")] if rest else parts)


def _done(outcome: Placed | Waiting) -> str:
    hold, until = outcome.hold, shown_time(outcome.hold.expires_at)
    if hold.is_waiting(outcome.at):
        return f"There is nothing left. On the waitlist until {until} UTC."
    if hold.is_active(outcome.at):
        return f"Held until {until} UTC."
    return "This form had made this hold already."  # sent again later


def _refuse(form: CounterForm, command: PlaceHold, refusal: Refusal) -> None:
    """Say why, at the field that it is about, and offer the waitlist if that may help."""
    offers_waitlist = (
        refusal.code in WORTH_WAITING
        and not command.may_wait
        and not form.named
        and has_waitlist(form.offered)
    )
    told = _in_words(form, command, refusal)
    if offers_waitlist:
        form.offer_waitlist()
        told += " The customer can join the waitlist: turn that on below."
    form.add_error(form.field_of(_FIELDS_OF_CODE.get(refusal.code, ())), told)


def _in_words(form: CounterForm, command: PlaceHold, refusal: Refusal) -> str:
    if refusal.code is RefusalCode.SERVICE_UNAVAILABLE:
        # Perhaps only the answer was lost. The id of the hold prevents a second one.
        return "Holdfast did not answer in time. Try again: this makes no second hold."
    if refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED:
        own = {"organization_id": command.organization_id, "id": command.hold_id}
        made = Hold.objects.filter(**own).values_list("reference", flat=True).first()
        return (
            f"This form has already made hold {made}, which is not what it asks for now. Nothing"
            " was changed. Open the page again from the page of the session."
        )
    entry = _as_entry(command, refusal)
    told = reason(entry, Names(command.organization_id, [entry]))
    if refusal.code in _TOO_FEW and any(
        form.offers.types[id_].is_seated for id_ in form.quantities
    ):
        told += " Seats must be side by side: name them to seat people apart."
    return f"{told} Nothing was changed."


def _as_entry(command: PlaceHold, refusal: Refusal) -> AuditEntry:
    """The refused attempt, as the audit log tells of it."""
    failed = command.failed_action(refusal)
    asked, origin = failed.asked, command.origin
    new: dict[str, JsonValue] = {
        "error": refusal.code.value,
        "quantity": asked.quantity,
        "seat_ids": [str(id_) for id_ in asked.seat_ids],
        **refusal.details,
    }
    return AuditEntry(
        seq=0,
        at=datetime.now(UTC),
        action=failed.action,
        hold_id=None,
        seat_id=failed.seat_id,
        catalog_id=None,
        key_id=None,
        session_id=command.session_id,
        ticket_type_ids=asked.ticket_type_ids,
        cart=None,
        holder=None,
        actor=origin.actor,
        acting_user=origin.acting_user,
        request_id=origin.request_id,
        ip=None,
        user_agent=None,
        old=None,
        new=new,
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def is_on_sale(session: Any) -> bool:
    """Whether anything is sold: the sale window may still be closed."""
    is_sold = EventStatus(session.event.status).is_on_sale
    return is_sold and session.status != SessionStatus.CANCELLED


OFFER = Offer("hold", "Hold for a customer", hold_for_customer, is_on_sale, scope=Scope.HOLDS_WRITE)
