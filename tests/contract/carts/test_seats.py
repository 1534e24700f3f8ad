"""Carts with seats: seats given up are free at once, and a change succeeds as a whole or not at
all."""

from collections import Counter
from collections.abc import Mapping

import pytest

from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, placed, refused, unchanged
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

Items = Mapping[str, tuple[str, int] | Ask | SeatAsk]
HALL = Hall(
    {"Stalls": {"A": 6, "B": 6}, "Balcony": {"C": 4}},
    {"seat": (), "junior": ("youth",)},
    capacities={"Stalls": 9},
    accessible=frozenset({"Stalls A 1"}),
)


def theatre(world: World, policy: HoldPolicy | None = None) -> Venue:
    pools = {"floor": 10, "youth": 3}
    return world.build(Plan(pools, {"standing": ("floor",)}, policy or HoldPolicy(), hall=HALL))


def held_seats(world: World, venue: Venue) -> set[str]:
    return {name for name, seat in world.seats(venue).items() if seat.status == "held"}


def test_a_change_keeps_common_seats_and_swaps_the_others(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"a": venue.these("Stalls A 1", "Stalls A 2")}))
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    after = changed(engine, venue.fill("basket", {"a": venue.these("Stalls A 3", "Stalls A 2")}))
    assert venue.names_of(after) == ["Stalls A 2", "Stalls A 3"]
    assert held_seats(world, venue) == {"Stalls A 2", "Stalls A 3"}
    seats = world.seats(venue)
    assert seats["Stalls A 2"] == SeatSeen("held", hold.id, 2), "it was not touched"
    assert seats["Stalls A 3"] == SeatSeen("held", hold.id, 2)
    assert world.held_until(venue)["Stalls A 3"] == hold.expires_at
    given, got = venue.seat_ids("Stalls A 1", "Stalls A 3")
    assert Counter(world.facts(venue)[facts:]) == Counter(
        [
            ("hold.changed", hold.id, 2, None),
            ("seat.released", hold.id, 2, given),
            ("seat.held", hold.id, 2, got),
        ]
    )
    assert Counter((row.action, row.seat_id) for row in world.audit(venue)[audit:]) == Counter(
        [("hold.changed", None), ("seat_released", given), ("seat_reserved", got)]
    )
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    assert world.pool(venue.pools["Stalls capacity"]).held == 3


def test_a_seat_can_move_from_one_item_to_another(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(
        engine,
        venue.fill("basket", {"a": venue.these("Stalls A 1", "Stalls A 2")}),
    )
    world.set_price(venue, "seat", 9000)
    facts = len(world.facts(venue))
    after = changed(
        engine,
        venue.fill("basket", {"b": venue.these("Stalls A 2"), "a": venue.these("Stalls A 1")}),
    )
    items = {
        venue.name_of(line.seat.id): (line.item.id, line.unit_price_minor)
        for line in after.lines
        if line.seat and line.item
    }
    assert items == {"Stalls A 1": ("a", 4500), "Stalls A 2": ("b", 4500)}
    assert world.facts(venue)[facts:] == [("hold.changed", hold.id, 2, None)]
    assert world.hold(venue, hold.id) == after


def test_an_item_of_best_seats_can_grow_and_shrink(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"a": ("seat", 2)}))
    first = venue.names_of(hold)
    more = changed(engine, venue.fill("basket", {"a": ("seat", 4)}))
    assert venue.names_of(more)[:2] == first
    assert len(set(venue.names_of(more))) == 4
    assert more.expires_at == hold.expires_at
    less = changed(engine, venue.fill("basket", {"a": ("seat", 1)}))
    assert venue.names_of(less) == first[:1], "the newest goes first"
    assert held_seats(world, venue) == set(first[:1])
    assert world.hold(venue, hold.id) == less
    assert unchanged(engine, venue.fill("basket", {"a": ("seat", 1)})) == less


