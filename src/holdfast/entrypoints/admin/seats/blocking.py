"""Blocks and unblocks seats that a person chose in the hall. The consequence is stated first."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import Hold, HoldLine, Seat, Session
from holdfast.domain.group.outcomes import SeatsBlocked
from holdfast.domain.ids import OrganizationId, SeatId, SessionId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.block_seats import SEATS_PER_BLOCKING_MAX, BlockSeats
from holdfast.domain.seats.seat import BLOCKED_REASON_LENGTH_MAX, SeatStatus
from holdfast.entrypoints.admin.actions import ReasonForm, act, ask, reasoned_origin
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.entrypoints.admin.mails.consequences import buyers_told
from holdfast.entrypoints.admin.seats.hall import seat_status_now

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import Textarea
else:
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea

NAMES_SHOWN_MAX = 40
STALE = "Somebody else has changed these seats meanwhile. Read again what will happen."


class SeatsForm(ReasonForm):
    """`seats` are the ids, with commas: Django limits the number of fields."""

    reason = forms.CharField(
        max_length=BLOCKED_REASON_LENGTH_MAX,
        widget=Textarea(attrs={"rows": 2}),
        help_text="Shown with the seats and recorded in the audit log. Do not enter personal data.",
    )
    seats = forms.CharField(widget=forms.HiddenInput())


@immutable
class Choice:
    """The chosen seats as they are now, in the order of the hall."""

    seats: Sequence[Any]
    is_lifted: bool

    def in_state(self, status: SeatStatus) -> list[Any]:
        return [seat for seat in self.seats if seat.status_now == status]

    @property
    def changing(self) -> list[Any]:
        return [
            seat for seat in self.seats if (seat.status_now == SeatStatus.BLOCKED) is self.is_lifted
        ]

    @property
    def unchanged(self) -> list[Any]:
        return [
            seat
            for seat in self.seats
            if (seat.status_now == SeatStatus.BLOCKED) is not self.is_lifted
        ]

    @property
    def version(self) -> int:
        """Differs if the consequence would differ: a hold that was merely extended makes no
        difference."""
        states = "".join(f"{seat.id}{seat.status_now}{_hold_of(seat)}" for seat in self.seats)
        return int.from_bytes(blake2b(states.encode(), digest_size=4).digest())


def _hold_of(seat: Any) -> UUID | None:
    """A lapsed hold no longer has its seats."""
    return None if seat.status_now == SeatStatus.AVAILABLE else seat.hold_id


def change_blocking(request: HttpRequest, session: Session, *, is_lifted: bool) -> HttpResponse:
    """The first request has only the seats; that of the form has the reason, too."""
    back = reverse("admin:holdfast_session_hall", args=[session.id])
    part = request.GET.get("part", "")
    back += f"?part={part}" if part.isdecimal() else ""
    ids = _ids(request.POST.get("seats", ""))
    problem = _problem(ids)
    choice = Choice([] if problem else _chosen(session, ids), is_lifted)
    if problem is None and len(choice.seats) < len(ids):
        problem = "Some of these seats are no longer in this session. Choose again."
    if problem is None and not choice.changing:
        state = "not blocked" if is_lifted else "blocked already"
        problem = f"Nothing to do: {named(choice.seats)} {_are(choice.seats)} {state}."
    if problem is not None:
        messages.warning(request, problem)
        return HttpResponseRedirect(back)
    form = SeatsForm(request.POST) if "reason" in request.POST else _first_form(choice, ids)
    if form.is_bound and form.is_valid():
        if form.cleaned_data["version"] == choice.version:
            refusal = _change(request, session, choice, form.cleaned_data["reason"])
            if refusal is None:
                return HttpResponseRedirect(back)
            form.add_error(None, refusal)
        else:
            form.add_error(None, STALE)
    if form.is_bound:
        # The person reads the consequence again, as it is now.
        form.data = {**form.data.dict(), "version": choice.version}  # type: ignore[attr-defined]
    verb = "Unblock" if is_lifted else "Block"
    title = f"{verb} {_count(choice.changing)} in {session.name}"
    consequence = unblocking(choice) if is_lifted else blocking(choice, session)
    return ask(request, form, title=title, consequence=consequence, button=verb, back=back)


def _ids(text: str) -> list[UUID | None]:
    """At most one more than may be changed at a time, each once."""
    parts = text.split(",", SEATS_PER_BLOCKING_MAX + 1)[: SEATS_PER_BLOCKING_MAX + 1]
    return list(dict.fromkeys(uuid_or_none(part) for part in parts))


def _problem(ids: Sequence[UUID | None]) -> str | None:
    if len(ids) > SEATS_PER_BLOCKING_MAX:
        return f"Choose at most {SEATS_PER_BLOCKING_MAX} seats at a time."
    return "Choose seats in the hall first." if None in ids else None


def _chosen(session: Session, ids: Iterable[UUID | None]) -> list[Any]:
    own = {"organization_id": session.organization_id, "session_id": session.id}
    seats = Seat.objects.filter(**own, id__in=list(ids)).select_related("block")
    ordered = seats.order_by("block__rank", "block_id", "row_rank", "row_name", "position")
    return list(ordered.annotate(status_now=seat_status_now()))


def _first_form(choice: Choice, ids: Iterable[UUID | None]) -> SeatsForm:
    return SeatsForm(initial={"seats": ",".join(map(str, ids)), "version": choice.version})


def blocking(choice: Choice, session: Session) -> SafeString:
    held, sold = choice.in_state(SeatStatus.HELD), choice.in_state(SeatStatus.SOLD)
    on_sale = [seat for seat in choice.changing if seat.status_now != SeatStatus.SOLD]
    unchanged = choice.unchanged
    said = []
    if on_sale:
        said.append(f"Takes {_count(on_sale)} off sale: {named(on_sale)}.")
    if held:
        said.append(_ended_by(held, session))
    if sold:
        said.append(
            f"Blocks {_count(sold)} that {_are(sold)} sold: {named(sold)}. Orders and tickets stay "
            "as they are."
        )
    if unchanged:
        said.append(f"Blocked already, and stays so: {named(unchanged)}.")
    return _in_lines(said)


def _ended_by(held: Sequence[Any], session: Session) -> str:
    own = {"organization_id": session.organization_id}
    hold_ids = {seat.hold_id for seat in held}
    found = Hold.objects.filter(**own, id__in=hold_ids).order_by("reference")
    references = list(found.values_list("reference", flat=True)[: NAMES_SHOWN_MAX + 1])
    lines = HoldLine.objects.filter(**own, hold_id__in=hold_ids, removed_version__isnull=True)
    others = (lines.aggregate(sum=Sum("quantity"))["sum"] or 0) - len(held)
    count = len(hold_ids)
    text = f"Ends {_count_of(count, 'hold')} at once ({_listed(references)}), because of "
    text += f"{named(held)}. {buyers_told()}"
    if others > 0:
        text += (
            f" {_count_of(others, 'other ticket')} of {'it' if count == 1 else 'them'} "
            f"{'goes' if others == 1 else 'go'} to the waitlist or back on sale."
        )
    return text


def unblocking(choice: Choice) -> SafeString:
    sold = [seat for seat in choice.changing if seat.hold_id is not None]
    free = [seat for seat in choice.changing if seat.hold_id is None]
    said = []
    if free:
        said.append(
            f"Puts {_count(free)} back on sale: {named(free)}. People on the waitlist come first."
        )
    if sold:
        said.append(f"Unblocks {_count(sold)} that {_are(sold)} sold, and stays so: {named(sold)}.")
    if choice.unchanged:
        said.append(f"Not blocked, and left alone: {named(choice.unchanged)}.")
    return _in_lines(said)


def _change(request: HttpRequest, session: Session, choice: Choice, reason: str) -> str | None:
    """Returns why the engine refused."""
    command = BlockSeats(
        organization_id=OrganizationId(session.organization_id),
        session_id=SessionId(session.id),
        seat_ids=tuple(SeatId(seat.id) for seat in choice.seats),
        reason=reason,
        origin=reasoned_origin(request, reason),
        is_lifted=choice.is_lifted,
    )
    outcome = act(command)
    if isinstance(outcome, Refusal):
        return _in_words(outcome, choice)
    assert isinstance(outcome, SeatsBlocked)
    _tell(request, choice, outcome)
    return None


def _in_words(refusal: Refusal, choice: Choice) -> str:
    """With the names of the seats that the refusal is about."""
    about = refusal.details.get("seat_ids")
    ids = set(map(str, about)) if isinstance(about, list) else set()
    seats = [seat for seat in choice.seats if str(seat.id) in ids]
    names = f" It is about {named(seats)}." if seats else ""
    return f"Nothing was changed. {refusal.message.rstrip('.')}.{names}"


def _tell(request: HttpRequest, choice: Choice, outcome: SeatsBlocked) -> None:
    changed = {UUID(str(seat.id)) for seat in outcome.changed}
    done = [seat for seat in choice.seats if seat.id in changed]
    others = [seat for seat in choice.seats if seat.id not in changed]
    verb = "Unblocked" if choice.is_lifted else "Blocked"
    ended = f" {_count_of(len(outcome.ended), 'hold')} ended." if outcome.ended else ""
    if done:
        messages.success(request, f"{verb} {_count(done)}: {named(done)}.{ended}")
    if others:
        state = "not blocked" if choice.is_lifted else "blocked already"
        messages.warning(request, f"Left alone, because {_were(others)} {state}: {named(others)}.")


def named(seats: Sequence[Any]) -> str:
    """The names, each block and row once: `Stalls B 3, 4; C 1`. At most NAMES_SHOWN_MAX."""
    parts = []
    for block, in_block in groupby(seats[:NAMES_SHOWN_MAX], key=lambda seat: seat.block.name):
        rows = [
            f"{row} {', '.join(seat.number for seat in in_row)}"
            for row, in_row in groupby(in_block, key=lambda seat: seat.row_name)
        ]
        parts.append(f"{block} {'; '.join(rows)}")
    more = len(seats) - NAMES_SHOWN_MAX
    return "; ".join(parts) + (f" and {more} more" if more > 0 else "")


def _listed(references: Sequence[str]) -> str:
    shown = ", ".join(references[:NAMES_SHOWN_MAX])
    return f"{shown} and others" if len(references) > NAMES_SHOWN_MAX else shown


def _in_lines(sentences: Iterable[str]) -> SafeString:
    return format_html_join(mark_safe("<br>"), "{}", ((each,) for each in sentences))


def _count(seats: Sequence[object]) -> str:
    return _count_of(len(seats), "seat")


def _count_of(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _are(seats: Sequence[object]) -> str:
    return "is" if len(seats) == 1 else "are"


def _were(seats: Sequence[object]) -> str:
    return "it was" if len(seats) == 1 else "they were"
