"""The forms that create and change sessions: one, or several by rule."""

import re
from collections.abc import Sequence
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.http import HttpRequest, HttpResponse

from holdfast.adapters.postgres.models import Event, Session
from holdfast.domain.catalog.schedule import SESSIONS_PER_RULE_MAX, Schedule, is_ambiguous
from holdfast.domain.ids import EventId, SessionId
from holdfast.domain.values import NO_METADATA, InvalidValue
from holdfast.entrypoints.admin.catalog.fields import (
    NAME_LENGTH_MAX,
    CheckboxSelectMultiple,
    LocalTimeField,
    day_field,
    text_field,
    written_day,
)
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    alone,
    done,
    editor_of,
    page_of,
    show,
    zone_of,
)
from holdfast.entrypoints.admin.catalog.offers import Offer
from holdfast.entrypoints.admin.waitlist.ending import ask_to_end_waitlist

PER_REQUEST_MAX = 50
TIMES_MAX = 24
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TIME = re.compile(r"([01]?[0-9]|2[0-3])[:.]([0-5][0-9])", re.ASCII)
_BUSY = "Sessions of this event are being added at this moment. Try again in a few seconds."
_SHORT_NAME_MAX = NAME_LENGTH_MAX - len(", Fri 2030-08-02 20:00")


class SessionForm(CatalogForm):
    creates = True

    def __init__(self, request: HttpRequest, row: Session | None, zone: ZoneInfo) -> None:
        initial = {} if row is None else {"name": row.name, "starts_at": row.starts_at}
        super().__init__(request, row, initial=initial)
        self.fields["name"] = text_field("Name", 'What buyers read, such as "Friday night".')
        # A start can be moved, but not cleared.
        is_set = row is not None and row.starts_at is not None
        self.fields["starts_at"] = LocalTimeField(zone, label="Starts at", required=is_set)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if self._row is not None and "starts_at" in self.changed_data:
            own = {"organization_id": self._row.organization_id, "session_id": self._row.id}
            ask_to_end_waitlist(self, given.get("starts_at"), **own)
        return given


def new_session(request: HttpRequest, event: Event) -> HttpResponse:
    form = SessionForm(request, None, zone_of(event.organization, event))
    if form.is_valid():
        given = form.cleaned_data
        editor = editor_of(request, form, event, "Session created in the admin")
        made = form.take(
            editor.create_session(EventId(event.id), given["name"], given["starts_at"], NO_METADATA)
        )
        if made is not None:
            return done(request, f"{given['name']} is created.", page_of(Session(pk=made)))
    return show(
        request,
        form,
        title=f"New session of {event.name}",
        consequence="Adds a dated occurrence of the event. Tickets are sold for a session.",
        button="Create session",
        back=page_of(event),
    )


def edit_session(request: HttpRequest, session: Session) -> HttpResponse:
    form = SessionForm(request, session, zone_of(session.organization, session.event))
    if form.is_valid():
        editor = editor_of(request, form, session, "Session edited in the admin")
        answer = editor.change_session(
            SessionId(session.id), form.changed("name"), form.changed("starts_at")
        )
        if form.take(answer) is not None:
            return done(request, "The session is saved.", page_of(session))
    return show(
        request,
        form,
        title=f"Edit {session.name}",
        consequence="Changes what buyers read. Holds and orders stay. A start in the past ends the "
        "waitlist for good. Nobody gets an e-mail.",
        button="Save session",
        back=page_of(session),
    )


class RuleForm(CatalogForm):
    """`is_previewed` is set by the page that lists the sessions."""

    is_previewed = forms.BooleanField(required=False, widget=forms.HiddenInput())

    def __init__(self, request: HttpRequest, event: Event) -> None:
        super().__init__(request)
        self._zone = zone_of(event.organization, event)
        self.starts: Sequence[datetime] = ()
        self.fields["name"] = text_field(
            "Name",
            'Comes before the date: "Matinee" makes "Matinee, Fri 2030-08-02 15:00". Empty: the '
            "date alone.",
            required=False,
            max_length=_SHORT_NAME_MAX,
        )
        self.fields["weekdays"] = forms.TypedMultipleChoiceField(
            choices=list(enumerate(_WEEKDAYS)), coerce=int, widget=CheckboxSelectMultiple()
        )
        self.fields["first"] = day_field("First day")
        self.fields["last"] = day_field("Last day")
        self.fields["times"] = text_field(
            "Times of day",
            f"Such as 15:00, 20:00. Time zone: {self._zone.key}.",
        )

    def clean_times(self) -> tuple[time, ...]:
        words = self.cleaned_data["times"].replace(",", " ").replace(";", " ").split()
        found = [_TIME.fullmatch(word) for word in words]
        if not all(found) or len(found) > TIMES_MAX:
            message = f"Enter up to {TIMES_MAX} times such as 20:00, separated by commas."
            raise forms.ValidationError(message)
        return tuple(time(int(match[1]), int(match[2])) for match in found if match)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if self.errors:
            return given
        days = (given["first"], given["last"], frozenset(given["weekdays"]))
        try:
            self.starts = Schedule(*days, given["times"], self._zone).starts()
        except InvalidValue as error:
            fields = {"invalid_time": "times", "invalid_dates": "last"}
            self.add_error(fields.get(error.code), f"{error.message}.")
        return given

    def named(self) -> list[tuple[str, datetime]]:
        """The sessions that the rule makes."""
        prefix = f"{self.cleaned_data['name']}, " if self.cleaned_data["name"] else ""
        return [(f"{prefix}{written_day(at)} {at:%H:%M}", at) for at in self.starts]


