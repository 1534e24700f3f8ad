"""Seats from a CSV file: errors by line, then a preview. Nothing is written until the person
confirms it."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import HttpRequest, HttpResponse

from holdfast.adapters.postgres.models import Session
from holdfast.domain.ids import SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
)
from holdfast.entrypoints.admin.catalog.offers import Offer, offer_url
from holdfast.entrypoints.admin.catalog.seat_preview import preview_seats, shown_errors
from holdfast.services.catalog.seat_csv import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, draft_csv
from holdfast.services.catalog.seat_import import import_csv

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import FileInput
else:
    from unfold.widgets import UnfoldAdminFileFieldWidget as FileInput

FILE_BYTES_MAX = 2 * 1024 * 1024
_EXAMPLE = "block,row,number,accessible\nStalls,A,1,yes\nStalls,A,2,\nStalls,B,1,\n"


class FileForm(CatalogForm):
    """`content` is the text of a file that the person has seen in a preview."""

    content = forms.CharField(required=False, strip=False, widget=forms.HiddenInput())
    file = forms.FileField(
        label="CSV file",
        required=False,
        widget=FileInput(attrs={"accept": ".csv,text/csv"}),
        help_text=f"In UTF-8, at most {FILE_BYTES_MAX // 1024 // 1024} MiB, separated by commas. "
        f"The first line names the columns: {', '.join(REQUIRED_COLUMNS)}, and optionally "
        f"{', '.join(OPTIONAL_COLUMNS)}.",
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        file = given.get("file")
        if file is None and not given.get("content") and "file" not in self.errors:
            self.add_error("file", "Choose a file.")
        if file is not None and file.size > FILE_BYTES_MAX:
            text = f"The file is larger than {FILE_BYTES_MAX // 1024 // 1024} MiB."
            self.add_error("file", f"{text} Split it by block.")
        return given


def upload_seats(request: HttpRequest, session: Session) -> HttpResponse:
    form = FileForm(request)
    if not form.is_valid():
        return _ask(request, session, form)
    given = form.cleaned_data
    if given["file"] is None:
        content = given["content"].encode()
        editor = editor_of(request, form, session, "Seats imported in the admin")
        outcome = import_csv(editor, SessionId(session.id), content).outcome
        if not isinstance(outcome, Refusal):
            return done(request, "Added the seats.", page_of(session))
        return _ask(request, session, form, errors=shown_errors(outcome))
    content = given["file"].read()
    drafts = draft_csv(content)
    preview = drafts if isinstance(drafts, Refusal) else preview_seats(session, drafts)
    if isinstance(preview, Refusal):
        return _ask(request, session, form, errors=shown_errors(preview))
    return show(
        request,
        form,
        template="holdfast/catalog/seats.html",
        title=f"Seats of {session.name}",
        consequence=f"Adds {preview.seats} seats to {session.name}. Seats cannot be moved or "
        "deleted later, but they can be blocked.",
        button=f"Add {preview.seats} seats",
        back=offer_url(Session, "upload", session.id),
        preview=preview,
        tickets_url=offer_url(Session, "tickettype", session.id),
        content=content.decode("utf-8-sig"),
        fields=[("reason", given["reason"])],
    )


def _ask(request: HttpRequest, session: Session, form: FileForm, **more: Any) -> HttpResponse:
    return show(
        request,
        form,
        template="holdfast/catalog/upload.html",
        title=f"Upload seats of {session.name}",
        consequence="Checks the file and shows what it contains. Nothing is written before you "
        "confirm that.",
        button="Check the file",
        back=page_of(session),
        example=_EXAMPLE,
        **more,
    )


OFFER = Offer("upload", "Upload seats (CSV)", upload_seats)
