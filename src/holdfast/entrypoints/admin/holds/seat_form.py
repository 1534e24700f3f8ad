"""The form that names the seats a hold moves to, with a list of free ones."""

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Concat, Upper

from holdfast.adapters.postgres.models import Block, BlockPrice, HoldLine, Seat
from holdfast.domain.ids import SeatId
from holdfast.domain.seats.move_seats import SEATS_MOVED_MAX
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.holds.hold_form import HoldForm
from holdfast.entrypoints.admin.holds.seat_names import names_in, runs_of
from holdfast.entrypoints.admin.lookups import seat_name
from holdfast.entrypoints.admin.seats.hall import seat_status_now

if TYPE_CHECKING:  # django-unfold has no types
    from django.forms import CheckboxSelectMultiple, TextInput
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput

FREE_SHOWN_MAX = 2_000
_NAMES_LENGTH_MAX = 2_000


class FreeRow(NamedTuple):
    block: str
    row: str
    numbers: str


class MoveForm(HoldForm):
    """`moves` are the pairs of seats: the first chosen one gets the first named one, and so on."""

    old = forms.MultipleChoiceField(label="Seats to give up", widget=CheckboxSelectMultiple())
    new = forms.CharField(
        label="Seats to get instead",
        max_length=_NAMES_LENGTH_MAX,
        widget=TextInput(attrs={"autocomplete": "off"}),
        help_text="As many as you give up, in the same order: Parterre B 12, Parterre B 13. Or a "
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
        found = _found(self.hold, names)
        new = []
        for name in names:
            ids = found.get(name, [])
            if not ids:
                self.add_error("new", f"There is no seat {name} in this session.")
            elif len(ids) > 1:
                self.add_error("new", f"Several blocks have a seat {name}: name the block, too.")
            else:
                new += ids
        if len(set(new)) != len(new):
            self.add_error("new", "Name each seat only once.")
        return [(SeatId(one), SeatId(other)) for one, other in zip(old, new, strict=False)]


_SEAT = ("seat_id", "seat_name")


def _found(hold: Any, names: list[str]) -> dict[str, list[UUID]]:
    """The seats of the session with these names, with or without the block."""
    row = Concat("row_name", Value(" "), "number", output_field=TextField())
    seats: Any = _seats(hold).annotate(
        whole=Upper(Concat("block__name", Value(" "), row, output_field=TextField())),
        spaced=Upper(row),
        printed=Upper(Concat("row_name", "number")),
    )
    spelled = Q(whole__in=names) | Q(spaced__in=names) | Q(printed__in=names)
    found: dict[str, list[UUID]] = {}
    for seat_id, *spellings in seats.filter(spelled).values_list(
        "id", "whole", "spaced", "printed"
    ):
        for spelling in set(spellings):
            found.setdefault(spelling, []).append(seat_id)
    return found


def seat_lines(hold: Any) -> QuerySet[Any]:
    own = {"organization_id": hold.organization_id, "hold_id": hold.id}
    return HoldLine.objects.filter(**own, removed_version=None, seat_id__isnull=False)


def _seats(hold: Any) -> QuerySet[Seat]:
    return Seat.objects.filter(**_of_session(hold))


def _of_session(hold: Any) -> dict[str, Any]:
    return {"organization_id": hold.organization_id, "session_id": hold.session_id}


def free_seats(hold: Any) -> dict[str, Any]:
    """The free seats by block and row, without the blocks that do not sell its ticket types."""
    types = set(seat_lines(hold).values_list("ticket_type_id", flat=True))
    prices = BlockPrice.objects.filter(
        organization_id=hold.organization_id,
        block_id__in=Block.objects.filter(**_of_session(hold)).values("id"),
    ).values_list("block_id", "ticket_type_id")
    limited = {block_id for block_id, _ in prices}
    selling = {block_id for block_id, ticket_type_id in prices if ticket_type_id in types}
    seats: Any = _seats(hold).exclude(block_id__in=limited - selling)
    seats = seats.annotate(now=seat_status_now()).filter(now=SeatStatus.AVAILABLE.value)
    ordered = seats.order_by("block__rank", "block_id", "row_rank", "row_name", "position")
    found = list(
        ordered.values_list("block__name", "row_name", "number", "position")[: FREE_SHOWN_MAX + 1]
    )
    rows = [
        FreeRow(block, row, runs_of([(number, position) for _, _, number, position in of_row]))
        for (block, row), of_row in groupby(found[:FREE_SHOWN_MAX], key=lambda seat: seat[:2])
    ]
    blocks = [(block, list(of_block)) for block, of_block in groupby(rows, key=lambda row: row[0])]
    return {"blocks": blocks, "has_more": len(found) > FREE_SHOWN_MAX}
