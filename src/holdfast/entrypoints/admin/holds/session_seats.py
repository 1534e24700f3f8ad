"""The seats of a session: those that a person names, and the free ones."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Concat, Upper

from holdfast.adapters.postgres.models import Block, BlockPrice, Seat
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.holds.seat_names import runs_of
from holdfast.entrypoints.admin.seats.hall import seat_status_now

FREE_SHOWN_MAX = 2_000
NAMES_LENGTH_MAX = 2_000


class FreeRow(NamedTuple):
    block: str
    row: str
    numbers: str


class SessionSeats:
    """Of the session that this row is, or belongs to."""

    def __init__(self, organization_id: UUID, session_id: UUID) -> None:
        self._own = {"organization_id": organization_id, "session_id": session_id}

    def named(self, names: Sequence[str]) -> list[UUID]:
        """The ids of the seats with these names, in order."""
        found, ids, errors = self._found(names), [], []
        for name in names:
            seats = found.get(name, [])
            if not seats:
                errors.append(f"There is no seat {name} in this session.")
            elif len(seats) > 1:
                errors.append(f"Several blocks have a seat {name}: name the block, too.")
            else:
                ids += seats
        if len(set(ids)) != len(ids):
            errors.append("Name each seat only once.")
        if errors:
            raise forms.ValidationError(errors)
        return ids

    def written(self, ids: Iterable[UUID]) -> str:
        """Their names, as a person would enter them: `Parterre B 12, 13, Parterre C 1`"""
        seats: Any = self._seats().filter(id__in=list(ids))
        order = ("block__rank", "block_id", "row_rank", "row_name", "position")
        columns = ("block__name", "row_name", "number")
        names, before = [], None
        for block, row, number in seats.order_by(*order).values_list(*columns):
            is_short = number.isdecimal() and before == (block, row)
            names.append(number if is_short else f"{block} {row} {number}")
            before = (block, row) if number.isdecimal() else None
        return ", ".join(names)

    def _found(self, names: Sequence[str]) -> dict[str, list[UUID]]:
        """With or without the block."""
        row = Concat("row_name", Value(" "), "number", output_field=TextField())
        seats: Any = self._seats().annotate(
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

    def free(self, types: Iterable[UUID] | None = None) -> dict[str, Any]:
        """The free seats by block and row, without the blocks that sell none of these types."""
        seats: Any = self._seats()
        if types is not None:
            seats = seats.exclude(block_id__in=self._not_selling(set(types)))
        seats = seats.annotate(now=seat_status_now()).filter(now=SeatStatus.AVAILABLE.value)
        ordered = seats.order_by("block__rank", "block_id", "row_rank", "row_name", "position")
        columns = ("block__name", "row_name", "number", "position")
        found = list(ordered.values_list(*columns)[: FREE_SHOWN_MAX + 1])
        rows = [
            FreeRow(block, row, runs_of([(number, position) for _, _, number, position in of_row]))
            for (block, row), of_row in groupby(found[:FREE_SHOWN_MAX], key=lambda seat: seat[:2])
        ]
        blocks = [
            (block, list(of_block)) for block, of_block in groupby(rows, key=lambda row: row[0])
        ]
        return {"blocks": blocks, "has_more": len(found) > FREE_SHOWN_MAX}

    def _not_selling(self, types: set[UUID]) -> set[UUID]:
        """A block without prices sells all types."""
        own = {"organization_id": self._own["organization_id"]}
        blocks = Block.objects.filter(**self._own).values("id")
        prices = BlockPrice.objects.filter(**own, block_id__in=blocks)
        sold = list(prices.values_list("block_id", "ticket_type_id"))
        return {block for block, _ in sold} - {block for block, type_ in sold if type_ in types}

    def _seats(self) -> QuerySet[Seat]:
        return Seat.objects.filter(**self._own)
