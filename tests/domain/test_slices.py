"""Long work lets other threads go on in between."""

import time

import pytest

from holdfast.domain.slices import PAUSE_SECONDS_MIN, REST, giving_way


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


@pytest.mark.parametrize(("count", "pauses"), [(0, 0), (9, 0), (10, 1), (25, 2)])
def test_there_is_a_pause_after_every_slice(count: int, pauses: int, slept: list[float]) -> None:
    assert list(giving_way(range(count), per_slice=10)) == list(range(count))
    assert len(slept) == pauses
    assert all(seconds >= PAUSE_SECONDS_MIN for seconds in slept)


def test_a_pause_follows_the_work_before_it(
    slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    for number in giving_way(range(4), per_slice=2):
        now += 0.25 * (number + 1)
    assert slept == [REST * 0.75, REST * 1.75]


def test_a_pause_is_long_enough_to_be_one() -> None:
    """A thread that sleeps for no time keeps the interpreter."""
    assert PAUSE_SECONDS_MIN > 0
