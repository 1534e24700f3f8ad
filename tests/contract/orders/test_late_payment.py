"""A payment after its hold expired: if the policy allows, it still gets its places while they are
free. Runs on every store."""

from datetime import timedelta

import pytest

from holdfast.domain.group.outcomes import AlreadyConverted, Converted
from holdfast.domain.holds.hold import Hold
from holdfast.domain.orders.order import revival_id
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, converted, placed, refused, started
from tests.contract.seen import SeatSeen, World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})
LATE = HoldPolicy(600, late_payment_seconds=300)


def theatre(world: World, policy: HoldPolicy = LATE, places: int = 10) -> Venue:
    plan = Plan({"floor": places}, {"standing": ("floor",)}, policy, hall=HALL)
    return world.build(plan)


def a_hold(engine: Admission, venue: Venue) -> Hold:
    """A hold of a seat and two standing tickets."""
    return placed(engine, venue.place(venue.these("Stalls A 1"), ("standing", 2)))


def assert_gone(world: World, engine: Admission, venue: Venue, hold: Hold) -> None:
    """Check that the payment is refused without effect."""
    orders, facts = world.orders(venue), world.facts(venue)
    refusal = refused(engine, venue.convert(hold.id))
    assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert refusal.details == {"lapsed_hold_ids": [str(hold.id)]}
    assert (world.orders(venue), world.facts(venue)) == (orders, facts)
    assert revival_id(hold.id) not in world.holds(venue)


@pytest.mark.parametrize("is_reaped", [False, True])
def test_a_late_payment_gets_its_places_if_they_are_free(
    world: World, engine: Admission, is_reaped: bool
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    checkout = started(engine, venue.check_out(hold.id))
    world.let_pass(venue, 901 + 290)
    if is_reaped:
        ask(engine, venue.expire(hold.id))
    done = converted(engine, venue.convert(hold.id, checkout_id=checkout.checkout_id))
    (paid,) = done.holds
    assert (paid.id, paid.revives) == (revival_id(hold.id), hold.id)
    assert (paid.lines, paid.holder, paid.currency) == (hold.lines, hold.holder, hold.currency)
    assert paid.checkout_id == checkout.checkout_id
    assert paid.reference != hold.reference
    assert done.order.hold_ids == (paid.id,)
    assert world.orders(venue) == {done.order.id: done.order}
    assert world.hold(venue, paid.id) == paid
    assert world.holds(venue)[hold.id].status == "expired", "the old hold stays expired"
    assert world.seats(venue)["Stalls A 1"] == SeatSeen("sold", paid.id, 6)
    for name, units in (("floor", 2), ("Stalls capacity", 1)):
        pool = world.pool(venue.pools[name])
        assert (pool.held, pool.sold, world.lapse_units(pool.id)) == (0, units, 0)


def test_a_late_payment_publishes_the_expiry_before_the_new_hold(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    (paid,) = converted(engine, venue.convert(hold.id)).holds
    (a1,) = venue.seat_ids("Stalls A 1")
    assert world.facts(venue)[facts:] == [
        ("hold.expired", hold.id, 2, None),
        ("seat.released", hold.id, 2, a1),
        ("hold.created", paid.id, 1, None),
        ("seat.held", paid.id, 1, a1),
        ("hold.converted", paid.id, 2, None),
        ("seat.sold", paid.id, 2, a1),
        ("order.confirmed", paid.id, 2, None),
    ]
    assert [row.action for row in world.audit(venue)[audit:]] == [
        "hold.expired",
        "seat_hold_expired",
        "hold.created",
        "seat_reserved",
        "hold.converted",
        "seat_sold",
    ]


def test_a_late_payment_reported_twice_makes_one_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    order = converted(engine, venue.convert(hold.id)).order
    world.let_pass(venue, 5000)
    for hold_id in (hold.id, revival_id(hold.id)):
        outcome = ask(engine, venue.convert(hold_id))
        assert isinstance(outcome, AlreadyConverted)
        assert outcome.order_id == order.id
    assert list(world.orders(venue)) == [order.id]


def test_a_hold_that_took_the_id_of_a_replacement_is_none(world: World, engine: Admission) -> None:
    """The API refuses such an id. Had somebody got one, a paid hold would not become their
    order."""
    venue = theatre(world)
    hold = a_hold(engine, venue)
    taken = revival_id(hold.id)
    placed(engine, venue.place(("standing", 1), hold_id=taken, holder=STRANGER))
    theirs = converted(engine, venue.convert(taken)).order
    world.let_pass(venue, 601)
    refusal = refused(engine, venue.convert(hold.id))
    assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert list(world.orders(venue)) == [theirs.id]


def test_two_late_payments_in_one_group_make_one_order(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    outcomes = [
        future.result(60).outcome
        for future in [engine.submit(venue.convert(hold.id)) for _ in range(5)]
    ]
    assert sum(isinstance(outcome, Converted) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, AlreadyConverted) for outcome in outcomes) == 4
    assert len(world.orders(venue)) == 1


def test_a_late_payment_is_refused_without_a_policy(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(600))
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    assert_gone(world, engine, venue, hold)
    ask(engine, venue.expire(hold.id))
    assert_gone(world, engine, venue, hold)


def test_a_payment_that_is_too_late_is_refused(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold, other = a_hold(engine, venue), placed(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 600 + 290)
    converted(engine, venue.convert(other.id))
    world.let_pass(venue, 20)
    assert_gone(world, engine, venue, hold)


def test_a_late_payment_takes_no_seat_from_its_new_holder(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    theirs = placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    assert_gone(world, engine, venue, hold)
    converted(engine, venue.convert(theirs.id))
    assert_gone(world, engine, venue, hold)


def test_a_late_payment_gets_no_blocked_seat(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    ask(engine, venue.block("Stalls A 1"))
    assert_gone(world, engine, venue, hold)
    ask(engine, venue.unblock("Stalls A 1"))
    converted(engine, venue.convert(hold.id))


def test_a_late_payment_gets_a_seat_whose_next_hold_expired_too(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, late_payment_seconds=3000))
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    theirs = placed(
        engine,
        venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 8), holder=STRANGER),
    )
    world.let_pass(venue, 601)
    (paid,) = converted(engine, venue.convert(hold.id)).holds
    assert world.holds(venue)[theirs.id].status == "expired"
    assert world.seats(venue)["Stalls A 1"].hold_id == paid.id
    assert world.seats(venue)["Stalls A 2"].status == "available"
    pool = world.pool(venue.pools["floor"])
    assert (pool.held, pool.sold, world.lapse_units(pool.id)) == (0, 2, 0)


def test_a_late_payment_is_refused_when_the_pool_is_full(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 4)))
    world.let_pass(venue, 601)
    other = placed(engine, venue.place(("standing", 7), holder=STRANGER))
    assert_gone(world, engine, venue, hold)
    ask(engine, venue.release(other.id))
    converted(engine, venue.convert(hold.id))


