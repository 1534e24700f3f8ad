"""The actions on the page of a hold: record payment, extend, move, release, expire now.

To add an action, write its view next to the others, and add it to `OFFERS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.seats.move_seats import MoveSeats
from holdfast.entrypoints.admin.actions import act, ask, reasoned_origin
from holdfast.entrypoints.admin.display import shown_time
from holdfast.entrypoints.admin.holds import consequences, payment
from holdfast.entrypoints.admin.holds.hold_form import ExtensionForm, HoldForm
from holdfast.entrypoints.admin.holds.payment import PaymentForm
from holdfast.entrypoints.admin.holds.seat_form import MoveForm, free_seats, seat_lines
from holdfast.entrypoints.admin.holds.timeline import last_step, was_only_warned
from holdfast.entrypoints.admin.lists import SharedIdAdmin
from holdfast.entrypoints.admin.people.rights import may, require

# The hold is not as the person saw it.
_MEANWHILE = {
    RefusalCode.HOLD_CHANGED,
    RefusalCode.HOLD_EXPIRED,
    RefusalCode.INVALID_HOLD_STATE,
}


def _is_active(hold: Any) -> bool:
    return bool(hold.status_now == HoldStatus.ACTIVE)


def is_waiting(hold: Any) -> bool:
    return bool(hold.status_now == HoldStatus.WAITING)


def _is_seated(hold: Any) -> bool:
    return _is_active(hold) and bool(seat_lines(hold).exists())


class Offer(NamedTuple):
    """An action: the name of its view and URL, the text of its button, the holds it is for, and
    the scope it needs."""

    name: str
    label: str
    is_for: Callable[[Any], bool]
    scope: Scope = Scope.HOLDS_OPERATE


OFFERS = (
    Offer("pay", "Record payment", _is_active, Scope.HOLDS_WRITE),
    Offer("extend", "Extend", _is_active),
    Offer("move", "Move to other seats", _is_seated),
    Offer("release", "Release", _is_active),
    Offer("expire", "Expire now", _is_active),
    Offer("remove", "Remove from the waitlist", is_waiting),
)


_SCOPES = {offer.name: offer.scope for offer in OFFERS}


class Action(NamedTuple):
    """An action on its way: what the page says, and what it does once confirmed."""

    title: str
    consequence: Callable[[Any], str]
    act: Callable[[Any, Any, Origin], Outcome | Refusal]  # of the hold and the valid form
    done: Callable[[Any, Outcome], str]  # of the hold afterwards
    more: Callable[[Any], dict[str, Any]] = lambda _: {}  # further texts of the page
    leads_to: Callable[[Any, Outcome], str] = lambda hold, _: _url(hold, "change")


class HoldDeskAdmin(SharedIdAdmin):
    change_form_outer_before_template = "holdfast/hold_actions.html"

    def get_urls(self) -> list[URLPattern]:
        """Ours come first: the admin takes any other path for the id of a row."""
        guard = self.admin_site.admin_view
        own = [
            path(
                f"<uuid:hold_id>/{offer.name}/",
                never_cache(guard(getattr(self, offer.name))),
                name=f"holdfast_hold_{offer.name}",
            )
            for offer in OFFERS
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        hold = self.get_object(request, object_id)
        offered = [] if hold is None else self._offers(request, hold)
        links = [(_url(hold, offer.name), offer.label) for offer in offered]
        context = {**(extra_context or {}), "hold_actions": links}
        return super().change_view(request, object_id, form_url, context)

    def pay(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Record payment",
            consequences.payment,
            payment.record_payment,
            lambda _, outcome: payment.done(outcome),
            leads_to=payment.order_url,
        )
        return self._run(request, hold_id, "pay", action, _payment_form)

    def extend(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Extend",
            consequences.extension,
            lambda hold, form, origin: act(
                ExtendHold(
                    *_ids(hold),
                    form.seconds,
                    origin,
                    is_operator=True,
                    seen_version=form.cleaned_data["version"],
                )
            ),
            lambda hold, _: f"Extended until {shown_time(hold.expires_at)} UTC.",
        )
        return self._run(request, hold_id, "extend", action, lambda _: ExtensionForm)

    def release(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Release", consequences.release, _release, lambda *_: "Released. Its places are free."
        )
        return self._run(request, hold_id, "release", action)

    def remove(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Remove from the waitlist",
            consequences.removal,
            _release,
            lambda *_: "Removed from the waitlist.",
        )
        return self._run(request, hold_id, "remove", action)

    def expire(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Expire now", consequences.expiry, _expire, lambda *_: "Expired. Its places are free."
        )
        return self._run(request, hold_id, "expire", action)

    def move(self, request: HttpRequest, hold_id: UUID) -> HttpResponse:
        action = Action(
            "Move to other seats",
            consequences.move,
            lambda hold, form, origin: act(
                MoveSeats(
                    OrganizationId(hold.organization_id),
                    SessionId(hold.session_id),
                    HoldId(hold.id),
                    tuple(form.cleaned_data["moves"]),
                    origin,
                    seen_version=form.cleaned_data["version"],
                )
            ),
            lambda hold, _: f"Moved. The hold now has {consequences.places(hold)}.",
            lambda hold: {"free": free_seats(hold)},
        )
        return self._run(request, hold_id, "move", action, _move_form)

    def _offers(self, request: HttpRequest, hold: Any) -> list[Offer]:
        own = hold.organization_id
        return [each for each in OFFERS if may(request, each.scope, own) and each.is_for(hold)]

    def _run(
        self,
        request: HttpRequest,
        hold_id: UUID,
        name: str,
        action: Action,
        form_of: Callable[[Any], Callable[..., HoldForm]] = lambda _: HoldForm,
    ) -> HttpResponse:
        """Ask for confirmation, act, and tell the person what came of it."""
        hold = self._hold(request, hold_id, name)
        back = _url(hold, "change")
        problem = None
        data = request.POST if request.method == "POST" else None
        form = form_of(hold)(data, initial={"version": hold.version})
        if form.is_valid():
            if was_only_warned(hold, form.cleaned_data["version"]):
                form.cleaned_data["version"] = hold.version
            origin = reasoned_origin(request, form.cleaned_data["reason"])
            outcome = action.act(hold, form, origin)
            hold = self._hold(request, hold_id, name)
            if not isinstance(outcome, Refusal):
                messages.success(request, action.done(hold, outcome))
                return HttpResponseRedirect(action.leads_to(hold, outcome))
            problem = _in_words(hold, outcome)
            form = form_of(hold)(_entered_again(request, hold))
            form.is_valid()
            is_about_payment = outcome.code in payment.ABOUT_THE_PAYMENT
            form.add_error(payment.FIELD if is_about_payment else None, problem)
        if not any(offer.name == name for offer in self._offers(request, hold)):
            messages.error(request, problem or _in_words(hold, None))
            return HttpResponseRedirect(back)
        return ask(
            request,
            form,
            title=f"{action.title}: hold {hold.reference}",
            consequence=action.consequence(hold),
            button=action.title,
            back=back,
            **action.more(hold),
        )

    def _hold(self, request: HttpRequest, hold_id: UUID, name: str) -> Any:
        """A hold that the person may change. A foreign id is not found, like an unknown one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        hold = self.get_object(request, str(hold_id))
        if hold is None:
            raise Http404
        require(request, _SCOPES[name], hold.organization_id)
        return hold


