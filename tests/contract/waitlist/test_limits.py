"""Limits on how often a person may wait, and for how many places. Runs on every store."""

from dataclasses import replace

import pytest

from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from tests.contract.asking import ask, placed, refused, waiting
from tests.contract.seen import World
from tests.contract.venues import STRANGER, Plan
from tests.contract.waitlist.test_waitlist import POLICY, a_person, club, sold_out, statuses


def test_a_person_can_wait_in_a_limited_number_of_places(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, waiting_places_max=2))
    sold_out(engine, venue, 4)
    first = waiting(engine, venue.place(("standing", 1)))
    waiting(engine, venue.place(("standing", 1)))
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.code is RefusalCode.WAITING_PLACES_EXCEEDED
    waiting(engine, venue.place(("standing", 1), holder=a_person(1)))
    ask(engine, venue.release(first.id))
    waiting(engine, venue.place(("standing", 1)))


def test_places_joined_in_one_group_count_towards_the_limit(
    world: World, engine: Admission
) -> None:
    venue = club(world, replace(POLICY, waiting_places_max=1))
    sold_out(engine, venue, 4)
    futures = [engine.submit(venue.place(("standing", 1))) for _ in range(3)]
    outcomes = [type(future.result(60).outcome).__name__ for future in futures]
    assert outcomes == ["Waiting", "Refusal", "Refusal"]


@pytest.mark.parametrize("is_by_user", [True, False], ids=["user", "address"])
@pytest.mark.parametrize(
    ("policy", "is_counted"),
    [
        (replace(POLICY, waiting_places_max=1), False),
        (replace(POLICY, waiting_places_max=1, holder_holds_max=1), True),
    ],
    ids=["limit in a session", "limit in the event"],
)
def test_places_in_another_session_count_towards_limits_of_the_event_only(
    world: World, engine: Admission, policy: HoldPolicy, is_counted: bool, is_by_user: bool
) -> None:
    person = a_person(1) if is_by_user else Holder(EmailAddress("ada@example.com"))
    plan = Plan({"floor": 4}, {"standing": ("floor",)}, policy)
    here = world.build(plan)
    elsewhere = world.build(plan, beside=here)
    stranger = replace(STRANGER, user_id="stranger")
    for venue, holder in ((here, STRANGER), (elsewhere, stranger)):
        placed(engine, venue.place(("standing", 4), holder=holder))
    waiting(engine, elsewhere.place(("standing", 1), holder=person))
    outcome = ask(engine, here.place(("standing", 1), holder=person))
    assert isinstance(outcome, Refusal) is is_counted


def test_the_one_hold_limit_includes_waiting_holds(world: World, engine: Admission) -> None:
    venue = club(world, replace(POLICY, one_active_hold=True))
    (held,) = sold_out(engine, venue, 4)
    waits = waiting(engine, venue.place(("standing", 1)))
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.code is RefusalCode.ALREADY_WAITING
    assert refusal.message == "You are already on the waitlist for this session"
    assert refusal.details["hold_id"] == str(waits.id)
    assert refused(engine, venue.place(("standing", 1), holder=STRANGER)).code is (
        RefusalCode.ACTIVE_HOLD_EXISTS
    )
    ask(engine, venue.release(held.id))
    assert statuses(world, venue, [waits]) == ["active"]
    refusal = refused(engine, venue.place(("standing", 1)))
    assert refusal.code is RefusalCode.ACTIVE_HOLD_EXISTS, "it has been promoted"


def test_a_party_larger_than_the_capacity_is_refused(world: World, engine: Admission) -> None:
    venue = club(world)
    sold_out(engine, venue, 1)
    refusal = refused(engine, venue.place(("standing", 5)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    waiting(engine, venue.place(("standing", 4)))
