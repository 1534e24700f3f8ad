"""Newcomers do not take what earlier parties wait for, and a queue for one thing does not stop the
sale of another."""

from dataclasses import replace

import pytest

from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, placed, promoted, refused, unchanged, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Plan, Venue
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
    statuses,
)


def house(world: World, total: int = 6, policy: HoldPolicy = POLICY) -> Venue:
    """Adults, children and guests share one capacity; parking is separate."""
    return world.build(
        Plan(
            {"house": total, "adults": 4, "children": 4, "lot": 2},
            {
                "adult": ("adults", "house"),
                "child": ("children", "house"),
                "guest": ("house",),
                "parking": ("lot",),
            },
            policy,
        )
    )


def hold_of(engine: Admission, venue: Venue, ticket_type: str, quantity: int) -> Hold:
    return placed(engine, venue.place((ticket_type, quantity), holder=STRANGER))


def wait_for(
    engine: Admission, venue: Venue, ticket_type: str, quantity: int, person: int = 1
) -> Hold:
    return waiting(engine, venue.place((ticket_type, quantity), holder=a_person(person)))


def test_a_newcomer_does_not_overtake_the_waitlist_though_places_are_free(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    held, _ = sold_out(engine, venue, 1, 2)
    large = wait_for(engine, venue, "standing", 2)
    assert world.pool(venue.pools["floor"]).free == 1
    small = wait_for(engine, venue, "standing", 1, person=2)
    assert world.position(small) == 2
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [large, small]) == ["active", "waiting"]


def test_a_newcomer_for_another_type_does_not_take_shared_places(
    world: World, engine: Admission
) -> None:
    venue = house(world)
    held = hold_of(engine, venue, "guest", 3)
    first = wait_for(engine, venue, "adult", 4)
    for ticket_type in ("child", "guest"):
        second = wait_for(engine, venue, ticket_type, 1, person=2)
        assert world.position(second) == (2 if ticket_type == "child" else 3)
    ask(engine, venue.release(held.id))
    assert world.hold(venue, first.id).status is HoldStatus.ACTIVE
    assert world.pool(venue.pools["house"]).held == 6


def test_a_queue_does_not_stop_the_sale_of_another_pool(world: World, engine: Admission) -> None:
    venue = house(world)
    hold_of(engine, venue, "guest", 6)
    wait_for(engine, venue, "adult", 1)
    placed(engine, venue.place(("parking", 1)))
    placed(engine, venue.fill("basket", {"a": ("parking", 1)}))


def test_only_the_first_of_a_queue_has_a_claim_on_shared_places(
    world: World, engine: Admission
) -> None:
    """No adult tickets are left, and four places in the house. The first party waiting for adults
    claims two; the second has no claim yet, so two may still be sold."""
    venue = house(world, total=10)
    adults = hold_of(engine, venue, "adult", 4)
    hold_of(engine, venue, "child", 2)
    first, second = (wait_for(engine, venue, "adult", 2, person) for person in (1, 2))
    placed(engine, venue.place(("child", 2), holder=a_person(3)))
    late = wait_for(engine, venue, "guest", 1, person=4)
    assert world.pool(venue.pools["house"]).free == 2
    ask(engine, venue.release(adults.id))
    assert statuses(world, venue, [first, second, late]) == ["active", "active", "active"]


def test_a_cart_can_shrink_but_not_overtake_by_growing(world: World, engine: Admission) -> None:
    venue = club(world)
    hold = placed(engine, venue.fill("basket", {"a": ("standing", 3)}))
    first = wait_for(engine, venue, "standing", 2)
    refusal = refused(engine, venue.fill("basket", {"a": ("standing", 4)}))
    assert refusal.code is RefusalCode.OTHERS_ARE_WAITING
    assert world.hold(venue, hold.id) == hold
    changed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert world.hold(venue, first.id).status is HoldStatus.ACTIVE


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_a_party_is_overtaken_a_limited_number_of_times(
    world: World, engine: Admission, passes: int
) -> None:
    venue = club(world, replace(POLICY, waiting_passes_max=passes))
    sold_out(engine, venue, 3)
    (held,) = sold_out(engine, venue, 1)
    large, *small = join_waitlist(engine, venue, 4, 1, 1, 1, 1, 1)
    for passed in small[:passes]:
        ask(engine, venue.release(held.id))
        assert statuses(world, venue, [large, passed]) == ["waiting", "active"]
        held = passed
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, small[passes:]) == ["waiting"] * (5 - passes)
    assert world.pool(venue.pools["floor"]).free == 1, "kept for the large party"
    newcomer = waiting(engine, venue.place(("standing", 1)))
    assert statuses(world, venue, [newcomer]) == ["waiting"]


