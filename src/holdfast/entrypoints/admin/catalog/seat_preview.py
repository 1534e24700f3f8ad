"""Seats before they are written: checked against the seats that the session has, counted and
drawn."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from holdfast.adapters.postgres.models import Block, Seat, Session, TicketType
from holdfast.domain.catalog.seat_import import (
    Arrangement,
    DraftBlock,
    Flaw,
    KnownSeat,
    countable_id,
    refuse_flaws,
)
from holdfast.domain.ids import BlockId
from holdfast.domain.immutable import immutable
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatPlace
from holdfast.entrypoints.admin.seats.drawing import Drawing, PlacedSeat, draw

DRAWN_MAX = 5_000
ERRORS_SHOWN_MAX = 100
FIRST_SHOWN = 5


@immutable
class PreviewedBlock:
    name: str
    is_new: bool
    rows: str
    seats: int
    accessible: int


@immutable
class Preview:
    blocks: tuple[PreviewedBlock, ...]
    rows: int
    seats: int
    first: tuple[str, ...]
    drawing: Drawing | None
    # Whether buyers can get the seats once they are written.
    is_sellable: bool

    @property
    def picture(self) -> SafeString:
        """The seats as shapes. Accessible ones are squares."""
        assert self.drawing is not None
        shapes = []
        for seat, (x, y) in zip(self.drawing.seats, self.drawing.points, strict=True):
            name = escape(
                ", ".join((f"{seat.block}, row {seat.row}, seat {seat.number}", *seat.marks))
            )
            square = (
                f'<rect x="{x - 0.48:.5g}" y="{y - 0.48:.5g}" width=".96" height=".96" rx=".14"/>'
            )
            marked = f'<g class="hall-accessible">{square}</g>' if seat.is_accessible else ""
            circle = f'<circle cx="{x:.5g}" cy="{y:.5g}" r=".34"/>'
            seat_shape = f'<g class="hall-available"><title>{name}</title>{circle}</g>'
            shapes.append(seat_shape + marked)
        return mark_safe("".join(shapes))  # noqa: S308


def preview_seats(session: Session, drafts: Sequence[DraftBlock]) -> Preview | Refusal:
    own = {"organization_id": session.organization_id, "session_id": session.id}
    names = [draft.name for draft in drafts]
    known = dict(Block.objects.filter(**own, name__in=names).values_list("name", "id"))
    seats = _known_seats(session, known.values())
    flaws: list[Flaw] = []
    placed: list[PlacedSeat] = []
    blocks: list[PreviewedBlock] = []
    for draft in drafts:
        block_id = known.get(draft.name)
        if block_id is not None:
            flaws += draft.refuse_terms()
        arrangement = Arrangement(BlockId(UUID(int=0)), seats.get(block_id, ()))
        places = arrangement.place_all(draft.seats, countable_id(UUID(int=0)))
        flaws += arrangement.flaws
        placed += (_placed(draft.name, place) for place in _in_order(places))
        blocks.append(_counted(draft.name, places, is_new=block_id is None))
    refusal = refuse_flaws(flaws)
    if refusal is not None:
        return refusal
    return Preview(
        tuple(blocks),
        len({(seat.block, seat.row) for seat in placed}),
        len(placed),
        tuple(f"{seat.block}, row {seat.row}, seat {seat.number}" for seat in placed[:FIRST_SHOWN]),
        draw(placed) if 0 < len(placed) <= DRAWN_MAX else None,
        TicketType.objects.filter(**own, is_seated=True).exists(),
    )


def shown_errors(refusal: Refusal) -> dict[str, Any]:
    """The errors by line or field, for the template."""
    errors = refusal.details.get("errors")
    listed: list[Any] = errors if isinstance(errors, list) else []
    return {"message": refusal.message, "rows": listed[:ERRORS_SHOWN_MAX]}


def _known_seats(session: Session, block_ids: Iterable[UUID]) -> dict[UUID | None, list[KnownSeat]]:
    own = {"organization_id": session.organization_id, "session_id": session.id}
    rows = Seat.objects.filter(**own, block_id__in=list(block_ids))
    found: dict[UUID | None, list[KnownSeat]] = {}
    columns = ("block_id", "row_name", "row_rank", "number", "position")
    for block_id, row, rank, number, position in rows.values_list(*columns):
        found.setdefault(block_id, []).append(KnownSeat(row, rank, number, position))
    return found


def _in_order(places: Iterable[SeatPlace]) -> list[SeatPlace]:
    return sorted(places, key=lambda place: (place.row_rank, place.position))


def _placed(block: str, place: SeatPlace) -> PlacedSeat:
    return PlacedSeat(
        block,
        place.row,
        place.row_rank,
        place.number,
        place.position,
        place.x,
        place.y,
        place.is_accessible,
        place.is_companion,
        place.is_restricted_view,
        "available",
    )


def _counted(name: str, places: Sequence[SeatPlace], *, is_new: bool) -> PreviewedBlock:
    rows = list(dict.fromkeys(place.row for place in places))
    span = rows[0] if len(rows) == 1 else f"{rows[0]} to {rows[-1]} ({len(rows)})" if rows else "-"
    accessible = sum(place.is_accessible for place in places)
    return PreviewedBlock(name, is_new, span, len(places), accessible)
