"""The watchdog cuts a connection that does not answer in time."""

import socket
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from holdfast.adapters.postgres.connections.connection import LOOK_EVERY_SECONDS, Watch, Watchdog

LIMIT = 1.0


class StoppedWatchdog(Watchdog):
    """The test looks."""

    def _look(self) -> None:
        pass


class Line:
    """A watched connection, and its other end."""

    def __init__(self) -> None:
        self.own, self._other = socket.socketpair()
        self._other.setblocking(False)

    @property
    def is_cut(self) -> bool:
        try:
            return self._other.recv(1) == b""
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.own.close()
        self._other.close()


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.close()


@pytest.fixture
def watchdog() -> Watchdog:
    return StoppedWatchdog()


@pytest.fixture
def watch(watchdog: Watchdog, line: Line) -> Iterator[Watch]:
    made = watchdog.watch(cast("Any", line.own))
    yield made
    watchdog.release(made)


def test_an_exchange_that_takes_too_long_is_cut(
    watchdog: Watchdog, watch: Watch, line: Line
) -> None:
    began = time.monotonic()
    with watch.limit(LIMIT):
        looks = int(LIMIT / LOOK_EVERY_SECONDS)
        for number in range(1, looks):
            watchdog.check(began + number * LOOK_EVERY_SECONDS)
        assert not line.is_cut
        watchdog.check(began + (looks + 1) * LOOK_EVERY_SECONDS)
        assert line.is_cut


def test_a_pause_of_the_whole_process_cuts_nothing_at_once(
    watchdog: Watchdog, watch: Watch, line: Line
) -> None:
    """As when its virtual machine is moved: the answer may be there, and nobody had the time to
    read it. Even if the limit was nearly over before the pause."""
    began = time.monotonic()
    after = began + 60
    with watch.limit(LIMIT):
        for number in range(1, int(LIMIT / LOOK_EVERY_SECONDS)):
            watchdog.check(began + number * LOOK_EVERY_SECONDS)
        watchdog.check(after)
        assert not line.is_cut
        watchdog.check(after + LOOK_EVERY_SECONDS)
        assert line.is_cut, "nothing came after the pause either"


def test_an_answer_that_is_read_after_the_pause_is_in_time(
    watchdog: Watchdog, watch: Watch, line: Line
) -> None:
    after = time.monotonic() + 60
    with watch.limit(LIMIT):
        watchdog.check(after)
    watchdog.check(after + LOOK_EVERY_SECONDS)
    assert not line.is_cut
