"""Carts whose seats change item, ticket type, price or hold, on every store."""

from dataclasses import replace

import pytest

from holdfast.domain.group.outcomes import CartEmptied, Placed, Waiting
from holdfast.domain.holds.hold import HoldStatus
from holdfast.domain.holds.placement import Ask, SeatAsk
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    changed,
    converted,
    emptied,
    in_one_group,
    placed,
    refused,
    waiting,
)
from tests.contract.carts.test_carts import live_holds
from tests.contract.carts.test_seats import held_seats
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 4}}, {"adult": (), "child": ()})


def theatre(world: World, policy: HoldPolicy | None = None) -> Venue:
    floor = {"floor": 10}
    return world.build(Plan(floor, {"standing": ("floor",)}, policy or HoldPolicy(), HALL))


def club(world: World, policy: HoldPolicy, total: int = 10) -> Venue:
    types = {"standing": ("floor",), "guest": ("floor",)}
    return world.build(Plan({"floor": total}, types, policy))


def test_a_seat_named_by_one_item_leaves_the_other_item(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"best": ("adult", 1)}))
    (name,) = venue.names_of(hold)
    after = changed(engine, venue.fill("basket", {"best": ("adult", 1), "own": venue.these(name)}))
    assert {
        line.item.id: venue.name_of(line.seat.id) == name
        for line in after.lines
        if line.item and line.seat
    } == {"best": False, "own": True}
    assert (len(held_seats(world, venue)), after.total.minor) == (2, 9000)


def test_a_cart_whose_seats_moved_between_items_converts(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"best": ("adult", 1)}))
    (name,) = venue.names_of(hold)
    changed(engine, venue.fill("basket", {"best": ("adult", 1), "own": venue.these(name)}))
    order = converted(engine, venue.convert(hold.id)).order
    assert len({ticket.seat.id for ticket in order.tickets if ticket.seat}) == 2
    assert world.seats(venue)[name].status == "sold"


def test_a_cart_whose_seats_moved_expires_with_others(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.fill("basket", {"best": ("adult", 1)}))
    (name,) = venue.names_of(hold)
    changed(engine, venue.fill("basket", {"best": ("adult", 1), "own": venue.these(name)}))
    other = placed(engine, venue.place(("standing", 1), holder=STRANGER))
    world.let_pass(venue, 1000)
    ask(engine, venue.expire(hold.id, other.id))
    assert {world.hold(venue, each.id).status for each in (hold, other)} == {HoldStatus.EXPIRED}
    assert not held_seats(world, venue)


def test_a_held_seat_can_change_its_ticket_type(world: World, engine: Admission) -> None:
    venue = theatre(world)
    world.set_price(venue, "child", 2000)
    name = "Stalls A 2"
    hold = placed(engine, venue.fill("basket", {"a": venue.these(name, ticket_type="adult")}))
    after = changed(engine, venue.fill("basket", {"a": venue.these(name, ticket_type="child")}))
    (line,) = after.lines
    assert (after.id, line.ticket_type_id) == (hold.id, venue.ticket_types["child"])
    assert line.unit_price_minor == 2000
    assert world.seats(venue)[name].hold_id == hold.id
    assert world.hold(venue, hold.id) == after


def test_a_held_seat_can_change_its_custom_price(world: World, engine: Admission) -> None:
    venue = theatre(world)
    name = "Stalls A 2"
    placed(engine, venue.fill("basket", {"a": venue.these(name, ticket_type="adult")}))
    cheaper = venue.these(name, ticket_type="adult", price=100)
    after = changed(engine, venue.fill("basket", {"a": cheaper}))
    assert (venue.names_of(after), after.total.minor) == ([name], 100)
    assert world.seats(venue)[name].hold_id == after.id


def test_a_late_payment_takes_nothing_from_the_renewed_cart(
    world: World, engine: Admission
) -> None:
    venue = club(world, HoldPolicy(ttl_seconds=60, late_payment_seconds=600))
    lapsed = placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    world.let_pass(venue, 61)
    new = placed(engine, venue.renew("basket"))
    converted(engine, venue.convert(lapsed.id))
    assert changed(engine, venue.fill("basket", {"a": ("standing", 2)})).id == new.id
    let_go = emptied(engine, venue.empty("basket"))
    assert let_go is not None
    assert (let_go.id, let_go.status) == (new.id, HoldStatus.CANCELLED)
    pool = world.pool(venue.pools["floor"])
    assert (pool.held, pool.sold) == (0, 1)


