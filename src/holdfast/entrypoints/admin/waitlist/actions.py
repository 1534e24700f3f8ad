"""The pages on which a person serves a waitlist, promotes one party or removes it."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from holdfast.adapters.postgres.models import Hold, Waitlist
from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import HoldPromoted, Outcome, Promoted
from holdfast.domain.group.transitions import FactType
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.waitlist.promote_hold import PromoteHold
from holdfast.domain.waitlist.promote_waiting import PromoteWaiting
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.entrypoints.admin.actions import ReasonForm, act, ask, reasoned_origin
from holdfast.entrypoints.admin.display import redacted, shown_time
from holdfast.entrypoints.admin.mails.consequences import buyer_told, buyers_told
from holdfast.entrypoints.admin.people.rights import origin_of, require
from holdfast.entrypoints.admin.waitlist.ending import parties_waiting
from holdfast.entrypoints.admin.waitlist.parties import Reasons, reasons_of
from holdfast.entrypoints.admin.waitlist.positions import shown_positions

F = TypeVar("F", bound=ReasonForm)


def serve(request: HttpRequest, waitlist: Waitlist) -> HttpResponse:
    """Do what the promoter does, now."""
    require(request, Scope.HOLDS_OPERATE, waitlist.organization_id)
    reasons = reasons_of(waitlist, origin_of(request))
    form = ReasonForm(request.POST or None)
    if form.is_valid():
        origin = reasoned_origin(request, form.cleaned_data["reason"])
        own = (OrganizationId(waitlist.organization_id), SessionId(waitlist.session_id))
        said = partial(_ended, waitlist) if reasons.ends_waitlist else _served
        if _is_done(request, form, PromoteWaiting(*own, origin), said):
            return _back(waitlist)
    return ask(
        request,
        form,
        title=f"Serve the waitlist of {waitlist.session}",
        consequence=_service_consequence(reasons),
        button="End the waitlist now" if reasons.ends_waitlist else "Serve the waitlist now",
        back=page_of(waitlist),
    )


def promote(request: HttpRequest, waitlist: Waitlist, hold_id: UUID) -> HttpResponse:
    """Serve one party, even out of turn."""
    require(request, Scope.HOLDS_OPERATE, waitlist.organization_id)
    hold = _party(waitlist, hold_id)
    form = ReasonForm(request.POST or None, initial={"version": hold.version})
    if form.is_valid():
        command = PromoteHold(
            OrganizationId(hold.organization_id),
            HoldId(hold.id),
            reasoned_origin(request, form.cleaned_data["reason"]),
            form.cleaned_data["version"],
        )
        if _is_done(request, form, command, lambda outcome: _promoted(hold, outcome)):
            return _back(waitlist)
        hold = _party(waitlist, hold_id)
        form = _again(request, form, hold)
    return ask(
        request,
        form,
        title=f"Promote {hold.reference}",
        consequence=_promotion_consequence(hold, reasons_of(waitlist, origin_of(request))),
        button="Promote now",
        back=page_of(waitlist),
    )


def remove(request: HttpRequest, waitlist: Waitlist, hold_id: UUID) -> HttpResponse:
    require(request, Scope.HOLDS_WRITE, waitlist.organization_id)
    hold = _party(waitlist, hold_id)
    if hold.status != HoldStatus.WAITING:
        messages.error(
            request, f"{hold.reference} is {hold.status}, and no longer on the waitlist."
        )
        return _back(waitlist)
    form = PartyForm(request.POST or None, initial={"version": hold.version})
    if form.is_valid():
        command = ReleaseHold(
            OrganizationId(hold.organization_id),
            HoldId(hold.id),
            reasoned_origin(request, form.cleaned_data["reason"]),
            is_operator=True,
            seen_version=form.cleaned_data["version"],
        )
        done = f"{hold.reference} is no longer on the waitlist."
        if _is_done(request, form, command, lambda _: done):
            return _back(waitlist)
        hold = _party(waitlist, hold_id)
        form = _again(request, form, hold)
    return ask(
        request,
        form,
        title=f"Remove {hold.reference} from the waitlist",
        consequence=f"Takes {_holder(hold)} off the waitlist for {_tickets(hold.quantity)}."
        " The place on the waitlist is lost: joining again means joining at the end. No tickets are"
        f" freed. {buyer_told(hold, FactType.HOLD_CANCELLED)}",
        button="Remove from the waitlist",
        back=page_of(waitlist),
    )


class PartyForm(ReasonForm):
    """With the version of the party that the person saw."""

    version = forms.IntegerField(widget=forms.HiddenInput())


def page_of(waitlist: Waitlist) -> str:
    return reverse("admin:holdfast_waitlist_change", args=[waitlist.session_id])


def _back(waitlist: Waitlist) -> HttpResponse:
    return HttpResponseRedirect(page_of(waitlist))


def _party(waitlist: Waitlist, hold_id: UUID) -> Hold:
    """A hold of this session, whatever has become of it: the command says if it is too late."""
    own = {"organization_id": waitlist.organization_id, "session_id": waitlist.session_id}
    found = Hold.objects.filter(**own, id=hold_id).first()
    if found is None:
        raise Http404
    return found


def _is_done(
    request: HttpRequest, form: ReasonForm, command: Command, said: Callable[[Outcome], str]
) -> bool:
    """Whether the command was accepted; a refusal is shown in the form."""
    outcome = act(command)
    if isinstance(outcome, Refusal):
        form.add_error(None, f"{outcome.message}.")
        return False
    messages.success(request, said(outcome))
    return True


def _again(request: HttpRequest, refused: F, hold: Hold) -> F:
    """The form with its errors. Confirmed again, it is for the party as it is now."""
    data = request.POST.copy()
    data["version"] = str(hold.version)
    form = type(refused)(data)
    for error in refused.non_field_errors():
        form.add_error(None, error)
    return form


def _ended(waitlist: Waitlist, outcome: Outcome) -> str:
    left = parties_waiting(organization_id=waitlist.organization_id, session_id=waitlist.session_id)
    rest = f" {_counted(left)} left, which will follow." if left else ""
    return f"Nobody is served any more: the waitlist has ended.{rest}"


def _service_consequence(reasons: Reasons) -> str:
    if reasons.problem:
        count = "How many is not known: places are being changed at this moment."
    elif reasons.ends_waitlist:
        reason = next(iter(reasons.explained))
        return (
            f"{reasons.of(reason)} Nobody is served any more: takes up to {PROMOTIONS_MAX} parties"
            " off the waitlist for good."
        )
    else:
        free = sum(each is None for each in reasons.explained.values())
        count = f"At this moment, these are {_counted(free)}."
    return (
        "Serves the parties whose places are free, in order, up to"
        f" {PROMOTIONS_MAX} at once. {count} Nobody is overtaken out of turn."
        f" {buyers_told('Those who gave an address')}"
    )


def _served(outcome: Outcome) -> str:
    assert isinstance(outcome, Promoted)
    return f"Served: {_counted(outcome.count)}."


def _promoted(hold: Hold, outcome: Outcome) -> str:
    assert isinstance(outcome, HoldPromoted)
    until = shown_time(outcome.hold.expires_at)
    overtaken = (
        " Parties that it has overtaken stay first in their queues." if outcome.overtaken else ""
    )
    return f"{hold.reference} has its tickets until {until} UTC.{overtaken}"


def _promotion_consequence(hold: Hold, reasons: Reasons) -> str:
    given = (
        f"Gives {_tickets(hold.quantity)} to {_holder(hold)} at once."
        f" {buyer_told(hold, FactType.HOLD_PROMOTED)}"
    )
    if reasons.is_unblocked(hold.id):
        return f"{given} It is next in turn, and its places are free."
    if hold.status != HoldStatus.WAITING:
        return f"{given} But it is {hold.status} by now."
    position = shown_positions([hold]).get((hold.organization_id, hold.id), "?")
    if position == "1":
        passed = "It is the first for these places."
    else:
        passed = (
            f"It is at position {position}. The parties before it are overtaken, and the audit log"
            " records that."
        )
    return f"{given} {passed} What blocks it now: {reasons.of(hold.id)}"


def _holder(hold: Hold) -> str:
    return redacted(hold.email or hold.user_id or "the buyer")


def _tickets(count: int) -> str:
    return "1 ticket" if count == 1 else f"{count:,} tickets"


def _counted(count: int) -> str:
    return "1 party" if count == 1 else f"{count:,} parties"
