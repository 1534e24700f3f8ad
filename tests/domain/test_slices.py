"""Long work lets other threads go on in between."""

import time

import pytest

from holdfast.domain.slices import PAUSE_SECONDS, giving_way


@pytest.mark.parametrize(("count", "pauses"), [(0, 0), (9, 0), (10, 1), (25, 2)])
def test_there_is_a_pause_after_every_slice(
    count: int, pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert list(giving_way(range(count), per_slice=10)) == list(range(count))
    assert slept == [PAUSE_SECONDS] * pauses


def test_a_pause_is_long_enough_to_be_one() -> None:
    """A thread that sleeps for no time keeps the interpreter."""
    assert PAUSE_SECONDS > 0
