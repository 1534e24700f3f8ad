"""Alternating rounds: each contender is measured once per round, which spreads noise of the machine
over all of them. Their medians are compared."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Plan:
    """The number of rounds, and the seconds of each measurement. A quick plan measures less."""

    is_quick: bool = False
    rounds: int = 3
    seconds: int = 4
    started: float = field(default_factory=time.monotonic)

    def log(self, text: str) -> None:
        elapsed = time.monotonic() - self.started
        sys.stderr.write(f"[{elapsed:6.1f} s] {text}\n")
        sys.stderr.flush()


@dataclass(frozen=True)
class Measured(Generic[T]):
    runs: Mapping[str, list[T]]

    def of(self, name: str) -> list[T]:
        return self.runs[name]


def alternate(plan: Plan, title: str, contenders: Mapping[str, Callable[[], T]]) -> Measured[T]:
    runs: dict[str, list[T]] = {name: [] for name in contenders}
    for number in range(plan.rounds):
        # Every other round backwards, so that nobody always follows the same one.
        order = list(contenders.items())[:: -1 if number % 2 else 1]
        for name, measure in order:
            plan.log(f"{title}: {name}, round {number + 1} of {plan.rounds}")
            runs[name].append(measure())
    return Measured(runs)
