"""The difference between a cart and its hold."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from holdfast.domain.carts.items import CartAsk, asks_again, difference, joined_lines
from holdfast.domain.holds.hold import CartItem, Line, LineSeat, SeatWish
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.ids import BlockId, PoolId, SeatId, TicketTypeId
from holdfast.domain.values import Quantity
from tests.domain.holds.test_hold import a_hold

ADULT, CHILD, SEATED = (TicketTypeId(uuid4()) for _ in range(3))
POOLS = (PoolId(uuid4()),)
BEFORE, NOW = uuid4(), uuid4()
STALLS, BALCONY = (BlockId(uuid4()) for _ in range(2))
SEATS = [SeatId(UUID(int=number)) for number in range(4)]


def line(item: str, quantity: int, price: int = 10, kind: TicketTypeId = ADULT) -> Line:
    return Line(kind, quantity, price, POOLS, item=CartItem(item, BEFORE), number=quantity)


def seat_line(item: str, number: int, price: int = 10, block: BlockId = STALLS) -> Line:
    seat = LineSeat(SEATS[number], block, "block", "A", str(number), number)
    return Line(SEATED, 1, price, (), seat, item=CartItem(item, BEFORE), number=number)


def some(
    quantity: int, price: int | None = None, kind: TicketTypeId = ADULT, least: int | None = None
) -> Ask:
    return Ask(kind, Quantity(quantity), price, at_least=least)


OLD, NEW = line("a", 2, 10), line("a", 3, 20)
OTHER = line("b", 1, 10, CHILD)


@pytest.mark.parametrize(
    ("asks", "kept", "reduced", "parts"),
    [
        ({"a": some(5), "b": some(1, kind=CHILD)}, [OLD, NEW, OTHER], [], []),
        ({"a": some(6)}, [OLD, NEW], [], [("a", some(1))]),
        ({"a": some(4)}, [OLD], [("a", 2, 20)], []),
        ({"a": some(2)}, [OLD], [], []),
        ({"a": some(1)}, [], [("a", 1, 10)], []),
        ({"a": some(4, price=20)}, [NEW], [], [("a", some(1, price=20))]),
        ({"a": some(3, price=30)}, [], [], [("a", some(3, price=30))]),
        ({"a": some(2, kind=CHILD)}, [], [], [("a", some(2, kind=CHILD))]),
        ({"c": some(2)}, [], [], [("c", some(2))]),
        ({"a": some(8, least=6)}, [OLD, NEW], [], [("a", some(3, least=1))]),
        ({"a": some(8, least=5)}, [OLD, NEW], [], [("a", some(3, least=0))]),
        ({"a": some(8, least=2)}, [OLD, NEW], [], [("a", some(3, least=0))]),
        ({"a": some(4, least=1)}, [OLD], [("a", 2, 20)], []),
    ],
)
def test_an_item_keeps_its_lines_and_asks_for_the_rest(
    asks: dict[str, Ask],
    kept: list[Line],
    reduced: list[tuple[str, int, int]],
    parts: list[tuple[str, Ask]],
) -> None:
    asked = [CartAsk(item_id, ask) for item_id, ask in asks.items()]
    found = difference([OLD, NEW, OTHER], asked, NOW)
    assert found.kept == kept
    assert [
        (each.item.id, each.quantity, each.unit_price_minor) for each in found.reduced if each.item
    ] == reduced
    assert [(item.id, ask) for ask, item in found.parts] == parts
    new = [each.item for each in found.reduced] + [item for _, item in found.parts]
    assert all(item is not None and item.group_id == NOW for item in new)


def test_named_seats_stay_with_the_cart_whichever_item_names_them() -> None:
    lines = [seat_line("a", 0), seat_line("a", 1), seat_line("b", 2)]
    asked = [
        CartAsk("b", SeatAsk((SEATS[1], SEATS[2], SEATS[3]))),
        CartAsk("a", SeatAsk((SEATS[0],))),
    ]
    found = difference(lines, asked, NOW)
    assert found.kept == [lines[2], lines[0]]
    assert found.reduced == [replace(lines[1], item=CartItem("b", NOW))]
    assert found.parts == [(SeatAsk((SEATS[3],)), CartItem("b", NOW))]


@pytest.mark.parametrize(
    "ask", [SeatAsk((SEATS[0],), ADULT), SeatAsk((SEATS[0],), unit_price_minor=11)]
)
def test_a_seat_of_another_type_or_price_is_another_line(ask: SeatAsk) -> None:
    found = difference([seat_line("a", 0)], [CartAsk("a", ask)], NOW)
    assert (found.kept, found.reduced) == ([], [])
    assert found.parts == [(ask, CartItem("a", NOW))]


def test_best_seats_in_the_requested_block_are_kept() -> None:
    lines = [seat_line("a", 0), seat_line("a", 1, block=BALCONY)]
    ask = Ask(SEATED, Quantity(2), block_id=BALCONY, accessible=1)
    found = difference(lines, [CartAsk("a", ask)], NOW)
    assert found.kept == [lines[1]]
    assert found.parts == [(replace(ask, quantity=Quantity(1)), CartItem("a", NOW))]


def accessible_line(number: int) -> Line:
    ordinary = seat_line("a", number)
    assert ordinary.seat is not None
    return replace(ordinary, seat=replace(ordinary.seat, is_accessible=True))


@pytest.mark.parametrize(
    ("quantity", "accessible", "least", "kept", "more"),
    [
        (3, 1, None, [0, 1, 2], None),
        (2, 1, None, [0, 2], None),
        (1, 1, None, [2], None),
        (1, 0, None, [0], None),
        (3, 2, None, [0, 2], (1, 1, None)),
        (4, 1, None, [0, 1, 2], (1, 0, None)),
        (4, 3, None, [0, 2], (2, 2, None)),
        (2, 2, None, [2], (1, 1, None)),
        # The rest is optional if only accessible seats are kept, and required otherwise.
        (2, 2, 1, [2], (1, 1, 0)),
        (3, 2, 1, [0, 2], (1, 1, 1)),
        (5, 2, 2, [0, 1, 2], (2, 1, 1)),
        (5, 1, 4, [0, 1, 2], (2, 0, 1)),
    ],
)
def test_accessible_seats_are_kept_and_others_replaced_by_missing_ones(
    quantity: int,
    accessible: int,
    least: int | None,
    kept: list[int],
    more: tuple[int, int, int | None] | None,
) -> None:
    lines = [seat_line("a", 0), seat_line("a", 1), accessible_line(2)]
    ask = Ask(SEATED, Quantity(quantity), accessible=accessible, at_least=least)
    found = difference(lines, [CartAsk("a", ask)], NOW)
    assert sorted(line.number for line in found.kept) == kept
    parts = [
        (each.quantity, each.accessible, each.at_least)
        for each, _ in found.parts
        if isinstance(each, Ask)
    ]
    assert parts == ([] if more is None else [more])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([line("a", 2), line("a", 3)], [("a", 5, 10)]),
        ([line("a", 2), line("b", 1), line("a", 3)], [("a", 5, 10), ("b", 1, 10)]),
        ([line("a", 2), line("a", 3, 20)], [("a", 2, 10), ("a", 3, 20)]),
        ([line("a", 2), line("a", 3, kind=CHILD)], [("a", 2, 10), ("a", 3, 10)]),
        ([line("a", 2), replace(line("a", 3), pool_ids=())], [("a", 2, 10), ("a", 3, 10)]),
        ([seat_line("a", 0), seat_line("a", 1)], [("a", 1, 10), ("a", 1, 10)]),
    ],
)
def test_lines_that_differ_only_in_quantity_are_joined(
    lines: list[Line], expected: list[tuple[str, int, int]]
) -> None:
    joined = joined_lines(lines)
    assert [
        (each.item.id, each.quantity, each.unit_price_minor) for each in joined if each.item
    ] == expected


def test_a_line_that_is_not_joined_is_returned_unchanged() -> None:
    lines = [line("a", 2), seat_line("a", 0), replace(line("b", 1), item=None)]
    assert all(one is other for one, other in zip(joined_lines(lines), lines, strict=True))


def test_a_renewal_asks_for_the_same_at_current_prices() -> None:
    wish = SeatWish(BALCONY, 1, is_together=True, unit_price_minor=7)
    lines = (
        OLD,
        NEW,
        seat_line("s", 0),
        seat_line("s", 1),
        replace(line("w", 2, kind=SEATED), wish=wish),
    )
    again = asks_again(replace(a_hold(), lines=lines))
    assert again == [
        CartAsk("a", some(5)),
        CartAsk("s", SeatAsk((SEATS[0], SEATS[1]), SEATED)),
        CartAsk("w", Ask(SEATED, Quantity(2), 7, BALCONY, 1, is_together=True)),
    ]