def test_expired_holds_of_others_make_room_for_a_late_payment(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, late_payment_seconds=3000))
    hold = placed(engine, venue.place(("standing", 4)))
    world.let_pass(venue, 601)
    others = [placed(engine, venue.place(("standing", 2), holder=STRANGER)) for _ in range(5)]
    assert_gone(world, engine, venue, hold)
    world.let_pass(venue, 601)
    converted(engine, venue.convert(hold.id))
    statuses = [world.holds(venue)[other.id].status for other in others]
    assert sorted(statuses) == ["active"] * 3 + ["expired"] * 2, "no more than are needed"
    pool = world.pool(venue.pools["floor"])
    assert (pool.held, pool.sold) == (6, 4)


def test_a_late_payment_can_need_more_than_one_round_of_evictions(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, late_payment_seconds=3000), places=200)
    hold = placed(engine, venue.place(("standing", 200)))
    world.let_pass(venue, 601)
    for future in [engine.submit(venue.place(("standing", 1))) for _ in range(200)]:
        future.result(60)
    world.let_pass(venue, 601)
    converted(engine, venue.convert(hold.id))
    assert world.pool(venue.pools["floor"]).sold == 200


def test_two_late_holds_that_had_the_same_seat_cannot_both_have_it(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, late_payment_seconds=3000))
    first = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    second = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 601)
    refusal = refused(engine, venue.convert(first.id, second.id))
    assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert world.orders(venue) == {}
    converted(engine, venue.convert(second.id))
    assert_gone(world, engine, venue, first)


def test_an_expired_and_a_live_hold_can_be_paid_together(world: World, engine: Admission) -> None:
    venue = theatre(world)
    late = placed(engine, venue.seats("Stalls A 1"))
    world.let_pass(venue, 500)
    live = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 150)
    done = converted(engine, venue.convert(late.id, live.id))
    assert done.order.hold_ids == (revival_id(late.id), live.id)
    assert [ticket.hold_id for ticket in done.order.tickets] == [
        revival_id(late.id),
        live.id,
        live.id,
    ]
    outcome = ask(engine, venue.convert(late.id, live.id))
    assert isinstance(outcome, AlreadyConverted)


def test_one_expired_hold_without_a_free_place_prevents_the_whole_sale(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    late = [placed(engine, venue.seats(f"Stalls A {n}")) for n in (1, 2)]
    world.let_pass(venue, 601)
    placed(engine, venue.seats("Stalls A 2", holder=STRANGER))
    refusal = refused(engine, venue.convert(*(hold.id for hold in late)))
    assert refusal.code is RefusalCode.HOLD_EXPIRED
    assert world.orders(venue) == {}
    assert world.holds(venue)[late[0].id].status == "active", "not even its expiry is recorded"


def test_a_released_hold_cannot_be_paid_late(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    ask(engine, venue.release(hold.id))
    world.let_pass(venue, 601)
    refusal = refused(engine, venue.convert(hold.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE


def test_the_replacement_hold_never_shows_as_live(world: World, engine: Admission) -> None:
    """It is created and converted at the same moment."""
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    (paid,) = converted(engine, venue.convert(hold.id)).holds
    assert paid.created_at == paid.confirmed_at
    assert timedelta() < paid.expires_at - paid.created_at <= timedelta(seconds=2)
    assert paid.warn_at is None
