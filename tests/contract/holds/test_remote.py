"""Holds whose tickets an Inventory Service counts, on every store: what is decided here."""

from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast.domain import refusals
from holdfast.domain.catalog.model import EventStatus
from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import IdempotencyKey
from holdfast.domain.group.outcomes import AwaitsInventory, Placed
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.holds.settle_hold import SettleHold
from holdfast.domain.ids import HoldId
from holdfast.domain.policy import HoldPolicy
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission
from tests.contract.asking import answer, ask, converted, in_one_group, placed, refused
from tests.contract.seen import World
from tests.contract.venues import ORIGIN, Hall, Plan, Venue

HALL = Hall({"Stalls": {"A": 2}}, {"seat": ()})
NO_TICKETS = refusals.insufficient_inventory(1)


@pytest.fixture
def venue(world: World) -> Venue:
    """With one ticket in its own pool, which remote holds do not draw from."""
    policy = HoldPolicy(holder_units_max=4)
    return world.build(
        Plan({"floor": 1}, {"standing": ("floor",), "late": ("floor",)}, policy, HALL)
    )


def remotely(command: PlaceHold) -> PlaceHold:
    return replace(command, is_remote=True)


def pending(engine: Admission, command: PlaceHold) -> Hold:
    outcome = ask(engine, remotely(command))
    assert isinstance(outcome, AwaitsInventory), outcome
    return outcome.hold


def settle(
    hold: Hold, refusal: Refusal | None = None, key: IdempotencyKey | None = None
) -> SettleHold:
    return SettleHold(hold.organization_id, hold.id, ORIGIN, refusal, key)


def active(engine: Admission, command: PlaceHold) -> Hold:
    return placed(engine, settle(pending(engine, command)))


def a_key(venue: Venue) -> IdempotencyKey:
    return IdempotencyKey(venue.organization_id, uuid4(), b"the request")


