"""Answers about carts."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType, structs

from holdfast.domain.group.outcomes import CartChanged, CartEmptied, Placed, Waiting
from holdfast.domain.holds.hold import Hold
from holdfast.entrypoints.api.holds.answers import HoldAnswer, hold_answer, placed_hold_answer
from holdfast.entrypoints.api.http.shapes import AnswerShape
from holdfast.services.reads import HoldWithPosition


class CartStatus(StrEnum):
    EMPTY = "empty"


class CartHoldAnswer(HoldAnswer, frozen=True, kw_only=True):
    """The cart's current hold, or its last one."""

    can_renew: Annotated[bool, Meta(description="Whether the hold has expired and can be renewed.")]


class EmptyCartAnswer(AnswerShape, frozen=True):
    """An empty cart."""

    cart_token: str
    status: CartStatus
    released_hold_id: (
        Annotated[UUID, Meta(description="The hold that was released, if there was one.")]
        | UnsetType
    ) = UNSET


def cart_hold_answer(found: HoldWithPosition) -> CartHoldAnswer:
    answer = placed_hold_answer(found)
    return _with_renewal(answer, found.seen.hold, found.seen.at)


def filled_answer(outcome: object) -> CartHoldAnswer:
    """The answer to filling or renewing a cart."""
    assert isinstance(outcome, Placed | CartChanged | Waiting)
    position = outcome.position if isinstance(outcome, Waiting) else None
    answer = hold_answer(outcome.hold, outcome.at, position)
    return _with_renewal(answer, outcome.hold, outcome.at)


def emptied_answer(cart: str, outcome: object) -> EmptyCartAnswer:
    assert isinstance(outcome, CartEmptied)
    released = UNSET if outcome.hold is None else outcome.hold.id
    return EmptyCartAnswer(cart, CartStatus.EMPTY, released)


def _with_renewal(answer: HoldAnswer, hold: Hold, at: datetime) -> CartHoldAnswer:
    return CartHoldAnswer(**structs.asdict(answer), can_renew=hold.is_expired(at))
