"""A queue for one thing does not stop the sale of another, and a party that nothing can serve holds
nobody up. Runs on every store."""

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
from tests.contract.venues import STRANGER, Hall, Plan, Venue
from tests.contract.waitlist.test_waitlist import (
    POLICY,
    a_person,
    club,
    join_waitlist,
    sold_out,
    statuses,
)


def two_kinds(world: World) -> Venue:
    """One place for members, many for guests, one capacity for both."""
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
    """Hold each seat in a hold of its own."""
    return [placed(engine, venue.seats(name, holder=STRANGER)) for name in names]


@pytest.mark.parametrize("change", ["extended", "on the way to pay", "paid"])
def test_a_queue_for_one_type_does_not_stop_the_sale_of_another_when_a_hold_is(
    world: World, engine: Admission, change: str
) -> None:
    """None of these changes frees a place, so nobody is promoted."""
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


def test_a_waiting_party_gets_seats_outside_a_full_block(world: World, engine: Admission) -> None:
    """The party that waits for any seats is served from the other block."""
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


def test_a_waiting_party_does_not_need_the_capacity_of_other_blocks(
    world: World, engine: Admission
) -> None:
    """Only the capacity of its own block is locked when a seat there becomes free."""
    hall = Hall(
        {"Stalls": {"A": 1}, "Balcony": {"B": 2}},
        {"seat": ()},
        capacities={"Stalls": 1, "Balcony": 1},
    )
    venue = theatre(world, hall)
    stalls, _ = taken(engine, venue, "Stalls A 1", "Balcony B 1")
    party = waiting(engine, venue.place(venue.some("seat", 1, block="Stalls")))
    with world.locked_elsewhere(venue, venue.pools["Balcony capacity"]):
        ask(engine, venue.release(stalls.id))
        assert statuses(world, venue, [party]) == ["active"]
    assert world.is_settled(venue)


def test_a_party_too_large_for_what_is_unsold_of_a_block_is_skipped(
    world: World, engine: Admission
) -> None:
    """Four seats are left, but capacity for one only."""
    venue = theatre(world, Hall({"Stalls": {"A": 5}}, {"seat": ()}, capacities={"Stalls": 2}))
    sold, released = taken(engine, venue, "Stalls A 1", "Stalls A 2")
    line = [waiting(engine, venue.place(("seat", size), holder=a_person(size))) for size in (2, 1)]
    converted(engine, venue.convert(sold.id))
    ask(engine, venue.release(released.id))
    assert statuses(world, venue, line) == ["waiting", "active"]


def test_a_party_larger_than_a_reduced_capacity_is_skipped(world: World, engine: Admission) -> None:
    venue = club(world)
    _, held = sold_out(engine, venue, 2, 2)
    large, small = join_waitlist(engine, venue, 4, 1)
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [large, small]) == ["waiting", "waiting"]
    world.set_total(venue, "floor", 3)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    assert world.is_settled(venue)


def test_a_party_larger_than_a_reduced_capacity_stops_no_newcomer(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    (large,) = join_waitlist(engine, venue, 4)
    world.set_total(venue, "floor", 3)
    placed(engine, venue.place(("standing", 1)))
    assert statuses(world, venue, [large]) == ["waiting"]


def test_a_party_waiting_for_a_type_no_block_sells_is_skipped(
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


def test_parties_can_wait_for_capacity_to_grow(world: World, engine: Admission) -> None:
    venue = club(world)
    for each in sold_out(engine, venue, 2, 2):
        converted(engine, venue.convert(each.id))
    first = waiting(engine, venue.place(("standing", 3)))
    second = waiting(engine, venue.place(("standing", 1)))
    refusal = refused(engine, venue.place(("standing", 5)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert world.is_settled(venue), "the promoter would never stop"
    world.set_total(venue, "floor", 8)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, second]) == ["active", "active"]


def test_a_party_too_large_for_the_unsold_places_is_skipped(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    paid, held = sold_out(engine, venue, 2, 2)
    large, small = join_waitlist(engine, venue, 3, 1)
    converted(engine, venue.convert(paid.id))
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [large, small]) == ["waiting", "active"]
    placed(engine, venue.place(("standing", 1)))


def test_expired_places_go_to_the_waitlist_without_reaper(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=60))
    lapsed, other = sold_out(engine, venue, 3, 1)
    first, second = join_waitlist(engine, venue, 4, 1)
    world.let_pass(venue, 120)
    promoted(engine, venue.promote())
    assert statuses(world, venue, [lapsed, other]) == ["expired", "expired"]
    assert statuses(world, venue, [first, second]) == ["active", "waiting"]
    assert world.is_settled(venue)
    assert world.lapse_units(venue.pools["floor"]) == world.pool(venue.pools["floor"]).held


def test_a_renewal_does_not_overtake_the_waitlist(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=60), total=1)
    placed(engine, venue.fill("basket", {"a": ("standing", 1)}))
    (first,) = join_waitlist(engine, venue, 1)
    world.let_pass(venue, 61)
    again = waiting(engine, venue.renew("basket"))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [first, again]) == ["active", "waiting"]


def test_shrinking_a_waiting_cart_shows_its_promotion(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 2)
    hold = waiting(engine, venue.fill("basket", {"a": ("standing", 4)}))
    served = changed(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert (served.id, served.status) == (hold.id, HoldStatus.ACTIVE)
    assert world.hold(venue, hold.id) == served


def test_changing_a_waiting_cart_shows_its_promotion(world: World, engine: Admission) -> None:
    venue = two_kinds(world)
    placed(engine, venue.place(("member", 1), holder=STRANGER))
    hold = waiting(engine, venue.fill("basket", {"a": ("member", 1)}))
    command = venue.fill("basket", {"a": ("guest", 1)})
    served = changed(engine, command)
    assert (served.id, served.status) == (hold.id, HoldStatus.ACTIVE)
    assert unchanged(engine, command) == served


def test_the_answer_stored_for_a_key_shows_the_promotion(world: World, engine: Admission) -> None:
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
def test_a_newcomer_gets_a_seat_where_nobody_waits(
    world: World, engine: Admission, kind: str
) -> None:
    """One seat in the stalls is free, and the first party waits for two there."""
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


def test_a_late_payment_does_not_overtake_the_waitlist(world: World, engine: Admission) -> None:
    policy = replace(POLICY, ttl_seconds=60, late_payment_seconds=600)
    venue = club(world, policy)
    (late,) = sold_out(engine, venue, 2)
    world.let_pass(venue, 50)
    sold_out(engine, venue, 2)
    (first,) = join_waitlist(engine, venue, 4)
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
    (first,) = join_waitlist(engine, busy, 1)
    world.let_pass(busy, 61)
    for in_this_order in (ids, ids[::-1]):
        refusal = refused(engine, quiet.convert(*in_this_order))
        assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert world.orders(quiet) == {}
    assert statuses(world, busy, [first]) == ["waiting"]


def test_a_late_payment_that_takes_nothing_from_the_waitlist_is_accepted(
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


def test_the_strictest_policy_of_a_queue_limits_its_overtakes(
    world: World, engine: Admission
) -> None:
    """Both types share a queue: one may be overtaken, the other may not."""
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
def test_a_party_waiting_for_a_seat_and_more_leaves_spare_seats_to_others(
    world: World, engine: Admission, passes: int
) -> None:
    """Enough seats are free for the first party, which also waits for a standing ticket."""
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
