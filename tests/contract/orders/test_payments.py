"""A single-use payment makes one order, on every store."""

from collections import Counter
from dataclasses import replace

from holdfast.domain.group.outcomes import AlreadyConverted, Converted
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, converted, placed, refused
from tests.contract.seen import World
from tests.contract.venues import Plan, Venue, a_purchase


def a_venue(world: World, beside: Venue | None = None) -> Venue:
    return world.build(Plan({"floor": 100}, {"standing": ("floor",)}), beside)


def some_holds(engine: Admission, venue: Venue, count: int) -> list[HoldId]:
    return [placed(engine, venue.place(("standing", 1))).id for _ in range(count)]


def test_a_single_use_payment_makes_no_second_order(world: World, engine: Admission) -> None:
    venue = a_venue(world)
    elsewhere = a_venue(world, beside=venue)
    first, second = some_holds(engine, venue, 2)
    (third,) = some_holds(engine, elsewhere, 1)
    order = converted(engine, venue.pay_once(first)).order
    for command in (
        venue.pay_once(second),
        venue.pay_once(second, third),
        elsewhere.pay_once(third),
    ):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.PAYMENT_ALREADY_USED
        assert refusal.details == {"order_id": str(order.id)}
        assert not refusal.code.is_retryable
    assert list(world.orders(venue)) == [order.id]
    assert {world.holds(venue)[hold].status for hold in (second, third)} == {"active"}
    converted(engine, venue.pay_once(second, third, reference="pay-2"))


def test_a_repeated_payment_returns_its_own_order(world: World, engine: Admission) -> None:
    venue = a_venue(world)
    ids = some_holds(engine, venue, 2)
    order = converted(engine, venue.pay_once(*ids)).order
    for again in (ids, ids[::-1], ids[:1]):
        outcome = ask(engine, venue.pay_once(*again))
        assert isinstance(outcome, AlreadyConverted)
        assert outcome.order_id == order.id


def test_the_commands_of_one_group_see_each_others_orders(world: World, engine: Admission) -> None:
    venue = a_venue(world)
    holds = some_holds(engine, venue, 10)
    futures = [engine.submit(venue.pay_once(hold)) for hold in holds]
    outcomes = [future.result(60).outcome for future in futures]
    (made,) = [outcome.order for outcome in outcomes if isinstance(outcome, Converted)]
    refusals = Counter(
        (outcome.code, outcome.details["order_id"])
        for outcome in outcomes
        if isinstance(outcome, Refusal)
    )
    assert refusals == {(RefusalCode.PAYMENT_ALREADY_USED, str(made.id)): 9}
    assert list(world.orders(venue)) == [made.id]


def test_a_late_payment_can_be_used_once(world: World, engine: Admission) -> None:
    venue = world.build(
        Plan({"floor": 100}, {"standing": ("floor",)}, HoldPolicy(600, late_payment_seconds=60))
    )
    late, other = some_holds(engine, venue, 2)
    world.let_pass(venue, 601)
    order = converted(engine, venue.pay_once(late)).order
    assert refused(engine, venue.pay_once(other)).code is RefusalCode.PAYMENT_ALREADY_USED
    outcome = ask(engine, venue.pay_once(late))
    assert isinstance(outcome, AlreadyConverted)
    assert outcome.order_id == order.id


def test_two_organizations_can_use_the_same_payment_reference(
    world: World, engine: Admission
) -> None:
    for venue in (a_venue(world), a_venue(world)):
        (hold,) = some_holds(engine, venue, 1)
        converted(engine, venue.pay_once(hold))


def test_a_payment_accepted_before_counts_as_used(world: World, engine: Admission) -> None:
    """Single use refuses a payment that has paid for anything; without it nothing is checked."""
    venue = a_venue(world)
    first, second, third = some_holds(engine, venue, 3)
    for hold in (first, second):
        believed = a_purchase(payment_reference="pay-1")
        converted(engine, venue.convert(hold, purchase=believed))
    refusal = refused(engine, venue.pay_once(third))
    assert refusal.code is RefusalCode.PAYMENT_ALREADY_USED
    assert refusal.details["order_id"] in [str(order_id) for order_id in world.orders(venue)]


def test_a_free_order_does_not_use_up_its_payment(world: World, engine: Admission) -> None:
    venue = a_venue(world)
    free = [
        placed(engine, venue.place(replace(venue.some("standing", 1), unit_price_minor=0))).id
        for _ in range(3)
    ]
    (costly,) = some_holds(engine, venue, 1)
    for hold in (*free[:2], costly, free[2]):
        converted(engine, venue.pay_once(hold))
    assert len(world.orders(venue)) == 4


def test_the_refusal_is_replayed_for_its_key(world: World, engine: Admission) -> None:
    venue = a_venue(world)
    first, second = some_holds(engine, venue, 2)
    converted(engine, venue.pay_once(first))
    command = replace(venue.pay_once(second), idempotency=venue.key())
    refusal, again = answer(engine, command), answer(engine, command)
    assert isinstance(refusal.outcome, Refusal)
    assert again.is_replay
    assert again.body == refusal.body
