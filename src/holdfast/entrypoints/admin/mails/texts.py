"""The pages on which an organization writes the texts of its e-mails."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from holdfast.adapters.postgres import models
from holdfast.domain.access.scopes import Scope
from holdfast.domain.group.origin import REASON_LENGTH_MAX
from holdfast.domain.ids import OrganizationId
from holdfast.domain.mails.kinds import MAILS, MailKind
from holdfast.domain.mails.templates import (
    BODY_LENGTH_MAX,
    SUBJECT_LENGTH_MAX,
    Mail,
    MailDesign,
    MailTemplate,
    normalized,
    written,
)
from holdfast.domain.organizations import Organization
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.actions import ReasonForm, ask
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.people.rights import origin_of, require, visible
from holdfast.ports.mails.templates import MailText
from holdfast.services.facts.notice_texts import mail_of
from holdfast.services.mails.templates import MailTextEditor

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import Textarea, TextInput
else:
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

_STALE = "Somebody else has changed this text meanwhile. Open the page again to see their text."


class MailTextForm(forms.Form):
    """`version` is that of the text that the person saw. A preview needs no reason."""

    subject = forms.CharField(max_length=SUBJECT_LENGTH_MAX, widget=TextInput())
    # Browsers count a line break as two characters.
    body = forms.CharField(max_length=2 * BODY_LENGTH_MAX, widget=Textarea(attrs={"rows": 16}))
    reason = forms.CharField(
        max_length=REASON_LENGTH_MAX,
        widget=TextInput(),
        help_text="Why you change the text. Recorded in the audit log.",
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput())

    def __init__(self, design: MailDesign, data: Any = None, **more: Any) -> None:
        super().__init__(data, **more)
        self._design = design
        self.fields["subject"].help_text = "Plain text with placeholders, in one line."
        self.fields[
            "body"
        ].help_text = (
            "Plain text with placeholders. A line whose placeholders all have no value is left out."
        )
        if self.is_preview:
            self.fields["reason"].required = False

    @property
    def is_preview(self) -> bool:
        return "preview" in self.data

    def template(self) -> MailTemplate:
        return normalized(self.cleaned_data["subject"], self.cleaned_data["body"])

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if {"subject", "body"} <= given.keys():
            for field, errors in self._design.errors(self.template()).items():
                for error in errors:
                    self.add_error(field, error)
        return given


def list_texts(request: HttpRequest, organization_id: UUID) -> HttpResponse:
    editor = _editor(request, organization_id)
    texts = editor.texts()
    if isinstance(texts, Refusal):
        messages.error(request, texts.message)
        texts = {}
    rows = [
        {
            "design": MAILS[kind],
            "text": text,
            "url": reverse("admin:holdfast_mail_text", args=[organization_id, kind.value]),
        }
        for kind, text in texts.items()
    ]
    organization = _organization(organization_id)
    title = f"E-mail texts of {organization.name} ({organization.mode.value})"
    back = reverse("admin:holdfast_organization_change", args=[organization_id])
    return _page(request, "mail_texts", title=title, rows=rows, back=back)


def edit_text(request: HttpRequest, organization_id: UUID, name: str) -> HttpResponse:
    editor, kind = _editor(request, organization_id), _kind(name)
    design, texts = MAILS[kind], editor.texts()
    back = reverse("admin:holdfast_mail_texts", args=[organization_id])
    if isinstance(texts, Refusal):
        messages.error(request, texts.message)
        return HttpResponseRedirect(back)
    text = texts[kind]
    shown = {
        "subject": text.template.subject,
        "body": text.template.body,
        "version": text.version,
    }
    form = MailTextForm(design, request.POST or None, initial=shown)
    template: MailTemplate | None = text.template
    if form.is_bound:
        template = form.template() if form.is_valid() else None
        if template is not None and not form.is_preview and _save(request, editor, text, form):
            messages.success(request, f"{design.label}: the new text is used from now on.")
            return HttpResponseRedirect(back)
    organization = _organization(organization_id)
    return _page(
        request,
        "mail_text",
        title=f"{design.label}: e-mail text",
        design=design,
        text=text,
        form=form,
        preview=None if template is None else _preview(organization, design, template),
        placeholders=[
            (written(name), each, name in design.names_in_subject)
            for name, each in design.placeholders.items()
        ],
        back=back,
        reset=reverse("admin:holdfast_mail_text_reset", args=[organization_id, kind.value]),
    )


def reset_text(request: HttpRequest, organization_id: UUID, name: str) -> HttpResponse:
    editor, kind = _editor(request, organization_id), _kind(name)
    design, texts = MAILS[kind], editor.texts()
    back = reverse("admin:holdfast_mail_text", args=[organization_id, kind.value])
    if isinstance(texts, Refusal) or texts[kind].stored is None:
        messages.info(request, f"{design.label} has the built-in text.")
        return HttpResponseRedirect(back)
    form = ReasonForm(request.POST or None, initial={"version": texts[kind].version})
    if form.is_valid():
        origin = replace(editor.origin, reason=form.cleaned_data["reason"])
        saved = replace(editor, origin=origin).save(kind, None, form.cleaned_data["version"])
        if saved is True:
            messages.success(request, f"{design.label} has the built-in text again.")
            return HttpResponseRedirect(back)
        form.add_error(None, saved.message if isinstance(saved, Refusal) else _STALE)
    return ask(
        request,
        form,
        title=f"Reset {design.label}",
        consequence="Deletes your text. Buyers get the built-in text from now on.",
        button="Reset to the built-in text",
        back=back,
    )


def _save(request: HttpRequest, editor: MailTextEditor, text: MailText, form: MailTextForm) -> bool:
    given = form.cleaned_data
    by_person = replace(editor, origin=replace(editor.origin, reason=given["reason"]))
    saved = by_person.save(text.kind, form.template(), given["version"])
    if saved is not True:
        form.add_error(None, saved.message if isinstance(saved, Refusal) else _STALE)
    return saved is True


def _editor(request: HttpRequest, organization_id: UUID) -> MailTextEditor:
    """For a person who may change the settings. A foreign id is not found, like an unknown one."""
    if not visible(request, models.Organization.objects.filter(id=organization_id)).exists():
        raise Http404
    require(request, Scope.SETTINGS_WRITE, organization_id)
    store = AdminConfig.services.mail_templates
    return MailTextEditor(store, OrganizationId(organization_id), origin_of(request))


def _kind(name: str) -> MailKind:
    try:
        return MailKind(name)
    except ValueError:
        raise Http404 from None


def _organization(organization_id: UUID) -> Organization:
    found = AdminConfig.services.organizations.organization(OrganizationId(organization_id))
    assert found is not None
    return found


def _preview(organization: Organization, design: MailDesign, template: MailTemplate) -> Mail:
    """With samples: no buyer's data is shown."""
    sender = organization.mail_name or organization.name
    return mail_of(organization, template, design.samples() | {"organization": sender})


def _page(request: HttpRequest, name: str, **context: Any) -> HttpResponse:
    context |= admin.site.each_context(request) | {"title": context["title"]}
    return TemplateResponse(request, f"holdfast/{name}.html", context)
