"""Pages on which a person confirms a change: they state its consequence, ask for a reason, and make
the change through the services."""

from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from holdfast.domain import refusals
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import REASON_LENGTH_MAX, Origin
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.people.rights import origin_of

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import Textarea
else:
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea

# Longer than the engine's own deadline: it answers every command, if only with a refusal.
GRACE_SECONDS = 5


class ReasonForm(forms.Form):
    """`version` is that of the row that the person saw: somebody else may have changed it since."""

    reason = forms.CharField(
        max_length=REASON_LENGTH_MAX,
        widget=Textarea(attrs={"rows": 2}),
        help_text="Recorded in the audit log. Do not enter personal data.",
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput())


def ask(
    request: HttpRequest,
    form: forms.Form,
    template: str = "holdfast/action.html",
    **texts: Any,
) -> HttpResponse:
    """The page with the form. Texts: `title`, `consequence`, `button`, and `back`, the page that
    the person came from, with `back_text`, its link."""
    context = {**admin.site.each_context(request), "form": form, **texts}
    return TemplateResponse(request, template, context)


def reasoned_origin(request: HttpRequest, reason: str) -> Origin:
    return replace(origin_of(request), reason=reason)


def act(command: Command) -> Outcome | Refusal:
    """Have the engine decide and commit the command."""
    services = AdminConfig.services
    try:
        answer = services.submit.submit(command).result(services.deadline_seconds + GRACE_SECONDS)
    except NoAnswer:
        return refusals.service_unavailable()
    assert answer.outcome is not None, "commands without an idempotency key have no replays"
    return answer.outcome