def test_a_hold_revived_by_late_payment_has_no_cart(world: World, engine: Admission) -> None:
    venue = club(world, HoldPolicy(ttl_seconds=60, late_payment_seconds=600))
    lapsed = placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    world.let_pass(venue, 61)
    renewed = placed(engine, venue.renew("basket"))
    converted(engine, venue.convert(lapsed.id))
    replacing = {hold.id: hold for hold in world.all_holds(venue) if hold.revives == lapsed.id}
    assert replacing.pop(renewed.id).cart == "basket"
    (revived,) = replacing.values()
    assert (revived.status, revived.cart) == (HoldStatus.CONVERTED, None)


def test_a_cart_cannot_add_a_one_hold_only_type_while_another_hold_is_active(
    world: World, engine: Admission
) -> None:
    venue = club(world, HoldPolicy())
    world.set_type_policy(venue, "guest", HoldPolicy(one_active_hold=True))
    other = placed(engine, venue.place(("standing", 1)))
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    refusal = refused(engine, venue.fill("basket", {"a": ("standing", 1), "b": ("guest", 1)}))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert refusal.details["hold_id"] == str(other.id)
    assert world.hold(venue, hold.id) == hold


def test_a_cart_is_not_its_own_other_active_hold(world: World, engine: Admission) -> None:
    venue = club(world, HoldPolicy(one_active_hold=True))
    placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    after = changed(engine, venue.fill("basket", {"a": ("standing", 2), "b": ("guest", 1)}))
    assert after.quantity == 3


@pytest.mark.parametrize("is_new", [True, False], ids=["a new cart", "a cart that has something"])
def test_a_cart_takes_over_seats_of_the_same_holders_other_hold(
    world: World, engine: Admission, is_new: bool
) -> None:
    venue = theatre(world)
    beside = placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    if not is_new:
        placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    wish = venue.fill("basket", {"b": venue.these("Stalls A 1", "Stalls A 2", "Stalls A 3")})
    cart = placed(engine, wish) if is_new else changed(engine, wish)
    assert world.hold(venue, beside.id).status is HoldStatus.CANCELLED
    assert live_holds(world, venue) == [cart]
    seats = {name: seat.hold_id for name, seat in world.seats(venue).items() if seat.hold_id}
    assert seats == dict.fromkeys(["Stalls A 1", "Stalls A 2", "Stalls A 3"], cart.id)
    assert world.pool(venue.pools["floor"]).held == 0


@pytest.mark.parametrize("more", ["a seat", "a standing place"])
def test_a_cart_does_not_take_over_part_of_a_hold(
    world: World, engine: Admission, more: str
) -> None:
    venue = theatre(world)
    besides = venue.these("Stalls A 2") if more == "a seat" else ("standing", 1)
    beside = placed(engine, venue.place(venue.these("Stalls A 1"), besides))
    refusal = refused(engine, venue.fill("basket", {"a": venue.these("Stalls A 1")}))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert refusal.details["hold_id"] == str(beside.id)
    assert live_holds(world, venue) == [beside]


def test_places_of_a_hold_that_a_cart_takes_over_count_as_available(
    world: World, engine: Admission
) -> None:
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ("house",)})
    venue = world.build(Plan({"house": 4}, {"standing": ("house",)}, hall=hall))
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    items: dict[str, Ask | SeatAsk] = {
        "a": venue.these("Stalls A 1", "Stalls A 2"),
        "b": venue.some("standing", 5, at_least=1),
    }
    hold = placed(engine, venue.fill("basket", items))
    assert [line.quantity for line in hold.lines] == [1, 1, 1]
    assert world.pool(venue.pools["house"]).free == 0


