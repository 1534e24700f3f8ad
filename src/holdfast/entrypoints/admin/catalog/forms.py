"""The base of the forms that change the catalog. Changes go through `CatalogEditor`, on behalf of
the person who is logged in."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from holdfast.adapters.postgres.models import Organization
from holdfast.domain.catalog.editing import state_of
from holdfast.domain.group.origin import REASON_LENGTH_MAX
from holdfast.domain.ids import OrganizationId
from holdfast.domain.policy import POLICY_FIELDS
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.entrypoints.admin.actions import ask, reasoned_origin
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.catalog.fields import text_field
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome
from holdfast.services.catalog.changes import CatalogEditor

FORM = "holdfast/catalog/form.html"

# The field of a form that a refusal is about.
_FIELD_OF_CODE: Mapping[RefusalCode, str] = {
    RefusalCode.INVALID_SALE_WINDOW: "sale_ends_at",
    RefusalCode.CAPACITY_IN_USE: "total",
    RefusalCode.DUPLICATE_BLOCK: "name",
    RefusalCode.INVALID_POOL: "pools",
    RefusalCode.OTHERS_ARE_WAITING: "pools",
}


class CatalogForm(forms.Form):
    """`seen` is the state of the row that the person saw. `policy_names` are the fields of a hold
    policy, which the page folds away."""

    is_reason_required = False
    policy_names: tuple[str, ...] = ()

    def __init__(self, request: HttpRequest, row: Any = None, **more: Any) -> None:
        is_post = request.method == "POST"
        super().__init__(
            request.POST if is_post else None, request.FILES if is_post else None, **more
        )
        if row is not None:
            seen = forms.CharField(required=False, widget=forms.HiddenInput())
            self.fields["seen"] = seen
            self.initial["seen"] = state_of(row)
        self.fields["reason"] = text_field(
            "Reason",
            "Recorded in the audit log with your name. Do not enter personal data.",
            required=self.is_reason_required,
            max_length=REASON_LENGTH_MAX,
        )

    def clean(self) -> dict[str, Any]:
        return super().clean() or {}

    @property
    def main(self) -> list[forms.BoundField]:
        """The visible fields, without the policy and the reason."""
        apart = {*self.policy_names, "reason"}
        return [field for field in self.visible_fields() if field.name not in apart]

    @property
    def policy(self) -> list[forms.BoundField]:
        return [self[name] for name in self.policy_names]

    @property
    def is_policy_open(self) -> bool:
        return any(field.errors for field in self.policy)

    def changed(self, name: str) -> Any:
        """The value of a field, or None if the person left it unchanged."""
        return self.cleaned_data[name] if name in self.changed_data else None

    def take(self, answer: CatalogAnswer) -> CatalogOutcome | None:
        """The outcome; None if it is a refusal, which is then shown at its field."""
        outcome = answer.outcome
        assert outcome is not None, "changes without an idempotency key have no replays"
        if not isinstance(outcome, Refusal):
            return outcome
        field = _FIELD_OF_CODE.get(outcome.code)
        for error in _errors(outcome):
            field = str(error.get("field", "")).rpartition(".")[2]
        self.add_error(field if field in self.fields else None, _in_words(outcome.message))
        return None


def _in_words(message: str) -> str:
    """With the labels of policy fields instead of their names in the API."""
    for name, field in POLICY_FIELDS.items():
        message = message.replace(name, f'"{field.label}"')
    return message


def _errors(refusal: Refusal) -> list[Any]:
    errors = refusal.details.get("errors")
    return errors if isinstance(errors, list) else []


def zone_of(organization: Organization, event: Any = None) -> ZoneInfo:
    """The event's own time zone, which its e-mails use, or else the organization's."""
    own = None if event is None else event.time_zone
    return ZoneInfo(own or organization.time_zone)


def editor_of(request: HttpRequest, form: CatalogForm, row: Any, action: str) -> CatalogEditor:
    """With the state that the person saw, and the reason given, or else the name of the action."""
    organization_id = row.id if isinstance(row, Organization) else row.organization_id
    given = form.cleaned_data
    services = AdminConfig.services
    return CatalogEditor(
        services.catalog,
        services.submit,
        OrganizationId(organization_id),
        reasoned_origin(request, given["reason"] or action),
        None,
        _unrendered,
        given.get("seen") or None,
    )


def _unrendered(_outcome: CatalogOutcome) -> bytes:
    """Answers are stored for idempotency keys only."""
    raise NotImplementedError


def page_of(row: Model) -> str:
    return reverse(f"admin:holdfast_{type(row).__name__.lower()}_change", args=[row.pk])


def done(request: HttpRequest, text: str, url: str) -> HttpResponse:
    messages.success(request, text)
    return HttpResponseRedirect(url)


def show(
    request: HttpRequest, form: forms.Form, template: str = FORM, **texts: Any
) -> HttpResponse:
    return ask(request, form, template=template, **texts)