def test_an_item_keeps_its_seats_when_it_grows_within_its_block(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    wish = venue.some("seat", 2, block="Balcony", accessible=0)
    hold = placed(engine, venue.fill("basket", {"a": wish}))
    more = changed(engine, venue.fill("basket", {"a": venue.some("seat", 4, block="Balcony")}))
    assert set(venue.names_of(hold)) <= set(venue.names_of(more))
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("seat", 5, block="Balcony")}))
    assert refusal.code is RefusalCode.NO_AVAILABLE_SEATS
    moved = changed(engine, venue.fill("basket", {"a": venue.some("seat", 2, block="Stalls")}))
    assert all(name.startswith("Stalls") for name in venue.names_of(moved))
    assert len(held_seats(world, venue)) == 2


def test_accessible_seats_are_counted_once(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"a": venue.some("seat", 2, accessible=1)}))
    assert "Stalls A 1" in venue.names_of(hold)
    more = changed(engine, venue.fill("basket", {"a": venue.some("seat", 3, accessible=1)}))
    assert len(venue.names_of(more)) == 3


def row_with_accessible(world: World, *accessible: str, pools: Mapping[str, int]) -> Venue:
    hall = Hall({"S": {"A": 4}}, {"seat": tuple(pools)}, accessible=frozenset(accessible))
    return world.build(Plan(pools, {}, hall=hall))


def test_a_shrinking_item_keeps_its_accessible_seat(world: World, engine: Admission) -> None:
    venue = row_with_accessible(world, "S A 4", pools={})
    placed(engine, venue.fill("basket", {"a": venue.some("seat", 3, accessible=1)}))
    wish = venue.fill("basket", {"a": venue.some("seat", 1, accessible=1)})
    less = changed(engine, wish)
    assert venue.names_of(less) == ["S A 4"]
    assert held_seats(world, venue) == {"S A 4"}
    assert unchanged(engine, wish) == less


@pytest.mark.parametrize(("place", "together"), [(3, False), (4, True), (2, False)])
def test_an_item_limited_by_a_pool_keeps_its_accessible_seat(
    world: World, engine: Admission, place: int, together: bool
) -> None:
    venue = row_with_accessible(world, f"S A {place}", pools={"few": 2})
    wish = venue.some("seat", 4, accessible=1, together=together, at_least=1)
    hold = placed(engine, venue.fill("basket", {"a": wish}))
    assert len(hold.seats) == 2
    assert f"S A {place}" in venue.names_of(hold)
    assert hold.is_adjacent


def test_an_item_limited_by_a_pool_keeps_two_accessible(world: World, engine: Admission) -> None:
    venue = row_with_accessible(world, "S A 1", "S A 4", pools={"few": 3})
    wish = venue.some("seat", 4, accessible=2, at_least=1)
    hold = placed(engine, venue.place(wish))
    assert venue.names_of(hold) == ["S A 1", "S A 2", "S A 4"]


def test_an_item_swaps_a_seat_for_an_accessible_one_on_request(
    world: World, engine: Admission
) -> None:
    venue = row_with_accessible(world, "S A 3", pools={})
    hold = placed(engine, venue.fill("basket", {"a": ("seat", 2)}))
    first = venue.names_of(hold)[0]
    assert "S A 3" not in venue.names_of(hold)
    wish = venue.fill("basket", {"a": venue.some("seat", 2, accessible=1)})
    after = changed(engine, wish)
    assert venue.names_of(after) == [first, "S A 3"]
    assert held_seats(world, venue) == {first, "S A 3"}
    assert world.hold(venue, hold.id) == after
    assert unchanged(engine, wish) == after
    refusal = refused(engine, venue.fill("basket", {"a": venue.some("seat", 2, accessible=2)}))
    assert refusal.message == "Not enough accessible seats available. Requested: 1, Available: 0"
    assert world.hold(venue, hold.id) == after