def test_a_hold_is_pending_until_the_inventory_has_answered(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = pending(engine, venue.place(("standing", 3)))
    assert hold.status is HoldStatus.PENDING
    assert world.hold(venue, hold.id) == hold
    assert [fact.type for fact in world.facts(venue)] == ["hold.pending"]
    after = placed(engine, settle(hold))
    assert after.status is HoldStatus.ACTIVE
    assert after.expires_at == hold.expires_at
    assert after.held_at is not None
    assert world.hold(venue, hold.id) == after
    assert [fact.type for fact in world.facts(venue)] == ["hold.pending", "hold.created"]
    assert world.pool(venue.pools["floor"]).held == 0, "the Inventory Service counts"


def test_a_hold_without_tickets_fails_and_nobody_hears_that_it_was_created(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = pending(engine, venue.place(("standing", 3)))
    assert refused(engine, settle(hold, NO_TICKETS)) == NO_TICKETS
    assert world.hold(venue, hold.id).status is HoldStatus.FAILED
    assert [fact.type for fact in world.facts(venue)] == ["hold.pending", "hold.failed"]


@pytest.mark.parametrize("act", ["release", "extend", "convert", "expire"])
def test_nothing_can_be_done_with_a_pending_hold(
    world: World, engine: Admission, venue: Venue, act: str
) -> None:
    hold = pending(engine, venue.place(("standing", 3)))
    commands: dict[str, Command] = {
        "release": venue.release(hold.id),
        "extend": venue.extend(hold.id, 60),
        "convert": venue.convert(hold.id),
        "expire": venue.expire(hold.id),
    }
    outcome = ask(engine, commands[act])
    if act != "expire":
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.INVALID_HOLD_STATE
        assert outcome.details["current_status"] == "pending"
    assert world.hold(venue, hold.id) == hold


def test_an_active_remote_hold_is_like_any_other(
    world: World, engine: Admission, venue: Venue
) -> None:
    first = active(engine, venue.place(("standing", 1)))
    ask(engine, venue.extend(first.id, 60))
    bought = converted(engine, venue.convert(first.id))
    assert len(bought.order.tickets) == 1
    second = active(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(second.id))
    third = active(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 601)
    ask(engine, venue.expire(third.id))
    statuses = {each.id: each.status for each in world.all_holds(venue)}
    assert statuses == {
        first.id: HoldStatus.CONVERTED,
        second.id: HoldStatus.CANCELLED,
        third.id: HoldStatus.EXPIRED,
    }


def test_pending_holds_count_towards_the_limits_of_their_holder(
    world: World, engine: Admission, venue: Venue
) -> None:
    first = pending(engine, venue.place(("standing", 3)))
    refusal = refused(engine, remotely(venue.place(("standing", 2))))
    assert refusal.code is RefusalCode.HOLDER_LIMIT_REACHED
    refused(engine, settle(first, NO_TICKETS))
    pending(engine, venue.place(("standing", 4)))


def test_two_at_once_do_not_exceed_a_limit(world: World, venue: Venue) -> None:
    outcomes = in_one_group(world.store, *(remotely(venue.place(("standing", 3))) for _ in "ab"))
    assert [type(each) for each in outcomes] == [AwaitsInventory, Refusal]


def test_a_repeat_continues_with_the_same_hold(
    world: World, engine: Admission, venue: Venue
) -> None:
    command = venue.place(("standing", 2), hold_id=HoldId(uuid4()))
    hold = pending(engine, command)
    assert pending(engine, command) == hold
    after = placed(engine, settle(hold))
    assert placed(engine, settle(hold)) == after, "settled twice"
    assert placed(engine, settle(hold, NO_TICKETS)) == after, "another request was successful"
    again = ask(engine, remotely(command))
    assert isinstance(again, Placed)
    assert again.is_repeat
    other = venue.place(("standing", 1), hold_id=command.hold_id)
    assert refused(engine, remotely(other)).code is RefusalCode.IDEMPOTENCY_KEY_REUSED


def test_the_id_of_a_failed_hold_cannot_be_used_again(
    world: World, engine: Admission, venue: Venue
) -> None:
    command = venue.place(("standing", 2), hold_id=HoldId(uuid4()))
    hold = pending(engine, command)
    refused(engine, settle(hold, NO_TICKETS))
    refusal = refused(engine, remotely(command))
    assert (refusal.code, refusal.details["current_status"]) == (
        RefusalCode.INVALID_HOLD_STATE,
        "failed",
    )
    late = refused(engine, settle(hold))
    assert late.code is RefusalCode.SERVICE_UNAVAILABLE, "the reconciler releases its tickets"


def test_the_answer_is_recorded_when_the_hold_is_settled(
    world: World, engine: Admission, venue: Venue
) -> None:
    key = a_key(venue)
    hold = pending(engine, venue.place(("standing", 2), key=key))
    settled = answer(engine, settle(hold, key=key))
    assert not settled.is_replay
    replayed = answer(engine, remotely(venue.place(("standing", 2), key=key)))
    assert replayed.is_replay
    assert replayed.body == settled.body


def test_a_hold_whose_sale_was_cancelled_meanwhile_fails(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = pending(engine, venue.place(("standing", 2)))
    world.set_status(venue, EventStatus.CANCELLED)
    assert refused(engine, settle(hold)).code is RefusalCode.EVENT_UNAVAILABLE
    assert world.hold(venue, hold.id).status is HoldStatus.FAILED


def test_a_hold_that_is_settled_after_its_time_fails(
    world: World, engine: Admission, venue: Venue
) -> None:
    hold = pending(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 601)
    assert refused(engine, settle(hold)).code is RefusalCode.SERVICE_UNAVAILABLE
    assert world.hold(venue, hold.id).status is HoldStatus.FAILED


def test_seats_and_fewer_tickets_need_an_inventory_of_our_own(
    engine: Admission, venue: Venue
) -> None:
    for command in (
        venue.seats("Stalls A 1"),
        venue.place(("seat", 1)),
        venue.place(venue.some("standing", 3, at_least=1)),
    ):
        refusal = refused(engine, remotely(command))
        assert refusal.code is RefusalCode.NOT_WITH_REMOTE_INVENTORY


def test_a_remote_hold_cannot_be_paid_for_late(world: World, engine: Admission) -> None:
    policy = HoldPolicy(late_payment_seconds=600)
    venue = world.build(Plan({"floor": 9}, {"standing": ("floor",)}, policy))
    remote = active(engine, venue.place(("standing", 1)))
    own = placed(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 601)
    assert refused(engine, venue.convert(remote.id)).code is RefusalCode.HOLD_EXPIRED
    converted(engine, venue.convert(own.id))