def _ids(hold: Any) -> tuple[OrganizationId, HoldId]:
    return OrganizationId(hold.organization_id), HoldId(hold.id)


def _release(
    hold: Any, form: HoldForm, origin: Origin, *, is_expired: bool = False
) -> Outcome | Refusal:
    seen = form.cleaned_data["version"]
    own = (*_ids(hold), origin)
    return act(ReleaseHold(*own, is_operator=True, is_expired=is_expired, seen_version=seen))


def _expire(hold: Any, form: HoldForm, origin: Origin) -> Outcome | Refusal:
    return _release(hold, form, origin, is_expired=True)


def _payment_form(hold: Any) -> Callable[..., HoldForm]:
    return lambda *args, **kwargs: PaymentForm(hold, *args, **kwargs)


def _move_form(hold: Any) -> Callable[..., HoldForm]:
    return lambda *args, **kwargs: MoveForm(hold, *args, **kwargs)


def _entered_again(request: HttpRequest, hold: Any) -> Any:
    """What the person entered, for the hold as it is now."""
    data = request.POST.copy()
    data["version"] = str(hold.version)
    data["total_minor"] = str(hold.total_minor)  # asked for by the payment only
    return data


def _in_words(hold: Any, refusal: Refusal | None) -> str:
    """Why the action was refused, or is not offered for the hold as it is now."""
    if refusal is not None and refusal.code is RefusalCode.SERVICE_UNAVAILABLE:
        # Perhaps only the answer was lost.
        return f"{refusal.message} Look at the history of the hold first."
    if refusal is not None and refusal.code not in _MEANWHILE:
        told = _contested(refusal) or refusal.message
        return f"{told.removesuffix('.')}. Nothing was changed."
    step = last_step(hold)
    if hold.status_now == HoldStatus.EXPIRED and hold.status != HoldStatus.EXPIRED:
        return f"The hold expired at {shown_time(hold.expires_at)} UTC. Nothing was changed."
    if step is None:
        return f"The hold is {hold.status_now}. Nothing was changed."
    what = str(step)[0].lower() + str(step)[1:]
    return (
        "Nothing was changed, because the hold is no longer as you saw it."
        f" At {shown_time(step.at)} UTC: {what}."
    )


def _contested(refusal: Refusal) -> str:
    seats = refusal.details.get("contested_seats")
    if not isinstance(seats, list):
        return ""
    names = [
        f"{seat['block_name']}, row {seat['row']}, seat {seat['seat_number']} is {seat['status']}"
        for seat in seats
        if isinstance(seat, dict)
    ]
    return "; ".join(names)


def _url(hold: Any, name: str) -> str:
    url = reverse(f"admin:holdfast_hold_{name}", args=[hold.id])
    return f"{url}?organization={hold.organization_id}"
