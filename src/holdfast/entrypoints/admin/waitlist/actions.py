"""The pages on which a person serves a waitlist, promotes one party or removes it."""

from collections.abc import Callable
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
from holdfast.entrypoints.admin.waitlist.parties import Reasons, reasons_of
from holdfast.entrypoints.admin.waitlist.positions import shown_positions


def serve(request: HttpRequest, waitlist: Waitlist) -> HttpResponse:
    """Do what the promoter does, now."""
    require(request, Scope.HOLDS_OPERATE, waitlist.organization_id)
    form = ReasonForm(request.POST or None)
    if form.is_valid():
        origin = reasoned_origin(request, form.cleaned_data["reason"])
        own = (OrganizationId(waitlist.organization_id), SessionId(waitlist.session_id))
        if _is_done(request, form, PromoteWaiting(*own, origin), _served):
            return _back(waitlist)
    count = sum(
        each is None for each in reasons_of(waitlist, origin_of(request)).explained.values()
    )
    at_once = f"up to {PROMOTIONS_MAX} at once"
    return ask(
        request,
        form,
        title=f"Serve the waitlist of {waitlist.session}",
        consequence=f"Serves the parties whose places are free, in order, {at_once}:"
        f" {_counted(count)} at this moment. Nobody is overtaken out of turn."
        f" {buyers_told('Those who gave an address')}",
        button="Serve the waitlist now",
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


def _served(outcome: Outcome) -> str:
    assert isinstance(outcome, Promoted)
    return f"Served: {_counted(outcome.count)}."


def _promoted(hold: Hold, outcome: Outcome) -> str:
    assert isinstance(outcome, HoldPromoted)
    until = shown_time(outcome.hold.expires_at)
    overtaken = " It has overtaken others, who stay first." if outcome.overtaken else ""
    return f"{hold.reference} has its tickets until {until} UTC.{overtaken}"


def _promotion_consequence(hold: Hold, reasons: Reasons) -> str:
    given = (
        f"Gives {_tickets(hold.quantity)} to {_holder(hold)} at once."
        f" {buyer_told(hold, FactType.HOLD_PROMOTED)}"
    )
    if reasons.is_unblocked(hold.id):
        return f"{given} Nothing blocks it: it is its turn."
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
