"""Joining the waitlist, leaving it, and being promoted when places are free, on every store."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.footprint import ResourceKind
from holdfast.domain.group.outcomes import NOTHING_MORE, Waiting
from holdfast.domain.group.plan import GroupPlan
from holdfast.domain.holds.hold import Hold, HoldStatus, rounded_up
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.domain.values import Holder
from holdfast.domain.waitlist.queues import PROMOTIONS_MAX
from holdfast.engine import Admission
from tests.contract.asking import (
    answer,
    ask,
    changed,
    emptied,
    extended,
    placed,
    promoted,
    refused,
    waiting,
)
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Plan, Venue

POLICY = HoldPolicy(waitlist=True)


def club(world: World, policy: HoldPolicy = POLICY, total: int = 4) -> Venue:
    return world.build(Plan({"floor": total}, {"standing": ("floor",)}, policy))


def a_person(number: int) -> Holder:
    return Holder(user_id=f"user-{number}")


def sold_out(engine: Admission, venue: Venue, *parties: int) -> list[Hold]:
    """Hold all places in parties of these sizes."""
    return [placed(engine, venue.place(("standing", size), holder=STRANGER)) for size in parties]


def join_waitlist(engine: Admission, venue: Venue, *parties: int) -> list[Hold]:
    return [
        waiting(engine, venue.place(("standing", size), holder=a_person(number)))
        for number, size in enumerate(parties)
    ]


def statuses(world: World, venue: Venue, holds: list[Hold]) -> list[str]:
    seen = world.holds(venue)
    return [seen[hold.id].status for hold in holds]


def test_a_buyer_who_finds_nothing_left_joins_the_waitlist(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    outcome = ask(engine, venue.place(("standing", 2)))
    assert isinstance(outcome, Waiting)
    hold = outcome.hold
    assert (outcome.position, outcome.is_repeat) == (1, False)
    assert (hold.status, hold.version, hold.held_at) == (HoldStatus.WAITING, 1, None)
    assert hold.expires_at == rounded_up(outcome.at) + timedelta(days=1)
    assert world.hold(venue, hold.id) == hold
    assert world.position(hold) == 1
    assert world.pool(venue.pools["floor"]).held == 4, "a waiting hold occupies no places"
    assert world.facts(venue)[-1] == ("hold.waiting", hold.id, 1, None)
    assert world.audit(venue)[-1] == ("hold.waiting", hold.id, "test", None, "waiting", None)


def test_nobody_waits_unless_the_policy_allows_it(world: World, engine: Admission) -> None:
    venue = club(world, HoldPolicy())
    sold_out(engine, venue, 4)
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY


def test_of_two_buyers_for_the_last_place_one_gets_it_and_one_waits(
    world: World, engine: Admission
) -> None:
    venue = club(world, total=1)
    futures = [
        engine.submit(venue.place(("standing", 1), holder=a_person(number))) for number in range(2)
    ]
    outcomes = [type(future.result(60).outcome).__name__ for future in futures]
    assert outcomes == ["Placed", "Waiting"]


def test_every_waiting_party_has_a_position(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    outcomes = [
        ask(engine, venue.place(("standing", 2), holder=a_person(number))) for number in range(3)
    ]
    assert [each.position for each in outcomes if isinstance(each, Waiting)] == [1, 2, 3]
    holds = [each.hold for each in outcomes if isinstance(each, Waiting)]
    ask(engine, venue.release(holds[0].id))
    assert [world.position(hold) for hold in holds] == [None, 1, 2]


def test_a_release_promotes_the_first_party_at_once(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    first, second, third = join_waitlist(engine, venue, 3, 1, 1)
    world.let_pass(venue, 100)
    facts = len(world.facts(venue))
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [first, second, third]) == ["active", "active", "waiting"]
    after = world.hold(venue, first.id)
    assert after.held_at is not None
    assert after.expires_at == rounded_up(after.held_at) + timedelta(seconds=600), (
        "the time to pay starts at the promotion"
    )
    assert after.warn_at == after.expires_at - timedelta(seconds=60)
    assert (after.version, after.created_at < after.held_at, after.waiting) == (2, True, None)
    assert world.facts(venue)[facts:] == [
        ("hold.cancelled", held.id, 2, None),
        ("hold.promoted", first.id, 2, None),
        ("hold.promoted", second.id, 2, None),
    ]
    assert world.audit(venue)[-1] == (
        "hold.promoted",
        second.id,
        "waitlist",
        "waiting",
        "active",
        None,
    )
    assert world.lapse(venue.pools["floor"]) == {after.expires_at: 4}
    assert world.is_settled(venue)


def test_freed_places_always_go_to_the_waitlist(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=1000), total=6)
    lapsing = placed(engine, venue.place(("standing", 1), holder=STRANGER))
    world.let_pass(venue, 900)
    placed(engine, venue.fill("smaller", {"a": ("standing", 2)}, holder=STRANGER))
    placed(engine, venue.fill("emptied", {"a": ("standing", 3)}, holder=STRANGER))
    queue = join_waitlist(engine, venue, 1, 1, 3, 1)
    world.let_pass(venue, 101)
    assert statuses(world, venue, queue[:1]) == ["waiting"], "only the reaper expires it in time"
    ask(engine, venue.expire(lapsing.id))
    assert statuses(world, venue, queue) == ["active", "waiting", "waiting", "waiting"]
    changed(engine, venue.fill("smaller", {"a": ("standing", 1)}, holder=STRANGER))
    assert statuses(world, venue, queue) == ["active", "active", "waiting", "waiting"]
    emptied(engine, venue.empty("emptied"))
    assert statuses(world, venue, queue) == ["active", "active", "active", "waiting"]
    world.set_total(venue, "floor", 7)
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["active"] * 4


def test_one_command_promotes_a_limited_number_and_the_promoter_the_rest(
    world: World, engine: Admission
) -> None:
    many = PROMOTIONS_MAX + 5
    venue = club(world, total=many)
    (held,) = sold_out(engine, venue, many)
    queue = join_waitlist(engine, venue, *[1] * (many + 1))
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, queue).count("active") == PROMOTIONS_MAX
    assert statuses(world, venue, queue)[:PROMOTIONS_MAX] == ["active"] * PROMOTIONS_MAX
    assert not world.is_settled(venue)
    newcomer = waiting(engine, venue.place(("standing", 1)))
    promoted(engine, venue.promote())
    assert statuses(world, venue, [*queue, newcomer]) == ["active"] * many + ["waiting"] * 2
    assert world.is_settled(venue)


def test_an_abandoned_waitlist_is_settled(world: World, engine: Admission) -> None:
    many = PROMOTIONS_MAX + 1
    venue = club(world, total=many)
    (held,) = sold_out(engine, venue, many)
    queue = join_waitlist(engine, venue, *[1] * many)
    ask(engine, venue.release(held.id))
    assert not world.is_settled(venue)
    last = queue[-1]
    futures = [engine.submit(command) for command in (venue.release(last.id), venue.promote())]
    for future in futures:
        future.result(60)
    promoted(engine, venue.promote())
    assert world.is_settled(venue), "the promoter would never stop"


def test_an_expired_promotion_goes_to_the_next_party(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    first, second = join_waitlist(engine, venue, 4, 4)
    ask(engine, venue.release(held.id))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(first.id))
    assert statuses(world, venue, [first, second]) == ["expired", "active"]


def test_released_and_expired_holds_leave_the_waitlist(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=3600, waiting_seconds=300))
    sold_out(engine, venue, 3)
    placed(engine, venue.fill("held", {"a": ("standing", 1)}, holder=STRANGER))
    left, lapsed = join_waitlist(engine, venue, 1, 1)
    cart = waiting(engine, venue.fill("basket", {"a": ("standing", 1)}))
    ask(engine, venue.release(left.id))
    assert emptied(engine, venue.empty("basket")) == world.hold(venue, cart.id)
    world.let_pass(venue, 301)
    assert refused(engine, venue.release(lapsed.id)).code is RefusalCode.HOLD_EXPIRED
    last = waiting(engine, venue.place(("standing", 1)))
    emptied(engine, venue.empty("held"))
    assert statuses(world, venue, [left, lapsed, cart, last]) == [
        "cancelled",
        "expired",
        "cancelled",
        "active",
    ]
    assert world.hold(venue, lapsed.id).held_at is None


def test_the_reaper_expires_waiting_holds(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=3600, waiting_seconds=300))
    sold_out(engine, venue, 3)
    large, small = join_waitlist(engine, venue, 4, 1)
    world.let_pass(venue, 200)
    assert statuses(world, venue, [large, small]) == ["waiting", "waiting"]
    late = waiting(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 101)
    ask(engine, venue.expire(large.id))
    assert statuses(world, venue, [large, small, late]) == ["expired", "expired", "active"]


def test_a_waiting_hold_lasts_no_longer_than_the_sale(world: World, engine: Admission) -> None:
    end = world.now() + timedelta(hours=1)
    plan = Plan({"floor": 1}, {"standing": ("floor",)}, POLICY)
    ending = world.build(replace(plan, sale=replace(plan.sale, ends_at=end)))
    sold_out(engine, ending, 1)
    assert join_waitlist(engine, ending, 1)[0].expires_at == rounded_up(end)


@pytest.mark.parametrize("by", ["the end of the sale", "a cancelled event"])
def test_the_waitlist_is_cancelled_when_the_sale_is_over(
    world: World, engine: Admission, by: str
) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 4, 1)
    if by == "the end of the sale":
        world.end_sale(venue)
    else:
        world.set_status(venue, EventStatus.CANCELLED)
    facts = len(world.facts(venue))
    promoted(engine, venue.promote())
    assert statuses(world, venue, queue) == ["cancelled", "cancelled"]
    assert world.facts(venue)[facts:] == [("hold.cancelled", hold.id, 2, None) for hold in queue]
    assert {row.actor for row in world.audit(venue)[-2:]} == {"waitlist"}
    assert world.is_settled(venue)


def test_waiting_holds_cannot_be_extended_or_paid(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 4)
    hold = waiting(engine, venue.place(("standing", 1)))
    for command in (
        venue.extend(hold.id, 60),
        venue.check_out(hold.id),
        venue.convert(hold.id),
    ):
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
        assert refusal.details == {"current_status": "waiting"}
    assert world.hold(venue, hold.id) == hold


def test_the_maximum_lifetime_counts_from_the_promotion(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, ttl_seconds=3000, lifetime_max_seconds=3100))
    (held,) = sold_out(engine, venue, 4)
    hold = waiting(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 2000)
    ask(engine, venue.release(held.id))
    before = world.hold(venue, hold.id)
    after = extended(engine, venue.extend(hold.id, 500))
    assert after.expires_at == before.expires_at + timedelta(seconds=100)


def test_a_repeated_request_keeps_its_waitlist_place(world: World, engine: Admission) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    hold_id, key = HoldId(a_person(7).key), venue.key()
    first = ask(engine, venue.place(("standing", 1), hold_id=hold_id))
    again = ask(engine, venue.place(("standing", 1), hold_id=hold_id))
    assert isinstance(first, Waiting)
    assert isinstance(again, Waiting)
    assert (again.hold, again.is_repeat) == (first.hold, True)
    by_key = answer(engine, venue.place(("standing", 2), key=key))
    ask(engine, venue.release(held.id))
    repeated = answer(engine, venue.place(("standing", 2), key=key))
    assert (repeated.is_replay, repeated.body) == (True, by_key.body)
    assert placed(engine, venue.place(("standing", 1), hold_id=hold_id)).id == hold_id
    assert world.pool(venue.pools["floor"]).held == 3


def test_disabling_the_waitlist_serves_those_waiting_and_admits_nobody(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    (held,) = sold_out(engine, venue, 4)
    queue = join_waitlist(engine, venue, 3, 1)
    world.set_policy(venue, replace(POLICY, waitlist=False))
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.code in {RefusalCode.INSUFFICIENT_INVENTORY, RefusalCode.OTHERS_ARE_WAITING}
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, queue) == ["active", "active"]
    refused(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(queue[0].id))
    placed(engine, venue.place(("standing", 1)))


def test_a_hold_that_may_not_wait_is_refused_instead(world: World, engine: Admission) -> None:
    venue = club(world)
    (sold,) = sold_out(engine, venue, 4)
    command = venue.place(("standing", 1))
    refusal = refused(engine, replace(command, may_wait=False))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert list(world.holds(venue)) == [sold.id]
    waiting(engine, command)


def test_the_promoter_ignores_a_session_that_does_not_exist(
    world: World, engine: Admission
) -> None:
    venue = club(world)
    promoted(engine, replace(venue.promote(), session_id=SessionId(uuid4())))
    promoted(engine, venue.promote())


def test_a_waiting_cart_keeps_its_quoted_price(world: World, engine: Admission) -> None:
    """Unless the platform names another."""
    venue = club(world)
    sold_out(engine, venue, 4)
    waiting(engine, venue.fill("basket", {"a": ("standing", 3)}))
    world.set_price(venue, "standing", 6000)
    less = waiting(engine, venue.fill("basket", {"a": ("standing", 2)}))
    assert [line.unit_price_minor for line in less.lines] == [4500]
    named = waiting(engine, venue.fill("basket", {"a": venue.some("standing", 2, price=700)}))
    assert [line.unit_price_minor for line in named.lines] == [700]


def test_a_warning_locks_neither_places_nor_the_waitlist(world: World, engine: Admission) -> None:
    """So it delays nobody."""
    venue = club(world)
    (hold,) = sold_out(engine, venue, 4)
    command = venue.warn(hold.id)
    connection = world.store.connect()
    planned = GroupPlan(connection.survey(command.needs(NOTHING_MORE))).footprint(command)
    connection.close()
    kinds = {each.kind for each in planned.required | planned.optional}
    assert kinds == {ResourceKind.SESSION, ResourceKind.HOLD}
