"""A line for one thing does not stop the sale of another, and whom nothing can serve holds nobody
up: on every store alike."""

from dataclasses import replace

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import CartChanged
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import (
    ask,
    changed,
    converted,
    extended,
    placed,
    promoted,
    refused,
    started,
    unchanged,
    waiting,
)
from tests.contract.seen import World
from tests.contract.test_waitlist import (
    POLICY,
    a_line,
    a_person,
    club,
    sold_out,
    statuses,
)
from tests.contract.venues import STRANGER, Hall, Plan, Venue


def two_kinds(world: World) -> Venue:
    """Few for members, many for guests, and one house for all of them."""
    return world.build(
        Plan(
            {"members": 1, "guests": 100, "house": 200},
            {"member": ("members", "house"), "guest": ("guests", "house")},
            replace(POLICY, ttl_seconds=300),
        )
    )


def theatre(world: World, hall: Hall, policy: HoldPolicy = POLICY) -> Venue:
    return world.build(Plan({"floor": 1}, {"standing": ("floor",)}, policy, hall))


def taken(engine: Admission, venue: Venue, *names: str) -> list[Hold]:
    """Each seat in a hold of its own."""
    return [placed(engine, venue.seats(name, holder=STRANGER)) for name in names]


@pytest.mark.parametrize("change", ["extended", "on the way to pay", "paid"])
def test_a_line_for_one_thing_does_not_stop_another_when_a_hold_is(
    world: World, engine: Admission, change: str
) -> None:
    """Nothing is freed by any of that, so that it is nobody's turn."""
    venue = two_kinds(world)
    placed(engine, venue.place(("member", 1), holder=STRANGER))
    first = waiting(engine, venue.place(("member", 1), holder=a_person(1)))
    hold = placed(engine, venue.place(("guest", 1)))
    if change == "extended":
        extended(engine, venue.extend(hold.id, 60))
    elif change == "on the way to pay":
        started(engine, venue.check_out(hold.id))
    else:
        converted(engine, venue.convert(hold.id))
    assert world.is_settled(venue)
    for person in (2, 3):
        placed(engine, venue.place(("guest", 1), holder=a_person(person)))
    assert statuses(world, venue, [first]) == ["waiting"]


def test_seats_are_found_beside_a_block_that_has_its_capacity(
    world: World, engine: Admission
) -> None:
    """Whoever waits for a seat anywhere is served from the other block."""
    hall = Hall({"Stalls": {"A": 4}, "Balcony": {"C": 3}}, {"seat": ()}, {"Stalls": 2})
    venue = theatre(world, hall)
    taken(engine, venue, "Stalls A 1", "Stalls A 2")
    first, second, _ = taken(engine, venue, "Balcony C 1", "Balcony C 2", "Balcony C 3")
    pair = waiting(engine, venue.place(venue.some("seat", 2), holder=a_person(1)))
    ask(engine, venue.release(first.id))
    assert statuses(world, venue, [pair]) == ["waiting"]
    ask(engine, venue.release(second.id))
    promoted(engine, venue.promote())
    assert set(venue.names_of(world.hold(venue, pair.id))) == {"Balcony C 1", "Balcony C 2"}
    assert world.is_settled(venue)


def test_a_party_that_became_larger_than_the_house_is_passed_over(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    _, held = sold_out(engine, venue, 2, 2)
    large, small = a_line(engine, venue, 4, 1)
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [large, small]) == ["waiting", "waiting"]
    world.set_total(venue, "floor", 3)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    assert world.is_settled(venue)


