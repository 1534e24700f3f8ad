"""Examples for the OpenAPI document, built from real values to stay correct."""

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from holdfast.domain.catalog.model import (
    Event,
    EventStatus,
    PoolState,
    Session,
    SessionAvailability,
    TicketType,
    TicketTypeAvailability,
)
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.values import Money
from holdfast.entrypoints.api.carts import answers as cart_answers
from holdfast.entrypoints.api.carts.examples import (
    CART_ANSWERS,
    CART_ON_WAITLIST,
    CART_REQUESTS,
)
from holdfast.entrypoints.api.catalog import answers, policy, structs
from holdfast.entrypoints.api.catalog.hall_examples import HALL_ANSWERS, HALL_REQUESTS
from holdfast.entrypoints.api.facts.examples import FACT_ANSWERS
from holdfast.entrypoints.api.holds import answers as hold_answers
from holdfast.entrypoints.api.openapi.example_values import (
    BLOCK,
    CHECKOUT,
    EVENT,
    HOLD,
    NOW,
    ORDER,
    POOL,
    SEATS,
    SESSION,
    TYPE,
)
from holdfast.entrypoints.api.orders.examples import HELD, ORDER_ANSWERS, ORDER_REQUESTS, WAITING
from holdfast.entrypoints.api.seats.examples import ASKING, SEAT_ANSWERS

REQUEST_ID = "0198f1c2-9a40-7d11-8c6e-52b1f0e7a3c4"

PATH_EXAMPLES: Mapping[str, object] = {
    "block_id": BLOCK,
    "cart_token": "cart-8842",
    "checkout_id": CHECKOUT,
    "event_id": EVENT,
    "hold_id": HOLD,
    "order_id": ORDER,
    "pool_id": POOL,
    "seat_id": SEATS[0],
    "session_id": SESSION,
    "ticket_type_id": TYPE,
}

_NEXT = "AAZJ7h6aAAABmPHCex58Op1SP4pvDAAG"
_NO_POLICY = PolicyOverride()

_event = answers.event_answer(
    Event(EVENT, "Winter Gala", "EUR", PolicyOverride(quantity_max=8), NOW, NOW)
)
_session = answers.session_answer(
    Session(SESSION, EVENT, "Friday night", NOW + timedelta(days=30), NOW, NOW)
)
_pool = answers.pool_answer(PoolState(POOL, SESSION, "Floor", 500, 2, 0))
_ticket_type = answers.ticket_type_answer(
    TicketType(TYPE, SESSION, "Floor", Money(4500, "EUR"), (POOL,), _NO_POLICY, NOW, NOW)
)
_availability = answers.availability_answer(
    SessionAvailability(
        SESSION,
        EVENT,
        NOW,
        (TicketTypeAvailability(TYPE, "Floor", Money(4500, "EUR"), 500, 2, 0, 498),),
    )
)
_hold = hold_answers.hold_answer(HELD, NOW)

ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    hold_answers.HoldAnswer: _hold,
    hold_answers.HoldPage: hold_answers.HoldPage([_hold], True, _NEXT),
    answers.EventAnswer: _event,
    answers.EventPage: answers.EventPage([_event], False),
    answers.SessionAnswer: _session,
    answers.SessionPage: answers.SessionPage([_session], False),
    answers.PoolAnswer: _pool,
    answers.PoolPage: answers.PoolPage([_pool], False),
    answers.TicketTypeAnswer: _ticket_type,
    answers.TicketTypePage: answers.TicketTypePage([_ticket_type], False),
    answers.AvailabilityAnswer: _availability,
    **HALL_ANSWERS,
    **SEAT_ANSWERS,
    **ORDER_ANSWERS,
    **FACT_ANSWERS,
    **CART_ANSWERS,
}

# The 202 answers of routes that can lead to the waitlist.
WAITLIST_ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    hold_answers.HoldAnswer: hold_answers.hold_answer(WAITING, NOW, position=3),
    cart_answers.CartHoldAnswer: CART_ON_WAITLIST,
}

REQUESTS: Mapping[type[msgspec.Struct], Mapping[str, msgspec.Struct]] = {
    **ASKING,
    **ORDER_REQUESTS,
    **CART_REQUESTS,
    structs.CreateEventRequest: {
        "event": structs.CreateEventRequest(
            "Winter Gala", "EUR", policy.PolicyRequest(quantity_max=8)
        )
    },
    structs.ChangeEventRequest: {
        "shorter holds": structs.ChangeEventRequest(
            hold_policy=policy.PolicyChangeRequest(ttl_seconds=300)
        ),
        "cancelled": structs.ChangeEventRequest(status=EventStatus.CANCELLED),
    },
    structs.CreateSessionRequest: {
        "session": structs.CreateSessionRequest(EVENT, "Friday night", NOW + timedelta(days=30))
    },
    structs.ChangeSessionRequest: {
        "later": structs.ChangeSessionRequest(starts_at=NOW + timedelta(days=31))
    },
    structs.CreatePoolRequest: {"pool": structs.CreatePoolRequest(SESSION, "Floor", 500)},
    structs.ChangePoolRequest: {"larger": structs.ChangePoolRequest(capacity=600)},
    structs.CreateTicketTypeRequest: {
        "with its own pool": structs.CreateTicketTypeRequest(SESSION, "Floor", 4500, capacity=500),
        "from a shared pool": structs.CreateTicketTypeRequest(
            SESSION, "Student", 2500, pool_ids=[POOL]
        ),
        "seated": structs.CreateTicketTypeRequest(SESSION, "Stalls", 4500, is_seated=True),
    },
    **HALL_REQUESTS,
    structs.ChangeTicketTypeRequest: {"cheaper": structs.ChangeTicketTypeRequest(price=3900)},
}
