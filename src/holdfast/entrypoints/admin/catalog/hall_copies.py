"""Copies the hall of a session to other sessions, one after the other. A request copies for a few
seconds; the page then shows the progress and continues."""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from holdfast.adapters.postgres.models import (
    Block,
    BlockPrice,
    Event,
    Pool,
    Seat,
    Session,
    TicketType,
    TicketTypePool,
)
from holdfast.domain.catalog import model as catalog
from holdfast.domain.catalog.model import SessionStatus
from holdfast.domain.catalog.seat_import import DraftBlock, DraftSeat, Source
from holdfast.domain.ids import PoolId, SessionId, TicketTypeId
from holdfast.domain.values import metadata_of
from holdfast.entrypoints.admin.catalog.fields import CheckboxSelectMultiple, written_moment
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    alone,
    done,
    editor_of,
    page_of,
    show,
    zone_of,
)
from holdfast.entrypoints.admin.catalog.offers import Offer, offer_url
from holdfast.entrypoints.admin.catalog.policies import override_of
from holdfast.entrypoints.admin.lookups import uuid_or_none
from holdfast.services.catalog.changes import CatalogEditor
from holdfast.services.catalog.hall_copy import HallPool, HallTicketType, SessionHall, copy_hall

TARGETS_MAX = 200
EVENTS_OFFERED_MAX = 20
SECONDS_PER_REQUEST = 3.0
_BUSY = "somebody is copying to it at this moment. Go on in a few seconds."


def hall_of_session(session: Session) -> SessionHall:
    own: dict[str, Any] = {"organization_id": session.organization_id, "session_id": session.id}
    blocks = _blocks(own)
    capacities = {block.capacity_pool_id for block in Block.objects.filter(**own)}
    pools = Pool.objects.filter(**own).order_by("created_at", "id")
    return SessionHall(
        tuple(
            HallPool(PoolId(pool.id), pool.name, pool.total)
            for pool in pools
            if pool.id not in capacities
        ),
        _ticket_types(own),
        blocks,
    )


def _ticket_types(own: dict[str, Any]) -> tuple[HallTicketType, ...]:
    types = list(TicketType.objects.filter(**own).order_by("created_at", "id"))
    drawn: dict[UUID, list[PoolId]] = {}
    of_types = {"organization_id": own["organization_id"]}
    links = TicketTypePool.objects.filter(
        **of_types, ticket_type_id__in=[each.id for each in types]
    )
    for type_id, pool_id in links.values_list("ticket_type_id", "pool_id"):
        drawn.setdefault(type_id, []).append(PoolId(pool_id))
    return tuple(
        HallTicketType(
            TicketTypeId(each.id),
            each.name,
            each.price_minor,
            each.is_seated,
            tuple(drawn.get(each.id, ())),
            override_of(each),
            metadata_of(each.metadata),
        )
        for each in types
    )


def _blocks(own: dict[str, Any]) -> tuple[DraftBlock, ...]:
    seats: dict[UUID, list[DraftSeat]] = {}
    columns = ("row_name", "number", "position", "x", "y")
    marks = ("is_accessible", "is_companion", "is_restricted_view")
    rows = Seat.objects.filter(**own).order_by("row_rank", "position")
    for block_id, *values in rows.values_list("block_id", *columns, *marks):
        source = Source(0, f"row {values[0]}, seat {values[1]}")
        seats.setdefault(block_id, []).append(DraftSeat(source, *values))
    prices: dict[UUID, list[catalog.BlockPrice]] = {}
    blocks = list(
        Block.objects.filter(**own).select_related("capacity_pool").order_by("rank", "id")
    )
    of_blocks = BlockPrice.objects.filter(
        organization_id=own["organization_id"], block_id__in=[block.id for block in blocks]
    )
    for price in of_blocks.order_by("rank"):
        made = catalog.BlockPrice(TicketTypeId(price.ticket_type_id), price.price_minor)
        prices.setdefault(price.block_id, []).append(made)
    return tuple(
        DraftBlock(
            Source(0, block.name),
            block.name,
            tuple(seats.get(block.id, ())),
            block.rank,
            None if block.capacity_pool is None else block.capacity_pool.total,
            tuple(prices.get(block.id, ())),
        )
        for block in blocks
    )


class CopyForm(CatalogForm):
    """`all` is the number of sessions chosen; `targets` are those not copied to yet."""

    is_previewed = forms.BooleanField(required=False, widget=forms.HiddenInput())
    all = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())

    def __init__(self, request: HttpRequest, targets: Sequence[Session]) -> None:
        super().__init__(request)
        self._targets = {str(each.id): each for each in targets}
        self.fields["targets"] = forms.MultipleChoiceField(
            label="Copy to",
            choices=[(key, _label(each)) for key, each in self._targets.items()],
            widget=CheckboxSelectMultiple(),
            error_messages={"required": "Choose at least one session."},
        )

    def chosen(self) -> list[Session]:
        return [self._targets[key] for key in self.cleaned_data["targets"]]


def _label(session: Any) -> str:
    zone = zone_of(session.organization, session.event)
    when = written_moment(session.starts_at, zone) if session.starts_at else ""
    # Sessions made by rule have the time in their name.
    is_named = not when or when.partition(" (")[0] in session.name
    name = session.name if is_named else f"{session.name}, {when}"
    return f"{name}: {'has ticket types' if session.is_sold else 'empty'}"


