"""The form in which staff enter what a customer wants: quantities, seats by name, and for whom."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from uuid_utils.compat import uuid7

from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.hold import Remarks, Source
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.placement import LINES_MAX, SEATS_PER_HOLD_MAX, Ask, SeatAsk
from holdfast.domain.ids import HoldId, OrganizationId, SeatId, SessionId, TicketTypeId
from holdfast.domain.values import (
    EMAIL_LENGTH_MAX,
    QUANTITY_MAX,
    USER_ID_LENGTH_MAX,
    EmailAddress,
    Holder,
    InvalidValue,
    Quantity,
)
from holdfast.entrypoints.admin.actions import ReasonForm
from holdfast.entrypoints.admin.catalog.fields import Select, count_field, text_field
from holdfast.entrypoints.admin.holds.seat_names import names_in
from holdfast.entrypoints.admin.holds.session_offers import Offered, SessionOffers
from holdfast.entrypoints.admin.holds.session_seats import NAMES_LENGTH_MAX, SessionSeats
from holdfast.entrypoints.admin.lookups import uuid_or_none

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxInput as Switch
    from django.forms import TextInput
else:
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanSwitchWidget as Switch

QUANTITY = "quantity_"
_DERIVED_VERSION = 5  # of ids that Holdfast derives itself
_TYPES_SHOWN_MAX = 200
_PICKED_MAX = 1_000  # as many as the hall lets one select
_HOLDER_ERRORS = {
    "invalid_email": ("email", "Enter an address such as ada@example.com."),
    "invalid_user_id": ("user_id", "Enter printable characters only."),
    "holder_required": ("email", "Enter an e-mail address or a user id."),
}


class CounterForm(ReasonForm):
    """With a quantity for each ticket type. The id of the hold is in the form, so a form that is
    sent twice makes one hold."""

    version = None  # type: ignore[assignment]
    email = forms.CharField(
        label="E-mail address of the customer",
        required=False,
        max_length=EMAIL_LENGTH_MAX,
        widget=TextInput(attrs={"type": "email", "autocomplete": "off"}),
    )
    user_id = forms.CharField(
        label="User id of the customer",
        required=False,
        max_length=USER_ID_LENGTH_MAX,
        widget=TextInput(attrs={"autocomplete": "off"}),
        help_text="In your shop. Enter it, the e-mail address, or both.",
    )
    hold_id = forms.CharField(required=False, widget=forms.HiddenInput())

    def __init__(self, session: Any, data: Any = None, picked: str = "") -> None:
        """`picked` are ids of seats, with commas."""
        self.session = session
        self.seats = SessionSeats(session.organization_id, session.id)
        self.named: list[UUID] = []
        self.holder: Holder | None = None
        ids = [uuid_or_none(each) for each in picked.split(",")[:_PICKED_MAX]]
        names = self.seats.written(id_ for id_ in ids if id_ is not None)
        super().__init__(data, initial={"hold_id": uuid7(), "seats": names})
        self.offers = SessionOffers(session)
        self._add_fields()

    def _add_fields(self) -> None:
        for each in list(self.offers.types.values())[:_TYPES_SHOWN_MAX]:
            self.fields[f"{QUANTITY}{each.id}"] = count_field(
                f"{each.name}, {self.offers.price_of(each)}",
                "How many of the best free seats, side by side." if each.is_seated else "",
                most=QUANTITY_MAX,
                required=False,
            )
        seated = [(str(each.id), each.name) for each in self.offers.seated]
        if seated:
            self.fields["seats"] = text_field(
                "Seats by name",
                "Such as Parterre B 12, 13 or Parterre B 12-15. Without a block if only one has "
                "such a seat: B 12.",
                required=False,
                max_length=NAMES_LENGTH_MAX,
                widget=TextInput(attrs={"autocomplete": "off"}),
            )
        if len(seated) > 1:
            self.fields["seats_as"] = forms.ChoiceField(
                label="Sell these seats as",
                required=False,
                choices=[("", "The first ticket type of their block"), *seated],
                widget=Select(),
            )
        if "may_wait" in self.data:
            self.offer_waitlist()
        self.order_fields(list(self._order()))

    def _order(self) -> Iterator[str]:
        yield from (name for name in self.fields if name.startswith(QUANTITY))
        yield from ("seats", "seats_as", "may_wait", "email", "user_id", "reason", "hold_id")

    def offer_waitlist(self) -> None:
        self.fields["may_wait"] = forms.BooleanField(
            label="Join the waitlist if there is nothing left", required=False, widget=Switch()
        )
        self.order_fields(list(self._order()))

    def clean_hold_id(self) -> HoldId:
        hold_id = uuid_or_none(self.cleaned_data["hold_id"])
        if hold_id is None or hold_id.version == _DERIVED_VERSION:
            self.add_error(None, "Open this page again from the page of the session.")
            return HoldId(uuid7())
        return HoldId(hold_id)

    def clean_seats(self) -> str:
        text: str = self.cleaned_data["seats"]
        names = list(names_in(text))
        if len(names) > SEATS_PER_HOLD_MAX:
            raise forms.ValidationError(f"A hold has at most {SEATS_PER_HOLD_MAX} seats.")
        self.named = self.seats.named(names) if names else []
        return text

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if not self.errors and not 1 <= len(self.asks) <= LINES_MAX:
            told = f"At most {LINES_MAX} ticket types at once." if self.asks else "Enter how many."
            self.add_error(self.first, told)
        if {"email", "user_id"} <= given.keys():
            self._read_holder(given["email"] or None, given["user_id"] or None)
        return given

    def _read_holder(self, email: str | None, user_id: str | None) -> None:
        try:
            self.holder = Holder(None if email is None else EmailAddress(email), user_id)
        except InvalidValue as error:
            self.add_error(*_HOLDER_ERRORS[error.code])

    @property
    def first(self) -> str | None:
        """The first field, for an error about all that is asked for."""
        return next((name for name in self.fields if name.startswith((QUANTITY, "seats"))), None)

    @property
    def quantities(self) -> Mapping[UUID, int]:
        found = ((id_, self.cleaned_data.get(f"{QUANTITY}{id_}")) for id_ in self.offers.types)
        return {id_: quantity for id_, quantity in found if quantity}

    @property
    def asks(self) -> tuple[Ask | SeatAsk, ...]:
        asks: list[Ask | SeatAsk] = [
            Ask(TicketTypeId(id_), Quantity(quantity), is_together=self.offers.types[id_].is_seated)
            for id_, quantity in self.quantities.items()
        ]
        if self.named:
            type_id = self.seats_as
            asks.append(
                SeatAsk(
                    tuple(SeatId(id_) for id_ in self.named),
                    None if type_id is None else TicketTypeId(type_id),
                )
            )
        return tuple(asks)

    @property
    def seats_as(self) -> UUID | None:
        return uuid_or_none(self.cleaned_data.get("seats_as") or "")

    def command(self, origin: Origin) -> PlaceHold:
        assert self.holder is not None
        return PlaceHold(
            OrganizationId(self.session.organization_id),
            SessionId(self.session.id),
            self.cleaned_data["hold_id"],
            self.holder,
            self.asks,
            origin,
            is_id_from_client=True,
            remarks=Remarks(Source.DESK),
            may_wait=self.cleaned_data.get("may_wait", False),
        )

    def field_of(self, names: Iterable[str]) -> str | None:
        """The one field among these that the person has filled in."""
        filled = [
            name
            for name in self.fields
            if name.startswith(tuple(names)) and self.cleaned_data.get(name)
        ]
        return filled[0] if len(filled) == 1 else None

    @property
    def offered(self) -> list[Offered]:
        """What is asked for, with its price."""
        types = self.offers.types
        some = [self.offers.some(types[id_], count) for id_, count in self.quantities.items()]
        return some + self.offers.seats(self.named, self.seats_as)
