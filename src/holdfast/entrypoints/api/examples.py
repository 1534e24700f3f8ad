"""What the document shows: one small sale, told by real values, so that it cannot be wrong."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from holdfast.domain.catalogue import (
    Event,
    PoolState,
    Session,
    SessionAvailability,
    TicketType,
    TicketTypeAvailability,
)
from holdfast.domain.hold import Hold, HoldStatus, Line
from holdfast.domain.ids import (
    EventId,
    HoldId,
    OrganizationId,
    PoolId,
    SessionId,
    TicketTypeId,
)
from holdfast.domain.policy import PolicyOverride
from holdfast.domain.values import EmailAddress, Holder, Money
from holdfast.entrypoints.api import answers, structs

REQUEST_ID = "0198f1c2-9a40-7d11-8c6e-52b1f0e7a3c4"

_NOW = datetime(2026, 1, 15, 10, 20, tzinfo=UTC)
_ORGANIZATION = OrganizationId(UUID("0198f1c0-0a10-7a00-8b00-5d2c1e9f0001"))
_EVENT = EventId(UUID("0198f1c0-3c55-7f02-9e31-aa10c4d20002"))
_SESSION = SessionId(UUID("0198f1c0-6d1f-7b0a-8f4e-1b7d92e50003"))
_TYPE = TicketTypeId(UUID("0198f1c0-9b83-7c44-a2d6-77f03b180004"))
_POOL = PoolId(UUID("0198f1c0-9b84-7e19-b5c0-0d4e6fa90005"))
_HOLD = HoldId(UUID("0198f1c2-7b1e-7c3a-9d52-3f8a6f0c0006"))
_NEXT = "AAZJ7h6aAAABmPHCex58Op1SP4pvDAAG"
_NO_POLICY = PolicyOverride()

_event = answers.event_answer(
    Event(_EVENT, "Winter Gala", "EUR", PolicyOverride(quantity_max=8), _NOW, _NOW)
)
_session = answers.session_answer(
    Session(_SESSION, _EVENT, "Friday night", _NOW + timedelta(days=30), _NOW, _NOW)
)
_pool = answers.pool_answer(PoolState(_POOL, _SESSION, "Floor", 500, 2, 0))
_ticket_type = answers.ticket_type_answer(
    TicketType(_TYPE, _SESSION, "Floor", Money(4500, "EUR"), (_POOL,), _NO_POLICY, _NOW, _NOW)
)
_availability = answers.availability_answer(
    SessionAvailability(
        _SESSION,
        _EVENT,
        _NOW,
        (TicketTypeAvailability(_TYPE, "Floor", Money(4500, "EUR"), 500, 2, 0, 498),),
    )
)
_hold = answers.hold_answer(
    Hold(
        organization_id=_ORGANIZATION,
        id=_HOLD,
        session_id=_SESSION,
        reference="K7M2QX",
        holder=Holder(EmailAddress("user@example.com")),
        lines=(Line(_TYPE, 2, 4500, (_POOL,)),),
        currency="EUR",
        status=HoldStatus.ACTIVE,
        version=1,
        created_at=_NOW,
        updated_at=_NOW,
        held_at=_NOW,
        expires_at=_NOW + timedelta(minutes=10),
    ),
    _NOW,
)

ANSWERS: Mapping[type[msgspec.Struct], msgspec.Struct] = {
    answers.HoldAnswer: _hold,
    answers.HoldPage: answers.HoldPage([_hold], True, _NEXT),
    answers.EventAnswer: _event,
    answers.EventPage: answers.EventPage([_event], False, None),
    answers.SessionAnswer: _session,
    answers.SessionPage: answers.SessionPage([_session], False, None),
    answers.PoolAnswer: _pool,
    answers.PoolPage: answers.PoolPage([_pool], False, None),
    answers.TicketTypeAnswer: _ticket_type,
    answers.TicketTypePage: answers.TicketTypePage([_ticket_type], False, None),
    answers.AvailabilityAnswer: _availability,
}

REQUESTS: Mapping[type[msgspec.Struct], Mapping[str, msgspec.Struct]] = {
    structs.PlaceHoldRequest: {
        "one ticket type": structs.PlaceHoldRequest(
            session_id=_SESSION,
            ticket_type_id=_TYPE,
            quantity=2,
            customer_email="user@example.com",
        ),
        "several lines": structs.PlaceHoldRequest(
            session_id=_SESSION,
            lines=[structs.AskedLine(_TYPE, 2), structs.AskedLine(_TYPE, 1, unit_price=2500)],
            user_id="user-4711",
        ),
    },
    structs.CreateEventRequest: {
        "event": structs.CreateEventRequest(
            "Winter Gala", "EUR", structs.PolicyRequest(quantity_max=8)
        )
    },
    structs.ChangeEventRequest: {
        "shorter holds": structs.ChangeEventRequest(
            hold_policy=structs.PolicyChangeRequest(ttl_seconds=300)
        )
    },
    structs.CreateSessionRequest: {
        "session": structs.CreateSessionRequest(_EVENT, "Friday night", _NOW + timedelta(days=30))
    },
    structs.ChangeSessionRequest: {
        "later": structs.ChangeSessionRequest(starts_at=_NOW + timedelta(days=31))
    },
    structs.CreatePoolRequest: {"pool": structs.CreatePoolRequest(_SESSION, "Floor", 500)},
    structs.ChangePoolRequest: {"larger": structs.ChangePoolRequest(total=600)},
    structs.CreateTicketTypeRequest: {
        "with its own pool": structs.CreateTicketTypeRequest(_SESSION, "Floor", 4500, capacity=500),
        "from a shared pool": structs.CreateTicketTypeRequest(
            _SESSION, "Student", 2500, pool_ids=[_POOL]
        ),
    },
    structs.ChangeTicketTypeRequest: {"cheaper": structs.ChangeTicketTypeRequest(price=3900)},
}
