"""General admission holds, on every store."""

import time
from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from holdfast.domain.group.outcomes import Expired, Placed, Released
from holdfast.domain.holds.hold import Hold, HoldStatus
from holdfast.domain.ids import HoldId, SessionId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.values import EmailAddress, Holder
from holdfast.engine import Admission
from holdfast.ports.engine import Answer
from tests.contract.asking import answer, ask, placed, refused, render_plainly
from tests.contract.seen import World


def test_a_hold_takes_its_places_and_locks_its_price(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold = placed(engine, venue.place(("standing", 3)))
    assert hold.status is HoldStatus.ACTIVE
    assert (hold.quantity, hold.total.minor, hold.total.currency) == (3, 13_500, "EUR")
    assert len(hold.reference) == 6
    assert world.pool(venue.pools["floor"]).held == 3


def test_a_hold_lasts_as_its_policy_says_rounded_up_to_a_second(
    world: World, engine: Admission
) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)}, ttl_seconds=300)
    hold = placed(engine, venue.place(("standing", 1)))
    assert hold.expires_at.microsecond == 0
    assert timedelta(seconds=300) <= hold.expires_at - hold.created_at < timedelta(seconds=301)


def test_a_shortage_is_refused_with_the_available_quantity(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    placed(engine, venue.place(("standing", 9)))
    refusal = refused(engine, venue.place(("standing", 5)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    assert refusal.message == "Only 1 ticket(s) available"
    assert refusal.details == {"available_quantity": 1}
    assert world.pool(venue.pools["floor"]).held == 9


def test_a_hold_gets_all_its_lines_or_none(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10, "balcony": 1}, {"standing": ("floor",), "box": ("balcony",)})
    refusal = refused(engine, venue.place(("standing", 2), ("box", 2)))
    assert refusal.details == {"available_quantity": 1}
    assert world.pool(venue.pools["floor"]).held == 0
    hold = placed(engine, venue.place(("standing", 2), ("box", 1)))
    assert [line.quantity for line in hold.lines] == [2, 1]


def test_lines_that_share_a_pool_are_checked_together(world: World, engine: Admission) -> None:
    venue = world.venue(
        {"house": 10, "adults": 10, "children": 10},
        {"adult": ("adults", "house"), "child": ("children", "house")},
    )
    refusal = refused(engine, venue.place(("adult", 6), ("child", 5)))
    assert refusal.code is RefusalCode.INSUFFICIENT_INVENTORY
    placed(engine, venue.place(("adult", 6), ("child", 4)))
    assert world.pool(venue.pools["house"]).free == 0
    assert world.pool(venue.pools["children"]).held == 4


def test_more_than_the_policy_allows_is_refused(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)}, quantity_max=4)
    refusal = refused(engine, venue.place(("standing", 3), ("standing", 2)))
    assert refusal.code is RefusalCode.QUANTITY_ABOVE_MAXIMUM
    placed(engine, venue.place(("standing", 4)))


