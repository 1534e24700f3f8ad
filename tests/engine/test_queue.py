"""The queue is fair: round robin over organizations, first come first served within each."""

import time
from uuid import uuid4

import pytest

from holdfast.domain import refusals
from holdfast.domain.holds.due_holds import DUE_BATCH_MAX, ExpireHolds
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.engine.limits import Limits
from holdfast.engine.queue import BACKGROUND_AT_ONCE, PEOPLE_STAY_SECONDS, FairQueue, Pending
from tests.contract.venues import ORIGIN


def pending(organization_id: OrganizationId, queue: FairQueue) -> Pending:
    command = ReleaseHold(organization_id, HoldId(uuid4()), ORIGIN)
    return Pending(command, None, float("inf"), leave=queue.leave, deliver=lambda _: None)


def of_the_reaper(organization_id: OrganizationId, queue: FairQueue) -> Pending:
    command = ExpireHolds(organization_id, (HoldId(uuid4()),), ORIGIN)
    return Pending(command, None, float("inf"), leave=queue.leave, deliver=lambda _: None)


def test_each_batch_takes_one_background_command() -> None:
    queue = FairQueue(1000, 1000)
    organization_id = OrganizationId(uuid4())
    reaping = [of_the_reaper(organization_id, queue) for _ in range(3)]
    people = [pending(organization_id, queue) for _ in range(4)]
    for one in (*reaping, *people):
        assert queue.put(one)
    assert queue.take(2) == [*people[:2], reaping[0]]
    assert queue.take(2) == [*people[2:], reaping[1]]
    assert queue.take(2) == [reaping[2]]


def test_background_work_keeps_up_with_large_batches() -> None:
    """Half as many holds expire as are placed, more than needed: most are paid for."""
    queue = FairQueue(1000, 1000)
    organization_id = OrganizationId(uuid4())
    for _ in range(4 * DUE_BATCH_MAX):
        queue.put(pending(organization_id, queue))
    reaping = [of_the_reaper(organization_id, queue) for _ in range(9)]
    for one in reaping:
        queue.put(one)
    assert queue.take(1000)[4 * DUE_BATCH_MAX :] == reaping[:2]


def test_a_full_share_does_not_refuse_background_work() -> None:
    queue = FairQueue(10, 1)
    organization_id = OrganizationId(uuid4())
    assert queue.put(pending(organization_id, queue))
    assert not queue.put(pending(organization_id, queue))
    reaping = of_the_reaper(organization_id, queue)
    assert queue.put(reaping)
    reaping.refuse(refusals.service_unavailable())
    assert queue.unanswered() == 1


def test_an_idle_queue_gives_out_many_background_commands_at_once() -> None:
    queue = FairQueue(1000, 1000)
    organization_id = OrganizationId(uuid4())
    reaping = [of_the_reaper(organization_id, queue) for _ in range(BACKGROUND_AT_ONCE + 1)]
    for one in reaping:
        queue.put(one)
    assert queue.take(2) == reaping[:-1]
    queue.close()
    assert queue.empty() == reaping[-1:]


def test_background_work_runs_one_at_a_time_until_the_queue_has_been_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = FairQueue(1000, 1000)
    organization_id = OrganizationId(uuid4())
    reaping = [of_the_reaper(organization_id, queue) for _ in range(5)]
    person = pending(organization_id, queue)
    for one in (*reaping, person):
        queue.put(one)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert queue.take(10) == [person, reaping[0]]
    now += PEOPLE_STAY_SECONDS * 0.9
    assert queue.take(10) == [reaping[1]]
    assert queue.take(10) == [reaping[2]], "background work does not count as a visit"
    now += PEOPLE_STAY_SECONDS * 0.2
    assert queue.take(10) == reaping[3:]


def test_retried_background_work_does_not_count_as_a_visit() -> None:
    queue = FairQueue(1000, 1000)
    organization_id = OrganizationId(uuid4())
    again, *reaping = [of_the_reaper(organization_id, queue) for _ in range(3)]
    for one in reaping:
        queue.put(one)
    queue.put_first([again])
    assert queue.take(10) == [again, *reaping]


def test_organizations_take_turns() -> None:
    queue = FairQueue(100, 100)
    rush, quiet = OrganizationId(uuid4()), OrganizationId(uuid4())
    crowd = [pending(rush, queue) for _ in range(10)]
    two = [pending(quiet, queue) for _ in range(2)]
    for one in (*crowd, *two):
        assert queue.put(one)
    assert queue.take(4) == [crowd[0], two[0], crowd[1], two[1]]
    assert queue.take(100) == crowd[2:]


def test_a_command_put_first_is_taken_first() -> None:
    queue = FairQueue(100, 100)
    organization_id = OrganizationId(uuid4())
    early, late = pending(organization_id, queue), pending(organization_id, queue)
    queue.put(late)
    queue.put_first([early])
    assert queue.take(10) == [early, late]


def test_the_limit_counts_unanswered_commands() -> None:
    queue = FairQueue(2, 2)
    organization_id = OrganizationId(uuid4())
    first, second = pending(organization_id, queue), pending(organization_id, queue)
    assert queue.put(first)
    assert queue.put(second)
    queue.take(2)
    assert not queue.put(pending(organization_id, queue))
    queue.leave(first)
    assert queue.put(pending(organization_id, queue))
    assert queue.unanswered() == 2


def test_an_answer_makes_room_for_one_more_command() -> None:
    queue = FairQueue(100, 3)
    organization_id = OrganizationId(uuid4())
    three = [pending(organization_id, queue) for _ in range(3)]
    assert all(queue.put(one) for one in three)
    assert not queue.put(pending(organization_id, queue))
    queue.leave(three[0])
    assert queue.put(pending(organization_id, queue))
    assert not queue.put(pending(organization_id, queue))


def test_all_organizations_share_a_total_limit() -> None:
    queue = FairQueue(2, 2)
    first, second, third = (pending(OrganizationId(uuid4()), queue) for _ in range(3))
    assert queue.put(first)
    assert queue.put(second)
    assert not queue.put(third)
    queue.leave(first)
    assert queue.put(third)


def test_a_closed_queue_gives_out_its_commands_and_accepts_none() -> None:
    queue = FairQueue(10, 10)
    organization_id = OrganizationId(uuid4())
    queue.put(pending(organization_id, queue))
    queue.close()
    assert not queue.put(pending(organization_id, queue))
    assert len(queue.take(10)) == 1
    assert queue.take(10) == []


@pytest.mark.parametrize(("queue_max", "share_max"), [(1, 1), (2, 1), (4, 3), (4096, 3072)])
def test_one_organization_gets_three_quarters_of_the_queue(queue_max: int, share_max: int) -> None:
    """But room for one command at least."""
    assert Limits(queue_max=queue_max).share_max == share_max