@pytest.mark.parametrize("least", [None, 1])
def test_a_growing_item_gets_the_accessible_seat_it_asks_for(
    world: World, engine: Admission, least: int | None
) -> None:
    venue = row_with_accessible(world, "S A 3", pools={})
    hold = placed(engine, venue.fill("basket", {"a": ("seat", 1)}))
    stranger = placed(engine, venue.seats("S A 3", holder=STRANGER))
    wish = venue.fill("basket", {"a": venue.some("seat", 2, accessible=1, at_least=least)})
    refused(engine, wish)
    assert world.hold(venue, hold.id) == hold
    ask(engine, venue.release(stranger.id))
    assert venue.names_of(changed(engine, wish)) == [*venue.names_of(hold), "S A 3"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 2}, {"a": ("seat", 2, 100)}),
        ({"a": 2}, {"a": ("child", 2, None)}),
        ({"a": 2}, {"a": ("seat", 1, None), "b": ("child", 1, None)}),
        ({"a": 1, "b": 1}, {"a": ("child", 1, None), "b": ("child", 1, 100)}),
        ({"a": 2}, {"b": ("seat", 2, None)}),
    ],
)
@pytest.mark.parametrize("rows", [1, 2])
def test_changing_price_or_type_keeps_the_seats(
    world: World,
    engine: Admission,
    before: dict[str, int],
    after: dict[str, tuple[str, int, int | None]],
    rows: int,
) -> None:
    """Whether or not other seats are free."""
    hall = Hall(
        {"S": dict.fromkeys("AB"[:rows], 2)}, {"seat": (), "child": ()}, capacities={"S": 2}
    )
    venue = world.build(Plan({}, {}, hall=hall))
    items = {item: ("seat", quantity) for item, quantity in before.items()}
    hold = placed(engine, venue.fill("basket", items))
    facts = len(world.facts(venue))
    wish = {
        item: venue.some(kind, quantity, price=price)
        for item, (kind, quantity, price) in after.items()
    }
    again = changed(engine, venue.fill("basket", wish))
    assert set(venue.names_of(again)) == set(venue.names_of(hold)) == {"S A 1", "S A 2"}
    assert world.facts(venue)[facts:] == [("hold.changed", hold.id, 2, None)]
    sold = [(line.item.id, line.ticket_type_id, 1) for line in again.lines if line.item]
    expected = [
        (item, venue.ticket_types[kind], 1)
        for item, (kind, quantity, _) in after.items()
        for _ in range(quantity)
    ]
    assert sorted(sold) == sorted(expected)
    assert world.hold(venue, hold.id) == again
    assert unchanged(engine, venue.fill("basket", wish)) == again


def test_each_item_keeps_its_own_seats(world: World, engine: Admission) -> None:
    venue = world.build(Plan({}, {}, hall=Hall({"S": {"A": 3, "B": 3}}, {"seat": ()})))
    hold = placed(engine, venue.fill("basket", {"a": ("seat", 1), "b": ("seat", 2)}))
    wish = {"b": venue.some("seat", 3, price=7), "a": venue.some("seat", 1, price=9)}
    more = changed(engine, venue.fill("basket", wish))
    seats_of = [
        {item: {line.seat for line in each.lines if line.item and line.item.id == item}}
        for each in (hold, more)
        for item in ("a", "b")
    ]
    assert seats_of[0] == seats_of[2]
    assert seats_of[1]["b"] < seats_of[3]["b"]
    assert len(held_seats(world, venue)) == 4


def test_separated_seats_are_swapped_for_adjacent_ones_on_request(
    world: World, engine: Admission
) -> None:
    venue = world.build(Plan({}, {}, hall=Hall({"S": {"A": 1, "B": 1, "C": 2}}, {"seat": ()})))
    stranger = placed(engine, venue.seats("S C 1", "S C 2", holder=STRANGER))
    placed(engine, venue.fill("basket", {"a": ("seat", 2)}))
    wish = venue.fill("basket", {"a": venue.some("seat", 2, price=7, together=True)})
    refused(engine, wish)
    assert held_seats(world, venue) == {"S A 1", "S B 1", "S C 1", "S C 2"}
    ask(engine, venue.release(stranger.id))
    assert venue.names_of(changed(engine, wish)) == ["S C 1", "S C 2"]
    placed(engine, venue.place(("seat", 2), holder=STRANGER))


@pytest.mark.parametrize("least", [None, 1])
def test_an_item_that_changes_type_and_needs_an_accessible_seat_gets_one(
    world: World, engine: Admission, least: int | None
) -> None:
    hall = Hall({"S": {"A": 4}}, {"seat": (), "child": ()}, accessible=frozenset({"S A 1"}))
    venue = world.build(Plan({}, {}, hall=hall))
    hold = placed(engine, venue.fill("basket", {"a": ("seat", 3)}))
    wish = venue.some("child", 3, accessible=1, at_least=least)
    stranger = placed(engine, venue.seats("S A 1", holder=STRANGER))
    refused(engine, venue.fill("basket", {"a": wish}))
    assert world.hold(venue, hold.id) == hold
    ask(engine, venue.release(stranger.id))
    after = changed(engine, venue.fill("basket", {"a": wish}))
    names = set(venue.names_of(after))
    assert "S A 1" in names
    assert len(names & set(venue.names_of(hold))) == 2


