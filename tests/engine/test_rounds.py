"""A command that needs more locks runs again, but not forever."""

import time

import pytest

from holdfast.domain.group.footprint import Resource, ResourceKind
from holdfast.domain.group.ledger import Ledger
from holdfast.domain.group.outcomes import Decision, NeedsMore
from holdfast.domain.holds.place_hold import PlaceHold
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine.group import GroupRunner
from holdfast.engine.limits import FRUITLESS_ROUNDS_MAX, ROUNDS_MAX, SAME_KEY_WAIT_SECONDS
from holdfast.ports.store import Wanted
from tests.contract.worlds import MemoryWorld
from tests.engine.test_weights import outcome_of, pending
from tests.support.memory.group import MemoryGroup


@pytest.mark.parametrize(
    ("needs", "rounds"),
    [
        pytest.param(NeedsMore(), FRUITLESS_ROUNDS_MAX, id="nothing learned"),
        pytest.param(NeedsMore(was_overtaken=True), ROUNDS_MAX, id="always overtaken"),
    ],
)
def test_a_command_that_never_has_its_locks_is_refused(
    needs: NeedsMore, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlaceHold, "decide", lambda _command, _ledger: Decision(needs))
    world = MemoryWorld()
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    runner = GroupRunner(world.store.connect(), [])
    asked = pending(venue.place(("standing", 1)))
    for _ in range(rounds - 1):
        assert runner.run([asked]).again == [asked]
    assert runner.run([asked]).again == []
    outcome = outcome_of(asked)
    assert isinstance(outcome, Refusal)
    assert outcome.code is RefusalCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize("counts", [(2, 5), (5, 2)])
def test_a_group_reads_enough_parties_for_each_of_its_commands(
    counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = MemoryWorld()
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    queue = ((venue.organization_id, venue.session_id), venue.organization_id)
    wanted: list[Wanted] = []
    lock_and_read = MemoryGroup.lock_and_read

    def recorded(group: MemoryGroup, want: Wanted, wait_for: Resource | None) -> Ledger:
        wanted.append(want)
        return lock_and_read(group, want, wait_for)

    monkeypatch.setattr(MemoryGroup, "lock_and_read", recorded)
    asked = [pending(venue.place(("standing", 1))) for _ in counts]
    for each, count in zip(asked, counts, strict=True):
        each.learnt = NeedsMore(parties={queue: count})
    GroupRunner(world.store.connect(), []).run(asked)
    assert [each.parties for each in wanted] == [{queue: 5}]


def test_a_repeated_request_waits_for_the_first_for_a_limited_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = MemoryWorld()
    venue = world.venue({"floor": 10}, {"standing": ("floor",)})
    runner = GroupRunner(world.store.connect(), [])
    keys = [venue.key(), venue.key()]
    repeats = [pending(venue.place(("standing", 1), key=key)) for key in keys]
    in_flight = frozenset(
        Resource(ResourceKind.IDEMPOTENCY_KEY, venue.organization_id, key.digest) for key in keys
    )
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with world.store.connect().group() as first_requests:
        first_requests.lock_and_read(Wanted(in_flight))
        for _ in range(2):
            assert [each for each, _ in runner.run(repeats).blocked] == repeats
            now += SAME_KEY_WAIT_SECONDS * 0.9
        assert runner.run(repeats).blocked == []
    for repeat in repeats:
        outcome = outcome_of(repeat)
        assert isinstance(outcome, Refusal)
        assert outcome.code is RefusalCode.REQUEST_IN_PROGRESS