def test_unknown_sessions_and_ticket_types_are_refused(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    other = world.venue({"floor": 10}, {"standing": ("floor",)})
    command = venue.place(("standing", 1))
    lost = type(command)(
        command.organization_id,
        SessionId(uuid4()),
        command.hold_id,
        command.holder,
        command.asks,
        command.origin,
    )
    assert refused(engine, lost).code is RefusalCode.INVALID_SESSION
    foreign = type(command)(
        command.organization_id,
        other.session_id,
        command.hold_id,
        command.holder,
        command.asks,
        command.origin,
    )
    assert refused(engine, foreign).code is RefusalCode.INVALID_SESSION
    stranger = other.place(("standing", 1))
    mixed = type(command)(
        command.organization_id,
        command.session_id,
        command.hold_id,
        command.holder,
        stranger.asks,
        command.origin,
    )
    assert refused(engine, mixed).code is RefusalCode.INVALID_TICKET_TYPE


def test_a_released_hold_frees_its_places_once(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold = placed(engine, venue.place(("standing", 3)))
    released = ask(engine, venue.release(hold.id))
    assert isinstance(released, Released)
    assert (released.hold.status, released.hold.version) == (HoldStatus.CANCELLED, 2)
    refusal = refused(engine, venue.release(hold.id))
    assert refusal.code is RefusalCode.INVALID_HOLD_STATE
    assert world.pool(venue.pools["floor"]).held == 0
    assert world.lapse_units(venue.pools["floor"]) == 0


def test_an_unknown_or_foreign_hold_is_not_found(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    other = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold = placed(engine, venue.place(("standing", 3)))
    assert refused(engine, venue.release(HoldId(uuid4()))).code is RefusalCode.HOLD_NOT_FOUND
    assert refused(engine, other.release(hold.id)).code is RefusalCode.HOLD_NOT_FOUND
    assert world.pool(venue.pools["floor"]).held == 3


def test_an_expired_hold_blocks_nobody_without_the_reaper(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    lapsed = placed(engine, venue.place(("standing", 10)))
    refused(engine, venue.place(("standing", 1)))
    world.let_pass(venue, 601)
    hold = placed(engine, venue.place(("standing", 4)))
    assert world.pool(venue.pools["floor"]).held == 4
    kinds = [(fact.type, fact.hold_id, fact.version) for fact in world.facts(venue)]
    assert kinds == [
        ("hold.created", lapsed.id, 1),
        ("hold.expired", lapsed.id, 2),
        ("hold.created", hold.id, 1),
    ]


def test_only_as_many_lapsed_holds_expire_as_are_needed(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    oldest = placed(engine, venue.place(("standing", 4)))
    world.let_pass(venue, 5)
    placed(engine, venue.place(("standing", 6)))
    world.let_pass(venue, 700)
    placed(engine, venue.place(("standing", 2)))
    expired = [fact.hold_id for fact in world.facts(venue) if fact.type == "hold.expired"]
    assert expired == [oldest.id]
    assert world.pool(venue.pools["floor"]).held == 8


def test_a_refusal_counts_lapsed_places_as_available(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    placed(engine, venue.place(("standing", 4)))
    world.let_pass(venue, 700)
    refusal = refused(engine, venue.place(("standing", 11)))
    assert refusal.details == {"available_quantity": 10}


def test_a_hold_can_need_more_than_one_round_of_evictions(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 200}, {"standing": ("floor",)})
    for outcome in [engine.submit(venue.place(("standing", 1))) for _ in range(200)]:
        assert isinstance(outcome.result(60).outcome, Placed)
    world.let_pass(venue, 700)
    placed(engine, venue.place(("standing", 200)))
    assert world.pool(venue.pools["floor"]).held == 200


def test_an_expired_hold_cannot_be_released(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold = placed(engine, venue.place(("standing", 4)))
    world.let_pass(venue, 601)
    assert refused(engine, venue.release(hold.id)).code is RefusalCode.HOLD_EXPIRED


def test_expiring_does_not_touch_live_holds(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    lapsed = placed(engine, venue.place(("standing", 2)))
    world.let_pass(venue, 400)
    live = placed(engine, venue.place(("standing", 3)))
    world.let_pass(venue, 300)
    outcome = ask(engine, venue.expire(lapsed.id, live.id, HoldId(uuid4())))
    assert isinstance(outcome, Expired)
    assert outcome.hold_ids == (lapsed.id,)
    assert world.pool(venue.pools["floor"]).held == 3
    again = ask(engine, venue.expire(lapsed.id))
    assert isinstance(again, Expired)
    assert again.hold_ids == ()


def test_every_transition_leaves_one_fact_and_one_audit_row(
    world: World, engine: Admission
) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    first = placed(engine, venue.place(("standing", 1)))
    second = placed(engine, venue.place(("standing", 1)))
    ask(engine, venue.release(first.id))
    world.let_pass(venue, 700)
    ask(engine, venue.expire(second.id))
    refused(engine, venue.release(first.id))
    assert [(row.type, row.hold_id) for row in world.facts(venue)] == [
        ("hold.created", first.id),
        ("hold.created", second.id),
        ("hold.cancelled", first.id),
        ("hold.expired", second.id),
    ]
    assert [row[:5] for row in world.audit(venue)] == [
        ("hold.created", first.id, "test", None, "active"),
        ("hold.created", second.id, "test", None, "active"),
        ("hold.cancelled", first.id, "test", "active", "cancelled"),
        ("hold.expired", second.id, "reaper", "active", "expired"),
    ]


def test_a_repeated_key_gets_the_first_answer_byte_for_byte(
    world: World, engine: Admission
) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    key = venue.key()
    first = answer(engine, venue.place(("standing", 2), key=key))
    ask(engine, venue.release(_hold_of(first).id))
    second = answer(engine, venue.place(("standing", 2), key=key))
    assert not first.is_replay
    assert second.is_replay
    assert second.body == first.body
    assert len(world.facts(venue)) == 2


def test_a_key_reused_for_another_request_is_refused(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    key = venue.key()
    placed(engine, venue.place(("standing", 2), key=key))
    other = type(key)(key.organization_id, key.digest, b"another")
    refusal = refused(engine, venue.place(("standing", 3), key=other))
    assert refusal.code is RefusalCode.IDEMPOTENCY_KEY_REUSED
    assert world.pool(venue.pools["floor"]).held == 2


def test_a_temporary_refusal_is_not_stored_for_its_key(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 2}, {"standing": ("floor",)})
    key = venue.key()
    hold = placed(engine, venue.place(("standing", 2)))
    refused(engine, venue.place(("standing", 1), key=key))
    ask(engine, venue.release(hold.id))
    placed(engine, venue.place(("standing", 1), key=key))


def test_a_final_refusal_is_stored_for_its_key(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 2}, {"standing": ("floor",)})
    key = venue.key()
    first = answer(engine, venue.release(HoldId(uuid4()), key=key))
    second = answer(engine, venue.release(HoldId(uuid4()), key=key))
    assert second.is_replay
    assert second.body == first.body


def test_concurrent_requests_with_one_key_have_one_effect(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    command = venue.place(("standing", 2), key=venue.key())
    futures = [engine.submit(command, render_plainly) for _ in range(20)]
    wait(futures, 10)
    assert len({future.result(0).body for future in futures}) == 1
    assert sum(not future.result(0).is_replay for future in futures) == 1
    assert world.pool(venue.pools["floor"]).held == 2


def test_a_hold_id_chosen_by_the_client_is_used_once(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold_id = HoldId(uuid4())
    first = ask(engine, venue.place(("standing", 2), hold_id=hold_id))
    again = ask(engine, venue.place(("standing", 2), hold_id=hold_id))
    assert isinstance(first, Placed)
    assert isinstance(again, Placed)
    assert (first.is_repeat, again.is_repeat) == (False, True)
    assert again.hold == first.hold
    more = refused(engine, venue.place(("standing", 3), hold_id=hold_id))
    assert more.code is RefusalCode.IDEMPOTENCY_KEY_REUSED
    stranger = Holder(EmailAddress("stranger@example.com"))
    theirs = venue.place(("standing", 2), hold_id=hold_id, holder=stranger)
    assert refused(engine, theirs).code is RefusalCode.IDEMPOTENCY_KEY_REUSED
    assert world.pool(venue.pools["floor"]).held == 2


def test_a_repeated_hold_id_with_another_price_is_refused(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    command = venue.place(("standing", 2), hold_id=HoldId(uuid4()))
    ask_at = [replace(command.asks[0], unit_price_minor=price) for price in (100, 5, 100)]
    first, other, again = (ask(engine, replace(command, asks=(each,))) for each in ask_at)
    assert isinstance(first, Placed)
    assert isinstance(other, Refusal)
    assert other.code is RefusalCode.IDEMPOTENCY_KEY_REUSED
    assert isinstance(again, Placed)
    assert again.is_repeat


def test_two_organizations_can_choose_the_same_hold_id(world: World, engine: Admission) -> None:
    one = world.venue({"floor": 10}, {"standing": ("floor",)})
    other = world.venue({"floor": 10}, {"standing": ("floor",)})
    hold_id = HoldId(uuid4())
    assert placed(engine, one.place(("standing", 1), hold_id=hold_id)).id == hold_id
    assert placed(engine, other.place(("standing", 2), hold_id=hold_id)).id == hold_id
    ask(engine, one.release(hold_id))
    assert world.pool(one.pools["floor"]).held == 0
    assert world.pool(other.pools["floor"]).held == 2


def test_a_pool_locked_elsewhere_delays_only_commands_that_need_it(
    world: World, engine: Admission
) -> None:
    venue = world.venue({"floor": 10, "box": 10}, {"standing": ("floor",), "seat": ("box",)})
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        waiting = engine.submit(venue.place(("standing", 1)))
        for _ in range(5):
            placed(engine, venue.place(("seat", 1)))
        assert not waiting.done()
    assert isinstance(waiting.result(60).outcome, Placed)


def test_a_repeat_of_a_request_still_in_progress_is_refused(
    world: World, engine: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.engine.group.SAME_KEY_WAIT_SECONDS", 0.3)
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    command = venue.place(("standing", 1), key=venue.key())
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        first = engine.submit(command, render_plainly)
        again = engine.submit(command, render_plainly).result(60).outcome
        assert isinstance(again, Refusal)
        assert again.code is RefusalCode.REQUEST_IN_PROGRESS
        assert not first.done()
    assert isinstance(first.result(60).outcome, Placed)
    assert answer(engine, command).is_replay
    assert world.pool(venue.pools["floor"]).held == 1


@pytest.mark.alone
def test_a_command_blocked_on_one_pool_does_not_block_other_pools(
    world: World, engine: Admission
) -> None:
    """A buyer wants two pools, one of them locked elsewhere. The other keeps selling."""
    venue = world.venue({"x": 100, "z": 100}, {"both": ("x", "z"), "one": ("x",)})
    with world.locked_elsewhere(venue, venue.pools["z"]):
        greedy = engine.submit(venue.place(("both", 1)))
        started = time.monotonic()
        for _ in range(20):
            placed(engine, venue.place(("one", 1)))
        # With the pool locked, each buyer would wait a lock timeout of a quarter second.
        assert time.monotonic() - started < 3
        assert not greedy.done()
    assert isinstance(greedy.result(60).outcome, Placed)


def test_commands_blocked_on_a_pool_run_in_order(world: World, engine: Admission) -> None:
    venue = world.venue({"floor": 3}, {"standing": ("floor",)})
    with world.locked_elsewhere(venue, venue.pools["floor"]):
        futures = []
        for _ in range(6):
            futures.append(engine.submit(venue.place(("standing", 1))))
            placed(engine, world.venue({"x": 1}, {"y": ("x",)}).place(("y", 1)))
    outcomes = [future.result(60).outcome for future in futures]
    assert [isinstance(outcome, Placed) for outcome in outcomes] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("size", [1, 7, 128, 500])
def test_large_bursts_are_answered_completely(world: World, engine: Admission, size: int) -> None:
    venue = world.venue({"floor": size - 1 or 1}, {"standing": ("floor",)})
    futures = [engine.submit(venue.place(("standing", 1))) for _ in range(size)]
    won = sum(isinstance(future.result(60).outcome, Placed) for future in futures)
    assert won == min(size, size - 1 or 1)
    pool = world.pool(venue.pools["floor"])
    assert (pool.held, world.lapse_units(pool.id)) == (won, won)


def _hold_of(answer: Answer) -> Hold:
    assert isinstance(answer.outcome, Placed)
    return answer.outcome.hold
