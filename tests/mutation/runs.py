"""A pytest plugin that runs the collected tests for each mutant in turn."""

import os
import sys
import threading
import time
from collections import Counter
from enum import IntEnum
from types import CodeType, FunctionType

import pytest

from tests.mutation.mutants import Mutant, Place, live_functions, place_of, sample
from tests.mutation.reach import Reach, fork, measure, status_of


class Verdict(IntEnum):
    """The exit status of a mutant's process."""

    SURVIVED = 0
    KILLED = 1
    TIMED_OUT = 2


class MutationRun:
    def __init__(self, seed: int, seconds: float, only: str = "") -> None:
        self._seed = seed
        self._only = only
        self._stop_at = time.monotonic() + seconds
        self._verdicts: Counter[Verdict] = Counter()
        self._survivors: list[Mutant] = []
        self.is_complete = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        # Tests with a database take too long to run for each mutant.
        items[:] = [item for item in items if "databases" not in getattr(item, "fixturenames", ())]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        say(f"\nSEED={self._seed}: {len(session.items)} tests, first without a mutant ...")
        reach = measure(session.items)
        if reach is None:
            say("Some of them fail without a mutant. Fix them first.")
            return True
        mutants = [each for each in sample(self._seed) if self._only in each.where]
        say(f"{len(mutants)} mutants, drawn by this seed until the time is up:")
        trial = Trial(session.items, reach, live_functions())
        try:
            for mutant in mutants:
                if time.monotonic() > self._stop_at:
                    break
                self._try(trial, mutant)
        finally:
            self._report()
        self.is_complete = True
        return True

    def _try(self, trial: "Trial", mutant: Mutant) -> None:
        function = mutant.function()
        if function is None:
            return
        verdict = trial.verdict(function)
        self._verdicts[verdict] += 1
        if verdict is Verdict.SURVIVED:
            self._survivors.append(mutant)
        number, word = self._verdicts.total(), verdict.name.replace("_", " ").lower()
        say(f"{number:4}  {word:9}  {mutant.where}  {mutant.operator}")

    def _report(self) -> None:
        for mutant in sorted(self._survivors):
            say(f"\nSurvived: {mutant.where}\n{mutant.diff()}")
        total = self._verdicts.total()
        killed = total - len(self._survivors)
        share = f" ({killed / total:.0%})" if total else ""
        say(f"\nSEED={self._seed}: {killed} of {total} mutants killed{share}.")


class Trial:
    def __init__(
        self, items: list[pytest.Item], reach: Reach, functions: dict[Place, list[FunctionType]]
    ) -> None:
        self._items = items
        self._reach = reach
        self._functions = functions

    def verdict(self, mutated: CodeType) -> Verdict:
        """Whether a test fails with this function in place of the original."""
        tests = self._reach.tests_of(place_of(mutated))
        if not tests:
            return Verdict.SURVIVED
        seconds_max = 20 + 5 * sum(self._reach.seconds[test] for test in tests)

        def run() -> int:
            # A mutant may loop or wait forever.
            stop = threading.Timer(seconds_max, os._exit, (Verdict.TIMED_OUT,))
            stop.daemon = True
            stop.start()
            for function in self._functions[place_of(mutated)]:
                function.__code__ = mutated
            return self._run([self._items[test] for test in tests])

        return Verdict(status_of(fork(run)))

    def _run(self, items: list[pytest.Item]) -> Verdict:
        """Run tests until one fails."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if item.session.testsfailed:
                return Verdict.KILLED
        return Verdict.SURVIVED


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
