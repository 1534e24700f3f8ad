"""Examples of facts for the OpenAPI document."""

from uuid import UUID

from holdfast.domain.group.transitions import FactType
from holdfast.entrypoints.api.facts.answers import fact_page_answer
from holdfast.entrypoints.api.openapi import example_values as sale
from holdfast.ports.facts.log import FactPage, Position, StoredFact

_cancelled = StoredFact(
    organization_id=sale.ORGANIZATION,
    position=Position(84_201, 51_773),
    event_id=UUID("0198f1c4-6d1f-7b0a-8f4e-1b7d92e50009"),
    type=FactType.HOLD_CANCELLED,
    occurred_at=sale.NOW,
    hold_id=sale.HOLD,
    seat_id=None,
    version=2,
    payload={
        "hold_id": str(sale.HOLD),
        "session_id": str(sale.SESSION),
        "ticket_type_id": str(sale.TYPE),
        "quantity": 2,
    },
    holder_key=None,
)

FACT_ANSWERS: sale.Answers = (
    fact_page_answer(FactPage((_cancelled,), Position(84_230, 0), has_more=False)),
)
