"""Whatever fails, every command is answered, nothing is lost and nothing is held twice."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from structlog.testing import capture_logs

from holdfast.domain.group.command import Command
from holdfast.domain.group.outcomes import Outcome, Placed
from holdfast.domain.group.transitions import SeatTransition, Transition
from holdfast.domain.orders.order_change import OrderChange
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.engine import Admission, Limits
from holdfast.ports.engine import Answer
from holdfast.ports.store import (
    CommitState,
    Contended,
    GroupWrites,
    Rejected,
    StoreUnavailable,
)
from tests.contract.venues import Venue
from tests.contract.worlds import MemoryWorld
from tests.engine.faulty import FaultyStore, Times, lost_in_commit


class Bench:
    """An engine on a faulty store, with a venue of 1,000 places."""

    def __init__(self, **limits: Any) -> None:
        self.world = MemoryWorld()
        self.venue: Venue = self.world.venue({"floor": 1000}, {"standing": ("floor",)})
        self.store = FaultyStore(self.world.store)
        self.engine = Admission(self.store, Limits(**limits))

    def submit(self, count: int, key: bool = False) -> list[Future[Answer]]:
        return [
            self.engine.submit(
                self.venue.place(("standing", 1), key=self.venue.key() if key else None),
                lambda _: b"answer",
            )
            for _ in range(count)
        ]

    @property
    def held(self) -> int:
        return self.world.pool(self.venue.pools["floor"]).held


def outcomes(futures: list[Future[Answer]]) -> list[Outcome | None]:
    return [future.result(60).outcome for future in futures]


def codes(futures: list[Future[Answer]]) -> set[RefusalCode]:
    return {outcome.code for outcome in outcomes(futures) if isinstance(outcome, Refusal)}


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(**limits: Any) -> Bench:
        made.append(Bench(**limits))
        return made[-1]

    yield make
    for one in made:
        one.engine.stop()


def test_commands_queued_together_commit_together(bench: Callable[..., Bench]) -> None:
    b = bench(group_max=64)
    futures = b.submit(200)
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures))
    assert b.store.group_sizes == [64, 64, 64, 8]


def test_a_caller_that_cancels_its_future_harms_nobody(bench: Callable[..., Bench]) -> None:
    b = bench()
    futures = b.submit(3)
    assert not futures[0].cancel(), "the command is in the queue and will be decided"
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures))


def test_a_command_rejected_by_the_store_fails_alone(
    bench: Callable[..., Bench],
) -> None:
    b = bench()
    futures = b.submit(100)
    bad = b.venue.place(("standing", 1))
    futures.insert(50, b.engine.submit(bad))

    def reject(writes: GroupWrites) -> None:
        if any(transition.after.id == bad.hold_id for transition in writes.transitions):
            raise Rejected("22P02")

    b.store.before_commit = reject
    b.engine.start()
    answered = outcomes(futures)
    assert sum(isinstance(outcome, Placed) for outcome in answered) == 100
    assert codes(futures) == {RefusalCode.INTERNAL_ERROR}
    assert b.held == 100


def test_an_error_in_a_decision_fails_one_command(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    b = bench()
    futures = b.submit(20)
    broken = b.engine.submit(
        b.venue.place(("standing", 1), key=b.venue.key()),
        lambda _: 1 / 0,  # type: ignore[arg-type, return-value]
    )
    futures += b.submit(20)
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures))
    assert codes([broken]) == {RefusalCode.INTERNAL_ERROR}
    assert b.held == 40


def test_a_group_with_a_conflict_is_retried(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.store.before_commit = Times(2, Contended("40P01"))
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(5)))
    assert b.held == 5


def test_a_group_that_always_conflicts_is_refused_in_bounded_time(
    bench: Callable[..., Bench],
) -> None:
    b = bench()
    b.store.before_commit = Times(10_000, Contended("40001"))
    b.engine.start()
    assert codes(b.submit(5)) == {RefusalCode.SERVICE_UNAVAILABLE}
    assert b.held == 0


def test_a_lost_connection_is_replaced(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.store.on_read = Times(1, StoreUnavailable("gone"))
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(5)))


def test_commands_are_refused_without_a_store_and_served_after_it_returns(
    bench: Callable[..., Bench],
) -> None:
    b = bench()
    gone = b.store.on_read = Times(10_000, StoreUnavailable("gone"))
    futures = b.submit(50)
    b.engine.start()
    assert codes(futures) == {RefusalCode.SERVICE_UNAVAILABLE}
    assert gone.count == 10_000 - 2, "each group reconnects once"
    b.store.on_read = lambda: None
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(5)))


def test_an_unknown_commit_that_succeeded_is_answered_as_done(
    bench: Callable[..., Bench],
) -> None:
    b = bench()
    b.store.after_commit = lost_in_commit
    b.store.resolution = CommitState.COMMITTED
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(5)))
    assert b.held == 5


def test_an_unknown_commit_that_failed_is_retried(
    bench: Callable[..., Bench],
) -> None:
    b = bench()
    b.store.before_commit = _once(lost_in_commit)
    b.store.resolution = CommitState.NOT_COMMITTED
    futures = b.submit(5)
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures))
    assert b.held == 5


def test_an_unknown_commit_is_never_guessed(bench: Callable[..., Bench]) -> None:
    """After a 503 the client repeats its key and gets the missed answer."""
    b = bench()
    b.store.after_commit = _once(lost_in_commit)
    command = b.venue.place(("standing", 1), key=b.venue.key())
    b.engine.start()
    first = b.engine.submit(command, lambda _: b"first")
    assert codes([first]) == {RefusalCode.SERVICE_UNAVAILABLE}
    again = b.engine.submit(command, lambda _: b"second").result(60)
    assert (again.is_replay, again.body) == (True, b"first")
    assert b.held == 1


def test_an_unexpected_error_leaves_no_future_pending(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.store.before_commit = Times(10_000, RuntimeError("surprise"))
    b.engine.start()
    assert codes(b.submit(20)) == {RefusalCode.INTERNAL_ERROR}
    b.store.before_commit = lambda _: None
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(5)))
    assert b.engine.is_alive()


def test_a_full_queue_refuses_at_once(bench: Callable[..., Bench]) -> None:
    b = bench(queue_max=8)
    futures = b.submit(10)  # one organization gets at most 6 of 8
    assert [future.done() for future in futures] == [False] * 6 + [True] * 4
    assert codes(futures[6:]) == {RefusalCode.SERVICE_UNAVAILABLE}
    b.engine.start()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures[:6]))
    assert all(isinstance(outcome, Placed) for outcome in outcomes(b.submit(6)))


def test_a_busy_organization_leaves_queue_space_for_others(bench: Callable[..., Bench]) -> None:
    b = bench(queue_max=8)
    other = b.world.venue({"floor": 10}, {"standing": ("floor",)})
    b.submit(10)
    theirs = b.engine.submit(other.place(("standing", 1)))
    b.engine.start()
    assert isinstance(theirs.result(60).outcome, Placed)


def test_a_command_past_its_deadline_is_dropped_before_the_decision(
    bench: Callable[..., Bench],
) -> None:
    b = bench(deadline_seconds=0.05)
    futures = b.submit(3)
    time.sleep(0.1)
    b.engine.start()
    assert codes(futures) == {RefusalCode.SERVICE_UNAVAILABLE}
    assert b.held == 0


def test_stopping_answers_queued_commands_and_accepts_no_new_ones(
    bench: Callable[..., Bench],
) -> None:
    b = bench(group_max=10)
    futures = b.submit(300)
    b.engine.start()
    b.engine.stop()
    assert all(isinstance(outcome, Placed) for outcome in outcomes(futures))
    assert codes(b.submit(1)) == {RefusalCode.SERVICE_UNAVAILABLE}


def test_stopping_is_bounded_and_leaves_no_future_pending(
    bench: Callable[..., Bench],
) -> None:
    b = bench(drain_seconds=0.2, group_max=1)
    release = threading.Event()
    b.store.on_read = lambda: (release.wait(60), None)[1]
    futures = b.submit(5)
    b.engine.start()
    b.engine.stop()
    assert not futures[0].done(), "stop did not return while the store hung"
    assert codes(futures[1:]) == {RefusalCode.SERVICE_UNAVAILABLE}
    release.set()
    assert isinstance(futures[0].result(60).outcome, Placed)


def test_a_repeat_of_a_key_that_stays_in_flight_is_refused_for_now(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.engine.group.SAME_KEY_WAIT_SECONDS", 0.2)
    b = bench()
    b.engine.start()
    entered, release = threading.Event(), threading.Event()

    def hang(_writes: GroupWrites) -> None:
        entered.set()
        release.wait(60)

    b.store.before_commit = hang
    command = b.venue.place(("standing", 1), key=b.venue.key())
    first = b.engine.submit(command, lambda _: b"first")
    entered.wait(60)
    other_process = Admission(b.world.store)
    other_process.start()
    refused = other_process.submit(command, lambda _: b"second")
    assert codes([refused]) == {RefusalCode.REQUEST_IN_PROGRESS}
    patient = other_process.submit(command, lambda _: b"third")
    release.set()
    assert isinstance(first.result(60).outcome, Placed)
    assert patient.result(60).body == b"first"
    other_process.stop()


class TestObserver:
    """Observers are called after the answer: one that fails costs no other entry."""

    def test_a_failing_observer_still_hears_everything_else(
        self, bench: Callable[..., Bench]
    ) -> None:
        b = bench()
        observer = FailingObserver()
        engine = Admission(b.store, observers=[observer])
        placed = engine.submit(b.venue.place(("standing", 1)))
        refused = [engine.submit(b.venue.place(("standing", 1001))) for _ in range(6)]
        with capture_logs() as logs:
            engine.start()
            assert codes(refused) == {RefusalCode.INSUFFICIENT_INVENTORY}
            engine.stop()
        assert isinstance(placed.result(0).outcome, Placed)
        assert observer.calls == 1 + len(refused)
        failures = [entry for entry in logs if entry["event"] == "observer_failed"]
        assert [entry["count"] for entry in failures] == [1, 2, 3, 4]

    def test_a_failing_observer_does_not_affect_others(self, bench: Callable[..., Bench]) -> None:
        b = bench()
        observers = [FailingObserver(fails_always=True), FailingObserver(), FailingObserver()]
        engine = Admission(b.store, observers=observers)
        engine.start()
        answers = [engine.submit(b.venue.place(("standing", n))) for n in (1, 1001, 1)]
        for answer in answers:
            answer.result(60)
        engine.stop()
        calls = {observer.calls for observer in observers}
        assert len(calls) == 1
        assert calls.pop() >= 2

    def test_a_failing_observer_is_logged_when_the_store_is_unavailable(
        self, bench: Callable[..., Bench]
    ) -> None:
        b = bench()
        b.store.before_commit = Times(100, StoreUnavailable("away"))
        observer = FailingObserver()
        engine = Admission(b.store, observers=[observer])
        futures = [engine.submit(b.venue.place(("standing", 1))) for _ in range(2)]
        with capture_logs() as logs:
            engine.start()
            assert codes(futures) == {RefusalCode.SERVICE_UNAVAILABLE}
            engine.stop()
        assert observer.calls == len(futures)
        assert [entry["event"] for entry in logs].count("observer_failed") == 1


class FailingObserver:
    """Fails at the first call and every second call after it, or always."""

    def __init__(self, *, fails_always: bool = False) -> None:
        self.calls = 0
        self._fails_always = fails_always

    def committed(
        self,
        transitions: Sequence[Transition],
        seat_transitions: Sequence[SeatTransition],
        order_changes: Sequence[OrderChange],
    ) -> None:
        self._count()

    def refused(self, command: Command, refusal: Refusal) -> None:
        self._count()

    def _count(self) -> None:
        self.calls += 1
        if self._fails_always or self.calls % 2:
            raise RuntimeError("cannot be written down")


def _once(fault: Callable[[GroupWrites], None]) -> Callable[[GroupWrites], None]:
    remaining = [fault]

    def happen(writes: GroupWrites) -> None:
        if remaining:
            remaining.pop()(writes)

    return happen
