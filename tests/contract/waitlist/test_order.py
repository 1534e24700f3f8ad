"""Everything the first party needs is reserved for it; a party that can never be served holds
nobody up. Runs on every store."""

from dataclasses import replace

import pytest

from holdfast.domain.holds.hold import Hold
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    changed,
    converted,
    placed,
    promoted,
    refused,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import POLICY, a_person, statuses

STALLS = [f"Stalls A {number}" for number in range(1, 5)]


def stalls(
    world: World,
    policy: HoldPolicy = POLICY,
    *,
    seats: int = 4,
    capacity: int | None = None,
    pools: dict[str, int] | None = None,
) -> Venue:
    """A venue of seats and one child's meal."""
    capacities = {} if capacity is None else {"Stalls": capacity}
    hall = Hall({"Stalls": {"A": seats}}, {"seat": (), "junior": ()}, capacities)
    meals = pools or {"meals": 1}
    return world.build(Plan(meals, {name[:-1]: (name,) for name in meals}, policy, hall))


def house_of_families(world: World) -> Venue:
    types = {"child": ("children", "house"), "guest": ("house",)}
    return world.build(Plan({"house": 6, "children": 2}, types, POLICY))


def meal_eaten(engine: Admission, venue: Venue, name: str = "meal") -> Hold:
    return placed(engine, venue.place((name, 1), holder=STRANGER))


class TestPartiesThatCannotBeServed:
    def test_a_party_larger_than_the_unsold_seats_is_skipped(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world)
        bought = placed(engine, venue.seats(*STALLS[:2], holder=STRANGER))
        held = placed(engine, venue.seats(*STALLS[2:], holder=a_person(9)))
        three = waiting(engine, venue.place(venue.some("seat", 3), holder=a_person(1)))
        one = waiting(engine, venue.place(venue.some("seat", 1), holder=a_person(2)))
        converted(engine, venue.convert(bought.id))
        ask(engine, venue.release(held.id))
        assert statuses(world, venue, [three, one]) == ["waiting", "active"]
        placed(engine, venue.place(venue.some("seat", 1), holder=STRANGER))

    def test_a_party_larger_than_the_unsold_units_of_another_pool_is_skipped(
        self, world: World, engine: Admission
    ) -> None:
        """Guests do not need that pool, so their command does not read it."""
        venue = house_of_families(world)
        bought = placed(engine, venue.place(("child", 1), holder=STRANGER))
        family = waiting(engine, venue.place(("child", 2), holder=a_person(1)))
        converted(engine, venue.convert(bought.id))
        placed(engine, venue.place(("guest", 4), holder=a_person(2)))
        assert statuses(world, venue, [family]) == ["waiting"]

    def test_a_party_that_can_still_be_served_keeps_its_claim(
        self, world: World, engine: Admission
    ) -> None:
        venue = house_of_families(world)
        held = placed(engine, venue.place(("child", 1), holder=STRANGER))
        family = waiting(engine, venue.place(("child", 2), holder=a_person(1)))
        waiting(engine, venue.place(("guest", 4), holder=a_person(2)))
        ask(engine, venue.release(held.id))
        assert statuses(world, venue, [family]) == ["active"]


class TestClaimsOfTheFirstParty:
    def test_the_block_capacity_the_first_party_needs_is_reserved(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world, seats=6, capacity=4)
        meal = meal_eaten(engine, venue)
        placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
        family = venue.place(venue.some("seat", 2), ("meal", 1), holder=a_person(1))
        first = waiting(engine, family)
        refusal = refused(engine, venue.seats("Stalls A 6", holder=a_person(2)))
        assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
        ask(engine, venue.release(meal.id))
        assert statuses(world, venue, [first]) == ["active"]

    def test_the_first_party_of_each_queue_has_its_own_seats_reserved(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world, pools={"meals": 1, "toys": 1})
        meal, toy = meal_eaten(engine, venue), meal_eaten(engine, venue, "toy")
        hungry = waiting(
            engine, venue.place(venue.some("seat", 2), ("meal", 1), holder=a_person(1))
        )
        bored = waiting(engine, venue.place(venue.some("seat", 2), ("toy", 1), holder=a_person(2)))
        for name in ("Stalls A 1", "Stalls A 4"):
            refusal = refused(engine, venue.seats(name, holder=a_person(3)))
            assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
        ask(engine, venue.release(meal.id))
        ask(engine, venue.release(toy.id))
        assert statuses(world, venue, [hungry, bored]) == ["active", "active"]

    def test_late_payments_are_checked_together(self, world: World, engine: Admission) -> None:
        policy = replace(POLICY, ttl_seconds=60, late_payment_seconds=400)
        venue = world.build(
            Plan({"floor": 4, "vips": 1}, {"guest": ("floor",), "vip": ("floor", "vips")}, policy)
        )
        late = [placed(engine, venue.place(("guest", 1), holder=STRANGER)).id for _ in range(3)]
        world.let_pass(venue, 62)
        placed(engine, venue.place(("vip", 1), holder=a_person(1)))
        waiting(engine, venue.place(("vip", 1), holder=a_person(2)))
        refusal = refused(engine, venue.convert(*late))
        assert refusal.code is RefusalCode.HOLD_EXPIRED
        converted(engine, venue.convert(*late[:2]))


