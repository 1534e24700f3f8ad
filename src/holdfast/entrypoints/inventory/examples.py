"""Examples of requests and answers for the OpenAPI document."""

from holdfast.domain.inventory.reservation import ReservationStatus
from holdfast.entrypoints.api.openapi.example_values import HOLD, SESSION, TYPE, Answers, Requests
from holdfast.entrypoints.inventory.answers import (
    ItemAnswer,
    ItemList,
    ReservationAnswer,
    ReservationPage,
    ReservedLineAnswer,
)
from holdfast.entrypoints.inventory.structs import (
    CommitRequest,
    HoldRequest,
    ReleaseRequest,
    ReservedLineRequest,
    StockRequest,
)

_line = ReservedLineRequest(ticket_type_id=TYPE, quantity=2)
_reservation = ReservationAnswer(
    HOLD, SESSION, ReservationStatus.HELD, [ReservedLineAnswer(TYPE, 2)]
)
_item = ItemAnswer(SESSION, TYPE, 500, 430, 20, 50)

INVENTORY_REQUESTS: Requests = (
    ("hold", HoldRequest(hold_id=HOLD, session_id=SESSION, lines=[_line])),
    ("release", ReleaseRequest(hold_id=HOLD, session_id=SESSION)),
    ("sale", CommitRequest(hold_id=HOLD, session_id=SESSION, lines=[_line])),
    ("all_cancelled", CommitRequest(hold_id=HOLD, session_id=SESSION, lines=[])),
    ("stock", StockRequest(total=500)),
)
INVENTORY_ANSWERS: Answers = (
    _reservation,
    ReservationPage([_reservation], True, "AAZJ7h6aAAABmPHCex58Op1SP4pvDAAG"),
    _item,
    ItemList([_item]),
)
