"""The form that names the seats a hold moves to, with a list of free ones."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet

from holdfast.adapters.postgres.models import HoldLine
from holdfast.domain.ids import SeatId
from holdfast.domain.seats.move_seats import SEATS_MOVED_MAX
from holdfast.entrypoints.admin.holds.hold_form import HoldForm
from holdfast.entrypoints.admin.holds.seat_names import names_in
from holdfast.entrypoints.admin.holds.session_seats import NAMES_LENGTH_MAX, SessionSeats
from holdfast.entrypoints.admin.lookups import seat_name

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxSelectMultiple, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput


class MoveForm(HoldForm):
    """`moves` are the pairs of seats: the first chosen one gets the first named one, and so on."""

    old = forms.MultipleChoiceField(label="Seats to give up", widget=CheckboxSelectMultiple())
    new = forms.CharField(
        label="Seats to get instead",
        max_length=NAMES_LENGTH_MAX,
        widget=TextInput(attrs={"autocomplete": "off"}),
        help_text="As many as you give up, in the same order: Parterre B 12, 13. Or a "
        "range: Parterre B 12-13. Without a block if only one has such a seat: B 12.",
    )
    field_order = ("old", "new", "reason", "version")

    def __init__(self, hold: Any, data: Any = None, initial: dict[str, Any] | None = None) -> None:
        self.hold = hold
        seats = seat_lines(hold).annotate(seat_name=seat_name()).order_by("position")
        choices = [(str(seat_id), name) for seat_id, name in seats.values_list(*_SEAT)]
        super().__init__(data, initial={"old": [id_ for id_, _ in choices], **(initial or {})})
        self.fields["old"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if "old" not in given or "new" not in given:
            return given
        # In the order of the hold's lines, whatever order they were sent in.
        fields: Any = self.fields
        old = [UUID(id_) for id_, _ in fields["old"].choices if id_ in given["old"]]
        names = list(names_in(given["new"]))
        if len(names) != len(old):
            self.add_error("new", f"Name {len(old)} seats, not {len(names)}.")
        elif len(names) > SEATS_MOVED_MAX:
            self.add_error("old", f"At most {SEATS_MOVED_MAX} seats can move at once.")
        else:
            given["moves"] = self._pairs(old, names)
        return given

    def _pairs(self, old: list[UUID], names: list[str]) -> list[tuple[SeatId, SeatId]]:
        seats = SessionSeats(self.hold.organization_id, self.hold.session_id)
        try:
            new = seats.named(names)
        except forms.ValidationError as errors:
            self.add_error("new", errors)
            return []
        return [(SeatId(one), SeatId(other)) for one, other in zip(old, new, strict=True)]


_SEAT = ("seat_id", "seat_name")


def seat_lines(hold: Any) -> QuerySet[Any]:
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    return HoldLine.objects.filter(**own, removed_version=None, seat_id__isnull=False)


def free_seats(hold: Any) -> dict[str, Any]:
    """Those that are sold as the ticket types of the hold."""
    types = seat_lines(hold).values_list("ticket_type_id", flat=True)
    return SessionSeats(hold.organization_id, hold.session_id).free(types)
