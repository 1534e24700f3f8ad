"""Which tests execute which functions: only those can detect a mutant."""

import os
import pickle
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import pytest

from tests.mutation.mutants import ROOTS, Place, place_of

# Exit status of a process that failed by itself, not through a test.
BROKEN = 3


@dataclass(frozen=True, slots=True)
class Reach:
    """The tests that execute each function, by index, and the duration of each."""

    tests: dict[Place, set[int]]
    seconds: list[float]

    def tests_of(self, place: Place) -> list[int]:
        """Quickest first, as nearly all of them kill most mutants."""
        return sorted(self.tests.get(place, ()), key=self.seconds.__getitem__)


def measure(items: list[pytest.Item]) -> Reach | None:
    """Run every test without a mutant; None if one fails."""
    reader, writer = os.pipe()

    def trace() -> int:
        reach = _trace(items)
        with os.fdopen(writer, "wb") as stream:
            pickle.dump(reach, stream)
        return min(1, items[0].session.testsfailed)

    child = fork(trace)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        content = stream.read()
    if status_of(child) != 0:
        return None
    reach = pickle.loads(content)
    assert isinstance(reach, Reach)
    return reach


def _trace(items: list[pytest.Item]) -> Reach:
    tests: dict[Place, set[int]] = defaultdict(set)
    seconds: list[float] = []

    def note_call(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_filename.startswith(ROOTS):
            tests[place_of(frame.f_code)].add(len(seconds))

    # The engine decides on its own threads.
    threading.settrace(note_call)
    sys.settrace(note_call)
    for item, following in zip(items, [*items[1:], None], strict=True):
        started_at = time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds.append(time.monotonic() - started_at)
    return Reach(dict(tests), seconds)


def fork(work: Callable[[], int]) -> int:
    """Fork a silent process that does the work and exits with its result; the process id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = BROKEN
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        status = work()
    finally:
        # At once: a mutant may have left a thread that never ends.
        os._exit(status)


def status_of(child: int) -> int:
    """Wait for the exit status, 1 after a signal. An interrupt ends the child too."""
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    return status if status >= 0 else 1
