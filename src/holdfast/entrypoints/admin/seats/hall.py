"""The picture of a session's seats, with counts by status."""

from html import escape
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, QuerySet, TextField, Value, When
from django.db.models.functions import Now
from django.utils.safestring import mark_safe

from holdfast.adapters.postgres.models import Block, Seat, Session
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.seats.drawing import Drawing, PlacedSeat, draw

# Above this many seats, their names would be most of the page, and nobody hovers over single ones.
NAMED_MAX = 3_000
DRAWN_MAX = 25_000


def seat_status_now() -> Case:
    """A lapsed seat counts as available, by the database's clock."""
    available = Value(SeatStatus.AVAILABLE.value, output_field=TextField())
    lapsed = When(status=SeatStatus.HELD.value, held_until__lte=Now(), then=available)
    return Case(lapsed, default=F("status"))


def counted(seats: QuerySet[Seat]) -> dict[str, int]:
    """The number of seats in each status, including zeros."""
    rows = seats.order_by().values(now=seat_status_now()).annotate(seats=Count("id"))
    found = {row["now"]: row["seats"] for row in rows}
    return {status.value: found.get(status.value, 0) for status in SeatStatus}


def hall_of(session: Session) -> dict[str, Any] | None:
    """The data of the template; None for a session without seats."""
    seats = Seat.objects.filter(organization_id=session.organization_id, session_id=session.id)
    counts = counted(seats)
    total = sum(counts.values())
    if not total:
        return None
    hall: dict[str, Any] = {"counts": counts, "total": total, "is_too_large": total > DRAWN_MAX}
    if total <= DRAWN_MAX:
        drawing = draw(placed(session, seats))
        names = [_name(seat) for seat in drawing.seats] if total <= NAMED_MAX else None
        hall |= {"drawing": drawing, "seats": mark_safe(_markup(drawing, names))}  # noqa: S308
    return hall


def placed(session: Session, seats: QuerySet[Seat]) -> list[PlacedSeat]:
    """The seats by block, best first, and row, each row from left to right."""
    columns = ("row_name", "row_rank", "number", "position", "x", "y")
    special = ("is_accessible", "is_companion", "is_restricted_view")
    ordered = seats.order_by("row_rank", "row_name", "position")
    state = (seat_status_now(), "id", "held_until")
    rows = list(ordered.values_list("block_id", *columns, *special, *state))
    # Read after the seats, so that the block of each exists.
    own = {"organization_id": session.organization_id, "session_id": session.id}
    names = dict(Block.objects.filter(**own).order_by("rank", "id").values_list("id", "name"))
    in_block: dict[UUID, list[PlacedSeat]] = {block_id: [] for block_id in names}
    for block_id, *values in rows:
        in_block[block_id].append(PlacedSeat(names[block_id], *values))
    return [seat for placed in in_block.values() for seat in placed]


def _name(seat: PlacedSeat) -> str:
    marks = ", ".join((seat.status, *seat.marks))
    return f"{seat.block}, row {seat.row}, seat {seat.number}: {marks}"


def _markup(drawing: Drawing, names: list[str] | None) -> str:
    """Built without a template, because there may be very many."""
    parts = []
    for index, (seat, (x, y)) in enumerate(zip(drawing.seats, drawing.points, strict=True)):
        shapes = [seat.status, *(mark.replace(" ", "-") for mark in seat.marks)]
        uses = "".join(f'<use href="#hall-{shape}" x="{x:.5g}" y="{y:.5g}"/>' for shape in shapes)
        named = f"<g><title>{escape(names[index])}</title>{uses}</g>" if names else uses
        parts.append(named)
    return "".join(parts)
