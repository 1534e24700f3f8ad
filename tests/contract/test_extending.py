"""Making a hold last longer, and warning its holder before the end, on every store alike."""

from datetime import timedelta
from uuid import uuid4

import pytest

from holdfast.domain.group.outcomes import Extended
from holdfast.domain.holds.hold import Hold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, extended, placed, refused, warned
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 4})


def theatre(world: World, policy: HoldPolicy | None = None) -> Venue:
    plan = Plan({"floor": 10}, {"standing": ("floor",)}, policy or HoldPolicy(), hall=HALL)
    return world.build(plan)


def a_hold(engine: Admission, venue: Venue) -> Hold:
    """Two seats and three places to stand."""
    return placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3)))


def test_a_holder_makes_a_hold_last_longer(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 120))
    assert after.expires_at == hold.expires_at + timedelta(seconds=120)
    assert after.version == 2
    assert world.hold(venue, hold.id) == after


def test_the_places_are_kept_until_the_new_end(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 120))
    for pool, units in (("floor", 3), ("Stalls capacity", 2)):
        assert world.lapse(venue.pools[pool]) == {after.expires_at: units}
        assert world.pool(venue.pools[pool]).held == units
    until = world.held_until(venue)
    assert until["Stalls A 1"] == until["Stalls A 2"] == after.expires_at
    assert until["Stalls A 3"] is None


def test_an_extended_hold_is_not_taken_over_at_its_first_end(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    extended(engine, venue.extend(hold.id, 120))
    world.let_pass(venue, 601)
    refused(engine, venue.seats("Stalls A 1", holder=STRANGER))
    refused(engine, venue.place(("standing", 8), holder=STRANGER))
    world.let_pass(venue, 120)
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    placed(engine, venue.place(("standing", 10), holder=STRANGER))


def test_an_extension_is_told_and_audited_once(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    extended(engine, venue.extend(hold.id, 120))
    assert world.facts(venue)[facts:] == [("hold.extended", hold.id, 2, None)]
    assert world.audit(venue)[audit:] == [
        ("hold.extended", hold.id, "test", "active", "active", None)
    ]


def test_two_extensions_of_one_group_add_up(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    futures = [engine.submit(venue.extend(hold.id, seconds)) for seconds in (60, 30)]
    for future in futures:
        future.result(60)
    after = world.hold(venue, hold.id)
    assert after.expires_at == hold.expires_at + timedelta(seconds=90)
    assert world.lapse(venue.pools["floor"]) == {after.expires_at: 3}


def test_a_stranger_and_an_unknown_id_get_the_same_answer(world: World, engine: Admission) -> None:
    venue, other = theatre(world), theatre(world)
    hold = a_hold(engine, venue)
    answers = [
        refused(engine, venue.extend(hold.id, 120, holder=STRANGER)),
        refused(engine, venue.extend(HoldId(uuid4()), 120)),
        refused(engine, other.extend(hold.id, 120)),
        refused(engine, other.extend(hold.id, 120, holder=None, is_operator=True)),
    ]
    assert {each.code for each in answers} == {RefusalCode.HOLD_NOT_FOUND}
    assert len(set(map(str, answers))) == 1
    assert world.hold(venue, hold.id) == hold


def test_a_holder_extends_up_to_the_longest_life_and_no_further(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, lifetime_max_seconds=700))
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 500))
    assert after.expires_at == hold.expires_at + timedelta(seconds=100)
    refusal = refused(engine, venue.extend(hold.id, 500))
    assert refusal.code is RefusalCode.EXTENSION_LIMIT_REACHED
    assert refusal.details["expires_at"] == after.expires_at.isoformat().replace("+00:00", "Z")
    assert world.hold(venue, hold.id) == after


def test_a_longest_life_that_is_over_already_makes_no_hold_shorter(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600))
    hold = a_hold(engine, venue)
    world.set_policy(venue, HoldPolicy(300, lifetime_max_seconds=300))
    refusal = refused(engine, venue.extend(hold.id, 10))
    assert refusal.code is RefusalCode.EXTENSION_LIMIT_REACHED
    assert world.hold(venue, hold.id) == hold


