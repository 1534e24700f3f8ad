"""The base of the forms that change the catalog. Changes go through `CatalogEditor`, on behalf of
the person who is logged in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.db import connection, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from holdfast.adapters.postgres.models import Organization
from holdfast.domain.catalog.editing import state_of
from holdfast.domain.catalog.seat_import import ImportedSeats
from holdfast.domain.group.origin import REASON_LENGTH_MAX, IdempotencyKey
from holdfast.domain.ids import OrganizationId
from holdfast.domain.policy import POLICY_FIELDS
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.entrypoints.admin.actions import ask, reasoned_origin
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.catalog.fields import text_field
from holdfast.ports.catalog import CatalogAnswer, CatalogOutcome
from holdfast.services.catalog.changes import CatalogEditor

FORM = "holdfast/catalog/form.html"
_REPEATED = "This was sent twice, and refused. Send it once more to see why."

# The field of a form that a refusal is about.
_FIELD_OF_CODE: Mapping[RefusalCode, str] = {
    RefusalCode.INVALID_SALE_WINDOW: "sale_ends_at",
    RefusalCode.CAPACITY_IN_USE: "total",
    RefusalCode.DUPLICATE_BLOCK: "name",
    RefusalCode.INVALID_POOL: "pools",
    RefusalCode.OTHERS_ARE_WAITING: "pools",
}


class CatalogForm(forms.Form):
    """`seen` is the state of the row that the person saw. A form that `creates` one row has a
    `form_id`: sent twice, it creates one. `policy_names` are the fields of a hold policy, which the
    page folds away."""

    is_reason_required = False
    creates = False
    policy_names: tuple[str, ...] = ()

    def __init__(self, request: HttpRequest, row: Any = None, **more: Any) -> None:
        is_post = request.method == "POST"
        super().__init__(
            request.POST if is_post else None, request.FILES if is_post else None, **more
        )
        self._row = row
        self._user_id = request.user.pk
        if row is None and self.creates:
            self.fields["form_id"] = forms.CharField(required=False, widget=forms.HiddenInput())
            self.initial["form_id"] = uuid4().hex
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

    def idempotency(self, organization_id: UUID) -> IdempotencyKey | None:
        """One effect for a form with these values: after the back button, other ones are another
        request."""
        if not self.cleaned_data.get("form_id"):
            return None
        data: Any = self.data
        sent = sorted((name, data.getlist(name)) for name in self.fields if name in data)
        digest = sha256(repr((self._user_id, type(self).__name__, sent)).encode()).digest()
        return IdempotencyKey(OrganizationId(organization_id), UUID(bytes=digest[:16]), digest)

    def take(self, answer: CatalogAnswer) -> UUID | None:
        """The id of the row; None if the change was refused, which is then shown at its field."""
        outcome = answer.outcome
        if outcome is None:
            assert answer.body is not None, "a replay has the recorded answer"
            if answer.body:
                return UUID(bytes=answer.body)
            self._refuse(None, _REPEATED)
            return None
        assert not isinstance(outcome, ImportedSeats), "seats are not taken from a form"
        if not isinstance(outcome, Refusal):
            return outcome.id
        field = _FIELD_OF_CODE.get(outcome.code)
        for error in _errors(outcome):
            field = str(error.get("field", "")).rpartition(".")[2]
        field, text = field if field in self.fields else None, _in_words(outcome.message)
        self._refuse(field, text, is_new=not outcome.code.is_retryable)
        return None

    def _refuse(self, field: str | None, text: str, *, is_new: bool = True) -> None:
        """Sent again, the form is a new request, unless the first one may have been made after
        all."""
        if is_new and "form_id" in self.data:
            data: Any = self.data
            self.data = renewed = data.copy()
            renewed["form_id"] = uuid4().hex
        self.add_error(field, text)


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
        form.idempotency(organization_id),
        _rendered,
        given.get("seen") or None,
    )


def _rendered(outcome: CatalogOutcome) -> bytes:
    """What `take` needs of a recorded answer: the id of the row, or nothing of a refusal."""
    return b"" if isinstance(outcome, Refusal | ImportedSeats) else outcome.id.bytes


@contextmanager
def alone(work: str) -> Iterator[bool]:
    """Whether nobody else does this work at the moment. Others are told so until the block ends:
    two who look for what is missing would both add it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [work])
        ((is_alone,),) = cursor.fetchall()
        yield is_alone


def page_of(row: Model) -> str:
    return reverse(f"admin:holdfast_{type(row).__name__.lower()}_change", args=[row.pk])


def done(request: HttpRequest, text: str, url: str) -> HttpResponse:
    messages.success(request, text)
    return HttpResponseRedirect(url)


def show(
    request: HttpRequest, form: forms.Form, template: str = FORM, **texts: Any
) -> HttpResponse:
    return ask(request, form, template=template, **texts)
