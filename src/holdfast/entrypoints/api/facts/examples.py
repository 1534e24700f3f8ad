"""Examples of facts for the OpenAPI document."""

from uuid import UUID

from holdfast.domain.group.transitions import FactType
from holdfast.entrypoints.api.facts.answers import fact_page_answer
from holdfast.entrypoints.api.openapi.example_values import (
    HOLD,
    NOW,
    ORGANIZATION,
    SESSION,
    TYPE,
    Answers,
)
from holdfast.ports.facts.log import FactPage, Position, StoredFact

_cancelled = StoredFact(
    organization_id=ORGANIZATION,
    position=Position(84_201, 51_773),
    event_id=UUID("0198f1c4-6d1f-7b0a-8f4e-1b7d92e50009"),
    type=FactType.HOLD_CANCELLED,
    occurred_at=NOW,
    hold_id=HOLD,
    seat_id=None,
    version=2,
    payload={
        "hold_id": str(HOLD),
        "session_id": str(SESSION),
        "ticket_type_id": str(TYPE),
        "quantity": 2,
    },
    holder_key=None,
)

FACT_ANSWERS: Answers = (
    fact_page_answer(FactPage((_cancelled,), Position(84_230, 0), has_more=False)),
)