def test_a_party_that_became_larger_than_the_house_stops_no_newcomer(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    (large,) = a_line(engine, venue, 4)
    world.set_total(venue, "floor", 3)
    placed(engine, venue.place(("standing", 1)))
    assert statuses(world, venue, [large]) == ["waiting"]


def test_who_waits_for_what_no_block_sells_any_more_is_passed_over(
    world: World, engine: Admission
) -> None:
    hall = Hall(
        {"Stalls": {"A": 2}}, {"adult": (), "child": ()}, sold_in={"Stalls": ("adult", "child")}
    )
    venue = theatre(world, hall)
    one, other = taken_as(engine, venue, "adult", 2)
    adult = waiting(engine, venue.place(("adult", 1), holder=a_person(1)))
    child = waiting(engine, venue.place(("child", 1), holder=a_person(2)))
    world.sell_nowhere(venue, "adult")
    ask(engine, venue.release(one.id))
    assert statuses(world, venue, [adult, child]) == ["waiting", "active"]
    ask(engine, venue.release(other.id))
    placed(engine, venue.place(("child", 1), holder=a_person(3)))
    assert statuses(world, venue, [adult]) == ["waiting"]


def taken_as(engine: Admission, venue: Venue, ticket_type: str, count: int) -> list[Hold]:
    return [placed(engine, venue.place((ticket_type, 1), holder=STRANGER)) for _ in range(count)]


def test_what_is_sold_is_waited_for_until_there_is_more(world: World, engine: Admission) -> None:
    venue = club(world)
    for each in sold_out(engine, venue, 2, 2):
        converted(engine, venue.convert(each.id))
    first = waiting(engine, venue.place(("standing", 3)))
    second = waiting(engine, venue.place(("standing", 1)))
    refusal = refused(engine, venue.place(("standing", 5)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert world.is_settled(venue), "the promoter would come for ever"
    world.set_total(venue, "floor", 8)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, second]) == ["active", "active"]


def test_a_party_for_which_too_much_was_sold_meanwhile_is_passed_over(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    paid, held = sold_out(engine, venue, 2, 2)
    large, small = a_line(engine, venue, 3, 1)
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    placed(engine, venue.place(("standing", 1)))


def test_lapsed_places_go_to_the_line_without_a_reaper(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=60))
    lapsed, other = sold_out(engine, venue, 3, 1)
    first, second = a_line(engine, venue, 4, 1)
    world.let_pass(venue, 120)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [lapsed, other]) == ["expired", "expired"]
    assert statuses(world, venue, [first, second]) == ["active", "waiting"]
    assert world.is_settled(venue)
    assert world.lapse_units(venue.pools["floor"]) == world.pool(venue.pools["floor"]).held


def test_a_renewal_does_not_overtake_who_waited_meanwhile(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=60), total=1)
    placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    (first,) = a_line(engine, venue, 1)
    world.let_pass(venue, 61)
    again = waiting(engine, venue.renew("basket"))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, again]) == ["active", "waiting"]


