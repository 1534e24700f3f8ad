"""Samples of mutants are reproducible, and each mutant is code that runs."""

from pathlib import Path

import pytest

from tests.mutation import mutants
from tests.mutation.mutants import mutants_of, sample
from tests.mutation.reach import Reach
from tests.mutation.runs import Trial, Verdict

SOURCE = """\
LIMIT = 3


class Hall:
    size: int = 4

    @property
    def is_full(self) -> bool:
        return self.size > LIMIT and self.size != 0


def grown(hall: Hall | None = None) -> int:
    match hall:
        case Hall() | None if hall:
            return hall.size + 1
    return 0
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "hall.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(mutants, "PACKAGES", (tmp_path,))
    return path


def test_the_same_seed_draws_the_same_mutants_in_the_same_order(path: Path) -> None:
    assert sample(7) == sample(7)
    assert sample(7) != sample(8)
    assert sorted(sample(7)) == sorted(sample(8)) == sorted(mutants_of(path))


def test_only_function_bodies_are_mutated(path: Path) -> None:
    assert {mutant.line for mutant in mutants_of(path)} == {9, 14, 15, 16}


def test_a_mutant_is_the_function_with_the_change_in_it(path: Path) -> None:
    found = {mutant.diff(): mutant.function() for mutant in mutants_of(path)}
    names = {change: function and function.co_qualname for change, function in found.items()}
    before = "    -        return self.size > LIMIT and self.size != 0\n"
    assert (
        names[before + "    +        return self.size >= LIMIT and self.size != 0"]
        == "Hall.is_full"
    )
    assert None in names.values(), "a pattern cannot be `Hall() & None`"
    assert set(names.values()) == {"Hall.is_full", "grown", None}


def test_a_mutant_that_no_test_executes_survives(path: Path) -> None:
    function = next(mutants_of(path)).function()
    assert function is not None
    assert Trial([], Reach({}, []), {}).verdict(function) is Verdict.SURVIVED
