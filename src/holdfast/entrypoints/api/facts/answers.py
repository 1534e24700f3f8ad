"""Answers about facts."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.http.cursors import fact_cursor_text
from holdfast.entrypoints.api.http.fields import Moment
from holdfast.entrypoints.api.http.shapes import AnswerShape
from holdfast.ports.facts.log import FactPage, StoredFact
from holdfast.services.facts.envelope import envelope_of


class FactAnswer(AnswerShape, frozen=True):
    """A fact in its published envelope; `hold.expired` has no `idempotency_key`."""

    event_id: Annotated[UUID, Meta(description="Id of the fact, the same for every delivery.")]
    event_type: Annotated[str, Meta(description="Type of the fact, such as `hold.created`.")]
    occurred_at: Annotated[Moment, Meta(description="When it happened.")]
    aggregate_id: Annotated[
        UUID, Meta(description="Id of the hold, seat, order or part of the catalog it is about.")
    ]
    payload: Annotated[dict[str, Any], Meta(description="Fields of this type of fact.")]
    cursor: Annotated[str, Meta(description="Send it as `cursor` to continue after this fact.")]
    idempotency_key: (
        Annotated[UUID, Meta(description="The same for every delivery.")] | UnsetType
    ) = UNSET


class FactPageAnswer(AnswerShape, frozen=True):
    """Facts without gaps, in order for each hold."""

    data: list[FactAnswer]
    has_more: bool
    next_cursor: Annotated[
        str, Meta(description="Send it as `cursor`: at once if `has_more`, otherwise later.")
    ]


def fact_page_answer(page: FactPage) -> FactPageAnswer:
    return FactPageAnswer(
        [fact_answer(fact) for fact in page.items], page.has_more, fact_cursor_text(page.next)
    )


def fact_answer(fact: StoredFact) -> FactAnswer:
    fields = {**envelope_of(fact), "cursor": fact_cursor_text(fact.position)}
    return msgspec.convert(fields, FactAnswer)
