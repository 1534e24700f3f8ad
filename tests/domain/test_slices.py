"""Long work yields to other threads."""

import asyncio
import time
from itertools import count
from types import SimpleNamespace

import pytest

from holdfast.domain import slices
from holdfast.domain.slices import (
    PAUSE_SECONDS_MAX,
    PAUSE_SECONDS_MIN,
    REST,
    REST_BESIDE_OTHERS,
    SLICES_WITHOUT_PAUSE,
    STEP_PAUSE_SECONDS_MAX,
    STEP_PAUSES_SECONDS_MAX,
    STEP_REST,
    Presence,
    Rests,
    giving_way,
)
from holdfast.engine.limits import WEIGHT_IN_MAIN_LANE_MAX


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of this module alone: threads of other tests may still be running."""
    clock = SimpleNamespace(thread_time=time.thread_time, monotonic=lambda: 100.0)
    monkeypatch.setattr(slices, "time", clock)
    return clock


@pytest.fixture
def slept(clock: SimpleNamespace) -> list[float]:
    slept: list[float] = []
    clock.sleep = slept.append
    return slept


@pytest.mark.parametrize(
    ("count_of_slices", "pauses"),
    [
        (0, 0),
        (SLICES_WITHOUT_PAUSE, 0),
        (SLICES_WITHOUT_PAUSE + 1, 1),
        (SLICES_WITHOUT_PAUSE + 15, 15),
    ],
)
def test_every_slice_after_the_first_few_ends_with_a_pause(
    count_of_slices: int, pauses: int, slept: list[float]
) -> None:
    count = 10 * count_of_slices + 9
    assert list(giving_way(range(count), per_slice=10)) == list(range(count))
    assert len(slept) == pauses
    assert all(PAUSE_SECONDS_MIN <= seconds <= PAUSE_SECONDS_MAX for seconds in slept)


def test_the_main_lane_never_pauses(slept: list[float]) -> None:
    list(giving_way(range(WEIGHT_IN_MAIN_LANE_MAX)))
    assert not slept


@pytest.mark.parametrize(("shared_until", "rest"), [(100.0, REST), (100.1, REST_BESIDE_OTHERS)])
def test_a_pause_is_longer_than_the_work_before_it_and_more_so_beside_other_organizations(
    shared_until: float,
    rest: int,
    slept: list[float],
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices, "SLICES_WITHOUT_PAUSE", 0)
    monkeypatch.setattr(Presence, "shared_until", shared_until)
    now, work = 0.0, iter((0.0001, 0.0001, 0.0002, 0.0002, 60.0, 60.0))
    clock.thread_time = lambda: now
    for _ in giving_way(range(6), per_slice=2):
        now += next(work)
    assert slept == [
        pytest.approx(rest * 0.0002),
        pytest.approx(rest * 0.0004),
        PAUSE_SECONDS_MAX,
    ]


def test_a_pause_is_never_zero() -> None:
    """Sleeping for zero seconds does not release the interpreter."""
    assert PAUSE_SECONDS_MIN > 0


def test_an_event_loop_never_pauses(slept: list[float]) -> None:
    async def on_the_loop() -> int:
        return len(list(giving_way(range(10_000))))

    assert asyncio.run(on_the_loop()) == 10_000
    assert not slept
    assert len(list(giving_way(range(10_000)))) == 10_000
    assert slept  # control


@pytest.mark.parametrize(
    ("shared_until", "took", "rests"),
    [
        (0.0, 0.002, []),
        (1000.0, 0.002, [STEP_REST * 0.002]),
        (1000.0, 5.0, [STEP_PAUSE_SECONDS_MAX]),
    ],
    ids=["alone", "beside others", "for a bounded time"],
)
def test_a_step_of_large_work_is_followed_by_a_longer_rest(
    shared_until: float, took: float, rests: list[float], clock: SimpleNamespace, slept: list[float]
) -> None:
    clock_until, Presence.shared_until = Presence.shared_until, shared_until
    moments = iter((100.0, 100.0 + took))
    clock.monotonic = lambda: next(moments)
    with Rests(steps=10).after_step():
        pass
    Presence.shared_until = clock_until
    assert slept == pytest.approx(rests)


def test_the_rests_of_one_job_are_bounded_in_total(
    clock: SimpleNamespace, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Presence, "shared_until", 1e9)
    moments = count(100)
    clock.monotonic = lambda: next(moments)
    rests = Rests(steps=1_000)
    for _ in range(1_000):
        with rests.after_step():
            pass
    assert sum(slept) == pytest.approx(STEP_PAUSES_SECONDS_MAX)
    assert max(slept) == pytest.approx(min(slept)), "the last steps rest as long as the first"
