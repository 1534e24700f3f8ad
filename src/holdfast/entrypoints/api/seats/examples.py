"""Examples of seats and holds for the OpenAPI document."""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from holdfast.domain.catalog.model import PoolState
from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.domain.holds.hold import Hold, HoldStatus, Line, LineSeat, Source
from holdfast.domain.seats.seat import Seat, SeatPlace
from holdfast.domain.values import EmailAddress, Holder
from holdfast.entrypoints.api.holds import structs
from holdfast.entrypoints.api.holds.statistics_answers import StatsAnswer, stats_answer
from holdfast.entrypoints.api.openapi.example_values import (
    BLOCK,
    EVENT,
    HOLD,
    NOW,
    ORGANIZATION,
    POOL,
    SEATED_TYPE,
    SEATS,
    SESSION,
    TYPE,
)
from holdfast.entrypoints.api.seats import answers
from holdfast.entrypoints.api.seats import structs as seat_structs
from holdfast.entrypoints.api.seats.occupancy_answers import OccupancyAnswer, occupancy_answer
from holdfast.ports.holds import HoldStatistics
from holdfast.ports.seats import (
    BlockOccupancy,
    EventOccupancy,
    MapBlock,
    MapRow,
    SeatCounts,
    SeenSeat,
    SessionMap,
    SessionOccupancy,
)
from holdfast.ports.statistics import SaleStatistics
from holdfast.services.holds.statistics import Statistics

_UNTIL = NOW + timedelta(minutes=5)
_HOLDER = Holder(EmailAddress("user@example.com"))
_PLACE = SeatPlace(SEATS[0], BLOCK, "10", 9, "42", 7, x=42.0, y=10.0)
_FREE = Seat(ORGANIZATION, SESSION, _PLACE)
_HELD = _FREE.held(HOLD, _HOLDER.key, _UNTIL, NOW)
_LINE = Line(SEATED_TYPE, 1, 4500, (), LineSeat(SEATS[0], BLOCK, "Section A", "10", "42", 7))
_RESERVATION = Hold(
    organization_id=ORGANIZATION,
    id=HOLD,
    session_id=SESSION,
    reference="K7M2QX",
    holder=_HOLDER,
    lines=(_LINE,),
    currency="EUR",
    status=HoldStatus.ACTIVE,
    version=1,
    created_at=NOW,
    updated_at=NOW,
    held_at=NOW,
    expires_at=_UNTIL,
)
_ROW = MapRow(
    name="10",
    seat_ids=[str(seat_id) for seat_id in SEATS],
    numbers=["42", "43", "44"],
    x=[42.0, 43.0, 44.5],
    y=[10.0, 10.0, 10.0],
    statuses="has",
    held_until={"0": int(_UNTIL.timestamp())},
    accessible=[2],
    companion=[],
    restricted_view=[],
)
_BLOCKED = SeatsBlocked((_FREE.blocked("Camera position"),), SEATS[1:], (HOLD,), NOW)
_OCCUPANCY = EventOccupancy(
    EVENT,
    NOW,
    (
        SessionOccupancy(
            SESSION,
            "Friday night",
            (BlockOccupancy(BLOCK, "Section A", 120, SeatCounts(60, 40, 40, 10)),),
            (PoolState(POOL, SESSION, "Floor", 500, 2, 0),),
        ),
    ),
)

_SALE = SaleStatistics(
    since=NOW - timedelta(hours=24),
    at=NOW,
    first_at=NOW - timedelta(hours=6),
    holds=288,
    holders=240,
    expired=60,
    converted=200,
    cancelled=20,
    renewed=12,
    changed=31,
    promoted=9,
    left_waitlist=4,
    waited_seconds=9 * 340.5,
    checkouts=230,
    abandoned=25,
)

SEAT_ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    answers.ReservedAnswer: answers.reserved_answer(EVENT, SEATS[0], Placed(_RESERVATION, NOW)),
    answers.SeatAnswer: answers.seat_answer(SeenSeat(_HELD, EVENT, "Section A", NOW), _HOLDER),
    answers.SeatMapAnswer: answers.map_answer(
        SessionMap(SESSION, 90211, (MapBlock(BLOCK, "Section A", 120, (_ROW,)),))
    ),
    answers.SeatsBlockedAnswer: answers.blocked_answer(SESSION, _BLOCKED),
    answers.SeatsUnblockedAnswer: answers.unblocked_answer(
        SESSION, SeatsBlocked((_FREE,), (), (), NOW)
    ),
    StatsAnswer: stats_answer(Statistics(HoldStatistics(5, 2, 12, 9, 1, 3, 0, NOW), _SALE)),
    OccupancyAnswer: occupancy_answer(_OCCUPANCY),
}

ASKING: Mapping[type[msgspec.Struct], Mapping[str, msgspec.Struct]] = {
    structs.PlaceHoldRequest: {
        "one ticket type": structs.PlaceHoldRequest(
            session_id=SESSION,
            ticket_type_id=TYPE,
            quantity=2,
            customer_email="user@example.com",
            metadata={"campaign": "spring"},
        ),
        "several lines": structs.PlaceHoldRequest(
            session_id=SESSION,
            lines=[
                structs.AskedLine(TYPE, 2),
                structs.AskedLine(TYPE, 1, unit_price=2500),
            ],
            user_id="user-4711",
        ),
        "specific seats": structs.PlaceHoldRequest(
            session_id=SESSION,
            seat_ids=list(SEATS[:2]),
            customer_email="user@example.com",
            offer_alternative=True,
        ),
        "the best seats available": structs.PlaceHoldRequest(
            session_id=SESSION,
            ticket_type_id=SEATED_TYPE,
            quantity=3,
            block_id=BLOCK,
            accessible=1,
            customer_email="user@example.com",
        ),
    },
    seat_structs.ReserveRequest: {
        "from the web": seat_structs.ReserveRequest(
            customer_email="user@example.com",
            source=Source.WEB,
            cart_token="cart-8842",  # noqa: S106
        )
    },
    seat_structs.BlockSeatsRequest: {
        "two seats": seat_structs.BlockSeatsRequest(list(SEATS[:2]), "Camera position")
    },
}
