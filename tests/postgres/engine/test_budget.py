"""A general admission hold stays within its budget of function calls, statements and round trips.

These are counts, so a busy machine does not change them. A change that needs more fails here, and
so does one that needs far less: lower the budget then, so that the gain is kept.
"""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bench.cost.groups import GroupCounts
from tests.support.databases import own_environment

ROOT = Path(__file__).parents[3]
# By the size of the group. Calls are per hold, statements and round trips per group. Nobody waits
# for the second of three round trips: it lets PostgreSQL start early.
BUDGET = {
    1: GroupCounts(front_calls=86, engine_calls=486, statements=9, round_trips=2),
    32: GroupCounts(front_calls=83, engine_calls=192, statements=10, round_trips=3),
}
MORE_AT_MOST, LESS_AT_MOST = 1.03, 0.9
# Another version of Python has another standard library, with other calls.
PYTHON = (3, 11)
CALLS = {"front_calls", "engine_calls"}


@pytest.fixture(scope="module")
def counted() -> dict[int, GroupCounts]:
    """Counts in its own process, because profiling a server changes the process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.cost.groups"],
        cwd=ROOT,
        env=own_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    return {int(size): GroupCounts(**of_group) for size, of_group in counts.items()}


@pytest.mark.parametrize("size", BUDGET)
def test_a_hold_stays_within_its_budget(counted: dict[int, GroupCounts], size: int) -> None:
    assert not deviations(counted[size], BUDGET[size], is_python_known=is_python_known())


@pytest.mark.parametrize("name", asdict(BUDGET[1]))
@pytest.mark.parametrize("factor", [1.5, 0.5], ids=["more", "far less"])
def test_a_deviation_from_the_budget_is_noticed(name: str, factor: float) -> None:
    budget = BUDGET[32]
    counts = replace(budget, **{name: getattr(budget, name) * factor})
    assert list(deviations(counts, budget)) == [name]


def test_a_little_more_or_less_is_accepted() -> None:
    budget = BUDGET[32]
    for factor in (0.95, 1.02):
        counts = replace(budget, engine_calls=budget.engine_calls * factor)
        assert not deviations(counts, budget)


def is_python_known() -> bool:
    return sys.version_info[:2] == PYTHON


def deviations(
    counts: GroupCounts, budget: GroupCounts, *, is_python_known: bool = True
) -> dict[str, str]:
    allowed = asdict(budget)
    return {
        name: f"{count:,.1f}, but the budget is {allowed[name]:,.1f}"
        for name, count in asdict(counts).items()
        if is_python_known or name not in CALLS
        if not LESS_AT_MOST <= count / allowed[name] <= MORE_AT_MOST
    }
