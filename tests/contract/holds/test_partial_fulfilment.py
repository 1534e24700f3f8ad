"""Partial fulfilment (`at_least`): a hold gets as many as are available, never fewer than its
minimum. Runs on every store."""

from uuid import uuid4

import pytest

from holdfast.domain.group.outcomes import Placed
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, placed, refused, unchanged, waiting
from tests.contract.carts.test_seats import held_seats
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import POLICY, a_person


def club(world: World, policy: HoldPolicy | None = None, total: int = 4) -> Venue:
    types = {"standing": ("floor",), "guest": ("floor",)}
    return world.build(Plan({"floor": total}, types, policy or HoldPolicy()))


def rows_of_three(world: World) -> Venue:
    return world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3, "B": 3}}, {"seat": ()})))


def rows_of(venue: Venue, hold: Hold) -> set[str]:
    return {name.split()[1] for name in venue.names_of(hold)}


def test_places_a_cart_gives_up_count_as_available_to_it(world: World, engine: Admission) -> None:
    venue = club(world, total=3)
    placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    after = changed(engine, venue.fill("basket", {"a": venue.some("guest", 3, at_least=1)}))
    assert after.quantity == 3
    assert world.pool(venue.pools["floor"]).held == 3


def test_places_held_by_others_do_not_count_as_available(world: World, engine: Admission) -> None:
    venue = club(world)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    after = changed(engine, venue.fill("basket", {"a": venue.some("guest", 4, at_least=1)}))
    assert after.quantity == 3


def test_every_item_gets_its_minimum_before_any_gets_more(world: World, engine: Admission) -> None:
    venue = club(world, total=5)
    wish = {
        "a": venue.some("standing", 4, at_least=1),
        "b": venue.some("guest", 3, at_least=2),
        "c": venue.some("guest", 1),
    }
    hold = placed(engine, venue.fill("basket", wish))
    assert [line.quantity for line in hold.lines] == [2, 2, 1]
    assert unchanged(engine, venue.fill("basket", wish)) == hold
    too_much = {**wish, "b": venue.some("guest", 3, at_least=3), "c": venue.some("guest", 2)}
    refusal = refused(engine, venue.fill("other", too_much, holder=STRANGER))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY


def test_standing_tickets_leave_units_for_seats_of_the_hold(
    world: World, engine: Admission
) -> None:
    types = {"standing": ("house",)}
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ("house",)})
    venue = world.build(Plan({"house": 8}, types, hall=hall))
    named = venue.place(venue.some("standing", 8, at_least=1), venue.these("Stalls A 1"))
    hold = placed(engine, named)
    assert [line.quantity for line in hold.lines] == [7, 1]
    ask(engine, venue.release(hold.id))
    placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2", "Stalls A 3")))
    found = venue.place(
        venue.some("seat", 3, at_least=1), venue.some("standing", 6, at_least=1), holder=STRANGER
    )
    hold = placed(engine, found)
    assert [line.quantity for line in hold.lines] == [1, 4], "only one seat was free"


def test_seats_together_are_as_many_as_one_row_has(world: World, engine: Admission) -> None:
    venue = rows_of_three(world)
    hold = placed(engine, venue.place(venue.some("seat", 4, together=True, at_least=1)))
    assert len(hold.seats) == 3
    assert len(rows_of(venue, hold)) == 1


def test_seats_together_are_refused_below_the_minimum(world: World, engine: Admission) -> None:
    venue = rows_of_three(world)
    refusal = refused(engine, venue.place(venue.some("seat", 5, together=True, at_least=4)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert refusal.details["available_quantity"] == 3
    assert not held_seats(world, venue)


def test_a_repeated_partial_request_returns_the_same_hold(world: World, engine: Admission) -> None:
    """Same hold id: the first answer was lost."""
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3}}, {"seat": ()})))
    command = venue.place(venue.some("seat", 4, at_least=2), hold_id=HoldId(uuid4()))
    hold = placed(engine, command)
    assert len(hold.seats) == 3
    again = ask(engine, command)
    assert isinstance(again, Placed)
    assert (again.hold, again.is_repeat) == (hold, True)


def test_a_shortage_of_one_type_does_not_reduce_another(world: World, engine: Admission) -> None:
    hall = Hall(
        {"Stalls": {"A": 4}, "Balcony": {"B": 2}},
        {"seat": (), "view": ()},
        sold_in={"Stalls": ("seat",), "Balcony": ("view",)},
    )
    venue = world.build(Plan({}, {}, hall=hall))
    wish = (venue.some("seat", 4, at_least=1), venue.some("view", 4, at_least=1))
    assert len(placed(engine, venue.place(*wish)).seats) == 6


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([(3, 1), (2, 1)], [2, 1]),
        ([(3, 1), (2, 2)], [1, 2]),
        ([(3, 1), (3, None)], None),
        ([(2, 1), (2, 1), (2, 1)], [1, 1, 1]),
        ([(2, 1), (2, 0), (2, 1)], [2, 0, 1]),
        ([(3, 2), (3, 2)], None),
    ],
)
def test_scarce_seats_meet_every_minimum_then_go_to_the_first(
    world: World, engine: Admission, asked: list[tuple[int, int | None]], found: list[int] | None
) -> None:
    types = ["first", "second", "third"][: len(asked)]
    venue = world.build(Plan({}, {}, hall=Hall({"S": {"A": 3}}, dict.fromkeys(types, ()))))
    pairs = zip(types, asked, strict=True)
    command = venue.place(
        *(venue.some(name, most, at_least=least) for name, (most, least) in pairs)
    )
    if found is None:
        refused(engine, command)
        return
    hold = placed(engine, command)
    of_type = [line.ticket_type_id for line in hold.lines]
    assert [of_type.count(venue.ticket_types[name]) for name in types] == found


