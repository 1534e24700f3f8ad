"""The shapes of answers about facts, and positions as clients see them: opaque text."""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast.entrypoints.api.answers import AnswerShape
from holdfast.entrypoints.api.structs import Moment
from holdfast.ports.facts.log import FactPage, Position, StoredFact
from holdfast.services.facts.envelope import envelope_of

# Both numbers of a position. 16 bytes are 22 letters, and two of padding that are left out.
_LAYOUT = struct.Struct(">qq")
_PADDING = "=="


class FactAnswer(AnswerShape, frozen=True):
    """A fact in the very envelope that it is published in; `hold.expired` has no
    `idempotency_key`."""

    event_id: UUID
    event_type: str
    occurred_at: Moment
    aggregate_id: UUID
    payload: dict[str, Any]
    position: Annotated[str, Meta(description="Send it as `after` to go on behind this fact.")]
    idempotency_key: UUID | UnsetType = UNSET


class FactPageAnswer(AnswerShape, frozen=True):
    """In the order in which they happened to each hold, none left out."""

    data: list[FactAnswer]
    has_more: bool
    next: Annotated[
        str, Meta(description="Send it as `after`: now where `has_more`, otherwise a little later.")
    ]


def fact_page_answer(page: FactPage) -> FactPageAnswer:
    return FactPageAnswer(
        [fact_answer(fact) for fact in page.items], page.has_more, position_text(page.next)
    )


def fact_answer(fact: StoredFact) -> FactAnswer:
    told = {**envelope_of(fact), "position": position_text(fact.position)}
    return msgspec.convert(told, FactAnswer)


def position_text(position: Position) -> str:
    return urlsafe_b64encode(_LAYOUT.pack(*position)).decode("ascii").removesuffix(_PADDING)


def position_of(text: str) -> Position | None:
    """None when it is none of ours."""
    try:
        position = Position(*_LAYOUT.unpack(urlsafe_b64decode(text + _PADDING)))
    except (ValueError, struct.error):
        return None
    # Decoding is lenient about letters outside of the alphabet; comparing is not.
    is_ours = min(position) >= 0 and position_text(position) == text
    return position if is_ours else None
