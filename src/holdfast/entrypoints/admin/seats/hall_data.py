"""The seats of a hall as the script of its page gets them: compact, in the order of the drawing."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from os.path import commonprefix
from typing import Any
from uuid import UUID

from holdfast.adapters.postgres.models import Block, BlockPrice, Session, TicketType
from holdfast.domain.ids import OrganizationId, SessionId
from holdfast.domain.refusal_codes import Refusal
from holdfast.domain.seats.seat import SeatStatus
from holdfast.entrypoints.admin.apps import AdminConfig
from holdfast.entrypoints.admin.display import amount
from holdfast.entrypoints.admin.seats.drawing import Drawing, PlacedSeat
from holdfast.ports.seats import ChangedSeat
from holdfast.services import reads


def hall_data(drawing: Drawing, prices: Mapping[str, str], version: int) -> dict[str, Any]:
    """A seat's id is the prefix of its row plus its own ending: this halves the page of a large
    hall."""
    by_block = groupby(drawing.seats, key=lambda seat: seat.block)
    blocks = [
        {
            "name": name,
            "price": prices.get(name, ""),
            "rows": [
                _row(row, list(seats)) for row, seats in groupby(block, key=lambda seat: seat.row)
            ],
        }
        for name, block in by_block
    ]
    marks: dict[str, list[int]] = defaultdict(list)
    for index, seat in enumerate(drawing.seats):
        for mark in seat.marks:
            marks[mark].append(index)
    points = [round(coordinate, 2) for point in drawing.points for coordinate in point]
    states = seat_states(drawing.seats, version)
    return {"blocks": blocks, "marks": marks, "points": points, **states}


def _row(name: str, seats: Sequence[PlacedSeat]) -> dict[str, Any]:
    ids = [str(seat.id) for seat in seats]
    prefix = commonprefix(ids)  # noqa: RUF071  (character by character is what is wanted)
    endings = [id_[len(prefix) :] for id_ in ids]
    return {
        "name": name,
        "prefix": prefix,
        "ids": endings,
        "numbers": [seat.number for seat in seats],
    }


def seat_states(seats: Sequence[PlacedSeat], version: int) -> dict[str, Any]:
    """One letter per seat, and when held seats become available by themselves."""
    return {
        "version": version,
        "at": time.time(),
        "statuses": "".join(seat.status[0] for seat in seats),
        "until": {
            index: _unix(seat.held_until)
            for index, seat in enumerate(seats)
            if seat.status == SeatStatus.HELD
        },
    }


def seat_changes(seats: Sequence[ChangedSeat], version: int) -> dict[str, Any]:
    changes = [(str(seat.id), seat.status[0], _unix(seat.held_until)) for seat in seats]
    return {"version": version, "at": time.time(), "changes": changes}


def _unix(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def version_now(session: Session) -> int:
    """Changes since this version are complete if the seats are read afterwards. 0 if the version is
    not known, so that the first refresh reads all of them."""
    reader = AdminConfig.services.seats
    own = OrganizationId(session.organization_id), SessionId(session.id)
    state = reads.map_state(reader, *own)
    if isinstance(state, Refusal):
        return 0
    # The newest change may have overtaken one that is still being committed: this asks for both.
    changes = reads.seat_changes(reader, *own, state.version)
    return 0 if isinstance(changes, Refusal) else changes.version


def prices_of(session: Session) -> dict[str, str]:
    """What a seat costs in each block, such as `30.00 to 45.00 EUR`."""
    own = {"organization_id": session.organization_id, "session_id": session.id}
    names: dict[UUID, str] = dict(Block.objects.filter(**own).values_list("id", "name"))
    priced = BlockPrice.objects.filter(
        organization_id=session.organization_id, block_id__in=list(names)
    )
    in_block: dict[UUID, list[int]] = defaultdict(list)
    for block_id, price in priced.values_list("block_id", "price_minor"):
        in_block[block_id].append(price)
    seated = TicketType.objects.filter(**own, is_seated=True)
    everywhere = list(seated.values_list("price_minor", flat=True))
    currency = session.event.currency
    return {
        name: price_range(in_block[block_id] or everywhere, currency)
        for block_id, name in names.items()
    }


def price_range(prices: Sequence[int], currency: str) -> str:
    if not prices:
        return ""
    highest = amount(max(prices), currency)
    lowest = amount(min(prices), currency)
    return highest if lowest == highest else f"{lowest} to {highest}"
