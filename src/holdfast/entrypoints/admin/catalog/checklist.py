"""What is still missing before an event can go on sale, step by step."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from holdfast.adapters.postgres.models import Event, Seat, Session, TicketType
from holdfast.domain.catalog.model import EventStatus, SessionStatus
from holdfast.domain.immutable import immutable
from holdfast.entrypoints.admin.catalog.fields import written_moment
from holdfast.entrypoints.admin.catalog.forms import zone_of
from holdfast.entrypoints.admin.catalog.offers import offer_url

SESSIONS_COUNTED_MAX = 1_000


@immutable
class Step:
    """`links`, as (text, URL), lead to the forms that complete a missing step."""

    text: str
    is_done: bool
    note: str = ""
    links: tuple[tuple[str, str], ...] = ()


@immutable
class Checklist:
    steps: tuple[Step, ...]
    state: str  # whether buyers can get tickets now

    @property
    def is_complete(self) -> bool:
        return all(step.is_done for step in self.steps)


def checklist_of(event: Event, only: Session | None = None) -> Checklist:
    """For all sessions of the event, or for one of them."""
    named = "" if only is None else f"{event.name}. "
    if only is not None and only.status == SessionStatus.CANCELLED:
        return Checklist((), f"{named}This session is cancelled: nothing more is sold for it.")
    sessions = _sessions(event)
    total = sessions[:SESSIONS_COUNTED_MAX].count()
    shown = sessions if only is None else sessions.filter(id=only.id)
    untyped = list(shown.filter(has_types=False)[:SESSIONS_COUNTED_MAX])
    empty = shown.filter(has_types=True, has_unseated=False, has_seats=False)
    seatless = list(empty[:SESSIONS_COUNTED_MAX])
    if event.status in {EventStatus.CANCELLED, EventStatus.ARCHIVED}:
        return Checklist((), named + _state(event, is_ready=False))
    steps = (
        Step(
            "Add a session",
            total > 0,
            _plural(total, "session") if total else "",
            (
                ("New session", offer_url(Event, "session", event.id)),
                ("Several by rule", offer_url(Event, "sessions", event.id)),
            ),
        ),
        _types_step(sessions, untyped, is_done=total > 0 and not untyped),
        _places_step(seatless, is_done=total > 0 and not untyped and not seatless),
        Step(
            "Publish",
            event.status != EventStatus.DRAFT,
            "",
            (("Publish", offer_url(Event, "publish", event.id)),),
        ),
    )
    state = _state(event, is_ready=all(step.is_done for step in steps))
    return Checklist(steps, named + state)


def _sessions(event: Event) -> QuerySet[Any]:
    own = {"organization_id": event.organization_id}
    types = TicketType.objects.filter(**own, session_id=OuterRef("id"))
    seats = Seat.objects.filter(**own, session_id=OuterRef("id"))
    return (
        Session.objects.filter(**own, event_id=event.id)
        .annotate(
            has_types=Exists(types),
            has_unseated=Exists(types.filter(is_seated=False)),
            has_seats=Exists(seats),
        )
        .order_by("starts_at", "id")
    )


def _types_step(sessions: QuerySet[Any], untyped: list[Any], *, is_done: bool) -> Step:
    links: tuple[tuple[str, str], ...] = ()
    if untyped:
        first = untyped[0]
        links = ((f"New ticket type of {first.name}", offer_url(Session, "tickettype", first.id)),)
        furnished = sessions.filter(has_types=True).first()
        if furnished is not None:
            url = offer_url(Session, "copy", furnished.id)
            links = (*links, (f"Copy the hall of {furnished.name}", url))
    note = f"{_plural(len(untyped), 'session')} without one" if untyped else ""
    return Step("Add a ticket type", is_done, note, links)


def _places_step(seatless: list[Any], *, is_done: bool) -> Step:
    links: tuple[tuple[str, str], ...] = ()
    if seatless:
        first = seatless[0]
        links = (
            (f"Design rows of {first.name}", offer_url(Session, "design", first.id)),
            ("Upload a file", offer_url(Session, "upload", first.id)),
        )
    note = (
        f"{_plural(len(seatless), 'session')} with seated tickets, but no seats" if seatless else ""
    )
    return Step("Add seats or a pool", is_done, note, links)


def _state(event: Event, *, is_ready: bool) -> str:
    """Whether buyers can get tickets now, in words."""
    status = EventStatus(event.status)
    if status is EventStatus.DRAFT:
        return "Draft: buyers cannot see it."
    if not status.is_on_sale:
        return f"{status.value.capitalize()}: nothing is on sale any more."
    now, zone = timezone.now(), zone_of(event.organization, event)
    starts_at, ends_at = event.sale_starts_at, event.sale_ends_at
    if starts_at is not None and starts_at > now:
        return f"Not on sale until {written_moment(starts_at, zone)}."
    if ends_at is not None and ends_at < now:
        return f"The sale ended on {written_moment(ends_at, zone)}."
    until = f" until {written_moment(ends_at, zone)}" if ends_at is not None else ""
    return f"On sale{until}." if is_ready else f"Published{until}, but not everything can be sold."


def _plural(count: int, noun: str) -> str:
    more = " or more" if count >= SESSIONS_COUNTED_MAX else ""
    return f"{count}{more} {noun}{'' if count == 1 else 's'}"
