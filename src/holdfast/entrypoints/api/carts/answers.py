"""The shapes of answers about carts."""

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
    """What the cart holds or waits for, or held last."""

    can_renew: Annotated[
        bool, Meta(description="Its time is up: what it held can be asked for once more.")
    ]


class EmptyCartAnswer(AnswerShape, frozen=True):
    """The cart holds nothing. `released_hold_id` is what was let go now, if there was anything."""

    cart_token: str
    status: CartStatus
    released_hold_id: (
        Annotated[UUID, Meta(description="The hold that was released now, if there was one.")]
        | UnsetType
    ) = UNSET


def cart_hold_answer(found: HoldWithPosition) -> CartHoldAnswer:
    answer = placed_hold_answer(found)
    return _with_renewal(answer, found.seen.hold, found.seen.at)


def filled_answer(outcome: object) -> CartHoldAnswer:
    """What came of filling a cart, or of renewing it."""
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
