"""The bridge between the engine's threads and the event loop."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest

from holdfast.domain.group.command import Command
from holdfast.domain.group.origin import Origin
from holdfast.domain.group.outcomes import Outcome
from holdfast.domain.holds.release_hold import ReleaseHold
from holdfast.domain.ids import HoldId, OrganizationId
from holdfast.domain.refusal_codes import Refusal, RefusalCode
from holdfast.domain.refusals import hold_not_found
from holdfast.entrypoints.api.fairness.answers import EngineAnswers, FreshLookups
from holdfast.entrypoints.api.fairness.turns import ReadTurns
from holdfast.ports.engine import Answer, Deliver, Render

Key = tuple[OrganizationId, str]

ANSWER = Answer(hold_not_found())
HALL = (OrganizationId(uuid4()), "hall")


@dataclass
class Held:
    """An engine that answers on demand."""

    waiting: list[Deliver] = field(default_factory=list)

    def submit(self, command: Command, render: Render | None = None) -> Future[Answer]:
        raise AssertionError("the event loop cannot wait for a future")

    def submit_for_callback(
        self, command: Command, render: Render | None, deliver: Deliver
    ) -> None:
        self.waiting.append(deliver)

    def answer_all(self) -> None:
        for deliver in self.waiting:
            deliver(ANSWER)


@dataclass
class Log:
    outcomes: list[Outcome | None] = field(default_factory=list)

    def __call__(self, _: ReleaseHold, outcome: Outcome | None) -> None:
        self.outcomes.append(outcome)


def command() -> ReleaseHold:
    return ReleaseHold(OrganizationId(UUID(int=1)), HoldId(uuid4()), Origin("test", "request-1"))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_whole_group_wakes_the_event_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> int:
        engine = Held()
        answers = EngineAnswers(engine, bound_seconds=5)
        loop = asyncio.get_running_loop()
        wake_ups: list[object] = []
        wake = loop.call_soon_threadsafe

        def counted(callback: Callable[[], object]) -> object:
            wake_ups.append(callback)
            return wake(callback)

        tasks = [asyncio.ensure_future(answers.answer(command(), None)) for _ in range(64)]
        await until(lambda: len(engine.waiting) == 64)
        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        # Block the loop while the thread answers, as the engine does with the interpreter lock.
        in_a_thread(engine.answer_all)
        assert await asyncio.gather(*tasks) == [ANSWER] * 64
        return len(wake_ups)

    assert asyncio.run(scenario()) == 1


def test_no_answer_is_lost_however_threads_and_loop_interleave() -> None:
    class Racing(Held):
        def submit_for_callback(
            self, command: Command, render: Render | None, deliver: Deliver
        ) -> None:
            threading.Thread(target=deliver, args=(ANSWER,)).start()

    async def scenario() -> None:
        answers = EngineAnswers(Racing(), bound_seconds=30)
        for _ in range(10):
            calls = (answers.answer(command(), None) for _ in range(50))
            assert await asyncio.gather(*calls) == [ANSWER] * 50

    asyncio.run(scenario())


def test_a_hanging_engine_gets_the_caller_a_refusal() -> None:
    async def scenario() -> None:
        engine = Held()
        answers = EngineAnswers(engine, bound_seconds=0.05)
        first = asyncio.ensure_future(answers.answer(command(), None))
        await asyncio.sleep(0.03)
        started = time.monotonic()
        second = await answers.answer(command(), None)
        assert time.monotonic() - started > 0.04
        for answer in (await first, second):
            assert isinstance(answer.outcome, Refusal)
            assert answer.outcome.code is RefusalCode.SERVICE_UNAVAILABLE
        in_a_thread(engine.answer_all)

    asyncio.run(scenario())


def test_a_client_that_disconnects_cancels_nothing() -> None:
    async def scenario() -> None:
        engine = Held()
        answers = EngineAnswers(engine, bound_seconds=5)
        leaving = asyncio.ensure_future(answers.answer(command(), None))
        staying = asyncio.ensure_future(answers.answer(command(), None))
        await until(lambda: len(engine.waiting) == 2)
        leaving.cancel()
        await asyncio.sleep(0)
        in_a_thread(engine.answer_all)
        assert await staying == ANSWER

    asyncio.run(scenario())


def test_an_answer_after_the_event_loop_closed_is_harmless() -> None:
    engine = Held()
    answers = EngineAnswers(engine, bound_seconds=5)

    async def scenario() -> None:
        task = asyncio.ensure_future(answers.answer(command(), None))
        await until(lambda: len(engine.waiting) == 1)
        task.cancel()

    asyncio.run(scenario())
    in_a_thread(engine.answer_all)

    async def next_loop() -> None:
        task = asyncio.ensure_future(answers.answer(command(), None))
        await until(lambda: len(engine.waiting) == 2)
        in_a_thread(lambda: engine.waiting[1](ANSWER))
        assert await task == ANSWER

    asyncio.run(next_loop())


def test_callers_during_a_lookup_share_the_next_one() -> None:
    """Few lookups for many callers, and no answer older than its request."""

    async def scenario() -> None:
        started: list[int] = []
        go_on = threading.Event()

        def look_up(_: Key) -> int:
            started.append(len(started) + 1)
            assert go_on.wait(60)
            return started[-1]

        lookups = FreshLookups(asyncio.to_thread, look_up, ReadTurns())
        first = asyncio.ensure_future(lookups.get(HALL))
        while not started:
            await asyncio.sleep(0.01)
        later = [asyncio.ensure_future(lookups.get(HALL)) for _ in range(100)]
        await asyncio.sleep(0.05)
        later[0].cancel()  # a disconnect does not affect the others
        assert started == [1]
        go_on.set()
        assert await first == 1
        assert {await each for each in later[1:]} == {2}
        assert started == [1, 2]
        assert await lookups.get(HALL) == 3

    asyncio.run(scenario())


def test_a_failed_lookup_fails_only_for_its_callers() -> None:
    async def scenario() -> None:
        outcomes = iter((ValueError("away"), None))

        def look_up(_: Key) -> str:
            problem = next(outcomes)
            if problem is not None:
                raise problem
            return "there"

        lookups = FreshLookups(asyncio.to_thread, look_up, ReadTurns())
        with pytest.raises(ValueError, match="away"):
            await lookups.get(HALL)
        assert await lookups.get(HALL) == "there"

    asyncio.run(scenario())
