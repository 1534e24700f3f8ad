"""Extending holds and warning holders before the end, on every store."""

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
    """A hold of two seats and three standing tickets."""
    return placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3)))


def test_a_holder_can_extend_a_hold(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 120))
    assert after.expires_at == hold.expires_at + timedelta(seconds=120)
    assert after.version == 2
    assert world.hold(venue, hold.id) == after


def test_an_extended_hold_keeps_its_places_to_the_end(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 120))
    for pool, units in (("floor", 3), ("Stalls capacity", 2)):
        assert world.lapse(venue.pools[pool]) == {after.expires_at: units}
        assert world.pool(venue.pools[pool]).held == units
    until = world.held_until(venue)
    assert until["Stalls A 1"] == until["Stalls A 2"] == after.expires_at
    assert until["Stalls A 3"] is None


def test_an_extended_hold_survives_its_first_expiry_time(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    extended(engine, venue.extend(hold.id, 120))
    world.let_pass(venue, 601)
    refused(engine, venue.seats("Stalls A 1", holder=STRANGER))
    refused(engine, venue.place(("standing", 8), holder=STRANGER))
    world.let_pass(venue, 120)
    placed(engine, venue.seats("Stalls A 1", holder=STRANGER))
    placed(engine, venue.place(("standing", 10), holder=STRANGER))


def test_an_extension_leaves_one_fact_and_one_audit_row(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    extended(engine, venue.extend(hold.id, 120))
    assert world.facts(venue)[facts:] == [("hold.extended", hold.id, 2, None)]
    assert world.audit(venue)[audit:] == [
        ("hold.extended", hold.id, "test", "active", "active", None)
    ]


def test_two_extensions_in_one_group_add_up(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    futures = [engine.submit(venue.extend(hold.id, seconds)) for seconds in (60, 30)]
    for future in futures:
        future.result(60)
    after = world.hold(venue, hold.id)
    assert after.expires_at == hold.expires_at + timedelta(seconds=90)
    assert world.lapse(venue.pools["floor"]) == {after.expires_at: 3}


def test_holds_of_others_look_like_unknown_holds(world: World, engine: Admission) -> None:
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


def test_a_holder_can_extend_up_to_the_maximum_lifetime(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(600, lifetime_max_seconds=700))
    hold = a_hold(engine, venue)
    after = extended(engine, venue.extend(hold.id, 500))
    assert after.expires_at == hold.expires_at + timedelta(seconds=100)
    refusal = refused(engine, venue.extend(hold.id, 500))
    assert refusal.code is RefusalCode.EXTENSION_LIMIT_REACHED
    assert refusal.details["expires_at"] == after.expires_at.isoformat().replace("+00:00", "Z")
    assert world.hold(venue, hold.id) == after


def test_a_maximum_lifetime_already_exceeded_shortens_no_hold(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600))
    hold = a_hold(engine, venue)
    world.set_policy(venue, HoldPolicy(300, lifetime_max_seconds=300))
    refusal = refused(engine, venue.extend(hold.id, 10))
    assert refusal.code is RefusalCode.EXTENSION_LIMIT_REACHED
    assert world.hold(venue, hold.id) == hold


def test_an_operator_can_extend_beyond_the_policy(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(600, lifetime_max_seconds=600))
    hold = a_hold(engine, venue)
    refused(engine, venue.extend(hold.id, 3600))
    after = extended(engine, venue.extend(hold.id, 3600, holder=None, is_operator=True))
    assert after.expires_at == hold.expires_at + timedelta(seconds=3600)


@pytest.mark.parametrize("is_operator", [False, True])
def test_expired_holds_cannot_be_extended(
    world: World, engine: Admission, is_operator: bool
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 601)
    command = venue.extend(hold.id, 120, is_operator=is_operator)
    assert refused(engine, command).code is RefusalCode.HOLD_EXPIRED
    ask(engine, venue.expire(hold.id))
    assert refused(engine, command).code is RefusalCode.HOLD_EXPIRED


def test_an_ended_hold_cannot_be_extended(world: World, engine: Admission) -> None:
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
    assert warned(engine, venue.warn(hold.id)) == (), "too early"
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


def test_a_holder_is_warned_again_after_an_extension(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 545)
    assert warned(engine, venue.warn(hold.id)) == (hold.id,)
    after = extended(engine, venue.extend(hold.id, 120))
    assert after.warn_at == after.expires_at - timedelta(seconds=60)
    assert warned(engine, venue.warn(hold.id)) == ()
    world.let_pass(venue, 120)
    assert warned(engine, venue.warn(hold.id)) == (hold.id,)


def test_an_expired_hold_gets_no_warning(world: World, engine: Admission) -> None:
    venue = theatre(world)
    lapsed = a_hold(engine, venue)
    released = placed(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(released.id))
    world.let_pass(venue, 601)
    assert warned(engine, venue.warn(lapsed.id, released.id)) == ()


@pytest.mark.parametrize(
    "policy", [HoldPolicy(600, warning_seconds=0), HoldPolicy(60, warning_seconds=61)]
)
def test_a_hold_too_short_for_a_warning_gets_none(
    world: World, engine: Admission, policy: HoldPolicy
) -> None:
    venue = theatre(world, policy)
    hold = a_hold(engine, venue)
    assert hold.warn_at is None
    assert hold.due_at == hold.expires_at
    world.let_pass(venue, policy.ttl_seconds - 2)
    assert warned(engine, venue.warn(hold.id)) == ()


def test_a_warning_needs_no_pool_or_seat_lock(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    world.let_pass(venue, 545)
    with (
        world.locked_elsewhere(venue, venue.pools["floor"]),
        world.seats_locked_elsewhere(venue, "Stalls A 1"),
    ):
        assert warned(engine, venue.warn(hold.id)) == (hold.id,)
        waits = engine.submit(venue.extend(hold.id, 10))
        a_hold(engine, theatre(world))
        assert not waits.done(), "the control: an extension needs both"
    assert isinstance(waits.result(60).outcome, Extended)