def test_a_cart_can_take_over_a_hold_while_others_wait_for_such_places(
    world: World, engine: Admission
) -> None:
    """It takes nothing from them."""
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ("house",)})
    policy = HoldPolicy(waitlist=True)
    venue = world.build(Plan({"house": 2}, {"standing": ("house",)}, policy, hall))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    party = waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    hold = placed(engine, venue.fill("basket", {"a": venue.these("Stalls A 1", "Stalls A 2")}))
    assert venue.names_of(hold) == ["Stalls A 1", "Stalls A 2"]
    assert world.hold(venue, party.id) == party


def test_a_cart_does_not_take_over_seats_of_another_cart(world: World, engine: Admission) -> None:
    venue = theatre(world)
    other = placed(engine, venue.fill("other", {"a": venue.these("Stalls A 1")}))
    refusal = refused(engine, venue.fill("basket", {"a": venue.these("Stalls A 1")}))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert live_holds(world, venue) == [other]


def test_a_cart_does_not_take_over_seats_of_another_person(world: World, engine: Admission) -> None:
    venue = theatre(world)
    theirs = placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    refusal = refused(engine, venue.fill("basket", {"a": venue.these("Stalls A 1")}))
    assert refusal.code is RefusalCode.SEAT_HELD_BY_ANOTHER_USER
    assert live_holds(world, venue) == [theirs]


def test_a_hold_without_a_cart_takes_over_no_seats(world: World, engine: Admission) -> None:
    venue = theatre(world)
    beside = placed(engine, venue.seats("Stalls A 1"))
    refusal = refused(engine, venue.seats("Stalls A 1", "Stalls A 2"))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS
    assert live_holds(world, venue) == [beside]


def test_one_group_can_empty_a_cart_let_it_wait_and_give_it_its_seat_again(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(waitlist=True))
    placed(engine, venue.place(("standing", 10), holder=STRANGER))
    waiting(engine, venue.place(("standing", 1), holder=STRANGER))
    seat = {"a": venue.these("Stalls A 1")}
    placed(engine, venue.fill("basket", seat))
    commands = (
        venue.empty("basket"),
        venue.fill("basket", {"a": ("standing", 1)}),
        venue.fill("basket", seat),
    )
    emptied_, waited, last = in_one_group(world.store, *commands)
    assert isinstance(emptied_, CartEmptied)
    assert isinstance(waited, Waiting)
    assert isinstance(last, Placed)
    assert [hold for hold in live_holds(world, venue) if hold.is_cart] == [last.hold]
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("held", last.hold.id, 4)


def test_a_quoted_price_is_for_the_quantity_it_was_quoted_for(
    world: World, engine: Admission
) -> None:
    """The rest of a cart that grows on the waitlist is at the catalog's price."""
    policy = HoldPolicy(600, waitlist=True)
    venue = world.build(Plan({"floor": 8}, {"standing": ("floor",)}, policy))
    placed(engine, venue.place(("standing", 8), holder=STRANGER))
    quoted = replace(venue.some("standing", 2), unit_price_minor=1)
    waiting(engine, venue.fill("basket", {"a": quoted}))
    catalog = waiting(engine, venue.fill("other", {"a": ("standing", 1)}, holder=STRANGER))
    price = catalog.lines[0].unit_price_minor
    assert price != 1
    for quantity, expected in ((5, [(2, 1), (3, price)]), (1, [(1, 1)]), (3, [(1, 1), (2, price)])):
        for _ in range(2):
            hold = waiting(engine, venue.fill("basket", {"a": ("standing", quantity)}))
            assert [(each.quantity, each.unit_price_minor) for each in hold.lines] == expected


def test_a_waiting_cart_can_shrink_to_a_quantity_above_a_lowered_maximum(
    world: World, engine: Admission
) -> None:
    policy = HoldPolicy(waitlist=True)
    venue = club(world, policy)
    placed(engine, venue.place(("standing", 10), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": ("standing", 6)}))
    world.set_policy(venue, replace(policy, quantity_max=4))
    less = waiting(engine, venue.fill("basket", {"a": ("standing", 5)}))
    assert (less.id, less.quantity, less.waiting) == (hold.id, 5, hold.waiting)