def new_sessions(request: HttpRequest, event: Event) -> HttpResponse:
    """Sessions of the event that already have one of these names and times are left out, so the
    same rule can be sent again until all sessions are there."""
    with alone(f"sessions of {event.id}") as is_alone:
        return _new_sessions(request, event, RuleForm(request, event), is_alone=is_alone)


def _new_sessions(
    request: HttpRequest, event: Event, form: "RuleForm", *, is_alone: bool
) -> HttpResponse:
    is_valid = form.is_valid()
    wanted = form.named() if is_valid else []
    known = _known(event) if is_valid else set()
    missing = [each for each in wanted if each not in known]
    if is_valid and not missing:
        form.add_error(None, "The event already has all of these sessions.")
        is_valid = False
    if is_valid and not is_alone:
        form.add_error(None, _BUSY)
        is_valid = False
    if is_valid and form.cleaned_data["is_previewed"]:
        editor = editor_of(request, form, event, "Sessions created by rule in the admin")
        for name, at in missing[:PER_REQUEST_MAX]:
            answer = editor.create_session(EventId(event.id), name, at, NO_METADATA)
            if form.take(answer) is None:
                break
        else:
            missing = missing[PER_REQUEST_MAX:]
            if not missing:
                text = f"{event.name} has {len(wanted)} sessions of this rule."
                return done(request, text, page_of(event))
    return _show_rule(request, event, form, wanted, missing)


def _show_rule(
    request: HttpRequest,
    event: Event,
    form: RuleForm,
    wanted: Sequence[tuple[str, datetime]],
    missing: Sequence[tuple[str, datetime]],
) -> HttpResponse:
    texts: dict[str, Any] = {"title": f"New sessions of {event.name}", "back": page_of(event)}
    if not form.is_bound or form.errors:
        return show(
            request,
            form,
            **texts,
            consequence=f"Adds up to {SESSIONS_PER_RULE_MAX} sessions. You see the list before "
            "anything is written.",
            button="Show the list",
        )
    is_under_way = form.cleaned_data["is_previewed"]
    count = "1 session" if len(missing) == 1 else f"{len(missing)} sessions"
    zone = zone_of(event.organization, event)
    return show(
        request,
        form,
        template="holdfast/catalog/rule.html",
        **texts,
        consequence=f"Adds {count} to {event.name}. Times are in {zone.key}.",
        button="Continue" if is_under_way else f"Create {count}",
        rows=[(name, is_ambiguous(at)) for name, at in missing],
        known=len(wanted) - len(missing),
        is_continued=is_under_way,
        progress={"done": len(wanted) - len(missing), "all": len(wanted)} if is_under_way else None,
        fields=_hidden(form),
    )


def _hidden(form: RuleForm) -> list[tuple[str, str]]:
    """The rule as the person entered it."""
    data: Any = form.data
    names = ("name", "weekdays", "first", "last", "times", "reason")
    return [(name, value) for name in names for value in data.getlist(name)]


def _known(event: Event) -> set[tuple[str, datetime]]:
    own = {"organization_id": event.organization_id, "event_id": event.id}
    rows = Session.objects.filter(**own, starts_at__isnull=False)
    newest = rows.values_list("name", "starts_at").order_by("-id")[: 10 * SESSIONS_PER_RULE_MAX]
    return {(name, at) for name, at in newest if at is not None}


OFFERS_OF_EVENT = (
    Offer("session", "New session", new_session),
    Offer("sessions", "Several sessions by rule", new_sessions),
)
EDIT_OFFER = Offer("edit", "Edit", edit_session)
