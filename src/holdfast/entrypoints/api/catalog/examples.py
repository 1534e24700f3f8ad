"""Examples of the catalog for the OpenAPI document."""

from datetime import timedelta

from holdfast.domain.catalog import model
from holdfast.domain.catalog.layout import Numbering
from holdfast.domain.catalog.seat_import import ImportedBlock, ImportedSeats
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.values import Money
from holdfast.entrypoints.api.catalog import answers, hall_answers, policy
from holdfast.entrypoints.api.catalog import structs as asked
from holdfast.entrypoints.api.openapi import example_values as sale

_STARTS_AT = sale.NOW + timedelta(days=30)
_PRICE = Money(4500, "EUR")
_OFFER = model.TicketTypeAvailability(sale.TYPE, "Floor", _PRICE, 500, 2, 0, 498)

_event = answers.event_answer(
    model.Event(
        sale.EVENT, "Winter Gala", "EUR", PolicyOverride(quantity_max=8), sale.NOW, sale.NOW
    )
)
_session = answers.session_answer(
    model.Session(sale.SESSION, sale.EVENT, "Friday night", _STARTS_AT, sale.NOW, sale.NOW)
)
_pool = answers.pool_answer(model.PoolState(sale.POOL, sale.SESSION, "Floor", 500, 2, 0))
_ticket_type = answers.ticket_type_answer(
    model.TicketType(
        sale.TYPE, sale.SESSION, "Floor", _PRICE, (sale.POOL,), PolicyOverride(), sale.NOW, sale.NOW
    )
)
_block = hall_answers.block_answer(
    model.Block(
        sale.BLOCK,
        sale.SESSION,
        "Stalls",
        0,
        250,
        258,
        (model.BlockPrice(sale.TYPE, 4500),),
        sale.NOW,
        sale.NOW,
    )
)

CATALOG_ANSWERS: sale.Answers = (
    _event,
    answers.EventPage([_event], False),
    _session,
    answers.SessionPage([_session], False),
    _pool,
    answers.PoolPage([_pool], False),
    _ticket_type,
    answers.TicketTypePage([_ticket_type], False),
    answers.availability_answer(
        model.SessionAvailability(sale.SESSION, sale.EVENT, sale.NOW, (_OFFER,))
    ),
    _block,
    hall_answers.BlockPage([_block], False),
    hall_answers.import_answer(
        ImportedSeats(sale.SESSION, (ImportedBlock(sale.BLOCK, "Stalls", 258),))
    ),
)

_sold_here = [asked.SoldHereRequest(sale.TYPE, 4500)]
_stalls = asked.BlockLayoutRequest(
    "Stalls",
    rows=asked.RowRangeRequest("A", "M"),
    seats_per_row=20,
    aisles_after=[5, 15],
    gaps=["A1", "A20"],
    accessible=["M1"],
    companion=["M2"],
    ticket_types=_sold_here,
)
_balcony = asked.BlockLayoutRequest(
    "Balcony",
    rows=["AA", "BB"],
    seats_per_row=16,
    numbering=Numbering.ODD_EVEN,
    restricted_view=["AA15", "AA16"],
    origin=asked.PointRequest(2, 16),
    spacing=asked.PointRequest(1, 1.2),
)

CATALOG_REQUESTS: sale.Requests = (
    ("event", asked.CreateEventRequest("Winter Gala", "EUR", policy.PolicyRequest(quantity_max=8))),
    (
        "shorter holds",
        asked.ChangeEventRequest(hold_policy=policy.PolicyChangeRequest(ttl_seconds=300)),
    ),
    ("cancelled", asked.ChangeEventRequest(status=model.EventStatus.CANCELLED)),
    ("session", asked.CreateSessionRequest(sale.EVENT, "Friday night", _STARTS_AT)),
    ("later", asked.ChangeSessionRequest(starts_at=_STARTS_AT + timedelta(days=1))),
    ("pool", asked.CreatePoolRequest(sale.SESSION, "Floor", 500)),
    ("larger", asked.ChangePoolRequest(capacity=600)),
    ("with its own pool", asked.CreateTicketTypeRequest(sale.SESSION, "Floor", 4500, capacity=500)),
    (
        "from a shared pool",
        asked.CreateTicketTypeRequest(sale.SESSION, "Student", 2500, pool_ids=[sale.POOL]),
    ),
    ("seated", asked.CreateTicketTypeRequest(sale.SESSION, "Stalls", 4500, is_seated=True)),
    ("cheaper", asked.ChangeTicketTypeRequest(price=3900)),
    (
        "block",
        asked.CreateBlockRequest(sale.SESSION, "Stalls", capacity=250, ticket_types=_sold_here),
    ),
    ("fewer", asked.ChangeBlockRequest(capacity=200)),
    ("all of them", asked.ChangeBlockRequest(capacity=None)),
    ("a small hall", asked.ImportSeatsRequest([_stalls, _balcony])),
)

SEAT_LIST = """block,row,number,position,accessible
Stalls,A,1,1,
Stalls,A,2,2,
Stalls,A,3,4,yes
"""
