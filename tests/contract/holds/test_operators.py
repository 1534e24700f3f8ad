"""Operators release holds and end them early, and act only on the version that they have seen. Runs
on every store."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Converted, Released
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import ask, changed, extended, placed, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import BUYER, STRANGER, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 6}}, {"seat": ()}, {"Stalls": 6})
POLICY = HoldPolicy(600, late_payment_seconds=300, cooldown_seconds=900)


def theatre(world: World, policy: HoldPolicy = POLICY) -> Venue:
    return world.build(Plan({"floor": 4}, {"standing": ("floor",)}, policy, HALL))


def a_hold(engine: Admission, venue: Venue) -> Hold:
    return placed(engine, venue.place(venue.these("Stalls A 1", "Stalls A 2"), ("standing", 3)))


def ended(engine: Admission, command: Command) -> Hold:
    outcome = ask(engine, command)
    assert isinstance(outcome, Released), outcome
    return outcome.hold


def payload_of(world: World, venue: Venue, type_: str) -> dict[str, Any]:
    return [payload for named, payload in world.payloads(venue) if named == type_][-1]


def test_a_hold_that_an_operator_expires_ends_as_expired_at_once(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = ended(engine, venue.release_as_operator(hold.id, is_expired=True))
    assert after.status is HoldStatus.EXPIRED
    assert after.expired_at is not None
    assert after.expired_at < after.expires_at <= after.expired_at + timedelta(seconds=1)
    assert world.hold(venue, hold.id) == after
    assert world.lapse_units(venue.pools["floor"]) == 0
    placed(engine, venue.place(venue.these("Stalls A 1"), ("standing", 4), holder=STRANGER))


@pytest.mark.parametrize(
    ("is_expired", "fact", "audited"),
    [(True, "hold.expired", "expired"), (False, "hold.cancelled", "cancelled")],
)
def test_the_facts_and_the_audit_say_that_an_operator_did_it(
    world: World, engine: Admission, is_expired: bool, fact: str, audited: str
) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    facts, audit = len(world.facts(venue)), len(world.audit(venue))
    ended(engine, venue.release_as_operator(hold.id, is_expired=is_expired))
    assert world.facts(venue)[facts] == (fact, hold.id, 2, None)
    assert world.audit(venue)[audit] == (fact, hold.id, "test", "active", audited, None)
    assert payload_of(world, venue, fact)["reason"] == "operator"
    assert payload_of(world, venue, fact)["freed_quantity"] == 5
    assert payload_of(world, venue, "seat.released")["reason"] == "operator"


def test_other_ends_have_no_operator_in_their_facts(world: World, engine: Admission) -> None:
    venue = theatre(world, replace(POLICY, cooldown_seconds=0))
    ended(engine, venue.release(a_hold(engine, venue).id))
    assert "reason" not in payload_of(world, venue, "hold.cancelled")
    late = a_hold(engine, venue)
    world.let_pass(venue, 601)
    ask(engine, venue.expire(late.id))
    assert "reason" not in payload_of(world, venue, "hold.expired")
    assert payload_of(world, venue, "seat.released")["reason"] == "ttl_expired"


def test_a_hold_ends_only_once(world: World, engine: Admission) -> None:
    venue = theatre(world)
    hold = a_hold(engine, venue)
    after = ended(engine, venue.release_as_operator(hold.id, is_expired=True))
    for again in (
        venue.release_as_operator(hold.id, is_expired=True),
        venue.release_as_operator(hold.id),
        venue.release(hold.id),
        venue.extend(hold.id, 60, is_operator=True),
    ):
        assert refused(engine, again).code is RefusalCode.HOLD_EXPIRED
    ask(engine, venue.expire(hold.id))
    assert world.hold(venue, hold.id) == after


def test_a_lapsed_released_or_paid_hold_cannot_be_expired(world: World, engine: Admission) -> None:
    venue = theatre(world, HoldPolicy(600))
    released, paid, lapsed = (placed(engine, venue.place(("standing", 1))) for _ in range(3))
    ended(engine, venue.release(released.id))
    ask(engine, venue.convert(paid.id))
    for hold, status in ((released, "cancelled"), (paid, "converted")):
        refusal = refused(engine, venue.release_as_operator(hold.id, is_expired=True))
        assert refusal.code is RefusalCode.INVALID_HOLD_STATE
        assert refusal.details == {"current_status": status}
    world.let_pass(venue, 601)
    expiry = venue.release_as_operator(lapsed.id, is_expired=True)
    assert refused(engine, expiry).code is RefusalCode.HOLD_EXPIRED


def test_an_operator_can_take_a_party_off_the_waitlist_but_not_expire_it(
    world: World, engine: Admission
) -> None:
    venue = theatre(world, HoldPolicy(600, waitlist=True))
    placed(engine, venue.place(("standing", 4), holder=STRANGER))
    party = waiting(engine, venue.place(("standing", 1)))
    expiry = venue.release_as_operator(party.id, is_expired=True)
    refusal = refused(engine, expiry)
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    assert refusal.details == {"current_status": "waiting"}
    assert ended(engine, venue.release_as_operator(party.id)).is_cancelled()
    assert world.position(party) is None


@pytest.mark.parametrize("is_expired", [True, False])
def test_the_next_party_gets_the_places(world: World, engine: Admission, is_expired: bool) -> None:
    venue = theatre(world, HoldPolicy(600, waitlist=True))
    held = placed(engine, venue.place(("standing", 4), holder=STRANGER))
    party = waiting(engine, venue.place(("standing", 3)))
    ended(engine, venue.release_as_operator(held.id, is_expired=is_expired))
    assert world.hold(venue, party.id).status is HoldStatus.ACTIVE


@pytest.mark.parametrize("is_expired", [True, False])
def test_what_an_operator_ends_starts_no_cooldown(
    world: World, engine: Admission, is_expired: bool
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.place(("standing", 1)))
    ended(engine, venue.release_as_operator(hold.id, is_expired=is_expired))
    own = placed(engine, venue.place(("standing", 1)))
    ended(engine, venue.release(own.id))
    again = refused(engine, venue.place(("standing", 1)))
    assert again.code is RefusalCode.HOLDER_COOLDOWN, "control"


def test_a_hold_that_was_ended_early_can_be_paid_for_late_like_any_expired_one(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    first, second = (placed(engine, venue.place(("standing", 1))) for _ in range(2))
    for hold in (first, second):
        ended(engine, venue.release_as_operator(hold.id, is_expired=True))
    world.let_pass(venue, 200)
    assert isinstance(ask(engine, venue.convert(first.id)), Converted)
    world.let_pass(venue, 102)
    assert refused(engine, venue.convert(second.id)).code is RefusalCode.HOLD_EXPIRED


def test_a_cart_that_was_ended_early_can_be_renewed(world: World, engine: Admission) -> None:
    venue = theatre(world)
    cart = placed(engine, venue.fill("cart", {"item": ("standing", 2)}))
    ended(engine, venue.release_as_operator(cart.id, is_expired=True))
    again = placed(engine, venue.renew("cart", holder=BUYER))
    assert again.revives == cart.id


def test_a_person_who_saw_an_earlier_version_changes_nothing(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    after = extended(engine, venue.extend(hold.id, 60, is_operator=True, seen_version=1))
    stale: tuple[Command, ...] = (
        venue.extend(hold.id, 60, is_operator=True, seen_version=1),
        venue.release_as_operator(hold.id, seen_version=1),
        venue.release_as_operator(hold.id, is_expired=True, seen_version=1),
        venue.move(hold.id, {"Stalls A 1": "Stalls A 2"}, seen_version=1),
    )
    for command in stale:
        refusal = refused(engine, command)
        assert refusal.code is RefusalCode.HOLD_CHANGED
        assert refusal.details == {"current_version": 2}
    assert world.hold(venue, hold.id) == after
    ended(engine, venue.release_as_operator(hold.id, seen_version=2))


def test_of_two_operators_who_act_at_once_the_second_is_told(
    world: World, engine: Admission
) -> None:
    venue = theatre(world)
    hold = placed(engine, venue.seats("Stalls A 1"))
    commands = [venue.extend(hold.id, 60, is_operator=True, seen_version=1) for _ in range(2)]
    outcomes = [future.result(60).outcome for future in map(engine.submit, commands)]
    assert [getattr(each, "code", None) for each in outcomes] == [None, RefusalCode.HOLD_CHANGED]
    assert world.hold(venue, hold.id).expires_at == hold.expires_at + timedelta(seconds=60)


def test_a_changed_cart_is_a_new_version(world: World, engine: Admission) -> None:
    venue = theatre(world)
    cart = placed(engine, venue.fill("cart", {"item": ("standing", 2)}))
    changed(engine, venue.fill("cart", {"item": ("standing", 1)}))
    refusal = refused(engine, venue.release_as_operator(cart.id, seen_version=cart.version))
    assert refusal.code is RefusalCode.HOLD_CHANGED