def test_seats_and_standing_tickets_change_together_or_not_at_all(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    placed(engine, venue.seats("Stalls A 3", holder=STRANGER))
    items: Items = {"s": venue.these("Stalls A 1"), "f": ("standing", 2)}
    hold = placed(engine, venue.fill("basket", items))
    seats, facts = world.seats(venue), world.facts(venue)
    refusals: list[tuple[Items, RefusalCode]] = [
        (
            {"s": venue.these("Stalls A 2", "Stalls A 3"), "f": ("standing", 1)},
            RefusalCode.SEAT_HELD_BY_ANOTHER_USER,
        ),
        (
            {"s": venue.these("Stalls A 2"), "f": ("standing", 11)},
            RefusalCode.INSUFFICIENT_INVENTORY,
        ),
        ({"s": ("seat", 17), "f": ("standing", 1)}, RefusalCode.INSUFFICIENT_INVENTORY),
    ]
    for wrong, code in refusals:
        assert refused(engine, venue.fill("basket", wrong)).code is code
        assert world.hold(venue, hold.id) == hold
        assert (world.seats(venue), world.facts(venue)) == (seats, facts)
    after = changed(
        engine, venue.fill("basket", {"s": venue.these("Stalls A 2"), "f": ("standing", 10)})
    )
    assert (after.version, after.quantity) == (2, 11)


@pytest.mark.parametrize(
    ("ticket_type", "least", "found"),
    [("seat", 2, 4), ("seat", 4, 4), ("seat", 5, None), ("junior", 1, 3), ("junior", 4, None)],
)
def test_a_cart_gets_as_many_seats_as_are_available(
    world: World, engine: Admission, ticket_type: str, least: int, found: int | None
) -> None:
    """Four seats and three youth tickets are left."""
    hall = Hall({"Stalls": {"A": 6}}, {"seat": (), "junior": ("youth",)})
    venue = world.build(Plan({"youth": 3}, {}, hall=hall))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    command = venue.fill("basket", {"a": venue.some(ticket_type, 5, at_least=least)})
    if found is None:
        refused(engine, command)
        assert held_seats(world, venue) == {"Stalls A 1", "Stalls A 2"}
        return
    hold = placed(engine, command)
    assert len(hold.seats) == found
    assert unchanged(engine, command) == hold
    assert len(held_seats(world, venue)) == 2 + found


def test_an_item_grows_by_as_many_seats_as_are_available(world: World, engine: Admission) -> None:
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 6}}, {"seat": ()})))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
    placed(engine, venue.fill("basket", {"a": ("seat", 2)}))
    more = changed(engine, venue.fill("basket", {"a": venue.some("seat", 5, at_least=3)}))
    assert len(more.seats) == 4
    refused(engine, venue.fill("basket", {"a": venue.some("seat", 6, at_least=5)}))
    assert world.hold(venue, more.id) == more
    wish = venue.fill("basket", {"a": venue.some("seat", 6, at_least=4)})
    assert unchanged(engine, wish) == more, "its current seats suffice"


def test_a_seat_named_by_one_item_is_not_found_for_another(world: World, engine: Admission) -> None:
    """The cart gives up the seat of an item, and names it again for a new item, as another ticket
    type."""
    venue = theatre(world)
    placed(engine, venue.fill("basket", {"a": venue.these("Stalls A 3", ticket_type="seat")}))
    after = changed(
        engine,
        venue.fill(
            "basket",
            {"b": venue.these("Stalls A 3", ticket_type="junior"), "c": venue.some("seat", 1)},
        ),
    )
    seats = {line.item.id: line.seat for line in after.lines if line.item and line.seat}
    assert venue.name_of(seats["b"].id) == "Stalls A 3"
    assert seats["c"].id != seats["b"].id
    assert after.lines[0].ticket_type_id == venue.ticket_types["junior"]
    assert held_seats(world, venue) == set(venue.names_of(after))