@pytest.mark.parametrize(("least", "found"), [(1, {"Stalls A 4"}), (2, None)])
def test_a_partial_hold_needs_fewer_accessible_seats(
    world: World, engine: Admission, least: int, found: set[str] | None
) -> None:
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ()}, accessible=frozenset({"Stalls A 4"}))
    venue = world.build(Plan({}, {}, hall=hall))
    command = venue.fill("basket", {"a": venue.some("seat", 3, accessible=2, at_least=least)})
    if found is None:
        refused(engine, command)
        return
    hold = placed(engine, command)
    assert set(venue.names_of(hold)) == found
    assert unchanged(engine, command) == hold


def test_a_party_waiting_for_its_minimum_waits_for_fewer_accessible_seats(
    world: World, engine: Admission
) -> None:
    accessible = frozenset({"Stalls A 3", "Stalls A 4"})
    hall = Hall({"Stalls": {"A": 4}}, {"seat": ()}, accessible=accessible)
    venue = world.build(Plan({}, {}, POLICY, hall))
    placed(engine, venue.seats("Stalls A 1", "Stalls A 2", "Stalls A 3", holder=STRANGER))
    taken = placed(engine, venue.seats("Stalls A 4", holder=STRANGER))
    hold = waiting(engine, venue.place(venue.some("seat", 3, accessible=2, at_least=1)))
    ask(engine, venue.release(taken.id))
    assert venue.names_of(world.hold(venue, hold.id)) == ["Stalls A 4"]


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_a_repeated_request_for_several_items_returns_the_same_hold(
    world: World, engine: Admission, seats: int
) -> None:
    """The hold does not record how many seats each item got."""
    plan = Plan(
        {"floor": 2}, {"standing": ("floor",)}, hall=Hall({"S": {"A": seats}}, {"seat": ()})
    )
    venue = world.build(plan)
    three, two = venue.some("seat", 3, at_least=1), venue.some("seat", 2, at_least=1)
    standing, hold_id = venue.some("standing", 3, at_least=1), HoldId(uuid4())
    command = venue.place(three, two, standing, hold_id=hold_id)
    hold = placed(engine, command)
    assert len(hold.seats) == seats
    again = ask(engine, command)
    assert isinstance(again, Placed), again
    assert (again.hold, again.is_repeat) == (hold, True)
    one = venue.some("seat", 1, at_least=1)
    five = venue.some("seat", 5, at_least=5)
    dear = venue.some("seat", 3, at_least=1, price=1)
    for others in ((one, standing), (three, five, standing), (dear, two, standing), (three, two)):
        refusal = refused(engine, venue.place(*others, hold_id=hold_id))
        assert refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED


def test_a_repeated_id_with_a_higher_minimum_is_refused(world: World, engine: Admission) -> None:
    """The hold has three seats; the second request needs at least four."""
    venue = world.build(Plan({}, {}, hall=Hall({"Stalls": {"A": 3}}, {"seat": ()})))
    hold_id = HoldId(uuid4())
    placed(engine, venue.place(venue.some("seat", 4, at_least=2), hold_id=hold_id))
    refused(engine, venue.place(venue.some("seat", 5, at_least=4), hold_id=hold_id))
    assert len(held_seats(world, venue)) == 3


def test_a_party_waits_for_its_minimum(world: World, engine: Admission) -> None:
    venue = club(world, POLICY)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    three = placed(engine, venue.place(("standing", 3), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": venue.some("standing", 4, at_least=2)}))
    assert hold.quantity == 2
    ask(engine, venue.release(three.id))
    assert world.holds(venue)[hold.id].status == "active"


def test_a_party_promoted_with_its_minimum_can_ask_for_the_rest(
    world: World, engine: Admission
) -> None:
    venue = club(world, POLICY)
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    three = placed(engine, venue.place(("standing", 3), holder=STRANGER))
    command = venue.fill("basket", {"a": venue.some("standing", 4, at_least=2)}, holder=a_person(1))
    waiting(engine, command)
    ask(engine, venue.release(three.id))
    assert changed(engine, command).quantity == 3


@pytest.mark.parametrize(("least", "is_kept"), [(2, True), (1, True), (3, False), (None, False)])
def test_a_cart_that_has_its_minimum_stays_as_it_is_when_the_sale_is_over(
    world: World, engine: Admission, least: int | None, is_kept: bool
) -> None:
    venue = club(world)
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    world.end_sale(venue)
    more = venue.fill("basket", {"a": venue.some("standing", 4, at_least=least)})
    if is_kept:
        assert unchanged(engine, more) == hold
    else:
        assert refused(engine, more).code is RefusalCode.EVENT_SALES_CLOSED
    assert world.hold(venue, hold.id) == hold


def test_every_item_of_a_cart_needs_its_minimum(world: World, engine: Admission) -> None:
    venue = club(world)
    wish = {"a": venue.some("standing", 4, at_least=1), "b": venue.some("guest", 2, at_least=2)}
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 2), "b": ("guest", 1)}))
    world.end_sale(venue)
    refusal = refused(engine, venue.fill("basket", wish))
    assert refusal.code is RefusalCode.EVENT_SALES_CLOSED
    assert world.hold(venue, hold.id) == hold