@pytest.mark.parametrize("is_lapsed", [False, True])
def test_places_not_locked_yet_do_not_go_to_parties_behind_the_first(
    world: World, engine: Admission, is_lapsed: bool
) -> None:
    """Smaller parties may overtake, but not a party for whom everything is free."""
    policy = replace(POLICY, waiting_passes_max=3, ttl_seconds=60)
    hall = Hall({"Stalls": {"A": 6}, "Balcony": {"C": 4}}, {"seat": ()}, {"Stalls": 2})
    venue = world.build(Plan({"floor": 4}, {"standing": ("floor",)}, policy, hall))
    if is_lapsed:
        placed(engine, venue.place(("standing", 3), holder=STRANGER))
        held = placed(engine, venue.place(("standing", 1), holder=STRANGER))
        four = waiting(engine, venue.place(("standing", 4), holder=a_person(1)))
        fewer = waiting(engine, venue.place(("standing", 1), holder=a_person(2)))
        ask(engine, venue.extend(held.id, 300, holder=None))
        world.let_pass(venue, 62)
    else:
        placed(engine, venue.seats("Stalls A 1", "Stalls A 2", holder=STRANGER))
        held = placed(engine, venue.seats(*(f"Balcony C {n}" for n in (1, 2, 3)), holder=STRANGER))
        four = waiting(engine, venue.place(venue.some("seat", 4), holder=a_person(1)))
        fewer = waiting(engine, venue.place(venue.some("seat", 2), holder=a_person(2)))
    ask(engine, venue.release(held.id))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [four, fewer]) == ["active", "waiting"]


def test_a_partial_request_can_overtake_like_a_smaller_one(world: World, engine: Admission) -> None:
    policy = replace(POLICY, waiting_passes_max=1)
    venue = world.build(Plan({"floor": 4}, {"standing": ("floor",)}, policy))
    placed(engine, venue.place(("standing", 2), holder=STRANGER))
    waiting(engine, venue.place(("standing", 4), holder=a_person(1)))
    some = venue.place(venue.some("standing", 3, at_least=1), holder=a_person(2))
    assert placed(engine, some).quantity == 2


class TestPlacesAlreadyHeld:
    def test_they_can_change_type_though_others_wait_for_such_seats(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world, seats=2)
        both = STALLS[:2]
        placed(engine, venue.fill("basket", {"a": venue.these(*both, ticket_type="seat")}))
        waiting(engine, venue.place(venue.some("seat", 1), holder=a_person(1)))
        hold = changed(
            engine, venue.fill("basket", {"a": venue.these(*both, ticket_type="junior")})
        )
        assert {line.ticket_type_id for line in hold.lines} == {venue.ticket_types["junior"]}

    def test_they_can_move_into_the_cart_though_others_wait_for_such_seats(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world, seats=2)
        both = STALLS[:2]
        before = placed(engine, venue.seats(*both))
        other = waiting(engine, venue.place(venue.some("seat", 1), holder=a_person(1)))
        placed(engine, venue.fill("basket", {"a": venue.these(*both)}))
        assert statuses(world, venue, [before, other]) == ["cancelled", "waiting"]

    def test_they_do_not_let_a_cart_grow_past_the_waitlist(
        self, world: World, engine: Admission
    ) -> None:
        venue = stalls(world)
        hold = placed(engine, venue.fill("basket", {"a": venue.some("seat", 3)}))
        waiting(engine, venue.place(venue.some("seat", 2), holder=a_person(1)))
        refusal = refused(engine, venue.fill("basket", {"a": venue.some("seat", 4)}))
        assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
        other_price = venue.fill("basket", {"a": venue.some("seat", 3, price=100)})
        assert {line.seat for line in changed(engine, other_price).lines} == {
            line.seat for line in hold.lines
        }