def test_a_cart_that_asks_for_less_is_told_that_it_has_it(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    hold = waiting(engine, venue.fill("basket", {"a": ("standing", 4)}))
    served = changed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert (served.id, served.status) == (hold.id, HoldStatus.ACTIVE)
    assert world.hold(venue, hold.id) == served


def test_a_cart_that_asks_for_something_else_is_told_that_it_has_it(
    world: World, engine: Admission
) -> None:
    venue = two_kinds(world)
    placed(engine, venue.place(("member", 1), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": ("member", 1)}))
    command = venue.fill("basket", {"a": ("guest", 1)})
    served = changed(engine, command)
    assert (served.id, served.status) == (hold.id, HoldStatus.ACTIVE)
    assert unchanged(engine, command) == served


def test_the_answer_that_is_kept_for_a_key_says_so_too(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    waiting(engine, venue.fill("basket", {"a": ("standing", 4)}))
    command = venue.fill("basket", {"a": ("standing", 2)}, key=venue.key())
    kept: list[bytes] = []
    for _ in range(2):
        body = engine.submit(command, lambda outcome: type(outcome).__name__.encode())
        kept.append(body.result(60).body or b"")
    assert kept == [CartChanged.__name__.encode()] * 2


@pytest.mark.parametrize("kind", ["a hold", "a cart"])
def test_a_newcomer_is_seated_where_nobody_waits(
    world: World, engine: Admission, kind: str
) -> None:
    """One seat of the stalls is free, and the first in line needs two there."""
    venue = theatre(world, Hall({"Stalls": {"A": 3}, "Balcony": {"C": 3}}, {"seat": ()}))
    stalls, *_ = taken(engine, venue, "Stalls A 1", "Stalls A 2", "Stalls A 3")
    wish = venue.some("seat", 2, block="Stalls")
    pair = waiting(engine, venue.place(wish, holder=a_person(1)))
    ask(engine, venue.release(stalls.id))
    anywhere = venue.some("seat", 1)
    command: Command = venue.place(anywhere)
    if kind == "a cart":
        command = venue.fill("basket", {"a": anywhere})
    (name,) = venue.names_of(placed(engine, command))
    assert name.startswith("Balcony")
    assert statuses(world, venue, [pair]) == ["waiting"]


def test_a_late_payment_does_not_overtake_the_line(world: World, engine: Admission) -> None:
    policy = replace(POLICY, ttl_seconds=60, late_payment_seconds=600)
    venue = club(world, policy)
    (late,) = sold_out(engine, venue, 2)
    world.let_pass(venue, 50)
    sold_out(engine, venue, 2)
    (first,) = a_line(engine, venue, 4)
    world.let_pass(venue, 15)
    ask(engine, venue.expire(late.id))
    refusal = refused(engine, venue.convert(late.id))
    assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert world.pool(venue.pools["floor"]).sold == 0
    assert statuses(world, venue, [first]) == ["waiting"]


def test_a_late_payment_for_two_sessions_does_not_overtake_the_waitlist_of_one(
    world: World, engine: Admission
) -> None:
    policy = replace(POLICY, ttl_seconds=60, late_payment_seconds=600)
    quiet = club(world, policy)
    busy = world.build(Plan({"floor": 2}, {"standing": ("floor",)}, policy), beside=quiet)
    ids = [sold_out(engine, venue, 2)[0].id for venue in (quiet, busy)]
    (first,) = a_line(engine, busy, 1)
    world.let_pass(busy, 61)
    for in_this_order in (ids, ids[::-1]):
        refusal = refused(engine, quiet.convert(*in_this_order))
        assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert world.orders(quiet) == {}
    assert statuses(world, busy, [first]) == ["waiting"]


def test_a_late_payment_that_leaves_the_line_what_it_needs_is_taken(
    world: World, engine: Admission
) -> None:
    venue = two_kinds(world)
    world.set_policy(venue, replace(POLICY, ttl_seconds=60, late_payment_seconds=600))
    late = placed(engine, venue.place(("guest", 1)))
    world.let_pass(venue, 61)
    placed(engine, venue.place(("member", 1), holder=STRANGER))
    first = waiting(engine, venue.place(("member", 1), holder=a_person(1)))
    converted(engine, venue.convert(late.id))
    assert statuses(world, venue, [first]) == ["waiting"]


def test_the_strictest_policy_of_a_line_says_how_often_it_is_passed(
    world: World, engine: Admission
) -> None:
    """Both types are of one line; those of the one may be passed, those of the other may not."""
    policy = replace(POLICY, waiting_passes_max=5)
    types = {"standing": ("floor",), "guest": ("floor",)}
    venue = world.build(Plan({"floor": 5}, types, policy))
    world.set_type_policy(venue, "guest", POLICY)
    sold_out(engine, venue, 4)
    first = waiting(engine, venue.place(("standing", 4), holder=a_person(1)))
    second = waiting(engine, venue.place(("guest", 2), holder=a_person(2)))
    late = waiting(engine, venue.place(("standing", 1), holder=a_person(3)))
    assert statuses(world, venue, [first, second, late]) == ["waiting"] * 3
    assert world.pool(venue.pools["floor"]).free == 1


@pytest.mark.parametrize("passes", [0, 1])
def test_who_waits_for_a_seat_and_more_leaves_the_other_seats_to_others(
    world: World, engine: Admission, passes: int
) -> None:
    """There are seats enough for the first in line, who waits for a place on the floor."""
    hall = Hall({"Stalls": {"A": 3, "B": 3}}, {"seat": ()})
    venue = theatre(world, hall, replace(POLICY, waiting_passes_max=passes))
    placed(engine, venue.place(("standing", 1), holder=STRANGER))
    parties = [
        waiting(engine, venue.place(("seat", size), ("standing", 1), holder=a_person(size)))
        for size in (3, 4)
    ]
    promoted(engine, venue.promote())
    assert world.is_settled(venue)
    placed(engine, venue.place(("seat", 1)))
    assert statuses(world, venue, parties) == ["waiting", "waiting"]
