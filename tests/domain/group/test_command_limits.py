"""The limits of what a command may contain, to the last unit."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.domain.carts.items import CartAsk
from holdfast.domain.group.command import Command
from holdfast.domain.holds.hold import CART_ITEM_ID_LENGTH_MAX
from holdfast.domain.holds.placement import LINES_MAX
from holdfast.domain.policy import TTL_SECONDS_MAX
from holdfast.domain.seats import block_seats
from holdfast.domain.seats.seat import BLOCKED_REASON_LENGTH_MAX
from holdfast.domain.values import InvalidValue
from tests.contract.venues import Hall, Plan, empty_venue
from tests.domain.holds.test_hold import a_hold

VENUE = empty_venue(
    Plan({"floor": 1}, {"standing": ("floor",)}, hall=Hall({"Stalls": {"A": 4}}, {"seat": ()}))
)
SEATS = list(VENUE.places)
HOLD_ID = a_hold().id


def cart_of(count: int) -> Command:
    return VENUE.fill("basket", {str(number): ("standing", 1) for number in range(count)})


def cart_item(name: str) -> CartAsk:
    return CartAsk(name, VENUE.some("standing", 1))


@pytest.mark.parametrize(
    ("make", "smallest", "largest"),
    [
        (lambda size: VENUE.place(*[("standing", 1)] * size), 1, LINES_MAX),
        (cart_of, 1, LINES_MAX),
        (lambda size: cart_item("x" * size), 1, CART_ITEM_ID_LENGTH_MAX),
        (lambda size: VENUE.extend(HOLD_ID, size), 1, TTL_SECONDS_MAX),
        (lambda size: VENUE.block(*SEATS[:size]), 1, 3),
        (lambda size: VENUE.block(SEATS[0], reason="x" * size), 1, BLOCKED_REASON_LENGTH_MAX),
        (lambda size: VENUE.some("standing", 3, at_least=size), 0, 3),
    ],
    ids=["lines", "cart items", "item id", "seconds", "blocked seats", "reason", "at_least"],
)
def test_a_command_has_a_smallest_and_a_largest_size(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], object], smallest: int, largest: int
) -> None:
    monkeypatch.setattr(block_seats, "SEATS_PER_BLOCKING_MAX", 3)
    make(smallest)
    make(largest)
    for size in (smallest - 1, largest + 1):
        with pytest.raises(InvalidValue):
            make(size)


def test_a_command_names_nothing_twice() -> None:
    with pytest.raises(InvalidValue):
        VENUE.block(SEATS[0], SEATS[0])
    cart = VENUE.fill("basket", {"a": ("standing", 1)})
    with pytest.raises(InvalidValue):
        replace(cart, asks=cart.asks * 2)


@pytest.mark.parametrize("name", ["a\nb", "a\x00"])
def test_the_id_of_a_cart_item_is_printable(name: str) -> None:
    with pytest.raises(InvalidValue):
        cart_item(name)
