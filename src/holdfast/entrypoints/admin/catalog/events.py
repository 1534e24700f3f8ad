"""The forms that create and change an event, and the pages that publish, pause, resume, archive and
cancel it.

An event is paused by moving the start of its sale window: nothing new can be held until then, while
holds placed before can still be paid for, and the waitlist is kept. A status of its own would stop
payments, too, because the status is checked at every step."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from holdfast.adapters.postgres.models import Event, Organization
from holdfast.domain.catalog.changes import PlaceChange, SaleChange
from holdfast.domain.catalog.model import (
    VENUE_LENGTH_MAX,
    EventStatus,
    Place,
    SaleTerms,
    place_errors,
)
from holdfast.domain.ids import EventId
from holdfast.domain.policy import POLICY_FIELDS, UNCHANGED
from holdfast.domain.values import InvalidValue, Money, is_time_zone
from holdfast.entrypoints.admin.catalog.clearing import (
    CLEAR_OFFER,
    PARTIES_TOLD,
    at_stake,
    next_page,
)
from holdfast.entrypoints.admin.catalog.fields import (
    LocalTimeField,
    TextInput,
    text_field,
    written_moment,
)
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
    zone_of,
)
from holdfast.entrypoints.admin.catalog.offers import Offer
from holdfast.entrypoints.admin.catalog.policies import (
    add_policy_fields,
    change_policy,
    effective_policy,
    levels_of,
    policy_given,
)
from holdfast.entrypoints.admin.waitlist.ending import ask_to_end_waitlist

_PAUSE_USUAL = timedelta(days=1)


class EventForm(CatalogForm):
    """For an event that exists, or for a new one of an organization."""

    creates = True

    def __init__(self, request: HttpRequest, row: Event | None, organization: Organization) -> None:
        kept = ("name", *_PLACE, *_WINDOW)
        initial = {} if row is None else {name: getattr(row, name) for name in kept}
        super().__init__(request, row, initial=initial)
        usual, zone = zone_of(organization), self._zone(organization)
        self.fields["name"] = text_field("Name")
        if row is None:
            self.fields["currency"] = text_field(
                "Currency",
                "Three letters, such as EUR. It cannot be changed later.",
                max_length=3,
                widget=TextInput(attrs={"autocapitalize": "characters", "placeholder": "EUR"}),
            )
        self.fields["venue"] = text_field(
            "Venue",
            "Shown in e-mails, such as Harbour Hall, 1 Harbour Street.",
            required=False,
            max_length=VENUE_LENGTH_MAX,
        )
        self.fields["time_zone"] = text_field(
            "Time zone",
            "Of its sessions and e-mails and of the times below, such as Europe/Berlin. Empty: "
            f"{usual.key}, the organization's.",
            required=False,
        )
        self.fields["sale_starts_at"] = LocalTimeField(
            zone, label="On sale from", required=False, help_text="Empty: as soon as published."
        )
        self.fields["sale_ends_at"] = LocalTimeField(
            zone, label="On sale until", required=False, help_text="Empty: without an end."
        )

    def _zone(self, organization: Organization) -> ZoneInfo:
        """The zone that is entered, if it is one, also counts for the times entered with it."""
        entered = str(self.data.get("time_zone", "")).strip()
        if self.is_bound and (not entered or is_time_zone(entered)):
            return ZoneInfo(entered or organization.time_zone)
        return zone_of(organization, self._row)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        for name, error in place_errors(self.place()).items():
            # Without capitalize(), which would also turn Europe/Berlin into europe/berlin.
            self.add_error(name, f"{error[0].upper()}{error[1:]}.".replace("_", " ", 1))
        if self._row is not None and "sale_ends_at" in self.changed_data:
            own = {"organization_id": self._row.organization_id}
            ask_to_end_waitlist(
                self, given.get("sale_ends_at"), **own, session__event_id=self._row.id
            )
        return given

    def place(self) -> Place:
        return Place(*(self.cleaned_data.get(name) or None for name in _PLACE))

    def clean_currency(self) -> str:
        currency = str(self.cleaned_data["currency"]).upper()
        try:
            Money(0, currency)
        except InvalidValue as error:
            raise forms.ValidationError(f"{error.message}.") from None
        return currency


_WINDOW = ("sale_starts_at", "sale_ends_at")
_PLACE = ("venue", "time_zone")


class NewEventForm(EventForm):
    policy_names = tuple(POLICY_FIELDS)

    def __init__(self, request: HttpRequest, organization: Organization) -> None:
        super().__init__(request, None, organization)
        add_policy_fields(self, effective_policy(levels_of(organization)))


def new_event(request: HttpRequest, organization: Organization) -> HttpResponse:
    form = NewEventForm(request, organization)
    if form.is_valid():
        given = form.cleaned_data
        sale = SaleTerms(EventStatus.DRAFT, given["sale_starts_at"], given["sale_ends_at"])
        editor = editor_of(request, form, organization, "Event created in the admin")
        terms = (given["name"], given["currency"], policy_given(form), sale)
        made = form.take(editor.create_event(*terms, place=form.place()))
        if made is not None:
            name = given["name"]
            text = f"{name} is created as a draft. Buyers cannot see it until you publish it."
            return done(request, text, page_of(Event(pk=made)))
    return show(
        request,
        form,
        title=f"New event of {organization.name}",
        consequence=f"Creates a draft in the {organization.mode} data. Nothing is on sale until "
        "you publish it.",
        button="Create event",
        back=page_of(organization),
    )


def edit_event(request: HttpRequest, event: Event) -> HttpResponse:
    form = EventForm(request, event, event.organization)
    if form.is_valid():
        window = [
            form.cleaned_data[name] if name in form.changed_data else UNCHANGED for name in _WINDOW
        ]
        sale = None if window == [UNCHANGED, UNCHANGED] else SaleChange(None, *window)
        editor = editor_of(request, form, event, "Event edited in the admin")
        new = form.place()
        place = PlaceChange(
            *(getattr(new, name) if name in form.changed_data else UNCHANGED for name in _PLACE)
        )
        answer = editor.change_event(
            EventId(event.id), form.changed("name"), None, sale, place=place
        )
        if form.take(answer) is not None:
            return done(request, "The event is saved.", page_of(event))
    return show(
        request,
        form,
        title=f"Edit {event.name}",
        consequence="A new sale window applies to new holds at once. Existing holds can still be "
        "paid for. An end in the past ends the waitlist for good.",
        button="Save event",
        back=page_of(event),
    )


class StatusForm(CatalogForm):
    is_reason_required = True


class PublishForm(CatalogForm):
    """Publishing needs no explanation."""


class PauseForm(StatusForm):
    def __init__(self, request: HttpRequest, event: Event) -> None:
        super().__init__(request, event, initial={"until": timezone.now() + _PAUSE_USUAL})
        self._ends_at = event.sale_ends_at
        self.fields["until"] = LocalTimeField(
            zone_of(event.organization, event), label="Pause until"
        )

    def clean_until(self) -> datetime:
        until: datetime = self.cleaned_data["until"]
        if until <= datetime.now(UTC):
            raise forms.ValidationError("Choose a time in the future.")
        if self._ends_at is not None and until >= self._ends_at:
            raise forms.ValidationError("The sale ends before that. Archive the event instead.")
        return until


def _change(
    request: HttpRequest, event: Event, form: CatalogForm, sale: SaleChange, text: str
) -> HttpResponse | None:
    """The page of the event once the change is made; None if it was refused."""
    editor = editor_of(request, form, event, text)
    made = form.take(editor.change_event(EventId(event.id), None, None, sale))
    return None if made is None else done(request, text, page_of(event))


def publish(request: HttpRequest, event: Event) -> HttpResponse:
    form = PublishForm(request, event)
    if form.is_valid():
        sale = SaleChange(EventStatus.PUBLISHED)
        if answer := _change(request, event, form, sale, f"{event.name} is published."):
            return answer
    return show(
        request,
        form,
        title=f"Publish {event.name}",
        consequence=f"Buyers can see the event now. {_opening(event)} It cannot become a draft "
        "again.",
        button="Publish",
        back=page_of(event),
    )


def _opening(event: Event) -> str:
    """When the sale opens once the event is published."""
    now, zone = timezone.now(), zone_of(event.organization, event)
    start, end = event.sale_starts_at, event.sale_ends_at
    if end is not None and end < now:
        ended = f"The sale ended on {written_moment(end, zone)}"
        return f"{ended}: nothing can be bought until you change that."
    if start is not None and start > now:
        return f"The sale opens on {written_moment(start, zone)}."
    return "The sale opens immediately."


def pause(request: HttpRequest, event: Event) -> HttpResponse:
    form = PauseForm(request, event)
    if form.is_valid():
        sale = SaleChange(starts_at=form.cleaned_data["until"])
        if answer := _change(request, event, form, sale, f"The sale of {event.name} is paused."):
            return answer
    return show(
        request,
        form,
        title=f"Pause {event.name}",
        consequence="Stops new holds immediately, in all sessions. Buyers who hold tickets can "
        "still pay, and the waitlist is kept. The sale opens again by itself at the time below; "
        "resume it earlier, or pause it again, whenever you like.",
        button="Pause the sale",
        back=page_of(event),
    )


def resume(request: HttpRequest, event: Event) -> HttpResponse:
    form = PublishForm(request, event)
    if form.is_valid():
        sale = SaleChange(starts_at=None)
        if answer := _change(request, event, form, sale, f"The sale of {event.name} is open."):
            return answer
    zone = zone_of(event.organization, event)
    start = event.sale_starts_at
    instead = f" instead of on {written_moment(start, zone)}" if start else ""
    return show(
        request,
        form,
        title=f"Open the sale of {event.name} now",
        consequence=f"Buyers can hold tickets immediately{instead}. Free places go to the waitlist "
        "first.",
        button="Open the sale now",
        back=page_of(event),
    )


def archive(request: HttpRequest, event: Event) -> HttpResponse:
    if not _is_archivable(event):
        messages.error(
            request, "Release its holds and cancel its orders first: this is not offered later."
        )
        return HttpResponseRedirect(page_of(event))
    form = StatusForm(request, event)
    if form.is_valid():
        sale = SaleChange(EventStatus.ARCHIVED)
        if answer := _change(request, event, form, sale, f"{event.name} is archived."):
            return answer
    return show(
        request,
        form,
        title=f"Archive {event.name}",
        consequence=f"Ends the sale for good. {event.name} has {at_stake(event)}. Live holds "
        "cannot be paid for any more, and the waitlist ends. Orders stay valid. This cannot be "
        "undone.",
        button="Archive event",
        back=page_of(event),
    )


def cancel(request: HttpRequest, event: Event) -> HttpResponse:
    form = StatusForm(request, event)
    if form.is_valid():
        sale = SaleChange(EventStatus.CANCELLED)
        if _change(request, event, form, sale, f"{event.name} is cancelled."):
            return HttpResponseRedirect(next_page(event))
    return show(
        request,
        form,
        title=f"Cancel {event.name}",
        consequence=f"Ends the sale for good. {event.name} has {at_stake(event)}. Live holds "
        f"can no longer be paid for. The waitlist ends. {PARTIES_TOLD} Orders stay as they are "
        "until you cancel them on the next page. This cannot be undone.",
        button="Cancel event",
        back=page_of(event),
        back_text="Keep the event",
    )


def _is(*statuses: EventStatus) -> Any:
    return lambda event: event.status in statuses


def _is_open(event: Event) -> bool:
    starts_at = event.sale_starts_at
    return EventStatus(event.status).is_on_sale and (
        starts_at is None or starts_at <= timezone.now()
    )


def _is_later(event: Event) -> bool:
    return EventStatus(event.status).is_on_sale and not _is_open(event)


def _is_changeable(event: Event) -> bool:
    return event.status not in {EventStatus.CANCELLED, EventStatus.ARCHIVED}


def _is_archivable(event: Event) -> bool:
    """Holds and orders of a cancelled event are released and cancelled together; archived, they
    would have to be cancelled one by one."""
    is_cleared = event.status != EventStatus.CANCELLED or next_page(event) == page_of(event)
    return event.status != EventStatus.ARCHIVED and is_cleared


OFFERS = (
    Offer("publish", "Publish", publish, _is(EventStatus.DRAFT)),
    Offer("edit", "Edit", edit_event),
    Offer("policy", "Hold policy", change_policy),
    Offer("pause", "Pause", pause, _is_open),
    Offer("resume", "Resume (open the sale now)", resume, _is_later),
    Offer("archive", "Archive", archive, _is_archivable),
    Offer("cancel", "Cancel event", cancel, _is_changeable, is_dangerous=True),
    CLEAR_OFFER,
)
