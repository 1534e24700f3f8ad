"""The designer of rows: blocks with rows of equal length, drawn before they are written."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.forms.formsets import BaseFormSet, formset_factory
from django.http import HttpRequest, HttpResponse

from holdfast.adapters.postgres.models import Session, TicketType
from holdfast.domain.catalog.layout import BlockLayout, Numbering, RowRange, draft_layouts
from holdfast.domain.catalog.model import BlockPrice
from holdfast.domain.catalog.seat_import import SEATS_PER_ROW_MAX
from holdfast.domain.ids import SessionId, TicketTypeId
from holdfast.domain.refusal_codes import Refusal
from holdfast.entrypoints.admin.catalog.fields import (
    PriceField,
    Select,
    TextInput,
    count_field,
    text_field,
)
from holdfast.entrypoints.admin.catalog.forms import (
    CatalogForm,
    done,
    editor_of,
    page_of,
    show,
)
from holdfast.entrypoints.admin.catalog.offers import Offer, offer_url
from holdfast.entrypoints.admin.catalog.seat_preview import Preview, preview_seats, shown_errors
from holdfast.entrypoints.admin.catalog.tickets import seated_types_of
from holdfast.services.catalog.seat_import import import_layouts

PARTS_MAX = 20
NUMBER_MAX = 100_000
_ROW = re.compile(r"[A-Z]{1,3}|[0-9]{1,5}", re.ASCII)
_NUMBERINGS = (
    (Numbering.LEFT.value, "1 2 3 4: first seat at the left"),
    (Numbering.RIGHT.value, "4 3 2 1: first seat at the right"),
    (Numbering.ODD_EVEN.value, "3 1 2 4: odd numbers at the left"),
)
# The field of a part that an error of the layout is about.
_FIELDS = {"rows": "last_row", "aisles_after": "aisles", "restricted_view": "accessible"}


def _row_field(label: str) -> forms.CharField:
    return text_field(label, max_length=5, widget=TextInput(attrs={"autocapitalize": "characters"}))


class PartForm(forms.Form):
    """Some rows of a block. `types` are the seated ticket types of the session."""

    block = text_field("Block", 'Such as "Stalls". Parts with the same name are one block.')
    first_row = _row_field("Rows from")
    last_row = _row_field("Rows to")
    seats_per_row = count_field("Seats per row", least=1, most=SEATS_PER_ROW_MAX)
    first_number = count_field("First number", most=NUMBER_MAX, initial=1)
    numbering = forms.ChoiceField(choices=_NUMBERINGS, widget=Select())
    aisles = text_field("Aisles after", "Places from the left, such as 5, 15.", required=False)
    gaps = text_field("Gaps", "Places without a seat, such as B4.", required=False, max_length=2000)
    accessible = text_field("Accessible seats", "Such as A1, A2.", required=False, max_length=2000)

    def __init__(
        self, *args: Any, types: Sequence[TicketType], currency: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._types = {str(each.id): each for each in types}
        every = ("", "All seated ticket types, at their own prices")
        self.fields["ticket_type"] = forms.ChoiceField(
            choices=[every, *((key, each.name) for key, each in self._types.items())],
            required=False,
            widget=Select(),
            help_text="What these seats are sold as.",
        )
        self.fields["price"] = PriceField(
            currency, required=False, help_text="Empty: the price of the ticket type."
        )

    def clean_first_row(self) -> str:
        return self._row("first_row")

    def clean_last_row(self) -> str:
        return self._row("last_row")

    def _row(self, name: str) -> str:
        row = str(self.cleaned_data[name]).upper()
        if not _ROW.fullmatch(row):
            raise forms.ValidationError("Enter one to three letters A to Z, or a number.")
        return row

    def clean_aisles(self) -> tuple[int, ...]:
        words = _words(self.cleaned_data["aisles"])
        if not all(word.isascii() and word.isdecimal() and len(word) < 5 for word in words):
            raise forms.ValidationError("Enter numbers separated by commas, such as 5, 15.")
        return tuple(map(int, words))

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        if given.get("price") is not None and not given.get("ticket_type"):
            self.add_error("ticket_type", "Choose the ticket type that has this price here.")
        return given

    def layout(self) -> BlockLayout:
        given = self.cleaned_data
        return BlockLayout(
            name=given["block"],
            rows=RowRange(given["first_row"], given["last_row"]),
            seats_per_row=given["seats_per_row"],
            numbering=Numbering(given["numbering"]),
            first_number=given["first_number"],
            aisles_after=given["aisles"],
            gaps=tuple(_words(given["gaps"].upper())),
            accessible=tuple(_words(given["accessible"].upper())),
            prices=self._prices(),
        )

    def _prices(self) -> tuple[BlockPrice, ...]:
        chosen = self._types.get(self.cleaned_data["ticket_type"])
        if chosen is None:
            return ()
        price = self.cleaned_data["price"]
        minor = chosen.price_minor if price is None else price
        return (BlockPrice(TicketTypeId(UUID(str(chosen.id))), minor),)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


if TYPE_CHECKING:  # generic in the stubs only
    PartSet = BaseFormSet[PartForm]
else:
    PartSet = BaseFormSet

Parts = formset_factory(PartForm, extra=0, min_num=1, max_num=PARTS_MAX, absolute_max=PARTS_MAX)


class DesignForm(CatalogForm):
    """The reason; the parts are a form set of their own."""


def design_seats(request: HttpRequest, session: Session) -> HttpResponse:
    step = request.POST.get("step", "")
    form = DesignForm(request)
    options = {"types": seated_types_of(session), "currency": session.event.currency}
    if step in {"preview", "write"}:
        parts = Parts(request.POST, prefix="part", form_kwargs=options)
        preview = _preview(session, parts) if parts.is_valid() and form.is_valid() else None
        if isinstance(preview, Preview) and step == "write":
            editor = editor_of(request, form, session, "Seats designed in the admin")
            layouts = [part.layout() for part in parts.forms]
            outcome = import_layouts(editor, SessionId(session.id), layouts).outcome
            if not isinstance(outcome, Refusal):
                text = f"{preview.seats} seats are added to {session.name}."
                return done(request, text, page_of(session))
            preview = outcome
        if isinstance(preview, Preview):
            return _confirm(request, session, form, preview)
        if preview is not None:
            _point_out(parts, preview)
        return _ask(request, session, form, parts)
    entered = _entered(request) if step in {"more", "change"} else [{}]
    if step == "more" and len(entered) < PARTS_MAX:
        entered.append({"block": entered[-1].get("block", "") if entered else ""})
    for part in entered:
        part.setdefault("first_number", 1)
    unbound: Any = formset_factory(PartForm, extra=len(entered), max_num=PARTS_MAX)
    parts = unbound(prefix="part", form_kwargs=options)
    for number, part in enumerate(parts.forms):
        part.initial = entered[number]
        part.empty_permitted = False
    return _ask(request, session, form, parts)


def _entered(request: HttpRequest) -> list[dict[str, Any]]:
    """The parts as the person entered them, right or wrong."""
    count = request.POST.get("part-TOTAL_FORMS", "")
    parts = int(count) if count.isascii() and count.isdecimal() and len(count) < 3 else 1
    names = (*PartForm.base_fields, "ticket_type", "price")
    return [
        {name: request.POST.get(f"part-{number}-{name}", "") for name in names}
        for number in range(max(1, min(parts, PARTS_MAX)))
    ]


def _preview(session: Session, parts: PartSet) -> Preview | Refusal:
    drafts = draft_layouts([part.layout() for part in parts.forms])
    return drafts if isinstance(drafts, Refusal) else preview_seats(session, drafts)


def _point_out(parts: PartSet, refusal: Refusal) -> None:
    """Show each error at the field that it is about: `blocks[0].accessible[1]`."""
    errors = shown_errors(refusal)["rows"]
    for error in errors or [{"field": "", "message": refusal.message}]:
        found = re.fullmatch(r"blocks\[(\d+)\](?:\.(\w+))?.*", error["field"])
        part = parts.forms[int(found[1]) if found else 0]
        name = (found and found[2]) or ""
        field = _FIELDS.get(name, name)
        part.add_error(field if field in part.fields else None, f"{error['message']}.")


def _confirm(
    request: HttpRequest, session: Session, form: DesignForm, preview: Preview
) -> HttpResponse:
    entered = [
        (name, value)
        for name, value in request.POST.items()
        if name.startswith("part-") or name == "reason"
    ]
    return show(
        request,
        form,
        template="holdfast/catalog/seats.html",
        title=f"Seats of {session.name}",
        consequence=f"Adds {preview.seats} seats to {session.name}. Seats cannot be moved or "
        "deleted later, but they can be blocked.",
        button=f"Add {preview.seats} seats",
        step="write",
        change_step="change",
        preview=preview,
        tickets_url=offer_url(Session, "tickettype", session.id),
        fields=entered,
    )


def _ask(request: HttpRequest, session: Session, form: DesignForm, parts: PartSet) -> HttpResponse:
    return show(
        request,
        form,
        template="holdfast/catalog/designer.html",
        title=f"Design seats of {session.name}",
        consequence="Describe the rows, one part for each price or length of row. You see a "
        "drawing before anything is written.",
        button="Preview",
        parts=parts,
        may_add=len(parts.forms) < PARTS_MAX,
        back=page_of(session),
        upload_url=offer_url(Session, "upload", session.id),
    )


OFFER = Offer("design", "Design rows of seats", design_seats)
