"""Examples of seats and holds for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta

from holdfast.domain.catalog.model import PoolState
from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.domain.holds.hold import NO_REMARKS, Line, LineSeat, Source
from holdfast.domain.seats.seat import Seat, SeatPlace
from holdfast.entrypoints.api.holds.statistics_answers import stats_answer
from holdfast.entrypoints.api.holds.structs import AskedLine, PlaceHoldRequest
from holdfast.entrypoints.api.openapi.example_values import (
    BLOCK,
    CART,
    EMAIL,
    EVENT,
    HOLD,
    NOW,
    ORGANIZATION,
    POOL,
    SEATED_TYPE,
    SEATS,
    SESSION,
    TYPE,
    Answers,
    Requests,
)
from holdfast.entrypoints.api.orders.examples import HELD
from holdfast.entrypoints.api.seats import answers, structs
from holdfast.entrypoints.api.seats.occupancy_answers import occupancy_answer
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
_PLACE = SeatPlace(SEATS[0], BLOCK, "10", 9, "42", 7, x=42.0, y=10.0)
_FREE_SEAT = Seat(ORGANIZATION, SESSION, _PLACE)
_HELD_SEAT = _FREE_SEAT.held(HOLD, HELD.holder.key, _UNTIL, NOW)
_LINE = Line(SEATED_TYPE, 1, 4500, (), LineSeat(SEATS[0], BLOCK, "Section A", "10", "42", 7))
_RESERVATION = replace(HELD, lines=(_LINE,), expires_at=_UNTIL, remarks=NO_REMARKS)
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
_BLOCKED = SeatsBlocked((_FREE_SEAT.blocked("Camera position"),), SEATS[1:], (HOLD,), NOW)
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

SEAT_ANSWERS: Answers = (
    answers.reserved_answer(EVENT, SEATS[0], Placed(_RESERVATION, NOW)),
    answers.seat_answer(SeenSeat(_HELD_SEAT, EVENT, "Section A", NOW), HELD.holder),
    answers.map_answer(SessionMap(SESSION, 90211, (MapBlock(BLOCK, "Section A", 120, (_ROW,)),))),
    answers.blocked_answer(SESSION, _BLOCKED),
    answers.unblocked_answer(SESSION, SeatsBlocked((_FREE_SEAT,), (), (), NOW)),
    stats_answer(Statistics(HoldStatistics(5, 2, 12, 9, 1, 3, 0, NOW), _SALE)),
    occupancy_answer(_OCCUPANCY),
)

SEAT_REQUESTS: Requests = (
    (
        "one ticket type",
        PlaceHoldRequest(
            session_id=SESSION,
            ticket_type_id=TYPE,
            quantity=2,
            customer_email=EMAIL,
            metadata={"campaign": "spring"},
        ),
    ),
    (
        "several lines",
        PlaceHoldRequest(
            session_id=SESSION,
            lines=[AskedLine(TYPE, 2), AskedLine(TYPE, 1, unit_price=2500)],
            user_id="user-4711",
        ),
    ),
    (
        "specific seats",
        PlaceHoldRequest(
            session_id=SESSION,
            seat_ids=list(SEATS[:2]),
            customer_email=EMAIL,
            offer_alternative=True,
        ),
    ),
    (
        "the best seats available",
        PlaceHoldRequest(
            session_id=SESSION,
            ticket_type_id=SEATED_TYPE,
            quantity=3,
            block_id=BLOCK,
            accessible=1,
            customer_email=EMAIL,
        ),
    ),
    (
        "from the web",
        structs.ReserveRequest(customer_email=EMAIL, source=Source.WEB, cart_token=CART),
    ),
    ("two seats", structs.BlockSeatsRequest(list(SEATS[:2]), "Camera position")),
)
