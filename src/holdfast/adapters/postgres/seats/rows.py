"""Seats: the columns that are read and written, and the values in them."""

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from holdfast.adapters.postgres.engine.rows import ColumnList
from holdfast.domain.seats.seat import Seat, SeatPlace, SeatStatus

# In the order of the fields of SeatPlace.
SEAT_PLACE = ColumnList(
    "id uuid, block_id uuid, row_name text, row_rank integer, number text, position integer,"
    " x real, y real, is_accessible boolean, is_companion boolean, is_restricted_view boolean"
)
# dataclasses.astuple copies every value, a second for a large hall.
seat_place_row = attrgetter(*(field.name for field in fields(SeatPlace)))

# In the order of the fields of Seat, apart from its place.
_STATE = ("hold_id", "holder_key", "held_until", "locked_at", "blocked_reason", "version")
SEAT_COLUMNS = f"""
s.organization_id, s.session_id, s.status, {", ".join(f"s.{name}" for name in _STATE)},
{SEAT_PLACE.of("s")}
"""


def seat_from_row(row: Iterable[Any]) -> Seat:
    """Of SEAT_COLUMNS."""
    organization_id, session_id, status, *more = row
    state, place = more[: len(_STATE)], more[len(_STATE) :]
    return Seat(organization_id, session_id, SeatPlace(*place), SeatStatus(status), *state)


CHANGED_SEAT = ColumnList(
    "organization_id uuid, id uuid, status text, hold_id uuid, holder_key uuid,"
    " held_until timestamptz, locked_at timestamptz, blocked_reason text, version integer"
)
changed_seat_row = attrgetter(*CHANGED_SEAT)
