"""Examples of seats and holds for the OpenAPI document."""

from dataclasses import replace
from datetime import timedelta

from holdfast.domain.catalog.model import PoolState
from holdfast.domain.group.outcomes import Placed, SeatsBlocked
from holdfast.domain.holds.hold import NO_REMARKS, Line, LineSeat, Source
from holdfast.domain.seats.seat import Seat, SeatPlace
from holdfast.entrypoints.api.holds.statistics_answers import stats_answer
from holdfast.entrypoints.api.holds.structs import AskedLine, PlaceHoldRequest
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.entrypoints.api.orders.examples import HELD
from holdfast.entrypoints.api.seats import answers, structs
from holdfast.entrypoints.api.seats.occupancy_answers import occupancy_answer
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
from holdfast.ports.statistics import HoldStatistics, SaleStatistics
from holdfast.services.holds.statistics import Statistics

_UNTIL = sale.NOW + timedelta(minutes=5)
_PLACE = SeatPlace(sale.SEATS[0], sale.BLOCK, "10", 9, "42", 7, x=42.0, y=10.0)
_FREE_SEAT = Seat(sale.ORGANIZATION, sale.SESSION, _PLACE)
_HELD_SEAT = _FREE_SEAT.held(sale.HOLD, HELD.holder.key, _UNTIL, sale.NOW)
_LINE = Line(
    sale.SEATED_TYPE, 1, 4500, (), LineSeat(sale.SEATS[0], sale.BLOCK, "Section A", "10", "42", 7)
)
_RESERVATION = replace(HELD, lines=(_LINE,), expires_at=_UNTIL, remarks=NO_REMARKS)
_ROW = MapRow(
    name="10",
    seat_ids=[str(seat_id) for seat_id in sale.SEATS],
    numbers=["42", "43", "44"],
    x=[42.0, 43.0, 44.5],
    y=[10.0, 10.0, 10.0],
    statuses="has",
    held_until={"0": int(_UNTIL.timestamp())},
    accessible=[2],
    companion=[],
    restricted_view=[],
)
_BLOCKED = SeatsBlocked(
    (_FREE_SEAT.blocked("Camera position"),), sale.SEATS[1:], (sale.HOLD,), sale.NOW
)
_OCCUPANCY = EventOccupancy(
    sale.EVENT,
    sale.NOW,
    (
        SessionOccupancy(
            sale.SESSION,
            "Friday night",
            (BlockOccupancy(sale.BLOCK, "Section A", 120, SeatCounts(60, 40, 40, 10)),),
            (PoolState(sale.POOL, sale.SESSION, "Floor", 500, 2, 0),),
        ),
    ),
)

_SALE = SaleStatistics(
    since=sale.NOW - timedelta(hours=24),
    at=sale.NOW,
    first_at=sale.NOW - timedelta(hours=6),
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

SEAT_ANSWERS: sale.Answers = (
    answers.reserved_answer(sale.EVENT, sale.SEATS[0], Placed(_RESERVATION, sale.NOW)),
    answers.seat_answer(SeenSeat(_HELD_SEAT, sale.EVENT, "Section A", sale.NOW), HELD.holder),
    answers.map_answer(
        SessionMap(sale.SESSION, 90211, (MapBlock(sale.BLOCK, "Section A", 120, (_ROW,)),))
    ),
    answers.blocked_answer(sale.SESSION, _BLOCKED),
    answers.unblocked_answer(sale.SESSION, SeatsBlocked((_FREE_SEAT,), (), (), sale.NOW)),
    stats_answer(Statistics(HoldStatistics(5, 2, 12, 9, 1, 3, 0, sale.NOW), _SALE)),
    occupancy_answer(_OCCUPANCY),
)

SEAT_REQUESTS: sale.Requests = (
    (
        "one ticket type",
        PlaceHoldRequest(
            session_id=sale.SESSION,
            ticket_type_id=sale.TYPE,
            quantity=2,
            customer_email=sale.EMAIL,
            metadata={"campaign": "spring"},
        ),
    ),
    (
        "several lines",
        PlaceHoldRequest(
            session_id=sale.SESSION,
            lines=[AskedLine(sale.TYPE, 2), AskedLine(sale.TYPE, 1, unit_price=2500)],
            user_id="user-4711",
        ),
    ),
    (
        "specific seats",
        PlaceHoldRequest(
            session_id=sale.SESSION,
            seat_ids=list(sale.SEATS[:2]),
            customer_email=sale.EMAIL,
            offer_alternative=True,
        ),
    ),
    (
        "the best seats available",
        PlaceHoldRequest(
            session_id=sale.SESSION,
            ticket_type_id=sale.SEATED_TYPE,
            quantity=3,
            block_id=sale.BLOCK,
            accessible=1,
            customer_email=sale.EMAIL,
        ),
    ),
    (
        "from the web",
        structs.ReserveRequest(customer_email=sale.EMAIL, source=Source.WEB, cart_token=sale.CART),
    ),
    ("two seats", structs.BlockSeatsRequest(list(sale.SEATS[:2]), "Camera position")),
)