def copy_to_sessions(request: HttpRequest, session: Session) -> HttpResponse:
    event = _event(request, session)
    targets = _targets(session, event)
    form = CopyForm(request, targets[:TARGETS_MAX])
    source = hall_of_session(session)
    if source.is_empty:
        text = f"{session.name} has nothing to copy yet."
        return done(request, text, page_of(session))
    if not form.is_valid():
        return _ask(request, session, event, form, source, has_more=len(targets) > TARGETS_MAX)
    chosen = form.chosen()
    if not form.cleaned_data["is_previewed"]:
        return _confirm(request, session, form, source, chosen)
    started_at, copied = time.monotonic(), 0
    editor = editor_of(request, form, session, f"Copied from {session.name} in the admin")
    for target in chosen:
        with alone(f"hall of {target.id}") as is_alone:
            problem = _copied(editor, source, target) if is_alone else _BUSY
        if problem is not None:
            form.add_error(None, f"{target.name}: {problem}")
            break
        copied += 1
        if time.monotonic() - started_at > SECONDS_PER_REQUEST:
            break
    if copied == len(chosen):
        text = f"The hall of {session.name} is copied."
        return done(request, text, page_of(Event(pk=event.id)))
    return _confirm(request, session, form, source, chosen[copied:])


def _copied(editor: CatalogEditor, source: SessionHall, target: Session) -> str | None:
    """None, or why not."""
    present = hall_of_session(target)
    refusal = copy_hall(editor, SessionId(target.id), source, present)
    return None if refusal is None else refusal.message


def _event(request: HttpRequest, session: Session) -> Event:
    """The event of the sessions to copy to: its own, or another one with the same currency."""
    wanted = uuid_or_none(request.GET.get("event_id", ""))
    return next((each for each in _events(session) if each.id == wanted), session.event)


def _events(session: Session) -> list[Event]:
    own = {"organization_id": session.organization_id, "currency": session.event.currency}
    others = Event.objects.filter(**own).exclude(id=session.event_id)
    open_ones = others.exclude(status__in=("cancelled", "archived"))
    return list(open_ones.order_by("-created_at", "-id")[:EVENTS_OFFERED_MAX])


def _targets(session: Session, event: Event) -> list[Session]:
    own = {"organization_id": session.organization_id}
    sold = TicketType.objects.filter(**own, session_id=OuterRef("id"))
    rows = Session.objects.filter(**own, event_id=event.id).exclude(id=session.id)
    rows = rows.exclude(status=SessionStatus.CANCELLED).exclude(starts_at__lt=timezone.now())
    rows = rows.select_related("organization").annotate(is_sold=Exists(sold))
    return list(rows.order_by("is_sold", "starts_at", "id")[: TARGETS_MAX + 1])


def _inventory(source: SessionHall) -> str:
    counts = (
        (len(source.pools), "pool"),
        (len(source.ticket_types), "ticket type"),
        (len(source.blocks), "block"),
        (source.seats, "seat"),
    )
    return ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count
    )


def _ask(
    request: HttpRequest,
    session: Session,
    event: Event,
    form: CopyForm,
    source: SessionHall,
    *,
    has_more: bool,
) -> HttpResponse:
    if has_more:
        form.fields["targets"].help_text = (
            f"Only the next {TARGETS_MAX} sessions are listed, those without ticket types first. "
            "Copy to these, then open this page again."
        )
    url = offer_url(Session, "copy", session.id)
    return show(
        request,
        form,
        template="holdfast/catalog/copy.html",
        title=f"Copy the hall of {session.name}",
        consequence=f"Copies {_inventory(source)}, with prices and policies. What a session "
        "already has, by name, stays as it is. Holds, orders and blocked seats are not copied.",
        button="Show what will be copied",
        back=page_of(session),
        event=event,
        others=[(f"{url}?event_id={each.id}", each.name) for each in _events(session)],
        sessions_url=reverse("admin:holdfast_event_sessions", args=[event.id]),
        is_empty=not form.fields["targets"].choices,  # type: ignore[attr-defined]
    )


def _confirm(
    request: HttpRequest,
    session: Session,
    form: CopyForm,
    source: SessionHall,
    remaining: Sequence[Session],
) -> HttpResponse:
    all_of_them = max(form.cleaned_data["all"] or 0, len(remaining))
    is_under_way = form.cleaned_data["is_previewed"]
    count = "1 session" if len(remaining) == 1 else f"{len(remaining)} sessions"
    progress = {"done": all_of_them - len(remaining), "all": all_of_them}
    return show(
        request,
        form,
        template="holdfast/catalog/batch.html",
        title=f"Copy the hall of {session.name}",
        consequence=f"Copies {_inventory(source)} to {count}.",
        button="Continue" if is_under_way else f"Copy to {count}",
        back=page_of(session),
        rows=[(_label(each),) for each in remaining],
        progress=progress if is_under_way else None,
        is_continued=is_under_way and not form.errors,
        fields=[
            *(("targets", str(each.id)) for each in remaining),
            ("all", str(all_of_them)),
            ("reason", form.cleaned_data["reason"]),
        ],
    )


OFFER = Offer("copy", "Copy to other sessions", copy_to_sessions)
