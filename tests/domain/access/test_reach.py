"""A refused command is recorded for the person who sent it."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from holdfast.domain import refusals
from holdfast.domain.access.reach import Reach
from holdfast.domain.carts.empty_cart import EmptyCart
from holdfast.domain.carts.renew_cart import RenewCart
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.holds.extend_hold import ExtendHold
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.orders.start_checkout import StartCheckout
from holdfast.domain.values import Holder

OWN = OrganizationId(uuid4())
HOLD = HoldId(uuid4())
ORIGIN = Origin("token:1", "request-1")
BUYER = Holder(user_id="buyer")

COMMANDS: dict[str, Callable[[Reach | None], Command]] = {
    "release": lambda reach: ReleaseHold(OWN, HOLD, ORIGIN, reach=reach),
    "extend": lambda reach: ExtendHold(OWN, HOLD, 60, ORIGIN, reach=reach),
    "check out": lambda reach: StartCheckout(OWN, (HOLD,), ORIGIN, reach=reach),
    "renew": lambda reach: RenewCart(OWN, "cart", HOLD, uuid4(), ORIGIN, reach=reach),
    "empty": lambda reach: EmptyCart(OWN, "cart", ORIGIN, reach=reach),
}


@pytest.mark.parametrize("make", COMMANDS.values(), ids=COMMANDS)
def test_a_token_is_recorded_with_its_holder(make: Callable[[Reach | None], Command]) -> None:
    for reach, holder in ((Reach(BUYER), BUYER), (None, None)):
        failed = make(reach).failed_action(refusals.hold_not_found())
        assert failed is not None
        assert failed.asked.holder == holder
