"""Answers about seats. They never name the holder."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.domain.ids import EventId, SeatId, SessionId
from holdfast.domain.seats.seat import SeatStatus
from holdfast.domain.slices import giving_way
from holdfast.domain.values import Holder
from holdfast.entrypoints.api.catalog.hall_answers import BlockCapacity
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape, or_unset, utc, utc_or_unset
from holdfast.ports.seats import MapRow, SeatChanges, SeenSeat, SessionMap

SECONDS_PER_MINUTE = 60
ROWS_PER_SLICE = 4

Indexes = Annotated[list[int], Meta(description="Indexes of these seats in the row, from 0.")]
Coordinates = Annotated[
    list[float] | float, Meta(description="A single number if all seats of the row have the same.")
]


class Reserved(AnswerShape, frozen=True):
    hold_id: UUID
    seat_id: UUID
    event_id: UUID
    block_name: str
    row: str
    seat_number: str
    status: SeatStatus
    held_until: Annotated[Moment, Meta(description="When the reservation expires.")]
    held_until_unix: int
    expires_in_seconds: int
    message: Annotated[str, Meta(description="Confirmation for people.")]


class ReservedAnswer(AnswerShape, frozen=True):
    data: Annotated[Reserved, Meta(description="The reservation.")]


class SeatAnswer(AnswerShape, frozen=True, kw_only=True):
    """The current state of a seat. `hold_id` is only for the holder named in the query.
    `held_until` and the fields that go with it are only for held seats."""

    seat_id: UUID
    event_id: UUID
    session_id: UUID
    block_id: UUID
    block_name: str
    row: str
    seat_number: str
    status: SeatStatus
    held_until: Moment | UnsetType = UNSET
    held_until_unix: int | UnsetType = UNSET
    expires_in_seconds: int | UnsetType = UNSET
    locked_at: Annotated[Moment, Meta(description="When it was held or sold.")] | UnsetType = UNSET
    version: int
    accessible: bool
    companion: bool
    restricted_view: bool
    x: float
    y: float
    blocked_reason: (
        Annotated[str, Meta(description="Why an operator took it off sale.")] | UnsetType
    ) = UNSET
    hold_id: Annotated[UUID, Meta(description="Its hold; only for the holder.")] | UnsetType = UNSET


class SeatsBlockedAnswer(AnswerShape, frozen=True):
    """The newly blocked seats, those blocked before, and the holds that ended."""

    session_id: UUID
    blocked_seat_ids: Annotated[list[UUID], Meta(description="Newly blocked seats.")]
    unchanged_seat_ids: Annotated[list[UUID], Meta(description="Seats that were already blocked.")]
    ended_hold_ids: Annotated[
        list[UUID], Meta(description="Holds that ended because they had one of the seats.")
    ]


class SeatsUnblockedAnswer(AnswerShape, frozen=True):
    """The unblocked seats, and those that were not blocked."""

    session_id: UUID
    unblocked_seat_ids: Annotated[
        list[UUID], Meta(description="Unblocked seats; a sold seat is sold again.")
    ]
    unchanged_seat_ids: Annotated[list[UUID], Meta(description="Seats that were not blocked.")]


class MapRowAnswer(AnswerShape, frozen=True):
    """A row from left to right. A seat's id is `seat_id_prefix` plus its entry in
    `seat_id_suffixes`."""

    row: str
    seat_id_prefix: Annotated[str, Meta(description="Common prefix of the seat ids in the row.")]
    seat_id_suffixes: Annotated[list[str], Meta(description="Rest of each seat id.")]
    seat_numbers: Annotated[list[str], Meta(description="Number of each seat.")]
    x: Coordinates
    y: Coordinates
    status: Annotated[
        str,
        Meta(
            description="One letter per seat: `a` available, `h` held, `s` sold, `b` blocked.",
            pattern="^[ahsb]*$",
        ),
    ]
    held_until_unix: Annotated[
        dict[str, int],
        Meta(
            description="Expiry of held seats as Unix time, by index in the row. After it "
            "the seat is available, without a new version."
        ),
    ]
    accessible: Indexes
    companion: Indexes
    restricted_view: Indexes


class MapBlockAnswer(AnswerShape, frozen=True, kw_only=True):
    block_id: UUID
    name: str
    capacity: BlockCapacity = UNSET
    rows: Annotated[list[MapRowAnswer], Meta(description="The rows.")]


class ChangedSeatAnswer(AnswerShape, frozen=True, kw_only=True):
    seat_id: UUID
    status: SeatStatus
    held_until_unix: int | UnsetType = UNSET
    version: int


class SeatMapAnswer(AnswerShape, frozen=True):
    """The whole map in `blocks`, or with `since` the seats changed since that version in `seats`. A
    known change may be repeated; none is missed. After more than 2,000 changes, `since` returns the
    whole map too: replace yours."""

    session_id: UUID
    version: Annotated[int, Meta(description="Send it as `since` to get later changes.")]
    complete: Annotated[
        bool, Meta(description="True with `blocks`, the whole map; false with `seats`, changes.")
    ]
    blocks: (
        Annotated[list[MapBlockAnswer], Meta(description="The whole map, block by block.")]
        | UnsetType
    ) = UNSET
    seats: (
        Annotated[list[ChangedSeatAnswer], Meta(description="The changed seats.")] | UnsetType
    ) = UNSET


def reserved_answer(event_id: EventId, seat_id: SeatId, outcome: object) -> ReservedAnswer:
    """If the hold has several seats, the requested one."""
    assert isinstance(outcome, Placed)
    hold = outcome.hold
    seat = next(each for each in hold.seats if each.id == seat_id)
    return ReservedAnswer(
        Reserved(
            hold_id=hold.id,
            seat_id=seat.id,
            event_id=event_id,
            block_name=seat.block_name,
            row=seat.row,
            seat_number=seat.number,
            status=SeatStatus.HELD,
            held_until=utc(hold.expires_at),
            held_until_unix=int(hold.expires_at.timestamp()),
            expires_in_seconds=hold.remaining_seconds(outcome.at),
            message=f"Seat reserved for {_duration(outcome)}. Proceed to checkout.",
        )
    )


def _duration(placed: Placed) -> str:
    """How long a new hold lasts by its policy (its expiry is rounded up to a second), or the time
    left of an existing one."""
    hold = placed.hold
    if placed.is_repeat:
        seconds = hold.remaining_seconds(placed.at)
        is_in_minutes = seconds >= 2 * SECONDS_PER_MINUTE
    else:
        assert hold.held_at is not None, "a request for named seats never waits"
        seconds = int((hold.expires_at - hold.held_at).total_seconds())
        is_in_minutes = seconds % SECONDS_PER_MINUTE == 0
    unit = "minute" if is_in_minutes else "second"
    count = seconds // SECONDS_PER_MINUTE if is_in_minutes else seconds
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def seat_answer(
    seen: SeenSeat, asking: Holder | None, *, is_for_holder: bool = False
) -> SeatAnswer:
    """`is_for_holder`: leave out what operators write for each other."""
    seat, place = seen.seat, seen.seat.place
    is_lapsed = seat.is_lapsed(seen.at)
    held_until = None if is_lapsed else seat.held_until
    is_own = asking is not None and asking.key == seat.holder_key and not is_lapsed
    return SeatAnswer(
        seat_id=seat.id,
        event_id=seen.event_id,
        session_id=seat.session_id,
        block_id=place.block_id,
        block_name=seen.block_name,
        row=place.row,
        seat_number=place.number,
        status=seat.status_at(seen.at),
        held_until=utc_or_unset(held_until),
        held_until_unix=_unix(held_until),
        expires_in_seconds=UNSET if held_until is None else seat.remaining_seconds(seen.at),
        locked_at=UNSET if is_lapsed else utc_or_unset(seat.locked_at),
        version=seat.version,
        accessible=place.is_accessible,
        companion=place.is_companion,
        restricted_view=place.is_restricted_view,
        x=_shortest(place.x),
        y=_shortest(place.y),
        blocked_reason=UNSET if is_for_holder else or_unset(seat.blocked_reason),
        hold_id=or_unset(seat.hold_id) if is_own else UNSET,
    )


def blocked_answer(session_id: SessionId, outcome: object) -> SeatsBlockedAnswer:
    assert isinstance(outcome, SeatsBlocked)
    changed: list[UUID] = [seat.id for seat in outcome.changed]
    return SeatsBlockedAnswer(session_id, changed, list(outcome.unchanged), list(outcome.ended))


def unblocked_answer(session_id: SessionId, outcome: object) -> SeatsUnblockedAnswer:
    assert isinstance(outcome, SeatsBlocked)
    changed: list[UUID] = [seat.id for seat in outcome.changed]
    return SeatsUnblockedAnswer(session_id, changed, list(outcome.unchanged))


def map_answer(seats: SessionMap) -> SeatMapAnswer:
    rows = giving_way((row for block in seats.blocks for row in block.rows), ROWS_PER_SLICE)
    blocks = [
        MapBlockAnswer(
            block_id=block.id,
            name=block.name,
            capacity=or_unset(block.capacity),
            rows=[_map_row(row) for row in islice(rows, len(block.rows))],
        )
        for block in seats.blocks
    ]
    return SeatMapAnswer(seats.session_id, seats.version, complete=True, blocks=blocks)


def changes_answer(changes: SeatChanges) -> SeatMapAnswer:
    seats = [
        ChangedSeatAnswer(
            seat_id=seat.id,
            status=seat.status,
            held_until_unix=_unix(seat.held_until),
            version=seat.version,
        )
        for seat in changes.seats
    ]
    return SeatMapAnswer(changes.session_id, changes.version, complete=False, seats=seats)


def _map_row(row: MapRow) -> MapRowAnswer:
    # Ids created together share a prefix; leaving it out halves the map of a large hall.
    prefix = _common_prefix(row.seat_ids)
    return MapRowAnswer(
        row=row.name,
        seat_id_prefix=prefix,
        seat_id_suffixes=[seat_id[len(prefix) :] for seat_id in row.seat_ids],
        seat_numbers=list(row.numbers),
        x=_coordinates(row.x),
        y=_coordinates(row.y),
        status=row.statuses,
        held_until_unix=dict(row.held_until),
        accessible=list(row.accessible),
        companion=list(row.companion),
        restricted_view=list(row.restricted_view),
    )


def _common_prefix(texts: Sequence[str]) -> str:
    """The common prefix of the smallest and the largest text is common to all."""
    first, last = min(texts), max(texts)
    pairs = zip(first, last, strict=False)
    return first[: next((i for i, (one, other) in enumerate(pairs) if one != other), len(first))]


def _coordinates(values: Sequence[float]) -> list[float] | float:
    shortest = list(map(_shortest, values))
    return shortest[0] if len(set(shortest)) == 1 else shortest


def _shortest(value: float) -> float:
    """Write a whole number without a fraction, which is shorter."""
    return int(value) if value.is_integer() else value


def _unix(moment: datetime | None) -> int | UnsetType:
    return UNSET if moment is None else int(moment.timestamp())