def test_overtaking_newcomers_count_towards_the_limit(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, waiting_passes_max=2))
    held, _ = sold_out(engine, venue, 2, 1)
    large = wait_for(engine, venue, "standing", 4)
    late = [placed(engine, venue.place(("standing", 1), holder=a_person(2)))]
    ask(engine, venue.release(held.id))
    late.append(placed(engine, venue.place(("standing", 1), holder=a_person(3))))
    assert world.pool(venue.pools["floor"]).free == 1
    waiting(engine, venue.place(("standing", 1), holder=a_person(4)))
    assert statuses(world, venue, [large, *late]) == ["waiting", "active", "active"]


def test_earlier_overtakes_do_not_count_for_parties_that_join_later(
    world: World, engine: Admission
) -> None:
    venue = club(world, replace(POLICY, waiting_passes_max=1))
    sold_out(engine, venue, 3)
    first = wait_for(engine, venue, "standing", 4, person=1)
    placed(engine, venue.place(("standing", 1), holder=a_person(2)))
    second = wait_for(engine, venue, "standing", 4, person=3)
    ask(engine, venue.release(first.id))
    (freed,) = [hold for hold in world.holds(venue) if world.holds(venue)[hold].units == (1,)]
    ask(engine, venue.release(freed))
    placed(engine, venue.place(("standing", 1), holder=a_person(4)))
    assert statuses(world, venue, [second]) == ["waiting"]


def test_later_parties_can_overtake_though_only_the_first_was_read(
    world: World, engine: Admission
) -> None:
    """The newcomer expires a lapsed hold, and reads only the first party of the queue."""
    policy = replace(POLICY, waiting_passes_max=5, ttl_seconds=1000)
    venue = house(world, total=4, policy=policy)
    hold_of(engine, venue, "child", 2)
    world.let_pass(venue, 900)
    hold_of(engine, venue, "adult", 2)
    queue = [wait_for(engine, venue, "guest", 4, 1), wait_for(engine, venue, "guest", 1, 2)]
    world.let_pass(venue, 101)
    placed(engine, venue.place(("child", 1), holder=a_person(3)))
    if statuses(world, venue, queue[1:]) == ["waiting"]:
        assert not world.is_settled(venue), "somebody could be promoted"
        promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["waiting", "active"]


def test_a_waiting_cart_that_shrinks_keeps_its_position(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    hold = waiting(engine, venue.fill("basket", {"a": ("standing", 3), "b": ("standing", 1)}))
    other = wait_for(engine, venue, "standing", 2)
    less = waiting(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert (less.id, less.version, less.waiting) == (hold.id, 2, hold.waiting)
    assert less.expires_at == hold.expires_at
    assert [world.position(each) for each in (less, other)] == [1, 2]
    assert world.facts(venue)[-1] == ("hold.changed", hold.id, 2, None)
    same = ask(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert getattr(same, "is_repeat", None) is True
    assert world.hold(venue, hold.id) == less
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [less, other]) == ["active", "active"]
    assert unchanged(engine, venue.fill("basket", {"a": ("standing", 2)})).version == 3


def test_a_waiting_cart_that_grows_or_changes_type_goes_to_the_end(
    world: World, engine: Admission
) -> None:
    venue = house(world)
    held = hold_of(engine, venue, "guest", 6)
    hold = waiting(engine, venue.fill("basket", {"a": ("adult", 1)}))
    other = wait_for(engine, venue, "adult", 1)
    more = waiting(engine, venue.fill("basket", {"a": ("adult", 2)}))
    assert more.id == hold.id
    assert [world.position(each) for each in (other, more)] == [1, 2]
    third = wait_for(engine, venue, "child", 1, person=2)
    moved = waiting(engine, venue.fill("basket", {"a": ("child", 1)}))
    assert [world.position(each) for each in (other, third, moved)] == [1, 2, 3]
    refusal = refused(engine, venue.fill("basket", {"a": ("adult", 5)}))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY, "above the capacity"
    assert world.hold(venue, hold.id) == moved
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [other, third, moved]) == ["active"] * 3


def test_a_waiting_cart_that_shrinks_enough_is_served_at_once(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    hold = waiting(engine, venue.fill("basket", {"a": ("standing", 3)}))
    ask(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert world.hold(venue, hold.id).status is HoldStatus.ACTIVE


def test_a_partial_hold_leaves_the_first_in_the_waitlist_what_it_needs(
    world: World, engine: Admission
) -> None:
    venue = house(world)
    adults = hold_of(engine, venue, "adult", 4)
    first = wait_for(engine, venue, "adult", 1)
    hold = placed(engine, venue.place(venue.some("child", 2, at_least=1), holder=a_person(2)))
    assert hold.quantity == 1
    ask(engine, venue.release(adults.id))
    assert statuses(world, venue, [first]) == ["active"]