def test_an_operator_goes_beyond_the_policy(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(600, lifetime_max_seconds=600))
    hold = a_hold(engine, venue)
    refused(engine, venue.extend(hold.id, 3600))
    after = extended(engine, venue.extend(hold.id, 3600, holder=None, is_operator=True))
    assert after.expires_at == hold.expires_at + timedelta(seconds=3600)


@pytest.mark.parametrize("is_operator", [False, True])
def test_nobody_extends_what_has_lapsed(world: World, engine: Admission, is_operator: bool) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    command = venue.extend(hold.id, 120, is_operator=is_operator)
    assert refused(engine, command).code is RefusalCode.HOLD_EXPIRED
    ask(engine, venue.expire(hold.id))
    assert refused(engine, command).code is RefusalCode.HOLD_EXPIRED


def test_nobody_extends_what_has_ended(world: World, engine: Admission) -> None:
    venue = theatre(world)
    released, paid = (placed(engine, venue.place(("standing", 1))) for _ in range(2))
    ask(engine, venue.release(released.id))
    ask(engine, venue.convert(paid.id))
    for hold, status in ((released, "cancelled"), (paid, "converted")):
        refusal = refused(engine, venue.extend(hold.id, 120))
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
        assert refusal.details == {"current_status": status}


def test_one_key_extends_once(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    key = venue.key()
    first = answer(engine, venue.extend(hold.id, 120, key=key))
    again = answer(engine, venue.extend(hold.id, 120, key=key))
    assert again.is_replay
    assert again.body == first.body
    assert world.hold(venue, hold.id).version == 2


def test_a_holder_is_warned_once_before_the_end(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    assert hold.warn_at == hold.expires_at - timedelta(seconds=60)
    assert warned(engine, venue.warn(hold.id)) == (), "it is too early"
    world.let_pass(venue, 545)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    assert warned(engine, venue.warn(hold.id, HoldId(uuid4()))) == (hold.id,)
    assert warned(engine, venue.warn(hold.id)) == ()
    assert world.facts(venue)[facts:] == [("hold.expiring", hold.id, 2, None)]
    assert world.audit(venue)[audit:] == [
        ("hold.expiring", hold.id, "reaper", "active", "active", None)
    ]
    assert world.lapse_units(venue.pools["floor"]) == 3
    assert world.seats(venue)["Stalls A 1"].version == 2, "nothing changes for the seat"


def test_an_extension_is_warned_of_anew(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 545)
    assert warned(engine, venue.warn(hold.id)) == (hold.id,)
    after = extended(engine, venue.extend(hold.id, 120))
    assert after.warn_at == after.expires_at - timedelta(seconds=60)
    assert warned(engine, venue.warn(hold.id)) == ()
    world.let_pass(venue, 120)
    assert warned(engine, venue.warn(hold.id)) == (hold.id,)


def test_nobody_is_warned_after_the_end(world: World, engine: Admission) -> None:
    venue = theatre(world)
    lapsed = a_hold(engine, venue)
    released = placed(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(released.id))
    world.let_pass(venue, 601)
    assert warned(engine, venue.warn(lapsed.id, released.id)) == ()


@pytest.mark.parametrize(
    "policy", [HoldPolicy(600, warning_seconds=0), HoldPolicy(60, warning_seconds=61)]
)
def test_nobody_is_warned_where_the_policy_leaves_no_time_for_it(
    world: World, engine: Admission, policy: HoldPolicy
) -> None:
    venue = theatre(world, policy)
    hold = a_hold(engine, venue)
    assert hold.warn_at is None
    assert hold.due_at == hold.expires_at
    world.let_pass(venue, policy.ttl_seconds - 2)
    assert warned(engine, venue.warn(hold.id)) == ()


def test_a_warning_waits_for_no_pool_and_no_seat(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 545)
    with (
        world.locked_by_a_stranger(venue, venue.pools["floor"]),
        world.seats_locked_by_a_stranger(venue, "Stalls A 1"),
    ):
        assert warned(engine, venue.warn(hold.id)) == (hold.id,)
        waits = engine.submit(venue.extend(hold.id, 10))
        a_hold(engine, theatre(world))
        assert not waits.done(), "the control: an extension needs both"
    assert isinstance(waits.result(60).outcome, Extended)
